/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes: which ranks of a communicator share this process's, and in which order rings go through
 * them all.
 */
#include "mpi/locality.h"

#include "mpi/module.h"

#include "base/memory.h"
#include "topo/torus.h"

#include "ompi/proc/proc.h"

#include <stdlib.h>
#include <unistd.h>

/*
 * Which ranks are on other nodes, as the runtime says: it knows alike on all ranks whether there
 * are any, while a transport may reach what it likes. OMPI error code.
 */
int mca_coll_gpuring_locality_find(mca_coll_gpuring_module_t *module,
                                   struct ompi_communicator_t *comm)
{
    int p = ompi_comm_size(comm), r, n = 0;

    module->comm.cluster = (struct gr_torus) {.ndims = 0};
    free(module->comm.remote); /* of an attempt that failed */
    module->comm.remote = gr_calloc((size_t) p, sizeof(module->comm.remote[0]));
    if (NULL == module->comm.remote) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (r = 0; r < p; r++) {
        ompi_proc_t *proc = ompi_comm_peer_lookup(comm, r);

        module->comm.remote[r] =
            proc != ompi_proc_local() && !OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
        n += module->comm.remote[r];
    }
    if (0 == n) {
        free(module->comm.remote);
        module->comm.remote = NULL;
    }
    return OMPI_SUCCESS;
}

/*
 * FNV-1a of the host's name. Two nodes with one number would be no more than neighbours in rings.
 */
uint64_t mca_coll_gpuring_locality_number(void)
{
    uint64_t number = 0xcbf29ce484222325u;
    char name[256] = "", *c;

    (void) gethostname(name, sizeof(name) - 1);
    for (c = name; '\0' != *c; c++) {
        number = (number ^ (unsigned char) *c) * 0x100000001b3u;
    }
    return number;
}

int mca_coll_gpuring_locality_order(mca_coll_gpuring_module_t *module, int p, const uint64_t *nodes)
{
    int k, n = 0;

    free(module->comm.order); /* of an attempt that failed */
    module->comm.order = gr_calloc((size_t) p, sizeof(*module->comm.order));
    if (NULL == module->comm.order) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    gr_order_nodes(nodes, p, module->comm.order);
    module->comm.cluster = gr_torus_of_nodes(nodes, p);
    for (module->comm.nodes = module->comm.node_ranks = k = 0; k < p; k++) {
        n = k > 0 && nodes[module->comm.order[k]] == nodes[module->comm.order[k - 1]] ? n + 1 : 1;
        module->comm.nodes += 1 == n;
        module->comm.node_ranks = n > module->comm.node_ranks ? n : module->comm.node_ranks;
    }
    return OMPI_SUCCESS;
}
