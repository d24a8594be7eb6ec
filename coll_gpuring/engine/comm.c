/* SPDX-License-Identifier: BSD-3-Clause */
/* The beginning and end of a communicator (engine/comm.h). */
#include "engine/comm.h"

#include "engine/devices.h"
#include "engine/failure_messages.h"
#include "engine/op_queue.h"

#include <stdlib.h>
#include <string.h>

void mca_coll_gpuring_comm_init(struct gr_comm *comm, struct gr_process *process)
{
    memset(comm, 0, sizeof(*comm));
    comm->process = process;
    comm->rails = 1;
}

/* Never communicates: peers may be late, or gone. */
void mca_coll_gpuring_comm_free(struct gr_comm *comm)
{
    bool device = false;
    int k;

    mca_coll_gpuring_failure_delist(comm);
    for (k = 0; k < GR_NORDERS; k++) {
        device = device || (NULL != comm->queues[k] && NULL != comm->queues[k]->gpu);
        mca_coll_gpuring_queue_free(comm->queues[k]);
    }
    if (device) {
        mca_coll_gpuring_gpus_trim();
    }
    free(comm->pids);
    free(comm->remote);
    free(comm->order);
}
