/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Picks the executor of an op. All ranks pick the same one, except that each rank decides alone
 * whether its host steps overlap with copies of its staged buffers: the messages are the same.
 */
#include "engine/pick.h"

#include "engine/executor.h"
#include "engine/host_steps.h"
#include "engine/op.h"
#include "engine/run_mailbox.h"
#include "engine/run_device.h"
#include "engine/run_leader.h"
#include "engine/run_host.h"
#include "engine/run_messages.h"

#include "link/team.h"
#include "sched/sched.h"

const struct gr_executor *mca_coll_gpuring_pick(const struct gr_op *op)
{
    const struct gr_executor *replaced;

    if (op->agreed.kernels) {
        return GR_WAY_LEADER == op->choice.way ? &mca_coll_gpuring_run_leader
                                               : &mca_coll_gpuring_run_device;
    }
    if (op->without_links) {
        return &mca_coll_gpuring_run_messages;
    }
    /*
     * A nonblocking call cannot fall back: it is completed here without links. Not before its
     * start, since a rank may learn earlier than others that links are refused.
     */
    if (op->nonblocking && GR_OP_START == op->phase &&
        GR_LINKS_REFUSED == mca_coll_gpuring_host_links(op)) {
        return &mca_coll_gpuring_run_messages;
    }
    if (GR_WAY_MAILBOX == op->choice.way) {
        return &mca_coll_gpuring_run_mailbox;
    }
    replaced = op->hooks->replace_host(op);
    return NULL != replaced ? replaced : &mca_coll_gpuring_run_host;
}
