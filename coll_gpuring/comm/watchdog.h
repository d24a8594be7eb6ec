/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting: reports of ranks that wait too long. A wait of 0.1 s is also written where other processes
 * can read it (link/public.h), and with the first report of a wait comes a table of all ranks of the
 * node.
 */
#ifndef GR_COMM_WATCHDOG_H
#define GR_COMM_WATCHDOG_H

#include "comm/comm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Polls without progress before MPI is progressed. */
unsigned gr_polls_per_progress(void);

/* Polls without progress between two checks; each: as in gr_watch_vain(). */
static inline unsigned gr_watch_polls(const struct gr_watch *watch, unsigned each)
{
    return 0 != watch->most && watch->most < each ? watch->most : each;
}

/* What a rank waits for, for reports. */
struct gr_waiting {
    struct gr_comm *comm; /* the communicator of the call */
    const char *what;     /* the call's name, such as "allreduce" */
    uint64_t seq;         /* number of the call */
    /* writes where the call stands and which ranks it waits for */
    void (*explain)(void *ctx, char *text, size_t size);
    void *ctx;                     /* for explain, and for the function that polls */
    struct gr_public_queue *shown; /* to have the wait for others to read; NULL: nothing has */
};

/* Polls without progress of a blocking wait between two checks. */
#define GR_POLLS_PER_CHECK_BLOCKING 1024

/*
 * After each poll. watch_idle: whether the poll saw no progress. watch_vain, for such polls: every
 * `each` of them, or fewer where polls are slow, is a check: it looks whether the communicator has
 * failed, reads the clock, and reports when it is time. Returns the code with which the
 * communicator has failed, or 0.
 */
bool gr_watch_idle(struct gr_watch *watch);
int gr_watch_vain(struct gr_watch *watch, unsigned each, const struct gr_waiting *waiting);

/* Print the table (link/public.h) at that signal, unless the application has a use for it. */
void gr_watch_signal(struct gr_process *process, int number);
void gr_watch_signal_end(int number);

/* Poll (enum gr_status, or negative) until done, progressing MPI. 0, or GR_ERR_... */
int gr_poll_to_end(int (*poll)(void *ctx, uint64_t *moved), const struct gr_waiting *waiting);

#endif
