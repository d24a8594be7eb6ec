/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links to ranks that share no memory with this one, as far as executors go (exec/team.h): the frames of both directions
 * are here, and belong to the network too until it has left them. The test is the network.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/host.h"
#include "exec/team.h"

enum { P = 3, NSLOTS = 4, SLOT = 256, NEAR = 1, FAR = 2 };

struct side {
    struct gr_pool *pool;
    struct gr_team *team;
    struct gr_join join;
};

static const unsigned char remote[P] = {[FAR] = 1};
static const int32_t pids[P];

/* Rank 0 of three, the last of which is elsewhere, in the middle of making links to all. */
static void begin(struct side *s)
{
    struct gr_team_params params = {
        .p = P, .nchannels = 1, .nslots = NSLOTS, .slot_bytes = SLOT, .nsets = 2, .box_bytes = 64, .arrival_bytes = 64,
        .small_slots = 8, .small_bytes = 64, .note_slots = 2, .note_bytes = 64, .pids = pids, .remote = remote, .direct = 1,
    };

    s->pool = gr_pool_open("/dev/shm", (struct gr_peer_id) {1, 0}, (size_t) 1 << 20);
    assert_non_null(s->pool);
    s->team = gr_team_create(&params);
    assert_non_null(s->team);
    assert_int_equal(gr_join_begin(&s->join, s->team, s->pool, GR_ALGO_FLAT, 0), 0);
    assert_int_equal(s->join.status, 0);
}

static void end(struct side *s)
{
    gr_team_destroy(s->team, s->pool);
    gr_pool_close(s->pool);
}

/* What the network does when it has left all: the doors of both directions. */
static void leave(struct gr_wire in, struct gr_wire out)
{
    gr_door_leave(&((struct gr_link_shared *) gr_frame_base(in.frame))->writer, in.offer.lease);
    gr_door_leave(&((struct gr_link_shared *) gr_frame_base(out.frame))->writer, out.offer.lease);
}

static void near_wires_come_first_and_remote_ones_have_frames_here(void **state)
{
    struct side s;

    (void) state;
    begin(&s);
    assert_int_equal(s.join.nin, 2);
    assert_int_equal(s.join.near_in, 1);
    assert_int_equal(s.join.in[0].rank, NEAR);
    assert_int_equal(s.join.in[1].rank, FAR);
    assert_int_equal(s.join.nout, 2);
    assert_int_equal(s.join.near_out, 1);
    assert_int_equal(s.join.out[0].rank, NEAR);
    assert_null(s.join.out[0].frame);
    assert_int_equal(s.join.out[1].rank, FAR);
    assert_non_null(s.join.out[1].frame);
    assert_true(s.join.out[1].offer.lease > 0);
    gr_join_end(&s.join, s.pool, (struct gr_verdict) {GR_ERR_NET, 0});
    end(&s);
}

static void there_are_neither_boards_nor_direct_plans(void **state)
{
    struct side s;

    (void) state;
    begin(&s);
    assert_int_equal(gr_team_links(s.team, GR_WAY_MAILBOX, 0), GR_LINKS_REFUSED);
    assert_int_equal(gr_team_links(s.team, GR_WAY_ARRIVALS, 0), GR_LINKS_REFUSED);
    assert_int_equal(gr_join_map(&s.join, s.pool).direct, 0);
    gr_join_end(&s.join, s.pool, (struct gr_verdict) {GR_ERR_NET, 0});
    end(&s);
}

/* Links to all, that many slots of 64 bytes; and no others are made. */
static void makes_links_of_its_own(int way, uint32_t nslots)
{
    const struct gr_bundle *b;
    struct side s;
    int k;

    begin(&s);
    gr_join_end(&s.join, s.pool, (struct gr_verdict) {GR_ERR_NET, 0});
    assert_int_equal(gr_team_links(s.team, way, 0), GR_LINKS_NONE);
    assert_int_equal(gr_join_begin(&s.join, s.team, s.pool, way, 0), 0);
    assert_int_equal(s.join.status | (s.join.nin - 2) | (s.join.near_in - 1), 0);
    assert_int_equal(gr_pool_usage(s.pool).leased, 2 * gr_link_bytes(nslots, 64) + gr_link_filled_bytes(nslots, 64));
    s.join.out[0].offer = s.join.in[0].offer;
    s.join.out[0].base = gr_frame_base(s.join.in[0].frame);
    gr_join_end(&s.join, s.pool, (struct gr_verdict) {0, 0});
    assert_int_equal(gr_team_links(s.team, way, 0), GR_LINKS_THERE);
    b = gr_team_bundle(s.team, way);
    for (k = 0; k < P; k++) {
        assert_null(s.team->data.in[k].shared);
        assert_true((0 == k) == (NULL == b->in[k].shared));
        assert_true((0 == k) == (NULL == b->out[k].shared));
    }
    assert_int_equal(b->out[FAR].slot_bytes, 64);
    assert_int_equal(b->out[FAR].nslots, nslots);
    assert_non_null(b->out[FAR].fill);
    end(&s);
}

/* To all, as there is no torus. */
static void notes_have_links_of_their_own(void **state)
{
    (void) state;
    makes_links_of_its_own(GR_WAY_NOTES, 2);
}

static void small_messages_have_links_of_their_own(void **state)
{
    (void) state;
    makes_links_of_its_own(GR_WAY_SMALL + GR_ALGO_FLAT, 8);
}

/* Frames that the network was given come back only when it has left them. */
static void a_refused_set_up_waits_for_the_network(void **state)
{
    struct gr_wire in, out;
    struct side s;

    (void) state;
    begin(&s);
    s.join.in[1].used = s.join.out[1].used = 1;
    in = s.join.in[1];
    out = s.join.out[1];
    gr_join_end(&s.join, s.pool, (struct gr_verdict) {GR_ERR_NET, 0});
    assert_int_equal(gr_team_links(s.team, GR_ALGO_FLAT, 0), GR_LINKS_REFUSED);
    assert_int_equal(gr_pool_usage(s.pool).leased,
                     gr_link_bytes(NSLOTS, SLOT) + gr_link_filled_bytes(NSLOTS, SLOT));
    leave(in, out);
    assert_int_equal(gr_pool_usage(s.pool).leased, 0);
    end(&s);
}

/* A step that sends 3 elements: says so, and is over when the network has taken them. */
static void slots_say_what_is_filled_and_are_waited_for(void **state)
{
    uint32_t data[5] = {1, 2, 3, 4, 5};
    struct gr_step step = {.bits = GR_SEND, .operand = GR_IN, .nto = 1, .to = {FAR}, .count = 1};
    struct gr_move two = {.step = &step, .count = 2}, one = {.step = &step, .count = 1, .slot = 2, .operand = 2, .last = 1};
    struct gr_host_op op = {.p = P, .nchannels = 1, .remote = 1, .reducer = {.elem_bytes = sizeof(data[0])}};
    struct gr_wire in, out;
    struct gr_link network = {0};
    struct side s;
    int ranks[2 * GR_FAN];

    (void) state;
    begin(&s);
    s.join.in[1].used = s.join.out[1].used = 1;
    in = s.join.in[1];
    out = s.join.out[1];
    s.join.out[0].offer = s.join.in[0].offer; /* that rank's frame: any */
    s.join.out[0].base = gr_frame_base(s.join.in[0].frame);
    gr_join_end(&s.join, s.pool, (struct gr_verdict) {0, 1});
    op.in = s.team->data.in;
    op.out = s.team->data.out;
    op.space[GR_IN] = (unsigned char *) data;
    assert_null(s.team->data.out[NEAR].fill);
    assert_non_null(s.team->data.out[FAR].fill);
    assert_true(gr_host_mover.finished(&op));
    assert_int_equal(gr_host_mover.move(&op, &two), 0);
    assert_int_equal(gr_host_mover.move(&op, &one), 0);
    gr_host_mover.commit(&op, 0, &step);
    assert_int_equal(gr_host_mover.move(&op, &two), 0);
    gr_host_mover.commit(&op, 0, &step);
    assert_false(gr_host_mover.finished(&op));
    assert_int_equal(gr_host_waits_for(&op, 0, NULL, ranks), 1);
    assert_int_equal(ranks[0], FAR);
    gr_link_attach(&network, gr_frame_base(out.frame), out.offer.count, NSLOTS, SLOT);
    assert_true(gr_link_readable(&network));
    assert_memory_equal(gr_link_slot(&network), data, 12);
    assert_int_equal(s.team->data.out[FAR].fill[network.mine % NSLOTS], 12);
    gr_link_pop(&network);
    assert_int_equal(s.team->data.out[FAR].fill[network.mine % NSLOTS], 8);
    assert_false(gr_host_mover.finished(&op));
    gr_link_pop(&network);
    assert_true(gr_host_mover.finished(&op));
    gr_team_destroy(s.team, s.pool);
    s.team = NULL;
    assert_true(gr_pool_usage(s.pool).leased > 0);
    leave(in, out);
    assert_int_equal(gr_pool_usage(s.pool).leased, 0);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_wires_come_first_and_remote_ones_have_frames_here),
        cmocka_unit_test(there_are_neither_boards_nor_direct_plans),
        cmocka_unit_test(notes_have_links_of_their_own),
        cmocka_unit_test(small_messages_have_links_of_their_own),
        cmocka_unit_test(a_refused_set_up_waits_for_the_network),
        cmocka_unit_test(slots_say_what_is_filled_and_are_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
