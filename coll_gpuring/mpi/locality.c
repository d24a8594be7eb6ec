/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes: which ranks of a communicator share this process's, and in which order rings go through
 * them all.
 */
#include "mpi/comm.h"

#include "comm/params.h"
#include "comm/runtime.h"
#include "mpi/runtime.h"

#include "base/memory.h"
#include "topo/torus.h"

#include "ompi/mca/topo/base/base.h"
#include "ompi/proc/proc.h"
#include "opal/util/info.h"

#include <stdlib.h>
#include <unistd.h>

/*
 * Which ranks are on other nodes, as the runtime says: it knows alike on all ranks whether there
 * are any, while a transport may reach what it likes. OMPI error code.
 */
int mca_coll_gpuring_locality_find(struct gr_comm *comm)
{
    int r, n = 0;

    comm->cluster = (struct gr_torus) {.ndims = 0};
    free(comm->remote); /* of an attempt that failed */
    comm->remote = gr_calloc((size_t) comm->size, sizeof(comm->remote[0]));
    if (NULL == comm->remote) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (r = 0; r < comm->size; r++) {
        ompi_proc_t *proc = ompi_comm_peer_lookup(comm->mpi, r);

        comm->remote[r] =
            proc != ompi_proc_local() && !OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
        n += comm->remote[r];
    }
    if (0 == n) {
        free(comm->remote);
        comm->remote = NULL;
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

int mca_coll_gpuring_locality_order(struct gr_comm *comm, const uint64_t *nodes)
{
    int p = comm->size, k, n = 0;

    free(comm->order); /* of an attempt that failed */
    comm->order = gr_calloc((size_t) p, sizeof(*comm->order));
    if (NULL == comm->order) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    gr_order_nodes(nodes, p, comm->order);
    comm->cluster = gr_torus_of_nodes(nodes, p);
    for (comm->nodes = comm->node_ranks = k = 0; k < p; k++) {
        n = k > 0 && nodes[comm->order[k]] == nodes[comm->order[k - 1]] ? n + 1 : 1;
        comm->nodes += 1 == n;
        comm->node_ranks = n > comm->node_ranks ? n : comm->node_ranks;
    }
    return OMPI_SUCCESS;
}

/* ---- the torus ---- */

/*
 * The torus that the ranks of a communicator form: what its info key gpuring_torus says; else its
 * Cartesian topology; else the parameter, which is meant for MPI_COMM_WORLD; else that of a
 * cluster. MPI makes the second equal on all ranks, the exchange of parameters the third, what all
 * say of themselves the last; of the key it says that an implementation may want one value on all
 * ranks, and this one does.
 */

#define KEY "gpuring_torus"

/* The key's torus; ndims 0: there is no key, or it is wrong, which rank 0 says. */
static struct gr_torus torus_of_key(struct ompi_communicator_t *comm)
{
    struct gr_torus torus = {.ndims = 0};
    char text[64];

    if (NULL == comm->super.s_info || !gr_info_get(comm->super.s_info, KEY, text, sizeof(text))) {
        return torus;
    }
    if (0 != gr_torus_parse(text, &torus) || gr_torus_size(&torus) != ompi_comm_size(comm)) {
        if (0 == ompi_comm_rank(comm)) {
            gr_warn("bad-torus-key", gr_ompi_name(comm), KEY, text, ompi_comm_size(comm));
        }
        torus.ndims = 0;
    }
    return torus;
}

const struct mca_topo_base_comm_cart_2_2_0_t *mca_coll_gpuring_grid(
    const struct ompi_communicator_t *comm)
{
    const mca_topo_base_comm_cart_t *cart;
    long size = 1;
    int d;

    if (!OMPI_COMM_IS_CART(comm) || OMPI_COMM_IS_GRAPH(comm) || OMPI_COMM_IS_DIST_GRAPH(comm) ||
        NULL == comm->c_topo) {
        return NULL;
    }
    cart = comm->c_topo->mtc.cart;
    for (d = 0; d < cart->ndims; d++) {
        size *= cart->dims[d];
    }
    return ompi_comm_size((struct ompi_communicator_t *) comm) == size ? cart : NULL;
}

/*
 * MPI's last dimension is the one in which neighbouring ranks differ: ours is the first. Extents of
 * 1 say nothing.
 */
static struct gr_torus torus_of_grid(struct ompi_communicator_t *comm)
{
    const mca_topo_base_comm_cart_t *cart = mca_coll_gpuring_grid(comm);
    struct gr_torus torus = {.ndims = 0};
    int d;

    if (NULL == cart) {
        return torus;
    }
    for (d = cart->ndims - 1; d >= 0; d--) {
        if (1 == cart->dims[d]) {
            continue;
        }
        if (GR_MAX_DIMS == torus.ndims) {
            torus.ndims = 0;
            break;
        }
        torus.mesh |= cart->periods[d] ? 0u : 1u << torus.ndims;
        torus.dims[torus.ndims++] = cart->dims[d];
    }
    return torus;
}

/*
 * Whether a torus that the user stated is that of the cluster, which knows more of it: that it is
 * nested.
 */
static bool is_cluster(const struct gr_torus *torus, const struct gr_torus *cluster)
{
    return 2 == torus->ndims && 0 == torus->mesh && torus->dims[0] == cluster->dims[0] &&
           torus->dims[1] == cluster->dims[1];
}

struct gr_torus mca_coll_gpuring_torus(const struct gr_comm *comm)
{
    struct gr_torus torus = torus_of_key(comm->mpi);

    if (0 == torus.ndims) {
        torus = torus_of_grid(comm->mpi);
    }
    if (0 == torus.ndims) {
        torus = gr_param_torus(comm->params.value[GR_PARAM_TORUS]);
    }
    return 0 == torus.ndims || is_cluster(&torus, &comm->cluster) ? comm->cluster : torus;
}
