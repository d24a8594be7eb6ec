/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of a communicator's first set-up on devices: which device each rank uses, and in which
 * order the ranks form rings. Rank 0 decides the order for all, since each process might see other
 * distances between devices (in containers, say), and rings must be the same everywhere.
 */
#include "comm/devices.h"
#include "exec/op.h"
#include "exec/setup.h"

#include "base/memory.h"
#include "topo/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gr_setup_devices(struct gr_setup *s)
{
    const struct gr_constants *constants = s->queue->comm->constants;
    int p = s->queue->comm->size, r, rc = 0;
    struct gr_setup_device *own;

    s->state = GR_SETUP_DEVICES;
    s->devices = gr_calloc((size_t) p + 1, sizeof(s->devices[0]));
    if (NULL == s->devices || 0 != gr_setup_reserve(s, p)) {
        return GR_ERR_NOMEM;
    }
    own = &s->devices[p];
    s->mine = gr_gpu_pick(s->op->buffers, &s->mine_error);
    if (NULL != s->mine) {
        own->id = s->mine->id;
        own->contends = !gr_gpu_has_mps(s->mine);
        own->tuned = NULL != constants && '\0' != constants->device[0] &&
                     0 == strcmp(constants->device, s->mine->model);
    } else {
        snprintf(s->why, sizeof(s->why), "%s", gr_gpu_error());
    }
    if (0 != s->queue->comm->rank) {
        return gr_setup_post(s, true, own, sizeof(*own), 0);
    }
    s->devices[0] = *own;
    s->awaited = p - 1;
    for (r = 1; r < p && 0 == rc; r++) {
        rc = gr_setup_post(s, false, &s->devices[r], sizeof(s->devices[r]), r);
    }
    return rc;
}

/*
 * What was found out last. To ask NVML takes tens of milliseconds, and most communicators of a
 * program have the same ranks.
 */
static struct {
    gr_lock_t lock;
    int p;
    struct gr_pci_address *addresses; /* with it, in the same memory: */
    int *order;
    bool linked;
} known;

void gr_order_close(void)
{
    free(known.addresses);
    known.addresses = NULL;
    known.p = 0;
}

/* Keep it, if there is memory for it. The lock is held. */
static void keep(const struct gr_pci_address *addresses, int p, const int *order, bool linked)
{
    size_t n = (size_t) p;

    gr_order_close();
    known.addresses = gr_malloc(n * (sizeof(*addresses) + sizeof(*order)));
    if (NULL != known.addresses) {
        known.p = p;
        known.order = (int *) (known.addresses + n);
        known.linked = linked;
        memcpy(known.addresses, addresses, n * sizeof(*addresses));
        memcpy(known.order, order, n * sizeof(*order));
    }
}

/* Neighbours by the distance of their devices, and whether NVLink joins all. 0, or GR_ERR_... */
static int find_order(const struct gr_pci_address *addresses, int p, int *order, bool *linked)
{
    int rc = 0;

    gr_lock(&known.lock);
    if (known.p == p && 0 == memcmp(known.addresses, addresses, (size_t) p * sizeof(*addresses))) {
        memcpy(order, known.order, (size_t) p * sizeof(*order));
        *linked = known.linked;
    } else {
        *linked = 0 != gr_gpus_linked(NULL, addresses, p);
        rc = gr_order_gpus(NULL, addresses, p, order);
        if (0 == rc) {
            keep(addresses, p, order, *linked);
        }
    }
    gr_unlock(&known.lock);
    return 0 == rc ? 0 : GR_ERR_NOMEM;
}

static bool is_one_device(const struct gr_setup *s, int p)
{
    int r;

    for (r = 1; r < p && gr_gpu_id_equal(&s->devices[r].id, &s->devices[0].id); r++) {
    }
    return r == p;
}

/*
 * Inside a node: as devices lie. *path: what links are like, as far as it is known already. 0, or
 * GR_ERR_...
 */
static int order_devices(const struct gr_setup *s, int p, int *order, enum gr_path *path)
{
    struct gr_pci_address *addresses;
    int r, rc = GR_ERR_NOMEM;
    bool linked = false;

    if (is_one_device(s, p)) { /* nothing to ask NVML for, which takes tens of milliseconds */
        for (r = 0; r < p; r++) {
            order[r] = r;
        }
        *path = GR_PATH_SAME;
        return 0;
    }
    addresses = gr_calloc((size_t) p, sizeof(*addresses));
    if (NULL != addresses) {
        for (r = 0; r < p; r++) {
            const struct gr_gpu_id *id = &s->devices[r].id;

            addresses[r] = (struct gr_pci_address) {id->domain, id->bus, id->device};
        }
        rc = find_order(addresses, p, order, &linked);
    }
    *path = linked ? GR_PATH_NVLINK : GR_PATH_PCIE;
    free(addresses);
    return rc;
}

/*
 * Whether all ranks' devices are of the model of which the tuning file has constants. Say so once
 * where they are not.
 */
static bool are_tuned(const struct gr_setup *s)
{
    static atomic_bool warned;
    const struct gr_comm *comm = s->queue->comm;
    int p = s->queue->comm->size, r = 0;

    while (r < p && 0 != s->devices[r].tuned) {
        r++;
    }
    if (r < p && NULL != comm->constants && '\0' != comm->constants->device[0] &&
        !atomic_exchange(&warned, true)) {
        gr_warn("tune-device", comm->constants->device, r, gr_comm_name(comm));
    }
    return r == p;
}

/* Whether some ranks share a device on which their kernels do not run at the same time. */
static bool contend(const struct gr_setup *s)
{
    int p = s->queue->comm->size, r, k;

    for (r = 0; r < p; r++) {
        for (k = 0; k < r && 0 != s->devices[r].contends; k++) {
            if (gr_gpu_id_equal(&s->devices[k].id, &s->devices[r].id)) {
                return true;
            }
        }
    }
    return false;
}

/*
 * The order of rings: a torus that the parameter states wins, else the torus of the nodes, else the
 * order of nodes, as in host memory; inside a node as devices lie, which also tells the path.
 */
static int decide_order(struct gr_setup *s)
{
    const struct gr_comm *comm = s->queue->comm;
    struct gr_torus torus = gr_param_torus(comm->params.value[GR_PARAM_TORUS]);
    int p = s->queue->comm->size, r, rc = GR_ERR_NOMEM,
        *order = gr_calloc((size_t) p, sizeof(*order));
    enum gr_path path = GR_PATH_NET;

    if (NULL != order) {
        rc = NULL == comm->remote ? order_devices(s, p, order, &path) : 0;
        if (torus.ndims > 0) {
            gr_order_ring(&torus, p, 0, order);
        } else if (NULL != comm->remote && comm->torus.ndims > 0) {
            gr_order_ring(&comm->torus, p, 0, order);
        } else if (NULL != comm->remote) {
            memcpy(order, comm->order, (size_t) p * sizeof(*order));
        } /* else in the order of the devices, from order_devices() */
    }
    for (r = 0; 0 == rc && r < p; r++) {
        s->devices[r].order = order[r];
    }
    s->devices[0].path = path;
    s->devices[0].tuned = are_tuned(s);
    s->devices[0].contends = contend(s);
    free(order);
    return rc;
}

int gr_setup_order(struct gr_setup *s)
{
    int p = s->queue->comm->size, r, rc;
    size_t bytes = (size_t) p * sizeof(s->devices[0]);

    s->state = GR_SETUP_ORDER;
    if (0 != s->queue->comm->rank) {
        s->awaited = 1;
        return gr_setup_post(s, false, s->devices, bytes, 0);
    }
    rc = decide_order(s);
    s->awaited = 0;
    for (r = 1; r < p && 0 == rc; r++) {
        rc = gr_setup_post(s, true, s->devices, bytes, r);
    }
    return rc;
}

int gr_setup_team(struct gr_setup *s)
{
    const struct gr_comm *comm = s->queue->comm;
    const int64_t *value = comm->params.value;
    size_t p = (size_t) s->queue->comm->size, r;
    struct gr_gpu_id *ids = gr_calloc(p, sizeof(*ids));
    int *order = gr_calloc(p, sizeof(*order));
    struct gr_gpu_team given = {
        .p = (int) p,
        .rank = s->queue->comm->rank,
        .nchannels = gr_device_channels(comm),
        .nslots = (uint32_t) value[GR_PARAM_DEVICE_SLOTS],
        .slot_bytes = (size_t) value[GR_PARAM_DEVICE_SLOT_BYTES],
        .remote = comm->remote,
        .rdma = NULL == s->mine || NULL != gr_net_no_rdma(s->queue) ? GR_RDMA_NONE
                                                                    : gr_gpu_rdma(s->mine),
        .path = (enum gr_path) s->devices[0].path,
        .contends = s->devices[0].contends,
        .gpu = s->mine,
        .status = s->mine_error,
    };

    if (NULL != ids && NULL != order) {
        for (r = 0; r < p; r++) {
            ids[r] = s->devices[r].id;
            order[r] = s->devices[r].order;
        }
        if (NULL != given.gpu) {
            given.pool = gr_process_gpu_pool(s->queue->comm->process, given.gpu, &given.status);
            given.gpu = NULL == given.pool ? NULL : given.gpu;
            given.ipc_cache = NULL == given.gpu ? NULL : gr_process_ipc_cache(given.gpu);
        }
        s->queue->gpu = gr_gpu_team_create(&given, order, comm->torus, ids);
        s->queue->tuned = 0 != s->devices[0].tuned;
    }
    free(ids);
    free(order);
    return NULL == s->queue->gpu ? GR_ERR_NOMEM : 0;
}

/* ---- how kernels do a call ---- */

int gr_forced_algo(const struct gr_comm *comm, const struct gr_op *op)
{
    return (int) comm->params.value[GR_PARAM_ALGORITHM + op->data.spec.coll];
}

int gr_forced_scheduled(const struct gr_comm *comm, const struct gr_op *op)
{
    int algo = gr_forced_algo(comm, op);

    return GR_ALGO_LEADER == algo ? -1 : algo;
}

/* Whether the call's collective is to take an algorithm of schedules that it has. */
static bool is_forced(const struct gr_comm *comm, const struct gr_op *op)
{
    int algo = gr_forced_algo(comm, op);

    return algo >= 0 && algo < GR_NALGOS && gr_algo_has((enum gr_algo) algo, op->data.spec.coll);
}

enum gr_device_use gr_device_use_of(const struct gr_comm *comm, const struct gr_op *op)
{
    const struct gr_gpu_team *gpu = NULL == op->queue ? NULL : op->queue->gpu;

    if (NULL == gpu) {
        return GR_KERNELS_OF_ALL;
    }
    if (!is_forced(comm, op) && 0 != (GR_LEADER_COLLS & GR_BIT(op->data.spec.coll)) &&
        gpu->one_device && !gpu->refused &&
        GR_LINKS_REFUSED != gr_team_links(op->queue->team, GR_ALGO_LEADER, 0, 1)) {
        return GR_KERNELS_LEADER;
    }
    return gpu->contends || gpu->refused ? GR_KERNELS_NONE : GR_KERNELS_OF_ALL;
}
