/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of a communicator's first set-up on devices: which device each rank uses, and in which order the ranks
 * form rings. Rank 0 decides the order for all, since each process might see other distances between devices (in
 * containers, say), and rings must be the same everywhere.
 */
#include "coll_gpuring_setup.h"

#include "topo/gpus.h"

#include <stdlib.h>
#include <string.h>

static int rank_of(const struct gr_setup *s)
{
    return ompi_comm_rank(s->lane->comm);
}

static int size_of(const struct gr_setup *s)
{
    return ompi_comm_size(s->lane->comm);
}

int mca_coll_gpuring_setup_devices(struct gr_setup *s)
{
    int p = size_of(s), r, rc = OMPI_SUCCESS;
    struct gr_setup_device *own;

    s->state = GR_SETUP_DEVICES;
    s->devices = calloc((size_t) p + 1, sizeof(s->devices[0]));
    if (NULL == s->devices || OMPI_SUCCESS != mca_coll_gpuring_setup_room(s, p)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    own = &s->devices[p];
    s->mine = mca_coll_gpuring_gpu_pick(&s->op->call, &s->mine_error);
    if (NULL != s->mine) {
        own->id = gr_gpu_id(s->mine);
    } else {
        snprintf(s->why, sizeof(s->why), "%s", gr_gpu_error());
    }
    if (0 != rank_of(s)) {
        return mca_coll_gpuring_setup_post(s, true, own, sizeof(*own), 0, s->tag);
    }
    s->devices[0] = *own;
    s->awaited = p - 1;
    for (r = 1; r < p && OMPI_SUCCESS == rc; r++) {
        rc = mca_coll_gpuring_setup_post(s, false, &s->devices[r], sizeof(s->devices[r]), r, s->tag);
    }
    return rc;
}

/* What links between the ranks' devices are like, as far as can be known before they are made. */
static enum gr_path find_path(const struct gr_setup *s, const struct gr_gpu_place_in_node *places, int p)
{
    int same = 0, r;

    for (r = 0; r < p; r++) {
        same += 0 == memcmp(s->devices[r].id.uuid, s->devices[0].id.uuid, sizeof(s->devices[0].id.uuid));
    }
    return same == p ? GR_PATH_SAME : gr_gpus_linked(places, p) ? GR_PATH_NVLINK : GR_PATH_PCIE;
}

/* Rings along the torus where one is stated; else neighbours by the distance of their devices. */
static int decide_order(struct gr_setup *s)
{
    int p = size_of(s), r, rc = OMPI_SUCCESS;
    enum gr_path path = GR_PATH_PCIE;
    struct gr_torus torus = mca_coll_gpuring_param_torus(s->lane->module->params.value[GR_PARAM_TORUS]);
    struct gr_gpu_place_in_node *places = calloc((size_t) p, sizeof(*places));
    int *order = calloc((size_t) p, sizeof(*order));

    if (NULL == places || NULL == order) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    } else {
        for (r = 0; r < p; r++) {
            const struct gr_gpu_id *id = &s->devices[r].id;

            places[r] = (struct gr_gpu_place_in_node) {id->domain, id->bus, id->device};
        }
        path = find_path(s, places, p);
    }
    if (OMPI_SUCCESS == rc && torus.ndims > 0) {
        gr_order_ring(&torus, p, 0, order);
    } else if (OMPI_SUCCESS == rc) {
        rc = 0 == gr_order_gpus(places, p, order) ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (r = 0; OMPI_SUCCESS == rc && r < p; r++) {
        s->devices[r].order = order[r];
        s->devices[r].path = path;
    }
    free(places);
    free(order);
    return rc;
}

int mca_coll_gpuring_setup_order(struct gr_setup *s)
{
    int p = size_of(s), r, rc;
    size_t bytes = (size_t) p * sizeof(s->devices[0]);

    s->state = GR_SETUP_ORDER;
    if (0 != rank_of(s)) {
        s->awaited = 1;
        return mca_coll_gpuring_setup_post(s, false, s->devices, bytes, 0, s->tag - 3);
    }
    rc = decide_order(s);
    s->awaited = 0;
    for (r = 1; r < p && OMPI_SUCCESS == rc; r++) {
        rc = mca_coll_gpuring_setup_post(s, true, s->devices, bytes, r, s->tag - 3);
    }
    return rc;
}

int mca_coll_gpuring_setup_team(struct gr_setup *s)
{
    const int64_t *value = s->lane->module->params.value;
    size_t p = (size_t) size_of(s), r;
    struct gr_gpu_id *ids = calloc(p, sizeof(*ids));
    int *order = calloc(p, sizeof(*order));
    struct gr_gpu_team_params params = {
        .p = (int) p,
        .rank = rank_of(s),
        .nchannels = (uint32_t) value[GR_PARAM_DEVICE_CHANNELS],
        .nslots = (uint32_t) value[GR_PARAM_DEVICE_SLOTS],
        .slot_bytes = (size_t) value[GR_PARAM_DEVICE_SLOT_BYTES],
        .order = order,
        .ids = ids,
        .path = (enum gr_path) s->devices[0].path,
        .gpu = s->mine,
        .status = s->mine_error,
    };

    if (NULL != ids && NULL != order) {
        for (r = 0; r < p; r++) {
            ids[r] = s->devices[r].id;
            order[r] = s->devices[r].order;
        }
        if (NULL != params.gpu) {
            params.pool = mca_coll_gpuring_gpu_pool(params.gpu, &params.status);
            params.gpu = NULL == params.pool ? NULL : params.gpu;
        }
        s->lane->gpu = gr_gpu_team_create(&params);
    }
    free(ids);
    free(order);
    return NULL == s->lane->gpu ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}
