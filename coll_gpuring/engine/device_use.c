/* SPDX-License-Identifier: BSD-3-Clause */
/* How kernels do a call (device_use.h). */
#include "engine/device_use.h"

#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/params.h"

#include "exec/gpu/team.h"
#include "link/team.h"
#include "sched/sched.h"

int mca_coll_gpuring_forced_way(const struct gr_comm *comm, const struct gr_op *op)
{
    return (int) comm->params.value[GR_PARAM_ALGORITHM + op->data.spec.coll];
}

int mca_coll_gpuring_forced_algorithm(const struct gr_comm *comm, const struct gr_op *op)
{
    int way = mca_coll_gpuring_forced_way(comm, op);

    return GR_WAY_LEADER == way ? -1 : way;
}

/* Whether the call's collective is to take an algorithm of schedules that it has. */
static bool is_forced(const struct gr_comm *comm, const struct gr_op *op)
{
    int way = mca_coll_gpuring_forced_way(comm, op);

    return way >= 0 && way < GR_NALGOS && gr_algo_has((enum gr_algo) way, op->data.spec.coll);
}

enum gr_device_use mca_coll_gpuring_device_use(const struct gr_comm *comm, const struct gr_op *op)
{
    const struct gr_gpu_team *gpu = NULL == op->queue ? NULL : op->queue->gpu;

    if (NULL == gpu || is_forced(comm, op)) {
        return GR_KERNELS_OF_ALL;
    }
    if (gr_gpu_team_has_leader(gpu) &&
        GR_LINKS_REFUSED != gr_team_links(op->queue->team, GR_WAY_LEADER, 0, 1)) {
        return GR_KERNELS_LEADER;
    }
    return gr_gpu_team_contends(gpu) ? GR_KERNELS_NONE : GR_KERNELS_OF_ALL;
}
