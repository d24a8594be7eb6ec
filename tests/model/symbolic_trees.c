/* SPDX-License-Identifier: BSD-3-Clause */
/* A check of double trees on the trace of an allreduce: both directions of their links are busy. */
#include "symbolic.h"

#include <stdlib.h>

/* First and last tick, and messages, of one direction of a tree's link. */
struct flow {
    uint32_t first, last, n;
};

int sym_check_both_ways(struct sym *w)
{
    size_t p = (size_t) w->c->p, npairs = p * p, k;
    uint32_t begin[2] = {0, 0}, end[2] = {UINT32_MAX, UINT32_MAX}, height = 0,
             nchunks = w->ranks[0].plan.split.nchunks;
    struct flow *flows = calloc(2 * npairs, sizeof(*flows)), *f;
    int t;

    if (NULL == flows) {
        abort();
    }
    while (1u << height < p) {
        height++;
    }
    for (k = 0; k < w->nmessages; k++) {
        const struct sym_message *m = &w->messages[k];

        f = &flows[(size_t) m->tree * npairs + (size_t) m->from * p + (size_t) m->to];
        f->first = 0 == f->n || m->tick < f->first ? m->tick : f->first;
        f->last = m->tick > f->last ? m->tick : f->last;
        f->n++;
    }
    for (k = 0; k < 2 * npairs; k++) {
        f = &flows[k];
        t = (int) (k / npairs);
        if (0 != f->n) {
            begin[t] = f->first > begin[t] ? f->first : begin[t];
            end[t] = f->last < end[t] ? f->last : end[t];
            if (f->last - f->first + 1 != f->n) {
                sym_fail(w, SYM_IDLE, (int) (k % npairs / p), "%u messages to %zu in ticks %u..%u",
                         f->n, k % p, f->first, f->last);
            }
            if (0 == flows[(size_t) t * npairs + k % p * p + k % npairs / p].n) {
                sym_fail(w, SYM_IDLE, (int) (k % npairs / p), "nothing comes back from %zu", k % p);
            }
        }
    }
    free(flows);
    for (t = 0; t < 2; t++) {
        if (end[t] + 4 * height < begin[t] + nchunks / 2) {
            sym_fail(w, SYM_IDLE, 0, "tree %d is busy both ways only in ticks %u..%u", t, begin[t],
                     end[t]);
        }
    }
    return SYM_OK == w->failed ? 0 : -1;
}
