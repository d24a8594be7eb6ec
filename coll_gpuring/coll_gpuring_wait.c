/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting. A rank that sees no progress for `timeout` seconds says which call of which communicator it is in
 * and for which ranks it waits, and keeps waiting; or it aborts the job, where that was asked for.
 */
#include "coll_gpuring.h"

#include "ompi/runtime/mpiruntime.h"
#include "opal/runtime/opal_progress.h"

#include <time.h>

/* Polls without progress before Open MPI is progressed; a slot usually comes sooner. */
#define SPINS_BUSY 200
/* Polls between two looks at the clock. */
#define SPINS_CLOCK 1024

double mca_coll_gpuring_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void report(const struct gr_wait *w, double waited)
{
    char where[512];

    w->explain(w->ctx, where, sizeof(where));
    opal_output(0, "gpuring: rank %d of %s (id %u) waits %.0f s in %s, sequence %llu: %s",
                ompi_comm_rank(w->comm), gr_comm_name(w->comm), GR_COMM_ID(w->comm), waited, w->what,
                (unsigned long long) w->seq, where);
    if (mca_coll_gpuring_component.timeout_abort) {
        opal_output(0, "gpuring: coll_gpuring_timeout_abort is 1: aborting the job");
        ompi_mpi_abort(&ompi_mpi_comm_world.comm, MPI_ERR_OTHER);
    }
}

int mca_coll_gpuring_wait(const struct gr_wait *w)
{
    double timeout = mca_coll_gpuring_component.timeout, since = 0, next = timeout, t;
    /* more ranks than cores: give the core away soon */
    unsigned busy = opal_progress_yield_when_idle ? 1 : SPINS_BUSY, spins = 0;
    uint64_t moved = 0, before = 0;
    int rc;

    for (;;) {
        rc = w->poll(w->ctx, &moved);
        if (GR_AGAIN != rc) {
            return GR_DONE == rc ? OMPI_SUCCESS : rc;
        }
        if (moved != before) {
            before = moved;
            spins = 0;
            since = 0;
            continue;
        }
        if (0 == ++spins % busy) {
            opal_progress();
            if (GR_COMM_REVOKED(w->comm)) {
                return GR_ERR_REVOKED;
            }
        }
        if (0 == spins % SPINS_CLOCK && timeout > 0) {
            t = mca_coll_gpuring_now();
            if (0 == since) {
                since = t;
                next = timeout;
            } else if (t - since >= next) {
                report(w, t - since);
                next += timeout;
            }
        }
    }
}
