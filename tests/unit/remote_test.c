/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links to ranks that share no memory with this one, as far as executors go (link/team.h): the
 * slabs of both directions are here, and belong to the network too until it has left them. The
 * test is the network.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#include "team_side.h"

#include "exec/host.h"

enum { P = 3, NSLOTS = SIDE_SLOTS, SLOT = SIDE_SLOT, NEAR = 1, FAR = 2 };

static const unsigned char remote[P] = {[FAR] = 1};
static struct gr_doorbells rung;
static struct gr_doorbell bell = {.list = &rung};

/* Rank 0 of three, the last of which is elsewhere, in the middle of making links to all. */
static void begin(struct side *s)
{
    struct gr_team_params params = side_params(P, 1, remote);

    side_open(s, &params);
    side_join(s, GR_ALGO_FLAT, 1);
}

/* The set-up has failed. */
static void refuse(struct side *s)
{
    side_end_join(s, GR_ERR_NET, 0);
}

/* What the network does when it has left all: the users of both directions. */
static void leave(struct gr_host_connection in, struct gr_host_connection out)
{
    gr_lease_leave(&((struct gr_link_shared *) gr_slab_base(in.slab))->writer, in.handle.lease);
    gr_lease_leave(&((struct gr_link_shared *) gr_slab_base(out.slab))->writer, out.handle.lease);
}

static void near_connections_come_first_and_remote_ones_have_slabs_here(void **state)
{
    struct side s;

    begin(&s);
    assert_int_equal(s.join.in.n, 2);
    assert_int_equal(s.join.in.near, 1);
    assert_int_equal(s.join.in.host[0].end.rank, NEAR);
    assert_int_equal(s.join.in.host[1].end.rank, FAR);
    assert_int_equal(s.join.out.n, 2);
    assert_int_equal(s.join.out.near, 1);
    assert_int_equal(s.join.out.host[0].end.rank, NEAR);
    assert_null(s.join.out.host[0].slab);
    assert_int_equal(s.join.out.host[1].end.rank, FAR);
    assert_non_null(s.join.out.host[1].slab);
    assert_true(s.join.out.host[1].handle.lease > 0);
    refuse(&s);
    side_close(&s);
}

/* The addresses that data are sent from. */
static const void **addresses(const struct side *s)
{
    return gr_link_data_at(gr_slab_base(s->join.out.host[1].slab), NSLOTS, SLOT);
}

/* The next lease of a slab begins without the addresses that are in it. */
static void addresses_of_an_earlier_lease_are_forgotten(void **state)
{
    struct gr_team_params params = side_params(P, 1, remote);
    const void **at;
    struct side s;
    int k;

    begin(&s);
    at = addresses(&s);
    for (k = 0; k < NSLOTS; k++) {
        at[k] = &s;
    }
    refuse(&s);
    gr_team_destroy(s.team, s.pool);
    s.team = gr_team_create(&params);
    side_join(&s, GR_ALGO_FLAT, 1);
    assert_ptr_equal(addresses(&s), at);
    for (k = 0; k < NSLOTS; k++) {
        assert_null(at[k]);
    }
    refuse(&s);
    side_close(&s);
}

static void there_are_neither_boards_nor_direct_plans(void **state)
{
    struct gr_join_agreement agreed;
    struct side s;

    begin(&s);
    assert_int_equal(gr_team_links(s.team, GR_ALGO_MAILBOX, 0, 1), GR_LINKS_REFUSED);
    assert_int_equal(gr_team_links(s.team, GR_USE_AGREEMENT, 0, 1), GR_LINKS_REFUSED);
    (void) gr_join_map(&s.join, &agreed);
    assert_int_equal(agreed.host.direct, 0);
    refuse(&s);
    side_close(&s);
}

/* Links to all, with that many slots of SIDE_SHORT bytes; no others are made. */
static void makes_links_of_its_own(int use, uint32_t nslots)
{
    const struct gr_channel_set *b;
    struct side s;
    int k;

    begin(&s);
    refuse(&s);
    assert_int_equal(gr_team_links(s.team, use, 0, 1), GR_LINKS_NONE);
    side_join(&s, use, 1);
    assert_int_equal(s.join.in.n, 2);
    assert_int_equal(s.join.in.near, 1);
    assert_int_equal(gr_pool_usage(s.pool).leased,
                     2 * gr_link_bytes(nslots, SIDE_SHORT) + gr_link_net_bytes(nslots, SIDE_SHORT));
    s.join.out.host[0].handle = s.join.in.host[0].handle;
    s.join.out.host[0].base = gr_slab_base(s.join.in.host[0].slab);
    side_end_join(&s, 0, 0);
    assert_int_equal(gr_team_links(s.team, use, 0, 1), GR_LINKS_THERE);
    b = gr_team_channel_set(s.team, use);
    for (k = 0; k < P; k++) {
        assert_null(s.team->data.in[k].shared);
        assert_true((0 == k) == (NULL == b->in[k].shared));
        assert_true((0 == k) == (NULL == b->out[k].shared));
    }
    assert_int_equal(b->out[FAR].slot_bytes, SIDE_SHORT);
    assert_int_equal(b->out[FAR].nslots, nslots);
    assert_non_null(b->out[FAR].valid_bytes);
    side_close(&s);
}

/* To all, as there is no torus. */
static void notes_have_links_of_their_own(void **state)
{
    makes_links_of_its_own(GR_USE_NOTES, SIDE_NOTE_SLOTS);
}

static void small_messages_have_links_of_their_own(void **state)
{
    makes_links_of_its_own(GR_USE_SMALL + GR_ALGO_FLAT, SIDE_SMALL_SLOTS);
}

/* Frames that the network was given come back only when it has left them. */
static void a_refused_set_up_waits_for_the_network(void **state)
{
    struct gr_host_connection in, out;
    struct side s;

    begin(&s);
    s.join.in.host[1].end.bell = s.join.out.host[1].end.bell = &bell;
    in = s.join.in.host[1];
    out = s.join.out.host[1];
    refuse(&s);
    assert_int_equal(gr_team_links(s.team, GR_ALGO_FLAT, 0, 1), GR_LINKS_REFUSED);
    assert_int_equal(gr_pool_usage(s.pool).leased,
                     gr_link_bytes(NSLOTS, SLOT) + gr_link_net_bytes(NSLOTS, SLOT));
    leave(in, out);
    assert_int_equal(gr_pool_usage(s.pool).leased, 0);
    side_close(&s);
}

/*
 * Links from rank 0 to both others; what is returned are those of the network, to be given to
 * leave().
 */
static void make_links(struct side *s, struct gr_host_op *op, struct gr_host_connection *in,
                       struct gr_host_connection *out)
{
    begin(s);
    s->join.in.host[1].end.bell = s->join.out.host[1].end.bell = &bell;
    *in = s->join.in.host[1];
    *out = s->join.out.host[1];
    s->join.out.host[0].handle = s->join.in.host[0].handle; /* that rank's slab: any */
    s->join.out.host[0].base = gr_slab_base(s->join.in.host[0].slab);
    side_end_join(s, 0, 1);
    op->in = s->team->data.in;
    op->out = s->team->data.out;
}

/* A step that sends 3 elements: says so, and is over when the network has taken them. */
static void slots_say_what_is_filled_and_are_waited_for(void **state)
{
    uint32_t data[5] = {1, 2, 3, 4, 5};
    struct gr_step step = {.bits = GR_SEND, .operand = GR_IN, .nto = 1, .to = {FAR}, .count = 1};
    struct gr_move two = {.step = &step, .count = 2},
                   one = {.step = &step, .count = 1, .slot = 2, .operand = 2, .last = 1};
    struct gr_host_op op = {.p = P, .reducer = {.elem_bytes = sizeof(data[0])}};
    struct gr_host_connection in, out;
    struct gr_link network = {0};
    struct side s;
    int ranks[2 * GR_FAN];

    make_links(&s, &op, &in, &out);
    op.space[GR_IN] = (unsigned char *) data;
    assert_null(s.team->data.out[NEAR].valid_bytes);
    assert_non_null(s.team->data.out[FAR].valid_bytes);
    assert_true(gr_host_backend.finished(&op));
    assert_int_equal(gr_host_backend.move(&op, &two), 0);
    assert_int_equal(gr_host_backend.move(&op, &one), 0);
    gr_host_backend.commit(&op, 0, &step);
    assert_int_equal(gr_host_backend.move(&op, &two), 0);
    gr_host_backend.commit(&op, 0, &step);
    assert_false(gr_host_backend.finished(&op));
    assert_int_equal(gr_host_waits_for(&op, 0, NULL, ranks), 1);
    assert_int_equal(ranks[0], FAR);
    gr_link_attach(&network, gr_slab_base(out.slab), 0, NSLOTS, SLOT);
    assert_true(gr_link_readable(&network));
    assert_memory_equal(gr_link_slot(&network), data, 12);
    assert_int_equal(s.team->data.out[FAR].valid_bytes[network.mine % NSLOTS], 12);
    gr_link_pop(&network);
    assert_int_equal(s.team->data.out[FAR].valid_bytes[network.mine % NSLOTS], 8);
    assert_false(gr_host_backend.finished(&op));
    gr_link_pop(&network);
    assert_true(gr_host_backend.finished(&op));
    gr_team_destroy(s.team, s.pool);
    s.team = NULL;
    assert_true(gr_pool_usage(s.pool).leased > 0);
    leave(in, out);
    assert_int_equal(gr_pool_usage(s.pool).leased, 0);
    side_close(&s);
}

/* A link of rank 0's whose reader, or whose writer, is played here. */
static struct gr_link other_end(struct gr_host_connection wire)
{
    struct gr_link l;

    gr_link_attach(&l, gr_slab_base(wire.slab), 0, NSLOTS, SLOT);
    return l;
}

/* Whether the network's doorbell was rung since the last time. */
static bool was_rung(void)
{
    struct gr_doorbell *first = gr_doorbells_take(&rung);

    return NULL != first && NULL == gr_doorbell_clear(first);
}

/*
 * The end of a call looks at the links that it has pushed to, and no others; the network hears of
 * those that are its own.
 */
static void other_links_are_not_looked_at(void **state)
{
    uint32_t word = 7;
    struct gr_step to_far = {.bits = GR_SEND, .operand = GR_IN, .nto = 1, .to = {FAR}, .count = 1},
                   to_near = to_far, to_both = to_far;
    struct gr_move mv = {.step = &to_far, .count = 1, .last = 1};
    struct gr_host_op op = {.p = P, .reducer = {.elem_bytes = sizeof(word)}};
    struct gr_host_connection in, out;
    struct gr_link network, near, *other;
    struct side s;
    int ranks[2 * GR_FAN];

    to_near.to[0] = to_both.to[0] = NEAR;
    to_both.to[1] = FAR;
    to_both.nto = 2;
    make_links(&s, &op, &in, &out);
    network = other_end(out);
    op.space[GR_IN] = (unsigned char *) &word;
    gr_link_attach(&near, op.out[NEAR].shared, op.out[NEAR].mine, NSLOTS, SLOT);
    other = &op.out[0]; /* a link that is not there: to look at it ends the test */
    other->mine = 1;
    other->valid_bytes = &word;
    other->shared = (struct gr_link_shared *) 8;
    assert_true(gr_host_backend.finished(&op));
    assert_false(was_rung());
    assert_int_equal(gr_host_backend.move(&op, &mv), 0);
    gr_host_backend.commit(&op, 0, &to_far);
    assert_true(was_rung());
    assert_false(gr_host_backend.finished(&op));
    assert_int_equal(gr_host_waits_for(&op, 0, NULL, ranks), 1);
    gr_link_pop(&network);
    assert_true(gr_host_backend.finished(&op));
    mv.step = &to_near;
    assert_int_equal(gr_host_backend.move(&op, &mv), 0);
    gr_host_backend.commit(&op, 0, &to_near);
    assert_false(was_rung());
    assert_true(gr_host_backend.finished(&op));
    mv.step = &to_both; /* in a direct plan both must have read */
    op.direct = 1;
    assert_int_equal(gr_host_backend.move(&op, &mv), 0);
    gr_host_backend.commit(&op, 0, &to_both);
    gr_link_pop(&near);
    gr_link_pop(&near);
    assert_false(gr_host_backend.finished(&op));
    gr_link_pop(&network);
    assert_true(gr_host_backend.finished(&op));
    assert_true(was_rung());
    other->shared = NULL;
    network = other_end(in); /* as a writer */
    gr_link_push(&network);
    assert_true(gr_link_readable(&op.in[FAR]));
    gr_link_pop(&op.in[FAR]);
    assert_true(was_rung());
    leave(in, out);
    side_close(&s);
}

/* What the network is to send of a slot: from there; NULL: from the slot. */
static const void *origin(const struct side *s, uint64_t slot)
{
    return s->team->data.out[FAR].data_at[slot % NSLOTS];
}

static void move_one(struct gr_host_op *op, const struct gr_step *step, size_t operand,
                     size_t count)
{
    struct gr_move mv = {
        .step = step, .operand = operand, .dest = operand, .count = count, .last = 1};

    assert_true(gr_host_backend.ready(op, 0, step));
    assert_int_equal(gr_host_backend.move(op, &mv), 0);
    gr_host_backend.commit(op, 0, step);
}

/*
 * From 3 elements on, in one piece: sent, sent and stored, and passed on after it was stored. All
 * others are in the slot.
 */
static void what_lies_in_buffers_is_sent_from_there(void **state)
{
    static const uint32_t word = 77;
    uint32_t in_data[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out_data[8] = {0};
    struct gr_step send = {.bits = GR_SEND, .operand = GR_IN, .nto = 1, .to = {FAR}, .count = 1};
    struct gr_step both = {
        .bits = GR_SEND | GR_STORE, .dest = GR_OUT, .nto = 2, .to = {NEAR, FAR}, .count = 1};
    struct gr_step pass = {
        .bits = GR_RECV | GR_SEND, .nfrom = 1, .from = {NEAR}, .nto = 1, .to = {FAR}, .count = 1};
    struct gr_move half = {.step = &send, .operand = 1, .count = 4},
                   rest = {
                       .step = &send, .operand = 5, .slot = 4, .count = 3, .piece = 1, .last = 1};
    struct gr_host_op op = {.p = P, .zero_copy = 12, .reducer = {.elem_bytes = 4}};
    struct gr_host_connection in, out;
    struct gr_link network, near_in;
    struct side s;
    uint64_t first;

    make_links(&s, &op, &in, &out);
    op.space[GR_IN] = (unsigned char *) in_data;
    op.space[GR_OUT] = (unsigned char *) out_data;
    network = other_end(out);
    first = network.mine;
    assert_null(s.team->data.out[NEAR].data_at);
    move_one(&op, &send, 2, 3);
    assert_ptr_equal(origin(&s, first), in_data + 2);
    assert_memory_not_equal(gr_link_slot(&network), in_data + 2, 12); /* there is no copy */
    move_one(&op, &both, 1, 4);
    assert_ptr_equal(origin(&s, first + 1), in_data + 1);
    assert_memory_equal(out_data + 1, in_data + 1, 16);
    assert_memory_equal(s.team->data.out[NEAR].shared->slots +
                            (s.team->data.out[NEAR].mine - 1) % NSLOTS * SLOT,
                        in_data + 1, 16);
    move_one(&op, &send, 2, 2); /* too small */
    assert_null(origin(&s, first + 2));
    assert_int_equal(gr_host_backend.move(&op, &half), 0); /* two pieces */
    assert_int_equal(gr_host_backend.move(&op, &rest), 0);
    gr_host_backend.commit(&op, 0, &send);
    assert_null(origin(&s, first + 3));
    for (; network.mine < first + 4; gr_link_pop(&network)) {
        assert_true(gr_link_readable(&network));
        assert_false(gr_host_backend.finished(&op));
        if (network.mine == first + 3) {
            assert_memory_equal(gr_link_slot(&network), in_data + 1, 28);
        }
    }
    assert_true(gr_host_backend.finished(&op));
    near_in = s.team->data.in[NEAR]; /* the neighbour writes */
    memcpy(gr_link_slot(&near_in), &word, sizeof(word));
    gr_link_push(&near_in);
    op.zero_copy = 1;
    move_one(&op, &pass, 0, 1); /* is nowhere but in slots */
    assert_null(origin(&s, first + 4));
    assert_memory_equal(gr_link_slot(&network), &word, sizeof(word));
    memcpy(gr_link_slot(&near_in), &word, sizeof(word));
    gr_link_push(&near_in);
    pass.bits |= GR_STORE;
    pass.dest = GR_OUT;
    move_one(&op, &pass, 7, 1);
    assert_int_equal(out_data[7], 77);
    assert_ptr_equal(origin(&s, first + 5), out_data + 7);
    op.zero_copy = 0;
    move_one(&op, &send, 0, 8);
    assert_null(origin(&s, first + 6));
    assert_int_equal(op.zero_copies, 3);
    leave(in, out);
    side_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_connections_come_first_and_remote_ones_have_slabs_here),
        cmocka_unit_test(addresses_of_an_earlier_lease_are_forgotten),
        cmocka_unit_test(there_are_neither_boards_nor_direct_plans),
        cmocka_unit_test(notes_have_links_of_their_own),
        cmocka_unit_test(small_messages_have_links_of_their_own),
        cmocka_unit_test(a_refused_set_up_waits_for_the_network),
        cmocka_unit_test(other_links_are_not_looked_at),
        cmocka_unit_test(what_lies_in_buffers_is_sent_from_there),
        cmocka_unit_test(slots_say_what_is_filled_and_are_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
