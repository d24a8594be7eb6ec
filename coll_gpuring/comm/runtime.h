/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The port through which the engine uses MPI. The engine includes no header of Open MPI: what is
 * declared here is defined by mpi/runtime.c and mpi/net_pml.c on Open MPI, and by
 * tests/unit/rank_runtime.c for ranks that are threads of one process.
 */
#ifndef GR_COMM_RUNTIME_H
#define GR_COMM_RUNTIME_H

#include "comm/collectives.h"
#include "comm/params.h"

#include "link/lease.h"
#include "sched/protocol.h"
#include "tune/constants.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_comm;
struct gr_process;
struct gr_timing_report;
struct gr_transport;

/* ---- messages between the ranks of a communicator ---- */

/* A message in flight; the runtime's. A pointer that is NULL stands for none. */
struct gr_message;

/*
 * Post a send or a receive of bytes. Messages of one sender and tag arrive in the order in which
 * they were sent. buf belongs to the message until gr_runtime_test() returns 1. 0, or
 * GR_ERR_FAILED.
 */
int gr_runtime_send(const struct gr_comm *comm, const void *buf, size_t bytes, int rank, int tag,
                    struct gr_message **message);
int gr_runtime_receive(const struct gr_comm *comm, void *buf, size_t bytes, int rank, int tag,
                       struct gr_message **message);

/*
 * Test a message: 1 when it is complete, then *message is set to NULL, or was NULL already; 0 when
 * it is in flight; GR_ERR_FAILED on error. Does not progress MPI, so it may be called from
 * gr_runtime_progress().
 */
int gr_runtime_test(struct gr_message **message);

/* The same of n messages: 1 when all are complete. */
static inline int gr_runtime_test_all(struct gr_message **messages, int n)
{
    int k, rc = 1;

    for (k = 0; k < n && 1 == rc; k++) {
        rc = gr_runtime_test(&messages[k]);
    }
    return rc;
}

/*
 * The tag at an offset, 0..GR_NTAGS-1, of the range of tags that is reserved for gpuring's messages:
 * one run of negative tags, of which offset 0 is the highest. Offsets:
 */
int gr_runtime_tag(int offset);

#define GR_TAGS_NET 0     /* two, between all processes of the job */
#define GR_TAGS_FAILURE 2 /* between all processes of the job */
#define GR_TAGS_MESSAGES 3
#define GR_TAGS_SETUPS 4 /* GR_SETUP_TAGS for each of GR_TAGGED_SETUPS set-ups */
#define GR_SETUP_TAGS 4
#define GR_TAGGED_SETUPS 4096
#define GR_TAGS_PAIRS \
    (GR_TAGS_SETUPS + GR_SETUP_TAGS * GR_TAGGED_SETUPS) /* two for each of GR_TAGGED_PAIRS calls */
#define GR_TAGGED_PAIRS 8192
#define GR_TAGS_REPORT (GR_TAGS_PAIRS + 2 * GR_TAGGED_PAIRS)
#define GR_NTAGS (GR_TAGS_REPORT + 1)

/* ---- messages between the processes of the job, whatever communicators they share ---- */

/* The number of a rank's process in the job; -1: it is a process of another job. */
int gr_runtime_number(const struct gr_comm *comm, int rank);

/*
 * send: to the process of that number; does not wait for the message to arrive, which stays in
 * memory until the end of the component. probe: whether a message has arrived, and from which
 * process. receive: that message. 0, or GR_ERR_FAILED.
 */
int gr_runtime_job_send(struct gr_process *process, const void *message, size_t bytes, int number);
bool gr_runtime_job_probe(struct gr_process *process, int *number);
int gr_runtime_job_receive(struct gr_process *process, void *message, size_t bytes, int number);

/* ---- communicators ---- */

/* Keep a communicator while it is used outside of a call on it. */
void gr_runtime_retain(const struct gr_comm *comm);
void gr_runtime_release(const struct gr_comm *comm);

/* Whether a communicator can be used: 0, GR_ERR_REVOKED, or GR_ERR_LOST_RANK (ULFM). */
int gr_runtime_state(const struct gr_comm *comm);

/* Whether that rank's process has ended (ULFM). */
bool gr_runtime_lost(const struct gr_comm *comm, int rank);

/* Whether this process can read the memory of that rank's, as far as a test shows. */
bool gr_runtime_reads(const struct gr_comm *comm, int rank);

/* The name of a rank's host, for messages. */
const char *gr_runtime_host(const struct gr_comm *comm, int rank);

/* ---- the process ---- */

/* Whether MPI may be called by several threads. */
extern const bool *const gr_runtime_threads;

struct gr_peer_id gr_runtime_self(void); /* this process */
int gr_runtime_local_rank(void);         /* among those of the job on this node */

/* Monotonic time in seconds. */
double gr_runtime_now(void);

/* Progress MPI: messages arrive, and registered functions are called. */
void gr_runtime_progress(void);

/* The same, and keep the core, also where ranks share cores. */
void gr_runtime_progress_no_yield(void);

/*
 * Register a function that gr_runtime_progress() calls, one of each kind; or undo that. often: in
 * each call; else in some of them. 0, or GR_ERR_FAILED.
 */
enum gr_progress_kind { GR_PROGRESS_QUEUES, GR_PROGRESS_NETWORK, GR_NPROGRESS };
int gr_runtime_register(enum gr_progress_kind kind, int (*progress)(void *ctx), void *ctx,
                        bool often);
void gr_runtime_unregister(enum gr_progress_kind kind);

/* Whether ranks share cores: a rank that waits gives its core away soon. */
bool gr_runtime_shares_cores(void);

/*
 * The list of interfaces (net/rails.h) that the user confines MPI's TCP to, or, where *exclude
 * is set, keeps it from. NULL: the user does neither.
 */
const char *gr_runtime_interfaces(bool *exclude);

/* Abort the job. */
void gr_runtime_abort(void);

/* ---- links over messages ---- */

/*
 * The transport of links to other nodes over MPI's messages, for where no other is to be had; and
 * whether this thread is in it: then it must not drive queues.
 */
extern const struct gr_transport gr_runtime_transport;
bool gr_runtime_in_transport(void);

/* ---- messages for the user ---- */

/* Print one message of help-coll-gpuring.txt, as one line, from this process. */
void gr_warn(const char *topic, ...);

/* Print one line, from this process. */
void gr_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Whether a rank prints what all ranks of a communicator know alike, at that level of
 * coll_gpuring_verbose: rank 0 does.
 */
static inline bool gr_should_log(int rank, int level)
{
    return gr_settings.verbose >= level && 0 == rank;
}

/* ---- what the engine counts ---- */

/* The time of a call, from its begin to its end. */
struct gr_call_time {
    double us;        /* microseconds */
    double wait_us;   /* of a blocking call: until the last rank had come; or GR_WAIT_UNKNOWN */
    bool nonblocking; /* it may have overlapped with other work */
};
#define GR_WAIT_UNKNOWN (-1.0) /* it waited for other ranks, for how long is not known */

/* A call that has run to its end; time NULL: it was not timed. */
void gr_stats_call(enum gr_call_id id, int algo, bool device, int ranks, size_t bytes,
                   const struct gr_call_time *time);

/*
 * A call without a copy: on devices with other ranks' receive buffers mapped, or between nodes with
 * data sent from user buffers.
 */
void gr_stats_zero_copy(enum gr_call_id id);

/* A call that was left to Open MPI, and why. */
void gr_stats_fallback(enum gr_call_id id, enum gr_fallback_reason reason);

/* Whether the times of calls are wanted. */
static inline bool gr_stats_timed(void)
{
    const char *report = gr_settings.report;

    return NULL != report && 'n' != report[0]; /* "none" */
}

/* The time in seconds where the times of calls are wanted; else 0. */
static inline double gr_stats_now(void)
{
    return gr_stats_timed() ? gr_runtime_now() : 0;
}

/*
 * By which constants calls on the process's first communicator with device links choose, once these
 * are there: those of comm->constants for that path, of sources from `least` on.
 */
void gr_stats_constants(const struct gr_comm *comm, enum gr_path path,
                        enum gr_constant_source least);

/* What a timer has seen on this rank, at its end. */
void gr_stats_timing(const struct gr_timing_report *report);

#endif
