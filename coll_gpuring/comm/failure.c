/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator fails, on this rank, comm/failure.h. */
#include "comm/failure.h"

#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/failure_messages.h"
#include "comm/runtime.h"

#include "base/errors.h"

#include "cuda/device.h"

#include <stdio.h>

/* Printed, and to be sent. */
static void fail_aloud(struct gr_comm *comm, int code, const char *why)
{
    if (0 == comm->failed) {
        gr_warn("failed-here", comm->rank, gr_comm_name(comm), why);
        gr_fail(comm, code, why);
    }
}

int gr_fail_here(struct gr_comm *comm, int code, const char *why)
{
    fail_aloud(comm, GR_ERR_FAILED, why);
    gr_failure_tell(comm);
    return code;
}

void gr_report_failure(struct gr_comm *comm, enum gr_call_id id, uint64_t seq, int code,
                       const char *what, const char *reason)
{
    char why[sizeof(comm->why)];

    snprintf(why, sizeof(why), "%s, sequence %llu: %s%s", gr_calls[id].name,
             (unsigned long long) seq, what, reason);
    fail_aloud(comm, code, why);
}

const char *gr_error_text(int rc)
{
    switch (rc) {
    case GR_ERR_FAILED:
        return "an error";
    case GR_ERR_DIFFER:
    case GR_ERR_TRUNCATE:
        return "the calls of the ranks do not match";
    case GR_ERR_REVOKED:
        return "the communicator was revoked";
    case GR_ERR_LOST_RANK:
        return "a rank has ended";
    case GR_ERR_NOMEM:
        return "out of memory";
    case GR_ERR_CUDA:
    case GR_ERR_GPU_SPACE:
        return gr_gpu_error();
    case GR_ERR_FOREIGN:
    case GR_ERR_SYS:
        return "the memory of another rank could not be read";
    default:
        return "a connection to another node broke";
    }
}

int gr_failure_check(struct gr_comm *comm, bool thorough)
{
    int state = 0 == comm->failed ? gr_runtime_state(comm) : 0;

    if (0 != state) {
        gr_fail(comm, state, NULL);
    } else if (0 == comm->failed && thorough) {
        gr_failure_poll(comm->process);
    }
    return comm->failed;
}

int gr_failure_of_message(struct gr_comm *comm)
{
    int r, rc = gr_failure_check(comm, false);

    for (r = 0; 0 == rc && r < comm->size; r++) {
        if (gr_runtime_lost(comm, r)) {
            rc = GR_ERR_LOST_RANK;
            gr_fail(comm, rc, NULL);
        }
    }
    return 0 == rc ? GR_ERR_FAILED : rc;
}
