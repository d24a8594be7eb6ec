/* SPDX-License-Identifier: BSD-3-Clause */
/* How late the last rank came (arrival.h). */
#include "exec/arrival.h"

#include "exec/stepper.h"

#include "link/fifo.h"
#include "sched/step.h"

#include <stdatomic.h>
#include <stddef.h>

/*
 * A word: the time in its upper bits, the call's number in the lower ones. A writer may be in its
 * next call already, whose word says nothing of this call. Times wrap, so only differences count.
 */
#define CALL_BITS 16

static uint64_t word_of(const struct gr_arrival *a)
{
    return (a->begun + (uint64_t) a->late) << CALL_BITS | a->call;
}

void gr_arrival_begin(struct gr_arrival *a, const struct gr_link *in, struct gr_link *out, int p,
                      uint64_t seq, double begun)
{
    *a = (struct gr_arrival) {
        .in = in, .out = out, .p = p, .call = (uint16_t) seq, .begun = (uint64_t) (1e9 * begun)};
}

/* What the writer of a link knows. */
static void adopt(struct gr_arrival *a, const struct gr_link *l)
{
    uint64_t word =
        atomic_load_explicit(&l->shared->sideband[GR_SIDEBAND_LAG], memory_order_relaxed);
    int64_t late;

    if (NULL == l->bell && a->call == (uint16_t) word) {
        late = (int64_t) ((word >> CALL_BITS << CALL_BITS) - (a->begun << CALL_BITS)) /
               (1 << CALL_BITS);
        a->late = late > a->late ? late : a->late;
    }
}

/* The step's data have arrived, and its messages have not been sent yet. */
static void begins(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step)
{
    struct gr_arrival *a = ctx;
    size_t first = (size_t) channel * (size_t) a->p;
    int k;

    (void) slice;
    for (k = 0; k < step->nfrom; k++) {
        adopt(a, &a->in[first + (size_t) step->from[k]]);
    }
    for (k = 0; k < step->nto; k++) {
        struct gr_link *l = &a->out[first + (size_t) step->to[k]];

        if (NULL == l->bell) {
            atomic_store_explicit(&l->shared->sideband[GR_SIDEBAND_LAG], word_of(a),
                                  memory_order_relaxed);
        }
    }
}

const struct gr_gate gr_arrival_gate = {.begins = begins};
