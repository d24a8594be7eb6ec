/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs of connections (connection.h). */
#include "exec/gpu/connection.h"

#include "base/memory.h"
#include "exec/gpu/team.h"

#include <stdlib.h>

int gr_gpu_connections_lease(const struct gr_gpu_team *team, enum gr_gpu_where where, size_t bytes,
                             size_t clean, struct gr_gpu_connection *connections, int n)
{
    struct gr_gpu_slab **slabs;
    int k, rc;

    if (0 == n) {
        return 0;
    }
    slabs = gr_calloc((size_t) n, sizeof(struct gr_gpu_slab *));
    if (NULL == slabs) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_pool_lease(team->pool, where, bytes, clean, n, slabs);
    for (k = 0; 0 == rc && k < n; k++) {
        connections[k].slab = slabs[k];
    }
    free(slabs);
    return rc;
}

void gr_gpu_connection_release(const struct gr_gpu_team *team, struct gr_gpu_connection *connection,
                               int used)
{
    if (NULL != connection->slab) {
        gr_gpu_pool_release(team->pool, connection->slab, used);
    }
    if (NULL != connection->slots) {
        gr_gpu_pool_release(team->pool, connection->slots, used);
    }
}
