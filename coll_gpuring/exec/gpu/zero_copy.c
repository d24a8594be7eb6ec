/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Zero copy (zero_copy.h). Each rank exports a handle of its output, and the senders of its results
 * map it. The rank's kernel allows stores when its call has begun (args.h). It does not allow them
 * if the handle is out of date, or if the output's blocks are not contiguous: senders compute block
 * offsets from their own arguments.
 */
#include "exec/gpu/zero_copy.h"

#include "cuda/stream.h"

#include <string.h>

/* Bytes of the output. *plain: its blocks are in the order of ranks and contiguous. */
static size_t output_bytes(const struct gr_plan_spec *r, int p, int *plain)
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

/* Whether the handle is up to date. A persistent request exports its handle at its init. */
static int is_current(const struct gr_gpu_op *op, const struct gr_ipc_handle *handle, size_t bytes)
{
    struct gr_ipc_handle now;

    if (!gr_ipc_handle_valid(handle)) {
        return 0;
    }
    now = gr_ipc_cache_export(op->team->ipc_cache,
                              (const void *) (uintptr_t) op->args.space[GR_OUT], bytes);
    return 0 == memcmp(&now.of, &handle->of, sizeof(now.of)) && now.offset == handle->offset;
}

/* Map a rank's output. Returns its address for this device, or 0. */
static gr_gpu_ptr find_output(struct gr_gpu_team *team, int rank,
                              const struct gr_ipc_handle *handle)
{
    struct gr_ipc_mapped *output = &team->mappings[rank];

    if (0 == output->at && 0 > gr_ipc_cache_map(team->ipc_cache, handle, output)) {
        return 0;
    }
    return output->at;
}

/* Map the outputs of all ranks that the schedule sends to. */
static void find_outputs(struct gr_gpu_op *op, const struct gr_ipc_handle *const *handles,
                         gr_gpu_ptr *peers)
{
    struct gr_gpu_team *team = op->team;
    uint32_t c;
    int r;

    for (r = 0; r < team->p; r++) {
        /* on a torus each channel has different links */
        for (c = 0; c < op->nchannels && 0 == peers[r]; c++) {
            const struct gr_gpu_connection *w =
                &team->out[(size_t) c * (size_t) team->p + (size_t) r];

            /* a device whose memory this one can map */
            if (0 != w->ends[0].slots && 0 != w->mapped.at) {
                peers[r] = find_output(team, r, handles[r]);
            }
        }
        op->mapped += 0 != peers[r];
    }
}

int gr_gpu_zero_begin(struct gr_gpu_op *op, const struct gr_plan_spec *spec,
                      const struct gr_ipc_handle *const *handles)
{
    struct gr_gpu_team *team = op->team;
    size_t bytes = (size_t) team->p * sizeof(gr_gpu_ptr), out;
    gr_gpu_ptr *pinned = gr_gpu_team_pinned(team, GR_PINNED_PEERS);
    int plain;

    out = output_bytes(spec, team->p, &plain);
    memset(pinned, 0, bytes);
    if (plain && NULL != team->ipc_cache) {
        op->args.allows = (uint32_t) is_current(op, handles[team->rank], out);
        find_outputs(op, handles, pinned);
    }
    op->args.zero = ++team->zeros;
    op->args.peers = gr_gpu_team_region(team, GR_REGION_PEERS);
    return gr_gpu_stream_copy(team->stream, op->args.peers, (gr_gpu_ptr) (uintptr_t) pinned, bytes);
}

void gr_gpu_zero_end(struct gr_gpu_op *op)
{
    struct gr_gpu_team *team = op->team;
    int r;

    for (r = 0; r < team->p; r++) {
        if (0 != team->mappings[r].at) {
            gr_ipc_cache_unmap(team->ipc_cache, &team->mappings[r]);
        }
    }
}
