/* SPDX-License-Identifier: BSD-3-Clause */
/* The counts of traffic.h. */
#include "traffic.h"

#include "sched/walk.h"

static void add_step(struct traffic *t, const struct gr_step *step, double bytes)
{
    if (step->bits & GR_RECV) {
        t->fifo += bytes * step->nfrom;
    }
    if (!(step->bits & GR_RECV) || step->bits & GR_REDUCE) {
        t->user += 0 != step->bits ? bytes : 0;
    }
    if (step->bits & GR_STORE) {
        t->user += bytes;
    }
    if (step->bits & GR_SEND) {
        t->fifo += bytes * step->nto;
    }
}

/* Zero copy: a received result is in the output, and is read there to be sent on. */
static void add_result(struct traffic *t, const struct gr_step *step, double bytes)
{
    int taken = step->bits & GR_RECV && !(step->bits & GR_REDUCE);

    t->fifo += taken ? 0 : bytes * step->nfrom;
    t->user += taken ? (step->nto > 0 ? bytes : 0) : bytes + (step->bits & GR_STORE ? bytes : 0);
    t->user += bytes * step->nto;
}

struct traffic traffic_count(const struct gr_plan_spec *r, const struct gr_gpu_op *op,
                             double per_byte, int zero_copy)
{
    const struct gr_split *split = &op->split;
    const struct gr_rings *rings = &op->team->rings;
    struct traffic t = {0, 0};

    for (int rank = 0; rank < op->team->p; rank++) {
        for (uint32_t c = 0; c < split->nchannels; c++) {
            struct gr_sched s = gr_plan_sched(r, op->team->p, rank, rings, c, split->nchunks);
            const struct gr_step *step;
            struct gr_step_walk w;

            gr_step_walk_begin(&w, &s, split->nslices);
            while (NULL != (step = gr_step_walk_get(&w, &s))) {
                double bytes = (double) (gr_step_elems(split, c, w.slice, step) * op->elem_bytes);

                if (zero_copy && step->bits & GR_FINAL) {
                    add_result(&t, step, bytes);
                } else {
                    add_step(&t, step, bytes);
                }
                gr_step_walk_next(&w);
            }
        }
    }
    t.fifo *= per_byte;
    return t;
}
