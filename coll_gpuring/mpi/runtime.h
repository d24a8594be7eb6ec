/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's port (comm/runtime.h) on Open MPI: what the other files of mpi/ share with it. */
#ifndef GR_MPI_RUNTIME_H
#define GR_MPI_RUNTIME_H

#include "mpi/ompi.h"

#include "comm/comm.h"
#include "comm/failure.h"
#include "comm/process.h"
#include "comm/runtime.h"

BEGIN_C_DECLS

/* This process. */
extern struct gr_process gr_process;

/* The communicator of Open MPI that the engine's stands for; set before the first call. */
static inline struct ompi_communicator_t *gr_ompi_comm(const struct gr_comm *comm)
{
    return comm->mpi;
}

/* Let the engine's communicator stand for Open MPI's. Repeated calls are fine. */
void mca_coll_gpuring_comm_bind(struct gr_comm *comm, struct ompi_communicator_t *mpi);

/* What to call a communicator in messages; Open MPI gives no name to some (MPI_Intercomm_merge). */
static inline const char *gr_ompi_name(const struct ompi_communicator_t *comm)
{
    return '\0' == comm->c_name[0] ? "a communicator without name" : comm->c_name;
}

/* gr_should_log() for a communicator; NULL: false. */
static inline bool gr_ompi_should_log(struct ompi_communicator_t *comm, int level)
{
    return NULL != comm && gr_should_log(ompi_comm_rank(comm), level);
}

/*
 * Test a request of the PML: 1 when it is complete (it is freed) or MPI_REQUEST_NULL, 0 when
 * not, OMPI_ERROR on error. Does not progress Open MPI, unlike ompi_request_test(), so
 * opal_progress may call it.
 */
int mca_coll_gpuring_pml_request_done(ompi_request_t **pml_request);

/* A size among Open MPI's variables (MCA), by its full name; `otherwise` if there is none. */
size_t mca_coll_gpuring_ompi_size(const char *name, size_t otherwise);

/*
 * Error codes: the code of Open MPI, or of MPI, for one of the engine; and the engine's for one of
 * Open MPI. 0 stays 0; the functions are for other codes.
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
    struct ompi_communicator_t *mpi = gr_ompi_comm(comm);

    (void) mpi; /* where Open MPI has no fault tolerance */
    return 0 != comm->failed || GR_COMM_REVOKED(mpi) || GR_COMM_LOST_RANK(mpi);
}
static inline int gr_ompi_failure(struct gr_comm *comm)
{
    return gr_ompi_may_have_failed(comm) ? mca_coll_gpuring_to_ompi(gr_failure_check(comm, false))
                                         : OMPI_SUCCESS;
}

/* ---- counters for MPI_T, and the report that a job can end with (report.c, report.h) ---- */

/* From now on, until it leaves, the process's counters have the counter's calls, too. Borrowed. */
void mca_coll_gpuring_counter_join(struct gr_call_counter *c);
void mca_coll_gpuring_counter_leave(struct gr_call_counter *c);

int mca_coll_gpuring_stats_register(void);
const char *mca_coll_gpuring_fallback_name(int reason);

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

END_C_DECLS

#endif
