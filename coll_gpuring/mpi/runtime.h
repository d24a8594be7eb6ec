/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's port (comm/runtime.h) on Open MPI: what the other files of mpi/ share with it. */
#ifndef GR_MPI_RUNTIME_H
#define GR_MPI_RUNTIME_H

#include "mpi/ompi.h"

#include "comm/comm.h"
#include "comm/failure.h"
#include "comm/process.h"
#include "comm/runtime.h"

#include <sys/queue.h>

/* This process. */
extern struct gr_process gr_process;

static inline struct ompi_communicator_t *gr_ompi_world(void)
{
    return &ompi_mpi_comm_world.comm;
}

/* What to call a communicator in messages; Open MPI gives no name to some (MPI_Intercomm_merge). */
static inline const char *gr_ompi_name(const struct ompi_communicator_t *comm)
{
    return '\0' == comm->c_name[0] ? "a communicator without name" : comm->c_name;
}

/*
 * Test a request of the PML: 1 when it is complete (it is freed) or MPI_REQUEST_NULL, 0 when
 * not, OMPI_ERROR on error. Does not progress Open MPI, unlike ompi_request_test(), so
 * opal_progress may call it.
 */
int mca_coll_gpuring_pml_request_done(ompi_request_t **pml_request);

/* A size among Open MPI's variables (MCA), by its full name; 0 if there is none. */
size_t mca_coll_gpuring_ompi_size(const char *name);

/*
 * Error codes: the code of Open MPI, or of MPI, for one of the engine; and the engine's for one of
 * Open MPI. 0 stays 0.
 */
int mca_coll_gpuring_ompi_code(int error);
int mca_coll_gpuring_engine_code(int rc);

static inline int mca_coll_gpuring_to_ompi(int error)
{
    return 0 == error ? OMPI_SUCCESS : mca_coll_gpuring_ompi_code(error);
}

static inline int mca_coll_gpuring_from_ompi(int rc)
{
    return OMPI_SUCCESS == rc ? 0 : mca_coll_gpuring_engine_code(rc);
}

/*
 * What a request tells the application: MPI's error code for an OMPI error code. Codes of Open
 * MPI's own are negative, and only a collective's own entry turns them into MPI's.
 */
static inline int mca_coll_gpuring_mpi_code(int rc)
{
    return 0 > rc ? MPI_ERR_OTHER : rc;
}

/*
 * At the beginning of a call: whether the communicator has failed, been revoked, or lost a rank.
 * gr_ompi_may_have_failed(): false: it has not. gr_ompi_failure(): OMPI error code.
 */
static inline bool gr_ompi_may_have_failed(struct gr_comm *comm)
{
    struct ompi_communicator_t *mpi = comm->mpi;

    (void) mpi; /* where Open MPI has no fault tolerance */
    return 0 != comm->failed || GR_COMM_REVOKED(mpi) || GR_COMM_LOST_RANK(mpi);
}
static inline int gr_ompi_failure(struct gr_comm *comm)
{
    return gr_ompi_may_have_failed(comm) ? mca_coll_gpuring_to_ompi(gr_failure_check(comm, false))
                                         : OMPI_SUCCESS;
}

/* ---- counters for MPI_T, and the report that a job can end with (report.c, report.h) ---- */

/*
 * The time of small calls of one kind, for the report. Reading the clock would take longer than much
 * of such a call. So the first GR_TIMED_FIRST calls are timed, then one in GR_TIMED_EACH, which
 * stands for the calls since the last one, unless the system has interrupted it. Nothing foretells a
 * long wait: its time is taken of every call, and is no part of the others.
 */
struct gr_call_times {
    uint64_t next;       /* number of the call that is timed next */
    double least_us;     /* of the calls that were timed, without long waits; 0: none was */
    struct gr_sums *row; /* of the report */
    int ranks;           /* of the calls' communicator */
    bool nonblocking;    /* or persistent */
    uint64_t summed;     /* calls whose times have gone to the row */
    /* not yet there: */
    double long_us;    /* long waits of all calls */
    uint64_t standing; /* calls that the timed ones stand for */
    double us;         /* their time, without long waits */
    double wait_us;    /* waiting in that; below 0 where long waits have some of the moving */
};
#define GR_TIMED_FIRST 16
#define GR_TIMED_EACH 17 /* a prime: loops in programs repeat other numbers of calls */

/* Small calls of one kind, counted where they are made: one thread at a time counts. */
struct gr_call_counter {
    _Atomic uint64_t calls;
    struct gr_call_times *times; /* NULL: there is no report. Owned by report.c */
    enum gr_call_id id;
    int algo;     /* their algorithm */
    size_t bytes; /* of each */

    /* Private to report.c. */
    uint64_t added; /* of calls: to the process's counters */
    LIST_ENTRY(gr_call_counter) entry;
};

/*
 * From now on, until it leaves, the process's counters and report have the calls of a counter, too.
 * Its id, algo and bytes are set. ranks, nonblocking: as in struct gr_call_times. Borrowed.
 */
void mca_coll_gpuring_counter_join(struct gr_call_counter *c, int ranks, bool nonblocking);
void mca_coll_gpuring_counter_leave(struct gr_call_counter *c);

/* Whether the call that begins is to be timed. */
static inline bool gr_call_is_timed(const struct gr_call_counter *c)
{
    return NULL != c->times &&
           c->times->next == atomic_load_explicit(&c->calls, memory_order_relaxed);
}

/* Count a call that is done. */
static inline void gr_count_call(struct gr_call_counter *c)
{
    atomic_store_explicit(&c->calls, atomic_load_explicit(&c->calls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/*
 * The same for a call that was to be timed. start: when it began, as gr_runtime_now() has it. waits:
 * whether it waited for other ranks; long_us: of that, in a long wait, which times->long_us has.
 */
void mca_coll_gpuring_count_timed(struct gr_call_counter *c, double start, bool waits,
                                  double long_us);

/* When a call begins, in seconds; 0: it is not to be timed. And its end, unless it has waited. */
static inline double gr_call_start(const struct gr_call_counter *c)
{
    return gr_call_is_timed(c) ? gr_runtime_now() : 0;
}
static inline void gr_count_started(struct gr_call_counter *c, double start)
{
    if (0 == start) {
        gr_count_call(c);
    } else {
        mca_coll_gpuring_count_timed(c, start, false, 0);
    }
}

int mca_coll_gpuring_stats_register(void);

/* Why calls fall back, by enum gr_fallback_reason: as MPI_T and the report call it, and a text. */
extern const struct gr_fallback_row {
    const char *name, *help;
} mca_coll_gpuring_fallbacks[GR_NFALLBACKS];

/* Count a call of a collective that gpuring does not do itself, where there is a report. */
void mca_coll_gpuring_stats_other(enum gr_call_id id);

/*
 * For the report, as MPI goes on (report_gather.c, report_print.c): the component is opened; a
 * communicator gets a module of ours, or none; MPI_COMM_WORLD's module is enabled, or lacks a
 * collective of a component below it, or is disabled; the component is closed, and the job's first
 * rank prints what coll_gpuring_report asks for.
 */
void mca_coll_gpuring_report_open(void);
void mca_coll_gpuring_report_comm(struct ompi_communicator_t *comm, bool ours);
void mca_coll_gpuring_report_world(mca_coll_base_module_t *module);
void mca_coll_gpuring_report_lacks(const char *collective);
void mca_coll_gpuring_report_world_ends(void);
void mca_coll_gpuring_report_print(void);

/* ---- progress of nonblocking calls (drive.c) ---- */

/*
 * open: let opal_progress drive queues with nonblocking ops from now on; repeated calls are fine.
 * OMPI error code. close: at the end of the component, of the progress thread, too.
 */
int mca_coll_gpuring_progress_open(void);
void mca_coll_gpuring_progress_close(void);

/*
 * Start the progress thread at the first nonblocking call (device: that may be on devices), where
 * the parameter wants it.
 */
void mca_coll_gpuring_thread_need(bool device);

#endif
