/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set-up of device links: the device's row of struct gr_link_memory (link/connect.h).
 *
 *      reader   leases a slab for tail and slots
 *      writer   maps it, and replies with a slab for the heads. If its device cannot map the
 *               reader's memory, it replies with a slab for the whole link in pinned host memory
 *      reader   maps the writer's slab
 */
#ifndef GR_EXEC_GPU_CONNECT_H
#define GR_EXEC_GPU_CONNECT_H

#include "link/connect.h"
#include "sched/sched.h"

struct gr_gpu_team;

/* Links between devices. */
extern const struct gr_link_memory gr_gpu_links;

/*
 * Begin the set-up of an algorithm's links, with step tables and the link ends that kernels read.
 * algo may be GR_WAY_LEADER: of no links.
 * Returns 0, or GR_ERR_NOMEM: the join has not begun.
 */
int gr_gpu_team_join(struct gr_join *join, struct gr_gpu_team *team, enum gr_algo algo, int root);

#endif
