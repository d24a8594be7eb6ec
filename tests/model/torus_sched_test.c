/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Algorithms along a torus in the symbolic checker: right results in the stated order, no deadlock;
 * then, tick by tick, no link used twice by all channels together (all but Swing).
 */
#include "sched/sched.h"

#include "route.h"
#include "sanitizer/sanitizer.h"
#include "rng.h"
#include "torus_route.h"
#include "symbolic.h"
#include "depth.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmocka_test.h"

/* One in so many calls is run; a prime, so that all values that take turns come. */
enum { THINNING = GR_SANITIZER(1, 11, 11) };

static struct sym world;
static struct gr_torus torus; /* of the run */
static enum gr_algo algo;

static struct gr_sched sched_of(enum gr_coll coll, int rank, int root, int channel,
                                uint32_t nchunks)
{
    return (struct gr_sched) {.coll = coll,
                              .algo = algo,
                              .p = gr_torus_size(&torus),
                              .pos = rank,
                              .root = root,
                              .nchunks = nchunks,
                              .torus = torus,
                              .channel = channel};
}

static const char *describe(void)
{
    static char text[80];

    snprintf(text, sizeof(text), "%s %dD %dx%dx%dx%d lines %x", gr_algo_name(algo), torus.ndims,
             torus.dims[0], torus.dims[1], torus.dims[2], torus.dims[3], torus.mesh);
    return text;
}

/* ---- links ---- */

/* Mark the way of a message; how many of its links were marked. */
static int use_links(const struct gr_sched *s, const struct gr_step *t, uint8_t *used)
{
    int hops[GR_MAX_DIMS], at = s->pos, d, again = 0;

    route_of(s, t->to[0], hops);
    for (d = 0; d < torus.ndims; d++) {
        for (; 0 != hops[d]; hops[d] -= hops[d] > 0 ? 1 : -1) {
            again += used[torus_link(&torus, at, d, hops[d] > 0)]++;
            at = gr_torus_move(&torus, at, d, hops[d] > 0 ? 1 : -1);
            assert_true(at >= 0);
        }
    }
    assert_int_equal(at, t->to[0]);
    return again;
}

/*
 * How often a link is used again in a tick, by all ranks and channels; all of these as channel 0
 * where `alike`.
 */
static int clashes(enum gr_coll coll, int root, int alike)
{
    int p = gr_torus_size(&torus), channels = (int) gr_algo_schedules(algo, coll, &torus), rank,
        channel, again = 0;
    size_t nlinks = (size_t) torus_links(&torus), ticks = 4096;
    uint8_t *used = calloc(nlinks * ticks, 1);

    assert_non_null(used);
    for (rank = 0; rank < p; rank++) {
        for (channel = 0; channel < channels; channel++) {
            struct gr_sched s = sched_of(coll, rank, root, alike ? 0 : channel, 2);
            uint32_t len = gr_sched_len(&s), i;

            for (i = 0; i < len; i++) {
                struct gr_step t = gr_sched_step(&s, i);

                assert_in_range(t.tick, 0, ticks - 1);
                again += t.nto > 0 ? use_links(&s, &t, used + (size_t) t.tick * nlinks) : 0;
            }
        }
    }
    free(used);
    return again;
}

/* Swing's messages share links; two levels and trees of nodes know no links of a torus. */
static int promises_links(void)
{
    return GR_ALGO_SWING != algo && GR_ALGO_TWO_LEVEL != algo && GR_ALGO_NODE_TREE != algo &&
           GR_ALGO_DOUBLING != algo && GR_ALGO_PAT != algo && GR_ALGO_DISSEMINATION != algo;
}

/* ---- running ---- */

/* Next collective that algo has, from `coll` on; GR_NCOLLS: none. */
static enum gr_coll next_coll(int coll)
{
    while (coll < GR_NCOLLS && !gr_algo_has(algo, (enum gr_coll) coll)) {
        coll++;
    }
    return (enum gr_coll) coll;
}

static int is_rooted(enum gr_coll coll)
{
    return GR_COLL_BCAST == coll || GR_COLL_REDUCE == coll;
}

static enum sym_check run_case(enum gr_coll coll, int root, uint32_t chunks, enum sym_policy policy,
                               int in_place)
{
    size_t most = gr_algo_message_chunks(algo, coll, gr_torus_size(&torus), &torus);
    struct sym_case c = {.algo = algo,
                         .coll = coll,
                         .p = gr_torus_size(&torus),
                         .torus = torus,
                         .root = root,
                         .chunk_elems = 1,
                         .align = 1,
                         .policy = policy,
                         .in_place = in_place && GR_COLL_ALLTOALL != coll,
                         .zero_copy = (int) (world.runs % 2),
                         .seed = rng_seed()};

    c.nchannels = gr_algo_schedules(algo, coll, &torus);
    c.slot_elems = most < GR_DIRECT_PIECES ? most : GR_DIRECT_PIECES;
    /* as sched.h says, and no more */
    c.slots = 1 + (uint32_t) ((most + c.slot_elems - 1) / c.slot_elems);
    sym_size(&c, chunks, chunks > 1 ? 1 : 0);
    return sym_run(&world, &c);
}

static void run(enum gr_algo which)
{
    static unsigned turn;
    int p = gr_torus_size(&torus), coll, root;

    algo = which;
    for (coll = next_coll(0); coll < GR_NCOLLS && gr_algo_fits(algo, p, &torus);
         coll = next_coll(coll + 1)) {
        for (root = 0; root < (gr_algo_is_rooted(algo) && is_rooted((enum gr_coll) coll) ? p : 1);
             root += 1 + p / 5) {
            int policy;

            if (0 != turn++ % THINNING) {
                continue;
            }
            policy = p > 128 ? SYM_ROUND : (p + root) % SYM_NPOLICIES;

            if (SYM_OK != run_case((enum gr_coll) coll, root, 1 + (uint32_t) (p + root) % 2,
                                   (enum sym_policy) policy, (p + root) % 3 == 0)) {
                fail_msg("%s %s root %d: %s", describe(), gr_coll_name((enum gr_coll) coll), root,
                         world.why);
            }
            if (promises_links() && 0 != clashes((enum gr_coll) coll, root, 0)) {
                fail_msg("%s %s root %d: a link is used twice in a tick", describe(),
                         gr_coll_name((enum gr_coll) coll), root);
            }
        }
    }
}

/*
 * All tori of so many dimensions with extents 1..most and at most p ranks, lines included where
 * asked for.
 */
static void run_all(enum gr_algo which, int ndims, int most, int p, int lines)
{
    int dims[GR_MAX_DIMS] = {1, 1, 1, 1}, d;
    unsigned mesh;

    do {
        for (mesh = 0; mesh < (lines ? 1u << ndims : 1u); mesh++) {
            torus = (struct gr_torus) {
                .ndims = ndims, .dims = {dims[0], dims[1], dims[2], dims[3]}, .mesh = mesh};
            if (gr_torus_size(&torus) <= p) {
                run(which);
            }
        }
        for (d = 0; d < ndims && ++dims[d] > most; d++) {
            dims[d] = 1;
        }
    } while (d < ndims);
}

static void run_some(enum gr_algo which, int ndims, const int (*rows)[4], int n)
{
    int k;

    for (k = 0; k < n; k++) {
        torus = (struct gr_torus) {.ndims = ndims,
                                   .dims = {rows[k][0], rows[k][1], rows[k][2], rows[k][3]}};
        run(which);
    }
}

static void one_and_two_dimensions(void **state)
{
    static const int large[][4] = {
        {12, 4, 1, 1}, {8, 12, 1, 1}, {16, 8, 1, 1}, {33, 2, 1, 1}, {20, 4, 1, 1}};
    enum gr_algo which = *(enum gr_algo *) *state;

    run_all(which, 1, 17, 17, 1);
    run_all(which, 2, depth(5, 9), 81, 1);
    run_some(which, 2, large, depth(2, 5)); /* more than two steps of Suh-Shin in a dimension */
}

static void three_dimensions(void **state)
{
    static const int large[][4] = {{8, 2, 8}, {8, 8, 1}, {8, 8, 8},
                                   {8, 7, 6}, {4, 8, 8}, {7, 7, 7}};
    enum gr_algo which = *(enum gr_algo *) *state;
    const char *ranks = getenv("TORUS_RANKS"); /* 512: all tori up to 8x8x8, in some minutes */

    run_all(which, 3, 8, NULL != ranks ? atoi(ranks) : depth(18, 64), 0);
    run_all(which, 3, 4, depth(8, 36), 1);
    run_some(which, 3, large, depth(1, 6));
}

static void four_dimensions(void **state)
{
    static const int some[][4] = {
        {2, 3, 2, 3}, {4, 2, 4, 2}, {3, 4, 2, 5}, {2, 2, 8, 4}, {4, 4, 4, 4}};
    enum gr_algo which = *(enum gr_algo *) *state;

    run_all(which, 4, 3, depth(8, 24), 1);
    run_some(which, 4, some, depth(1, 5));
}

/* The check of links finds channels that are all the same, and what Swing does not promise. */
static void shared_links_are_found(void **state)
{
    torus = (struct gr_torus) {.ndims = 2, .dims = {8, 4}};
    for (algo = GR_ALGO_BUCKET; algo <= GR_ALGO_MST; algo++) {
        assert_true(clashes(next_coll(0), 0, 1) > 0);
        assert_int_equal(clashes(next_coll(0), 0, 0) > 0, GR_ALGO_SWING == algo);
    }
}

int main(void)
{
    static enum gr_algo which[] = {GR_ALGO_BUCKET,       GR_ALGO_SWING,    GR_ALGO_MST,
                                   GR_ALGO_ORDERED,      GR_ALGO_SUH_SHIN, GR_ALGO_TWO_LEVEL,
                                   GR_ALGO_NODE_TREE,    GR_ALGO_DOUBLING, GR_ALGO_PAT,
                                   GR_ALGO_DISSEMINATION};
    static const struct {
        const char *name;
        CMUnitTestFunction test;
    } sweeps[] = {{"1 and 2 dimensions, extents up to 9, rings and lines", one_and_two_dimensions},
                  {"3 dimensions up to 8x8x8", three_dimensions},
                  {"4 dimensions", four_dimensions}};
    static const struct CMUnitTest others[] = {
        {"shared links are found", shared_links_are_found, NULL, NULL, NULL},
    };
    enum {
        NALGOS = sizeof(which) / sizeof(which[0]),
        NSWEEPS = sizeof(sweeps) / sizeof(sweeps[0])
    };
    static char names[NALGOS * NSWEEPS][80];
    struct CMUnitTest tests[NALGOS * NSWEEPS + sizeof(others) / sizeof(others[0])];
    size_t n = 0, k;
    int failed;

    for (n = 0; n < NALGOS * NSWEEPS; n++) {
        snprintf(names[n], sizeof(names[n]), "%s: %s", gr_algo_name(which[n / NSWEEPS]),
                 sweeps[n % NSWEEPS].name);
        tests[n] = (struct CMUnitTest) {names[n], sweeps[n % NSWEEPS].test, NULL, NULL,
                                        &which[n / NSWEEPS]};
    }
    for (k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
        tests[n++] = others[k];
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("# %llu schedules\n", (unsigned long long) world.runs);
    sym_free(&world);
    return failed;
}
