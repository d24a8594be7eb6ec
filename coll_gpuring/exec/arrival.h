/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late the last rank came to a call, as far as this rank learns it from messages.
 *
 * Where calls are timed, each message between steps on the host says when the last of those ranks
 * began the call that its data come from, by the node's monotonic clock. So a rank knows at the end
 * when the last rank came on which its result depends. The word travels with the slots
 * (GR_SIDEBAND_LAG of link/fifo.h), where step timing does not use it. Links to other nodes, whose
 * clocks are others, are left out.
 */
#ifndef GR_EXEC_ARRIVAL_H
#define GR_EXEC_ARRIVAL_H

#include <stdint.h>

struct gr_gate;
struct gr_link;

struct gr_arrival {
    const struct gr_link *in; /* [channel * p + rank]: from other ranks. Borrowed */
    struct gr_link *out;      /* [channel * p + rank]: to other ranks. Borrowed */
    int p;                    /* number of ranks */
    uint16_t call;            /* number of the call, the same on all ranks */
    uint64_t begun;           /* when this rank began it, ns */
    int64_t late;             /* how much later the last rank came, ns, as far as is known */
};

/* The stepper's gate; ctx is a struct gr_arrival. Steps begin as soon as they can. */
extern const struct gr_gate gr_arrival_gate;

/* A call begins; begun: in seconds, of gr_runtime_now(). */
void gr_arrival_begin(struct gr_arrival *a, const struct gr_link *in, struct gr_link *out, int p,
                      uint64_t seq, double begun);

#endif
