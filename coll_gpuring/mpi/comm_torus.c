/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The torus that the ranks of a communicator form: what its info key gpuring_torus says; else its
 * Cartesian topology; else the parameter, which is meant for MPI_COMM_WORLD; else that of a
 * cluster. MPI makes the second equal on all ranks, the exchange of parameters the third, what all
 * say of themselves the last; of the key it says that an implementation may want one value on all
 * ranks, and this one does.
 */
#include "mpi/comm_torus.h"

#include "engine/log.h"
#include "engine/params.h"
#include "mpi/params.h"
#include "mpi/runtime.h"

#include "topo/torus.h"

#include "ompi/mca/topo/base/base.h"
#include "opal/util/info.h"

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
            mca_coll_gpuring_warn("bad-torus-key", gr_ompi_name(comm), KEY, text,
                                  ompi_comm_size(comm));
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

struct gr_torus mca_coll_gpuring_torus(struct ompi_communicator_t *comm, const gr_params_t *params,
                                       const struct gr_torus *cluster)
{
    struct gr_torus torus = torus_of_key(comm);

    if (0 == torus.ndims) {
        torus = torus_of_grid(comm);
    }
    if (0 == torus.ndims) {
        torus = gr_param_torus(params->value[GR_PARAM_TORUS]);
    }
    return 0 == torus.ndims || is_cluster(&torus, cluster) ? *cluster : torus;
}
