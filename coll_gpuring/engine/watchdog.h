/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting: reports of ranks that wait too long. */
#ifndef GR_ENGINE_WATCHDOG_H
#define GR_ENGINE_WATCHDOG_H

#include "mpi/ompi.h"

BEGIN_C_DECLS

struct mca_coll_gpuring_module;

/* Whether somebody who waits has seen progress lately. All zero at first. */
struct gr_watch {
    uint64_t moved;     /* counts progress: increased by who drives */
    uint64_t before;    /* its value at the last look */
    unsigned idle;      /* looks since then, */
    unsigned looked;    /* and how many there were at the last look at the clock */
    double since, last; /* of waiting, and of the last look at the clock; 0: not looked yet */
    double next;        /* seconds of waiting at which to report */
};

/* What is waited for, for reports. */
struct gr_waiting {
    struct mca_coll_gpuring_module *module; /* of the communicator, on which other ranks may fail */
    const char *what;                       /* "allreduce" */
    uint64_t seq;
    /* where it stands and which ranks it waits for */
    void (*explain)(void *ctx, char *text, size_t size);
    void *ctx;
};

/*
 * Another look, after a poll. vain: it saw no progress; every `each` such looks see whether the
 * communicator has failed meanwhile, and look at the clock, and report when it is time. Returns the
 * code with which it has failed, or 0.
 */
bool mca_coll_gpuring_watch_idle(struct gr_watch *watch);
int mca_coll_gpuring_watch_vain(struct gr_watch *watch, unsigned each,
                                const struct gr_waiting *waiting);

/* Poll (enum gr_status, or negative) until done, progressing Open MPI. OMPI error code. */
int mca_coll_gpuring_wait(int (*poll)(void *ctx, uint64_t *moved),
                          const struct gr_waiting *waiting);

/* Looks of a blocking wait between two at the clock. */
#define GR_LOOKS_BLOCKING 1024

END_C_DECLS

#endif
