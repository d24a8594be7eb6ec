/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: steps on host memory. Buffers on a device are copied before and after them. */
#include "engine/run_host.h"

#include "engine/host_steps.h"
#include "engine/op.h"

#include "exec/host.h"
#include "sched/sched.h"

static int host_prepare(struct gr_op *op)
{
    return op->hooks->prepare(op, NULL);
}

static int host_start(struct gr_op *op)
{
    int rc = mca_coll_gpuring_host_start(op, &gr_host_backend, &op->run.host.op);

    return 0 == rc ? mca_coll_gpuring_host_time(op) : rc;
}

static void host_explain(struct gr_op *op, char *text, size_t size)
{
    mca_coll_gpuring_host_explain(op, gr_way_name(op->choice.way), NULL, text, size);
}

const struct gr_executor mca_coll_gpuring_run_host = {
    .runs_steps = true,
    .links = mca_coll_gpuring_host_links,
    .connect = mca_coll_gpuring_host_connect,
    .prepare = host_prepare,
    .start = host_start,
    .poll = mca_coll_gpuring_host_poll,
    .waits_near = mca_coll_gpuring_host_waits_near,
    .abort = mca_coll_gpuring_host_abort,
    .finish = mca_coll_gpuring_host_finish,
    .explain = host_explain,
};
