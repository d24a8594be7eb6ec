/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small things that are asked of Open MPI and of the system: time, tags, requests, how long to
 * poll.
 */
#include "engine/runtime.h"

#include "ompi/mca/pml/pml.h"

#include <sched.h>
#include <time.h>

/* Polls without progress before Open MPI is progressed; a slot usually comes sooner. */
#define SPINS_BUSY 200

/* Further down tags are as good, and libnbc would come nearer sooner: 24 bits. */
#define MOST_TAG ((1 << 23) - 1)

double mca_coll_gpuring_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

void mca_coll_gpuring_lock_slowly(gr_lock_t *lock)
{
    while (!gr_try(lock)) {
        sched_yield();
    }
}

unsigned mca_coll_gpuring_spins(void)
{
    /* more ranks than cores: give the core away soon */
    return opal_progress_yield_when_idle ? 1 : SPINS_BUSY;
}

int mca_coll_gpuring_tag(int offset)
{
    int most = mca_pml.pml_max_tag < MOST_TAG ? mca_pml.pml_max_tag : MOST_TAG;

    return -(most / 2 + 1) - offset;
}

int mca_coll_gpuring_request_done(ompi_request_t **request)
{
    int rc;

    if (MPI_REQUEST_NULL == *request) {
        return 1;
    }
    if (!REQUEST_COMPLETE(*request)) {
        return 0;
    }
    rc = (*request)->req_status.MPI_ERROR;
    (void) ompi_request_free(request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS == rc ? 1 : OMPI_ERROR;
}
