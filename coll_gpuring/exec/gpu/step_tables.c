/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of step_tables.h. */
#include "exec/gpu/step_tables.h"

#include "sched/walk.h"

#include <string.h>

/* kernels read whole vectors, and the step in words */
_Static_assert(0 == sizeof(struct gr_gpu_step) % 16 && 0 == sizeof(struct gr_step) % 4,
               "a step is no run of vectors");

_Static_assert(1 << (GR_GPU_TABLES - 1) == GR_TABLE_CHUNKS,
               "there is no table for the most chunks of a slice");

uint32_t gr_gpu_steps_table(uint32_t nchunks)
{
    uint32_t k = 0;

    while (1u << k < nchunks) {
        k++;
    }
    return k;
}

uint32_t gr_gpu_steps_tables(enum gr_algo algo, enum gr_coll coll)
{
    if (!gr_algo_has(algo, coll)) {
        return 0;
    }
    return GR_PIPE == gr_algo_layout(algo, coll)
               ? 1 + gr_gpu_steps_table(gr_algo_slice_chunks(algo))
               : 1;
}

/* Schedule number w of the table, for one slice of 2^k chunks. */
static struct gr_sched schedule_of(const struct gr_plan_spec *r, int p, int rank,
                                   const struct gr_rings *rings, uint32_t k, uint32_t number)
{
    return gr_plan_sched(r, p, rank, rings->order[number % 2], rings->where[number % 2], number,
                         1u << k);
}

struct gr_gpu_table gr_gpu_steps_shape(const struct gr_plan_spec *r, int p, int rank,
                                       const struct gr_rings *rings, uint32_t k)
{
    struct gr_gpu_table table = {0, 0, gr_algo_schedules(r->algo, r->coll, &r->torus)};
    uint32_t w;

    for (w = 0; w < table.schedules; w++) {
        struct gr_sched sched = schedule_of(r, p, rank, rings, k, w);
        uint32_t n = gr_sched_len(&sched);

        table.nsteps = n > table.nsteps ? n : table.nsteps;
    }
    return table;
}

void gr_gpu_steps_write(const struct gr_plan_spec *r, int p, int rank, const struct gr_rings *rings,
                        uint32_t k, const struct gr_gpu_table *table, struct gr_gpu_step *steps)
{
    struct gr_step_walk walk;
    const struct gr_step *step;
    uint32_t w;

    memset(steps, 0, (size_t) table->schedules * table->nsteps * sizeof(*steps));
    for (w = 0; w < table->schedules; w++, steps += table->nsteps) {
        struct gr_sched sched = schedule_of(r, p, rank, rings, k, w);

        gr_step_walk_begin(&walk, &sched, 1);
        while (NULL != (step = gr_step_walk_get(&walk, &sched))) {
            steps[walk.index].step = *step;
            gr_step_walk_next(&walk);
        }
    }
}
