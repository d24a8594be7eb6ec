/* SPDX-License-Identifier: BSD-3-Clause */
/* How kernels do a call: each rank's, one for all ranks, or none. */
#ifndef GR_ENGINE_DEVICE_USE_H
#define GR_ENGINE_DEVICE_USE_H

#include "engine/comm.h"

struct gr_op;

enum gr_device_use {
    GR_KERNELS_OF_ALL, /* each rank's runs its steps, and waits for those of others */
    GR_KERNELS_LEADER, /* one does it (exec/gpu/leader.h) */
    GR_KERNELS_NONE    /* the host does it: each rank's would keep the others' from the device */
};

/*
 * The use that a call makes of devices, where kernels may do it: by what the first set-up on devices
 * has found, which is the same on all ranks. Before it nothing is known, and the answer is
 * GR_KERNELS_OF_ALL. Who forces an algorithm gets it.
 */
enum gr_device_use mca_coll_gpuring_device_use(const struct gr_comm *comm, const struct gr_op *op);

/* The way that the call's collective is to take, by parameter; -1: by the model. */
int mca_coll_gpuring_forced_way(const struct gr_comm *comm, const struct gr_op *op);

/* The same, of the ways that the model knows: not of a leader. */
int mca_coll_gpuring_forced_algorithm(const struct gr_comm *comm, const struct gr_op *op);

#endif
