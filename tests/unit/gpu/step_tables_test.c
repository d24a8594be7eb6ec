/* SPDX-License-Identifier: BSD-3-Clause */
/* Step tables: what is written into them, and which are kept. */
#include "exec/gpu/step_tables.h"

#include "rng.h"

#include <stdlib.h>

#include "cmocka_test.h"

enum { MOST_RANKS = 20 };

static uint64_t seed;

static void check_step(const struct gr_gpu_step *step, const struct gr_step *s)
{
    const struct gr_gpu_step_head *t = &step->head;
    int k;

    assert_true(t->bits == s->bits && t->before == s->before);
    assert_true(t->operand == s->operand && t->dest == s->dest);
    assert_true(t->nfrom == s->nfrom && t->nto == s->nto);
    assert_true(t->first == s->first && t->stride == s->stride && t->count == s->count);
    assert_int_equal((int16_t) t->shift, s->shift);
    for (k = 0; k < s->nfrom; k++) {
        assert_int_equal(step->end[k], s->from[k]);
    }
    for (k = 0; k < s->nto; k++) {
        assert_int_equal(step->end[GR_FAN + k], s->to[k]);
    }
}

/* The table of a call has each channel's steps, and no bits behind them. */
static void check_table(const struct gr_plan_spec *r, int p, int rank, const struct gr_rings *rings,
                        uint32_t nchunks)
{
    struct gr_gpu_table table = gr_gpu_steps_shape(r, p, rank, rings, nchunks);
    struct gr_gpu_step *steps = test_malloc(gr_gpu_steps_bytes(&table) + 1);
    uint32_t c, i;

    gr_gpu_steps_write(r, p, rank, rings, nchunks, &table, steps);
    for (c = 0; c < 5; c++) {
        struct gr_sched sched = gr_plan_sched(r, p, rank, rings, c, nchunks);
        const struct gr_gpu_step *at = steps + (size_t) (c % table.schedules) * table.nsteps;
        struct gr_step empty = {.bits = 0};

        assert_true(gr_sched_len(&sched) <= table.nsteps);
        for (i = 0; i < table.nsteps; i++) {
            struct gr_step step = i < gr_sched_len(&sched) ? gr_sched_step(&sched, i) : empty;

            check_step(&at[i], &step);
        }
    }
    test_free(steps);
}

static struct gr_rings any_rings(int p)
{
    int order[MOST_RANKS], k, other, rank;
    struct gr_rings rings;

    assert_int_equal(gr_rings_init(&rings, p), 0);
    for (k = 0; k < p; k++) {
        order[k] = k;
    }
    for (k = 1; k < p; k++) {
        other = rng_below(&seed, k + 1);
        rank = order[k];
        order[k] = order[other];
        order[other] = rank;
    }
    gr_rings_fill(&rings, p, order);
    rings.torus = 0 == p % 2 ? (struct gr_torus) {.ndims = 2, .dims = {2, p / 2}}
                             : (struct gr_torus) {.ndims = 1, .dims = {p}};
    return rings;
}

typedef void (*visit_fn)(const struct gr_plan_spec *r, int p, int rank,
                         const struct gr_rings *rings, uint32_t nchunks);

/* Each algorithm and collective with p ranks, at some rank, for some root. */
static void visit(int p, visit_fn fn)
{
    struct gr_rings rings = any_rings(p);
    struct gr_plan_spec r = {.torus = rings.torus};
    int algo, coll;

    for (algo = 0; algo < GR_NALGOS; algo++) {
        for (coll = 0; coll < GR_NCOLLS; coll++) {
            uint32_t most = gr_algo_slice_chunks((enum gr_algo) algo);

            r.algo = (enum gr_algo) algo;
            r.coll = (enum gr_coll) coll;
            r.root = gr_coll_is_rooted(r.coll) ? rng_below(&seed, p) : 0;
            if (gr_algo_has(r.algo, r.coll) && gr_algo_fits(r.algo, p, &r.torus)) {
                fn(&r, p, rng_below(&seed, p), &rings,
                   0 == most ? 1 + (uint32_t) rng_below(&seed, GR_GPU_SLICE_CHUNKS) : 1);
            }
        }
    }
    gr_rings_free(&rings);
}

static void all_steps_are_in_the_table(void **state)
{
    int p;

    for (p = 1; p <= MOST_RANKS; p++) {
        visit(p, check_table);
    }
}

static struct gr_gpu_tables tables;
static uint32_t forgotten;

/* What is found is the call's table, as it was, or in memory that no other one has. */
static void find_table(const struct gr_plan_spec *r, int p, int rank, const struct gr_rings *rings,
                       uint32_t nchunks)
{
    struct gr_gpu_table shape = gr_gpu_steps_shape(r, p, 0, rings, nchunks), *table;
    uint32_t before = tables.n, k, j;
    int fresh;

    (void) rank; /* tables are those of one */
    k = gr_gpu_tables_find(&tables, r, p, 0, rings, nchunks, &fresh);
    table = &tables.table[k];
    assert_true(k < tables.n && (fresh || tables.n == before));
    forgotten += tables.n < before;
    assert_true(shape.nsteps == table->nsteps && shape.schedules == table->schedules);
    assert_true(table->at + gr_gpu_steps_bytes(table) <= tables.room);
    for (j = 0; j < k; j++) {
        assert_true(tables.table[j].at + gr_gpu_steps_bytes(&tables.table[j]) <= table->at);
    }
    assert_int_equal(gr_gpu_tables_find(&tables, r, p, 0, rings, nchunks, &fresh), k);
    assert_int_equal(fresh, 0);
}

static void tables_are_kept_while_there_is_room(void **state)
{
    enum { P = 8 };
    struct gr_rings rings = any_rings(P);
    uint32_t turn, room;

    for (room = 1; room <= 64; room += 63) { /* memory is short, then entries are */
        tables = (struct gr_gpu_tables) {.room = room * gr_gpu_steps_most(P, 0, &rings)};
        forgotten = 0;
        for (turn = 0; turn < 40; turn++) {
            visit(P, find_table);
        }
        assert_true(forgotten > 0);
    }
    gr_rings_free(&rings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_steps_are_in_the_table),
        cmocka_unit_test(tables_are_kept_while_there_is_room),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
