/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links to ranks on other nodes, gpu_team.h: at each end a FIFO in pinned host memory, beside the device (NUMA).
 *
 *      this rank's frame    [heads][tail][slot][slot]...[fill][until]     heads, tail: a line each; fill, until: the writer's
 *
 * Kernels are at one end of it and know no difference, but that a writer says how much of each slot is in use. The
 * network, which the caller brings, is at the other. There are no lines of LL and LL128: a network would not know where
 * a message of theirs ends, nor keep a flag and its data together.
 */
#include "gpu_team.h"

/* Heads and tail: what must be zero at first. */
#define COUNTERS (2 * (size_t) GR_GPU_LINE)

static size_t slots_bytes(const struct gr_gpu_team *team)
{
    return COUNTERS + team->nslots * team->slot_bytes;
}

/* Where slots begin that are held back: the host's word. */
static size_t until_at(const struct gr_gpu_team *team)
{
    return slots_bytes(team) + (team->nslots + 1) / 2 * 2 * sizeof(uint32_t);
}

size_t gr_gpu_remote_bytes(const struct gr_gpu_team *team)
{
    return until_at(team) + sizeof(uint64_t);
}

_Atomic uint64_t *gr_gpu_remote_until(const struct gr_gpu_team *team, const struct gr_gpu_wire *wire)
{
    unsigned char *at = gr_gpu_frame_base(wire->frame);

    return (_Atomic uint64_t *) (void *) (at + until_at(team));
}

int gr_gpu_remote_lease(struct gr_gpu_team *team, struct gr_gpu_wire *wires, int n, int writes)
{
    int rc = gr_gpu_wires_lease(team, GR_ON_HOST, gr_gpu_remote_bytes(team), COUNTERS, wires, n), k;

    for (k = 0; 0 == rc && k < n; k++) {
        gr_gpu_ptr head = gr_gpu_frame_at(wires[k].frame), tail = head + GR_GPU_LINE;

        wires[k].ends[GR_PROTOCOL_SIMPLE] = (struct gr_gpu_end) {
            .slots = head + COUNTERS,
            .mine = writes ? tail : head,
            .other = writes ? head : tail,
            .fill = writes ? head + slots_bytes(team) : 0,
        };
        atomic_store_explicit(gr_gpu_remote_until(team, &wires[k]), UINT64_MAX, memory_order_relaxed);
    }
    return rc;
}

struct gr_fifo gr_gpu_remote_fifo(const struct gr_gpu_team *team, const struct gr_gpu_wire *wire, int writes)
{
    unsigned char *at = gr_gpu_frame_base(wire->frame);

    return (struct gr_fifo) {
        .head = (_Atomic uint64_t *) (void *) at,
        .tail = (_Atomic uint64_t *) (void *) (at + GR_GPU_LINE),
        .slots = at + COUNTERS,
        .nslots = team->nslots,
        .slot_bytes = team->slot_bytes,
        .fill = writes ? (const uint32_t *) (const void *) (at + slots_bytes(team)) : NULL,
        .until = writes ? gr_gpu_remote_until(team, wire) : NULL,
        .door = gr_gpu_frame_door(wire->frame),
        .lease = gr_gpu_pool_offer(team->pool, wire->frame).door.lease,
    };
}

static int is_unsent(const struct gr_gpu_team *team, const struct gr_gpu_wire *wire)
{
    struct gr_fifo fifo = gr_gpu_remote_fifo(team, wire, 1);

    return atomic_load_explicit(fifo.head, memory_order_acquire) != atomic_load_explicit(fifo.tail, memory_order_acquire);
}

int gr_gpu_remote_unsent(const struct gr_gpu_team *team, uint32_t nchannels, int *ranks, int most)
{
    size_t k, nlinks = (size_t) nchannels * (size_t) team->p;
    int n = 0;

    for (k = 0; NULL != team->remote && k < nlinks && n < most; k++) {
        const struct gr_gpu_wire *wire = &team->out[k];

        if (team->remote[k % (size_t) team->p] && NULL != wire->frame && is_unsent(team, wire)) {
            ranks[n++] = wire->rank;
        }
    }
    return n;
}
