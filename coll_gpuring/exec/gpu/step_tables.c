/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of step_tables.h. */
#include "exec/gpu/step_tables.h"

#include <assert.h>
#include <string.h>

_Static_assert(16 == sizeof(struct gr_gpu_step_head) && 0 == sizeof(struct gr_gpu_step) % 16,
               "a head is no vector");

struct gr_gpu_table gr_gpu_steps_shape(const struct gr_plan_spec *r, int p, int rank,
                                       const struct gr_rings *rings, uint32_t nchunks)
{
    struct gr_gpu_table table = {0, 0, gr_algo_schedules(r->algo, r->coll, &r->torus)};
    uint32_t w;

    for (w = 0; w < table.schedules; w++) {
        struct gr_sched sched = gr_plan_sched(r, p, rank, rings, w, nchunks);
        uint32_t n = gr_sched_len(&sched);

        table.nsteps = n > table.nsteps ? n : table.nsteps;
    }
    return table;
}

static struct gr_gpu_step pack(const struct gr_step *s)
{
    struct gr_gpu_step t = {.head = {s->bits, s->operand, s->dest, s->nfrom, s->nto, s->before,
                                     (uint16_t) s->first, (uint16_t) s->stride, (uint16_t) s->count,
                                     (uint16_t) s->shift, 0}};
    int k;

    assert(s->first <= UINT16_MAX && s->count <= UINT16_MAX);
    for (k = 0; k < s->nfrom; k++) {
        t.end[k] = (uint16_t) s->from[k];
    }
    for (k = 0; k < s->nto; k++) {
        t.end[GR_FAN + k] = (uint16_t) s->to[k];
    }
    return t;
}

void gr_gpu_steps_write(const struct gr_plan_spec *r, int p, int rank, const struct gr_rings *rings,
                        uint32_t nchunks, const struct gr_gpu_table *table,
                        struct gr_gpu_step *steps)
{
    struct gr_step_walk walk;
    const struct gr_step *step;
    uint32_t w;

    memset(steps, 0, gr_gpu_steps_bytes(table));
    for (w = 0; w < table->schedules; w++, steps += table->nsteps) {
        struct gr_sched sched = gr_plan_sched(r, p, rank, rings, w, nchunks);

        gr_step_walk_begin(&walk, &sched, 1);
        while (NULL != (step = gr_step_walk_get(&walk, &sched))) {
            steps[walk.index] = pack(step);
            gr_step_walk_next(&walk);
        }
    }
}

size_t gr_gpu_steps_most(int p, int rank, const struct gr_rings *rings)
{
    struct gr_plan_spec r = {.torus = rings->torus};
    uint32_t nchunks;
    size_t most = 0;
    int algo, coll;

    for (algo = 0; algo < GR_NALGOS; algo++) {
        r.algo = (enum gr_algo) algo;
        nchunks = gr_algo_slice_chunks(r.algo);
        nchunks = 0 == nchunks ? GR_GPU_SLICE_CHUNKS : nchunks;
        for (coll = 0; coll < GR_NCOLLS && gr_algo_fits(r.algo, p, &r.torus); coll++) {
            int roots = gr_coll_is_rooted((enum gr_coll) coll) ? p : 1;

            r.coll = (enum gr_coll) coll;
            for (r.root = 0; r.root < roots && gr_algo_has(r.algo, r.coll); r.root++) {
                struct gr_gpu_table table = gr_gpu_steps_shape(&r, p, rank, rings, nchunks);
                size_t bytes = gr_gpu_steps_bytes(&table);

                most = bytes > most ? bytes : most;
            }
        }
    }
    return most;
}

struct gr_gpu_split gr_gpu_split_of(const struct gr_split *s)
{
    int blocks = GR_BLOCKS == s->layout, space;
    struct gr_gpu_split to = {
        .block = blocks ? s->block : s->total,
        .end = blocks ? s->last_end : s->total,
        .cell = s->cell,
        .blocks = (uint32_t) blocks,
        .nslices = s->nslices,
        .nchunks = s->nchunks,
    };

    for (space = 0; space < 3; space++) {
        to.own |= (uint32_t) (GR_HOLDS_OWN == s->holds[space]) << space;
    }
    return to;
}

uint32_t gr_gpu_tables_find(struct gr_gpu_tables *t, const struct gr_plan_spec *r, int p, int rank,
                            const struct gr_rings *rings, uint32_t nchunks, int *fresh)
{
    uint64_t key = (uint64_t) r->root << 32 | nchunks << 16 | (uint32_t) r->algo << 8 | r->coll;
    struct gr_gpu_table table;
    size_t bytes;
    uint32_t k;

    for (k = 0; k < t->n && key != t->key[k]; k++) {
    }
    *fresh = k == t->n;
    if (!*fresh) {
        return k;
    }
    table = gr_gpu_steps_shape(r, p, rank, rings, nchunks);
    bytes = gr_gpu_steps_bytes(&table);
    if (GR_GPU_TABLES == t->n || t->room - t->used < bytes) {
        t->n = 0;
        t->used = 0;
    }
    assert(bytes <= t->room);
    table.at = t->used;
    t->used += bytes;
    t->key[t->n] = key;
    t->table[t->n] = table;
    return t->n++;
}
