/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of gpu_steps.h. */
#include "gpu_steps.h"

#include <string.h>

/* kernels read whole vectors, and the step in words */
_Static_assert(0 == sizeof(struct gr_gpu_step) % 16 && 0 == sizeof(struct gr_step) % 4, "a step is no run of vectors");

/* The schedule of a way, for one slice. */
static struct gr_sched way(const struct gr_request *r, int p, int rank, const struct gr_rings *rings,
                           uint32_t number)
{
    return gr_plan_sched(r, p, rank, rings->order[number % 2], rings->where[number % 2], number, 1);
}

struct gr_gpu_table gr_gpu_steps_shape(const struct gr_request *r, int p, int rank, const struct gr_rings *rings)
{
    struct gr_gpu_table table = {0, 0, gr_algo_ways(r->algo, r->coll, &r->torus)};
    uint32_t w;

    for (w = 0; w < table.ways; w++) {
        struct gr_sched sched = way(r, p, rank, rings, w);
        uint32_t n = gr_sched_len(&sched);

        table.nsteps = n > table.nsteps ? n : table.nsteps;
    }
    return table;
}

void gr_gpu_steps_write(const struct gr_request *r, int p, int rank, const struct gr_rings *rings,
                        const struct gr_gpu_table *table, struct gr_gpu_step *steps)
{
    uint32_t w, i;

    memset(steps, 0, (size_t) table->ways * table->nsteps * sizeof(*steps));
    for (w = 0; w < table->ways; w++, steps += table->nsteps) {
        struct gr_sched sched = way(r, p, rank, rings, w);
        uint32_t n = gr_sched_len(&sched);

        for (i = 0; i < n; i++) {
            steps[i].step = gr_sched_step(&sched, i);
        }
    }
}
