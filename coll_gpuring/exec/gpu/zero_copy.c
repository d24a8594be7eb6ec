/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Zero copy: results go straight into the output of the rank that they are for.
 *
 * Each rank's ticket says where its output lies; who sends it results maps that. Whether it may be
 * written to is said by its kernel, when its call has begun (args.h): not where the ticket was made
 * for memory that is not there any more, nor where blocks do not lie one behind the other, as the
 * sender computes their places from its own call.
 */
#include "exec/gpu/op.h"
#include "cuda/stream.h"

#include <string.h>

/* Bytes of the output; and whether all blocks lie there in the order of ranks, without gaps. */
static size_t output_bytes(const struct gr_request *r, int p, int *plain)
{
    size_t sum = 0;
    int k;

    *plain = 1;
    if (NULL == r->counts) {
        return (0 != r->block ? r->block * (size_t) p : r->total) * r->elem_bytes;
    }
    for (k = 0; k < p; k++) {
        if (NULL != r->displs && r->counts[k] > 0 && r->displs[k] != sum) {
            *plain = 0;
        }
        sum += r->counts[k];
    }
    return sum * r->elem_bytes;
}

/*
 * Whether the ticket is of this rank's output as it is now: that of a persistent request is from
 * its init.
 */
static int is_current(const struct gr_gpu_op *op, const struct gr_ipc_handle *ticket, size_t bytes)
{
    struct gr_ipc_handle now;

    if (!gr_ipc_handle_shared(ticket)) {
        return 0;
    }
    now = gr_ipc_cache_export(op->team->share, (const void *) (uintptr_t) op->args.space[GR_OUT],
                              bytes);
    return 0 == memcmp(&now.of, &ticket->of, sizeof(now.of)) && now.offset == ticket->offset;
}

/* Where this device has that rank's output; 0: nowhere. */
static gr_gpu_ptr find_output(struct gr_gpu_team *team, int rank,
                              const struct gr_ipc_handle *ticket)
{
    struct gr_ipc_mapped *shared = &team->outputs[rank];

    if (0 == shared->at && 0 > gr_ipc_cache_map(team->share, ticket, shared)) {
        return 0;
    }
    return shared->at;
}

/* The outputs of all that the schedule sends to. */
static void find_outputs(struct gr_gpu_op *op, const struct gr_ipc_handle *const *tickets,
                         gr_gpu_ptr *peers)
{
    struct gr_gpu_team *team = op->team;
    uint32_t c;
    int r;

    for (r = 0; r < team->p; r++) {
        /* along a torus each channel has other links */
        for (c = 0; c < op->nchannels && 0 == peers[r]; c++) {
            const struct gr_gpu_connection *w =
                &team->out[(size_t) c * (size_t) team->p + (size_t) r];

            /* a device that this one can write to */
            if (0 != w->ends[0].slots && 0 != w->mapped.at) {
                peers[r] = find_output(team, r, tickets[r]);
            }
        }
        op->mapped += 0 != peers[r];
    }
}

int gr_gpu_zero_begin(struct gr_gpu_op *op, const struct gr_request *request,
                      const struct gr_ipc_handle *const *tickets)
{
    struct gr_gpu_team *team = op->team;
    size_t bytes = (size_t) team->p * sizeof(gr_gpu_ptr), out;
    gr_gpu_ptr *pinned = gr_gpu_team_peers_host(team);
    int plain;

    out = output_bytes(request, team->p, &plain);
    memset(pinned, 0, bytes);
    if (plain && NULL != team->share) {
        op->args.allows = (uint32_t) is_current(op, tickets[team->rank], out);
        find_outputs(op, tickets, pinned);
    }
    op->args.zero = ++team->zeros;
    op->args.peers = gr_gpu_team_peers(team);
    return gr_gpu_stream_copy(team->stream, op->args.peers, (gr_gpu_ptr) (uintptr_t) pinned, bytes);
}

void gr_gpu_zero_end(struct gr_gpu_op *op)
{
    struct gr_gpu_team *team = op->team;
    int r;

    for (r = 0; r < team->p; r++) {
        if (0 != team->outputs[r].at) {
            gr_gpu_share_drop(team->share, &team->outputs[r]);
        }
    }
}
