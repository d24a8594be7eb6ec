/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a device link's end: frames of the pool, team.h. */
#include "exec/gpu/team.h"

#include <stdlib.h>

int gr_gpu_wires_lease(const struct gr_gpu_team *team, enum gr_gpu_where where, size_t bytes, size_t clean,
                       struct gr_gpu_wire *wires, int n)
{
    struct gr_gpu_frame **frames;
    int k, rc;

    if (0 == n) {
        return 0;
    }
    frames = calloc((size_t) n, sizeof(struct gr_gpu_frame *));
    if (NULL == frames) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_pool_lease(team->pool, where, bytes, clean, n, frames);
    for (k = 0; 0 == rc && k < n; k++) {
        wires[k].frame = frames[k];
    }
    free(frames);
    return rc;
}

void gr_gpu_wire_release(const struct gr_gpu_team *team, struct gr_gpu_wire *wire, int used)
{
    if (NULL != wire->frame) {
        gr_gpu_pool_release(team->pool, wire->frame, used);
    }
    if (NULL != wire->slots) {
        gr_gpu_pool_release(team->pool, wire->slots, used);
    }
}
