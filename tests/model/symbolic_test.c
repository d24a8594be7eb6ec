/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every algorithm gives every collective's result: on all rank counts, roots, slots and layouts,
 * whatever the order in which the ranks run. One test per property; each runs once for every
 * (algorithm, collective); those along a torus: torus_sched_test.c. The checks themselves, among
 * them deadlock, order of reduction and ticks, are those of symbolic.h.
 */
#include "sanitizer/sanitizer.h"
#include "rng.h"
#include "symbolic.h"
#include "depth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

static struct sym world;
static const uint32_t slot_counts[] = {2, 4, 8};

struct subject {
    enum gr_algo algo;
    enum gr_coll coll;
};

/* One in so many cases is run; a prime, so that all values that take turns come. */
enum { THINNING = GR_SANITIZER(1, 7, 7) };

/* Every other run with results that are there as soon as they are sent. */
static void expect_ok(const struct sym_case *c)
{
    static unsigned turn;
    struct sym_case run = *c;
    char text[320];

    if (0 != turn++ % THINNING) {
        return;
    }
    run.zero_copy = (int) (world.runs % 2);
    sym_set_slots(&run);
    if (gr_algo_fits(c->algo, c->p, NULL) && SYM_OK != sym_run(&world, &run)) {
        fail_msg("%s: %s", sym_describe(&run, text, sizeof(text)), world.why);
    }
}

static struct sym_case plain_case(const struct subject *subject, int p)
{
    return sym_smallest(subject->algo, subject->coll, p);
}

/* Whether the schedule depends on a root: all pipelines do. */
static int rooted(const struct subject *subject)
{
    return GR_PIPE == gr_algo_layout(subject->algo, subject->coll);
}

/*
 * bcast has one buffer per rank, and the component gives reduce_scatter and alltoall separate
 * buffers always.
 */
static int can_be_in_place(enum gr_coll coll)
{
    return GR_COLL_BCAST != coll && GR_COLL_REDUCE_SCATTER != coll && GR_COLL_ALLTOALL != coll;
}

/*
 * Chunks of a pipeline, or slices of blocks, number k of a cycle: from 1 to more than twice the
 * tree's depth.
 */
static uint32_t chunks_of(const struct subject *subject, int p, uint32_t k)
{
    uint32_t depth = 0;
    const uint32_t few[] = {1, 2, 3, 5};

    while (1 << depth < p) {
        depth++;
    }
    if (!rooted(subject)) {
        return 1 + k % 3;
    }
    return k % 5 < 4 ? few[k % 5] : 2 * depth + 3;
}

static void all_roots_slots_places(const struct subject *subject, int p, uint32_t *turn)
{
    struct sym_case c = plain_case(subject, p);
    int in_place;
    size_t k;

    for (c.root = 0; c.root < (rooted(subject) ? p : 1); c.root++) {
        for (k = 0; k < 3; k++) {
            for (in_place = 0; in_place <= can_be_in_place(subject->coll); in_place++) {
                c.slots = slot_counts[k];
                c.in_place = in_place;
                c.chunk_elems = c.slot_elems = 1 + *turn / 2 % 2;
                sym_size(&c, chunks_of(subject, p, *turn), *turn % 3);
                expect_ok(&c);
                ++*turn;
            }
        }
    }
}

static void test_all(void **state)
{
    const struct subject *subject = *state;
    uint32_t turn = 0;
    int p;

    for (p = 1; p <= depth(20, 64); p++) {
        all_roots_slots_places(subject, p, &turn);
    }
}

static void test_many_ranks(void **state)
{
    static const int ps[] = {65, 96, 127, 128, 129, 255, 256};
    const struct subject *subject = *state;
    size_t k, n;

    for (k = 0; k < (size_t) depth(2, sizeof(ps) / sizeof(ps[0])); k++) {
        const int roots[] = {0, 1, ps[k] / 2, ps[k] - 1};
        struct sym_case c = plain_case(subject, ps[k]);

        for (n = 0; n < (rooted(subject) ? 4 : 1); n++) {
            c.root = roots[n];
            c.in_place = can_be_in_place(subject->coll) && 0 != n % 2;
            sym_size(&c, rooted(subject) ? chunks_of(subject, ps[k], (uint32_t) (n + 1)) : 1, 0);
            expect_ok(&c);
        }
    }
}

/* Totals from none to a few for each rank, so also fewer elements than ranks. */
static void test_small_totals(void **state)
{
    const struct subject *subject = *state;
    struct sym_case c;
    size_t n;
    int p;

    for (p = 1; p <= depth(11, 19); p++) {
        c = plain_case(subject, p);
        c.align = 1 + (size_t) p % 3;
        c.chunk_elems = c.slot_elems = 3;
        for (n = 0; n <= 2 * (size_t) p + 3; n++) {
            for (c.nchannels = 1; c.nchannels <= 3; c.nchannels++) {
                c.root = (int) n % p;
                c.total = n;
                c.block = n % 7;
                c.in_place = can_be_in_place(subject->coll) && 0 != (n + c.nchannels) % 2;
                expect_ok(&c);
            }
        }
    }
}

/*
 * Blocks of any size, none included; with gaps between them and in any order where `displaced`.
 * Returns c's vector.
 */
static void uneven_blocks(struct sym_case *c, uint64_t *seed, size_t *counts, size_t *displs,
                          int displaced)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 0, 31, 1};
    int at[SYM_MAX_RANKS], k, other;
    size_t begin = 0;

    for (k = 0; k < c->p; k++) {
        counts[k] = sizes[rng_below(seed, sizeof(sizes) / sizeof(sizes[0]))];
        other = rng_below(seed, k + 1);
        at[k] = at[other];
        at[other] = k;
    }
    for (k = 0; k < c->p && displaced; k++) {
        begin += rng_below(seed, 4);
        displs[at[k]] = begin;
        begin += counts[at[k]];
    }
    c->counts = counts;
    c->displs = displaced ? displs : NULL;
}

/* A seeded sample of everything at once. */
static void test_sample(void **state)
{
    const struct subject *subject = *state;
    uint64_t seed = rng_seed() + 100 * subject->algo + subject->coll;
    int uneven = GR_COLL_ALLGATHER == subject->coll || GR_COLL_REDUCE_SCATTER == subject->coll;
    size_t counts[SYM_MAX_RANKS], displs[SYM_MAX_RANKS];
    struct sym_case c;
    int turn;

    for (turn = 0; turn < depth(400, 2500); turn++) {
        c = plain_case(subject, 1 + rng_below(&seed, turn % 10 ? 20 : 80));
        c.root = rooted(subject) ? rng_below(&seed, c.p) : 0;
        c.nchannels = 1 + (uint32_t) rng_below(&seed, 3);
        c.order = (enum sym_order) rng_below(&seed, SYM_NORDERS);
        c.slots = slot_counts[rng_below(&seed, 3)];
        c.chunk_elems = 1 + rng_below(&seed, 8);
        c.slot_elems = c.chunk_elems + rng_below(&seed, 3);
        if (0 == turn % 4) { /* messages of up to three slots, which need slots beyond those */
            c.slot_elems = (c.chunk_elems + 2) / 3;
            c.slots = 8;
        }
        c.align = 1 + rng_below(&seed, 4);
        c.slice_chunks = (uint32_t) rng_below(&seed, 2) << rng_below(&seed, 4);
        c.in_place = can_be_in_place(c.coll) && 0 != rng_below(&seed, 2);
        c.policy = (enum sym_policy) rng_below(&seed, SYM_NPOLICIES);
        c.seed = rng_next(&seed);
        sym_size(&c, 1 + (uint32_t) rng_below(&seed, rooted(subject) ? 20 : 3),
                 rng_below(&seed, 9));
        if (uneven && 0 != turn % 3) {
            uneven_blocks(&c, &seed, counts, displs, GR_COLL_ALLGATHER == c.coll && turn % 3 > 1);
        }
        expect_ok(&c);
    }
}

static const struct property {
    const char *name;
    CMUnitTestFunction test;
} properties[] = {
    {"p=1.., all roots, 2/4/8 slots, in and out of place", test_all},
    {"p=65.., a few roots", test_many_ranks},
    {"totals from 0, below and above p, 1..3 channels", test_small_totals},
    {"any channels, orders of ranks and of scheduling, slots, sizes, blocks", test_sample},
};

#define NPROPERTIES (sizeof(properties) / sizeof(properties[0]))

int main(void)
{
    static struct subject subjects[GR_NALGOS * GR_NCOLLS];
    static struct CMUnitTest tests[GR_NALGOS * GR_NCOLLS * NPROPERTIES];
    static char names[GR_NALGOS * GR_NCOLLS * NPROPERTIES][128];
    size_t n = 0, k, pair;
    int failed;

    for (pair = 0; pair < GR_NALGOS * GR_NCOLLS; pair++) {
        struct subject *s = &subjects[pair];

        *s = (struct subject) {(enum gr_algo)(pair / GR_NCOLLS), (enum gr_coll)(pair % GR_NCOLLS)};
        for (k = 0;
             k < NPROPERTIES && gr_algo_has(s->algo, s->coll) && gr_algo_fits(s->algo, 2, NULL);
             k++) {
            snprintf(names[n], sizeof(names[n]), "%s %s: %s", gr_algo_name(s->algo),
                     gr_coll_name(s->coll), properties[k].name);
            tests[n] = (struct CMUnitTest) {names[n], properties[k].test, NULL, NULL, s};
            n++;
        }
    }
    fflush(stdout);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = _cmocka_run_group_tests("symbolic", tests, n, NULL, NULL);
    printf("# %llu schedules\n", (unsigned long long) world.runs);
    sym_free(&world);
    return failed;
}
