/* SPDX-License-Identifier: BSD-3-Clause */
/* The counts of traffic.h. */
#include "traffic.h"

/* Elements of a step's message in one slice of a channel. */
static double elements(const struct gr_split *split, const struct gr_step *step, uint32_t channel,
                       uint32_t slice)
{
    enum gr_space space =
        step->bits & GR_STORE ? (enum gr_space) step->dest : (enum gr_space) step->operand;
    double n = 0;

    for (uint32_t k = 0; k < step->count; k++) {
        n += (double) gr_split_at(split, space, channel, slice, step->first + k * step->stride)
                 .count;
    }
    return n;
}

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

struct traffic traffic_count(const struct gr_request *r, const struct gr_gpu_op *op,
                             double per_byte, int zero_copy)
{
    const struct gr_split *split = &op->split;
    const struct gr_rings *rings = &op->team->rings;
    struct traffic t = {0, 0};

    for (int rank = 0; rank < op->team->p; rank++) {
        for (uint32_t c = 0; c < split->nchannels; c++) {
            struct gr_sched s = gr_plan_sched(r, op->team->p, rank, rings->order[c % 2],
                                              rings->where[c % 2], c, split->nchunks);
            uint32_t len = gr_sched_len(&s);
            for (uint32_t i = 0; i < len; i++) {
                struct gr_step step = gr_sched_step(&s, i);
                for (uint32_t slice = 0; slice < split->nslices; slice++) {
                    double bytes = elements(split, &step, c, slice) * (double) op->elem_bytes;
                    if (zero_copy && step.bits & GR_FINAL) {
                        add_result(&t, &step, bytes);
                    } else {
                        add_step(&t, &step, bytes);
                    }
                }
            }
        }
    }
    t.fifo *= per_byte;
    return t;
}
