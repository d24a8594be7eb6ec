/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device part of a team (exec/gpu/team.h, gpu_join.c, gpu_op.h) without MPI: ranks of one
 * process on the fake driver. Here: calls of every kind against results computed on the host, and
 * kernels that find no place.
 *
 * Environment: GPURING_SEED; TEAM_TEST_ONE_IN=N: one in N cases; TEAM_TEST_NODES=N: ranks on so
 * many nodes; TEAM_TEST_GATE: through a gate; TEAM_TEST_DIRECT: networks reach devices;
 * TEAM_TEST_KERNELS: files with the kernels of team_kernels.cu only; and what device_rows.h says.
 */
#include "team_net.h"
#include "team_rows.h"

#include "depth.h"
#include "exec_cases.h"
#include "rng.h"

/* Ranks at most, and one in how many cases: sanitizers and bad orders of threads are slow. */
struct effort {
    int most;
    unsigned one_in;
};
enum { SHORT = GR_SANITIZER(16, 8, 8) }; /* one in so many more in ./check without --all */
static const struct effort effort = {GR_SANITIZER(5, 5, 3), GR_SANITIZER(1, 12, 48)};

static uint64_t seed;

static void shuffle(int *order, int p)
{
    int k, other, held;

    for (k = 0; k < p; k++) {
        order[k] = k;
    }
    for (k = p; k > 1; k--) {
        other = rng_below(&seed, k);
        held = order[k - 1];
        order[k - 1] = order[other];
        order[other] = held;
    }
}

/* ---- every collective and algorithm ---- */

/* What exec_cases.h makes cases for. */
static struct ex_world world_of(const struct tr_shape *shape, int p)
{
    struct ex_world w = {.params = {.p = p,
                                    .nchannels = shape->nchannels,
                                    .nslots = shape->nslots,
                                    .slot_bytes = shape->slot_bytes,
                                    .torus = shape->torus}};

    return w;
}

/*
 * A collective by an algorithm: nothing, one element, an odd number, more than the slots hold;
 * counts that differ.
 */
static void add_sizes(struct ex_batch *b, const struct tr_shape *shape, int p, int algo,
                      enum gr_coll coll)
{
    struct ex_world w = world_of(shape, p);
    size_t slots = shape->nchannels * shape->nslots * shape->slot_bytes;
    const char *thinner = getenv("TEAM_TEST_ONE_IN");
    unsigned one_in = effort.one_in * (unsigned) depth(SHORT, 1) *
                      (NULL == thinner ? 1 : (unsigned) atoi(thinner));
    int size, place;

    for (size = 0; size < 5; size++) {
        for (place = 0; place < 2; place++) {
            struct ex_case *c = ex_add(b, &w, algo, coll);
            size_t elem, sizes[] = {0, 1, 37, 0, 0};

            c->kind = EX_TRIPLE == c->kind ? EX_I32_SUM : c->kind;
            elem = ex_kinds[c->kind].elem_bytes;
            sizes[3] = 2 * slots / elem + 5;
            if (p > effort.most && 0 != c->chunk_bytes && c->chunk_bytes < 64) {
                c->chunk_bytes = 64; /* chunks of an element take very long with many ranks */
            }
            c->in_place = place;
            c->protocol = (enum gr_protocol) rng_below(&seed, GR_NPROTOCOLS);
            c->zero_copy = 0 != rng_below(&seed, 4);
            if (NULL != tn_remote(0) || gr_algo_message_chunks((enum gr_algo) algo, coll, p,
                                                               &shape->torus) >= shape->nslots) {
                /* in lines each chunk of a message takes a slot */
                c->protocol = GR_PROTOCOL_SIMPLE;
            }
            c->threads = 32 + 32 * (uint32_t) rng_below(&seed, 2);
            c->count = sizes[size];
            if (4 == size && ex_has_counts(coll)) {
                ex_make_counts(b, c, p, shape->slot_bytes / elem, GR_COLL_ALLGATHER == coll);
            } else if (4 == size) {
                c->count = sizes[3] / 2;
            }
            b->n -= 0 != rng_below(&seed, one_in);
        }
    }
}

/* A torus of so many ranks. */
static struct gr_torus torus_of(int p)
{
    return p > 2 && 0 == p % 2
               ? (struct gr_torus) {.ndims = 2, .dims = {2, p / 2}, .mesh = 6 == p ? 2 : 0}
               : (struct gr_torus) {.ndims = 1, .dims = {p}};
}

/* Nodes of so many ranks. */
static int nodes_of(int p)
{
    const char *nodes = getenv("TEAM_TEST_NODES");
    int n = NULL == nodes ? 1 : atoi(nodes);

    return n < p ? n : p;
}

/* Every algorithm that fits; along: those along a torus, only. */
static void sweep(struct tr_shape shape, int p, int along)
{
    struct ex_batch b = {.random = &seed};
    struct tr_world w;
    struct tr_team t;
    int algo, coll;

    seed = 0 == seed ? rng_seed() : seed;
    tn_open(nodes_of(p));
    tr_open(&w, p, NULL);
    shuffle(shape.order, p);
    shape.torus = 0 == shape.torus.ndims ? torus_of(p) : shape.torus;
    tr_make(&t, &w, &shape);
    for (algo = 0; algo < GR_NALGOS; algo++) {
        for (coll = 0; coll < GR_NCOLLS; coll++) {
            if (gr_algo_has((enum gr_algo) algo, (enum gr_coll) coll) &&
                gr_algo_fits((enum gr_algo) algo, p, &shape.torus) &&
                (!along || gr_algo_is_by_rank((enum gr_algo) algo))) {
                add_sizes(&b, &shape, p, algo, (enum gr_coll) coll);
            }
        }
    }
    ex_shuffle(&b);
    tc_run(&t, b.cases, b.n);
    tr_leave(&t);
    tr_close(&w);
    tn_close();
    free(b.cases);
}

static void every_call_is_as_on_the_host(void)
{
    static const struct tr_shape shape = {.nchannels = 3, .nslots = 2, .slot_bytes = 256};
    int p;

    for (p = 1; p <= effort.most; p++) {
        sweep(shape, p, 0);
    }
}

#if !TR_TSAN
static void few_slots_and_few_ranks(void)
{
    static const struct tr_shape shape = {.nchannels = 2, .nslots = 3, .slot_bytes = 128};

    sweep(shape, 2, 0);
    sweep(shape, 3, 0);
}

/* More channels than some have ways through the torus, whose links lead to different ranks. */
static void channels_go_their_own_ways(void)
{
    static const struct gr_torus tori[] = {
        {.ndims = 2, .dims = {4, 2}},
        {.ndims = 3, .dims = {2, 2, 2}, .mesh = 2},
        {.ndims = 2, .dims = {2, 3}, .mesh = 3},
    };
    struct tr_shape shape = {.nchannels = 5, .nslots = 3, .slot_bytes = 256};
    size_t k;

    for (k = 0; k < sizeof(tori) / sizeof(tori[0]); k++) {
        shape.torus = tori[k];
        sweep(shape, gr_torus_size(&tori[k]), 1);
    }
}
#endif

/* ---- kernels that find no place ---- */

/* A device of one SM, which holds four blocks of that size: four ranks of three channels each. */
static void more_blocks_than_are_resident(void)
{
    static const struct tr_shape shape = {.nchannels = 3, .nslots = 2, .slot_bytes = 256};
    struct ex_case cases[] = {
        TC_CASE(ALLREDUCE, RING, 0, I32_SUM, 3, 300),
        TC_CASE(BCAST, CHAIN, 2, I32_SUM, 3, 500),
        TC_CASE(ALLREDUCE, TREE, 0, I8_SUM, 3, 600),
    };
    unsigned launches = 0;
    struct tr_world w;
    struct tr_team t;
    int r;

    tr_open(&w, 4, NULL);
    tr_make(&t, &w, &shape);
    for (r = 0; r < 4; r++) {
        CHECK_INT(t.ranks[r]->usable, 1); /* what is resident with full blocks; */
        t.ranks[r]->usable = 3;           /* it only takes longer otherwise */
    }
    tc_run(&t, cases, 3);
    CHECK_INT(t.ranks[0]->usable, 3);
    for (r = 0; r < 4; r++) {
        launches += td_calls(TD_LAUNCH, r);
    }
    CHECK(launches > 3 * 4); /* some left, and came again */
    tr_leave(&t);
    tr_close(&w);
}

/*
 * Two ranks begin calls of two teams in the opposite order; a rank's first calls take the whole
 * device.
 */
struct opposite {
    struct tr_team teams[2];
    struct ex_case cases[2];
};

static void run_opposite(void *ctx, int rank)
{
    struct opposite *o = ctx;
    struct tc_call calls[2];
    int k, round, through[2];

    for (round = 0; round < 2; round++) {
        for (k = 0; k < 2; k++) {
            CHECK_INT(tc_begin(&calls[k], &o->teams[k ^ rank], rank, &o->cases[k ^ rank]), 0);
            (void) tc_poll(&calls[k]); /* launched, in this order */
        }
        through[0] = through[1] = 0;
        while (!through[0] || !through[1]) {
            for (k = 0; k < 2; k++) {
                int rc = through[k] ? GR_DONE : tc_poll(&calls[k]);

                CHECK(rc >= 0);
                through[k] = GR_DONE == rc;
            }
        }
        tc_end(&calls[0]);
        tc_end(&calls[1]);
    }
}

static void teams_in_the_opposite_order(void)
{
    static const struct tr_shape shape = {.nchannels = 4, .nslots = 2, .slot_bytes = 256};
    struct opposite o = {.cases = {
                             TC_CASE(ALLREDUCE, RING, 0, F64_SUM, 4, 400),
                             TC_CASE(ALLGATHER, FLAT, 0, I32_SUM, 4, 200),
                         }};
    struct tr_world w;
    int k;

    tr_open(&w, 2, NULL);
    for (k = 0; k < 2; k++) {
        tr_make(&o.teams[k], &w, &shape);
        o.teams[k].ranks[0]->usable = o.teams[k].ranks[1]->usable = 4;
        CHECK_INT(tr_link(&o.teams[k], (enum gr_algo) o.cases[k].algo, 0), 0);
    }
    tr_each(2, run_opposite, &o);
    tr_leave(&o.teams[0]);
    tr_leave(&o.teams[1]);
    tr_close(&w);
}

/* ---- rows ---- */

#define WEAK "FAKECUDA_WEAK=13 FAKECUDA_SCHED=lag:17 "
#define JITTER "FAKECUDA_WEAK=19 FAKECUDA_SCHED=rand:23 FAKECUDA_JITTER=29 FAKECUDA_DELAY=31 "

#define DIRECT "TEAM_TEST_DIRECT=1 "

static struct row rows[] = {
#if TR_TSAN
    ROW(every_call_is_as_on_the_host, "FAKECUDA_SMS=1"), /* few blocks at a time */
#else
    ROW(every_call_is_as_on_the_host, NULL),
    ROW_AS("the_same_with_weak_memory", every_call_is_as_on_the_host, WEAK "TEAM_TEST_ONE_IN=3"),
    ROW_AS("the_same_in_any_order", every_call_is_as_on_the_host, JITTER "TEAM_TEST_ONE_IN=3"),
    ROW_AS("the_same_between_devices", every_call_is_as_on_the_host,
           "FAKECUDA_DEVICES=4 TEAM_TEST_ONE_IN=4"),
    ROW_AS("the_same_with_links_of_both_kinds", every_call_is_as_on_the_host,
           "FAKECUDA_DEVICES=4 FAKECUDA_PEER=pairs TEAM_TEST_ONE_IN=4"),
#if GR_SANITIZER(1, 0, 0)
    ROW_AS("the_same_with_interpreted_kernels", every_call_is_as_on_the_host,
           "FAKECUDA_PTX=1 FAKECUDA_DEVICES=4 TEAM_TEST_ONE_IN=12"),
    ROW_AS("the_same_with_interpreted_kernels_and_weak_memory", every_call_is_as_on_the_host,
           "FAKECUDA_PTX=1 " WEAK "TEAM_TEST_ONE_IN=12"),
#endif
    ROW(few_slots_and_few_ranks, NULL),
    ROW(channels_go_their_own_ways, NULL),
    ROW_AS("the_same_between_nodes_with_weak_memory", every_call_is_as_on_the_host,
           WEAK "TEAM_TEST_NODES=3 TEAM_TEST_ONE_IN=4"),
    ROW_AS("the_same_between_nodes_in_any_order", every_call_is_as_on_the_host,
           JITTER "TEAM_TEST_NODES=3 TEAM_TEST_ONE_IN=6"),
    ROW_AS("the_same_along_tori_between_nodes", channels_go_their_own_ways,
           "FAKECUDA_DEVICES=2 TEAM_TEST_NODES=2 TEAM_TEST_ONE_IN=6"),
    ROW_AS("the_same_between_nodes_and_their_devices_with_weak_memory",
           every_call_is_as_on_the_host, WEAK DIRECT "TEAM_TEST_NODES=3 TEAM_TEST_ONE_IN=4"),
    ROW_AS("the_same_between_nodes_and_their_devices_in_any_order", every_call_is_as_on_the_host,
           JITTER DIRECT "FAKECUDA_NIC=ordered TEAM_TEST_NODES=3 TEAM_TEST_ONE_IN=6"),
    ROW_AS("the_same_along_tori_between_devices", channels_go_their_own_ways,
           "FAKECUDA_DEVICES=4 TEAM_TEST_ONE_IN=4"),
#endif
    ROW_AS("the_same_with_links_on_the_host", every_call_is_as_on_the_host,
           "FAKECUDA_DEVICES=4 FAKECUDA_PEER=none TEAM_TEST_ONE_IN=4"),
    ROW_AS("the_same_between_nodes", every_call_is_as_on_the_host,
           "TEAM_TEST_NODES=2 TEAM_TEST_ONE_IN=2"),
    ROW_AS("the_same_between_nodes_and_their_devices", every_call_is_as_on_the_host,
           DIRECT "FAKECUDA_DEVICES=2 TEAM_TEST_NODES=2 TEAM_TEST_ONE_IN=4"),
    ROW_AS("the_same_between_nodes_through_a_gate", every_call_is_as_on_the_host,
           "TEAM_TEST_NODES=2 TEAM_TEST_GATE=1 TEAM_TEST_ONE_IN=6"),
    ROW(every_type_and_operation_has_its_kernel, NULL),
    ROW(kernels_that_count_bytes_take_elements, NULL),
    ROW(more_blocks_than_are_resident, "FAKECUDA_SMS=1"),
    ROW(teams_in_the_opposite_order, "FAKECUDA_SMS=1"),
    ROW_AS("links_in_one_device", links_lie_where_both_ends_reach_them, NULL),
    ROW_AS("links_between_devices", links_lie_where_both_ends_reach_them, "FAKECUDA_DEVICES=2"),
    ROW_AS("links_on_the_host", links_lie_where_both_ends_reach_them,
           "FAKECUDA_DEVICES=4 FAKECUDA_PEER=none"),
    ROW_AS("links_of_both_kinds", links_lie_where_both_ends_reach_them,
           "FAKECUDA_DEVICES=4 FAKECUDA_PEER=pairs"),
    ROW(links_of_one_algorithm_serve_another, NULL),
    ROW(the_fewest_channels_are_used, NULL),
    ROW(a_pools_bound_is_reached, NULL),
    ROW(the_device_is_full, "FAKECUDA_MEM=10"),
    ROW(the_device_has_no_room_for_tables, "FAKECUDA_MEM=10"),
    ROW(a_rank_has_no_device, NULL),
    ROW(an_offer_cannot_be_mapped, NULL),
    ROW(an_answer_cannot_be_mapped, NULL),
    ROW(the_driver_fails_while_links_are_made, NULL),
    ROW(host_links_are_refused, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=none"),
    ROW(a_refusal_leaves_other_links, NULL),
    ROW(remote_links_lie_in_host_memory, NULL),
    ROW(remote_slots_lie_on_devices, DIRECT "FAKECUDA_DEVICES=2"),
    ROW(slots_that_need_no_flush, DIRECT "FAKECUDA_NIC=ordered"),
    ROW_AS("slots_that_the_network_does_not_reach", slots_that_cannot_lie_on_devices, NULL),
    ROW_AS("slots_that_cannot_be_flushed", slots_that_cannot_lie_on_devices,
           DIRECT "FAKECUDA_NIC=unflushed"),
    ROW_AS("slots_of_devices_without_direct_access", slots_that_cannot_lie_on_devices,
           DIRECT "FAKECUDA_NIC=none"),
    ROW(slots_find_no_room_on_devices, DIRECT),
    ROW(a_flush_fails_and_the_calls_abort, DIRECT),
    ROW_AS("a_connection_breaks_and_devices_are_left", a_connection_breaks_and_the_calls_abort,
           DIRECT),
    ROW_AS("remote_links_to_devices_are_refused", remote_links_are_refused, DIRECT),
    ROW(a_call_is_over_when_all_is_sent, NULL),
    ROW(what_is_for_other_nodes_waits_for_the_gate, NULL),
    ROW(the_end_waits_for_the_gate, NULL),
    ROW(a_connection_breaks_and_the_calls_abort, NULL),
    ROW(remote_links_are_refused, NULL),
    ROW(a_rank_never_begins_and_the_others_abort, NULL),
    ROW_AS("the_same_over_links_on_the_host", a_rank_never_begins_and_the_others_abort,
           "FAKECUDA_DEVICES=2 FAKECUDA_PEER=none"),
    ROW(calls_are_aborted_anywhere, NULL),
    ROW(abort_needs_no_launch, NULL),
    ROW(one_of_two_that_claim_leads, NULL),
    ROW(a_call_that_a_rank_has_left_is_not_launched, NULL),
    ROW(what_fails_before_the_launch_is_a_refusal_of_all, NULL),
    ROW(a_launch_fails, NULL),
    ROW(an_error_is_transient, NULL),
    ROW(a_kernel_dies, NULL),
    ROW(steps_are_written_once, NULL),
    ROW(a_call_cannot_begin, NULL),
    ROW(a_device_is_reset, NULL),
    ROW(those_waited_for_are_named, NULL),
    ROW(a_root_names_all_who_are_missing, NULL),
    ROW(a_writer_names_who_does_not_read, NULL),
};

int main(int argc, char **argv)
{
    return RUN_ROWS(rows, argc, argv);
}
