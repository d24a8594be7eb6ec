/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of the engine on ranks as threads (rank_runtime.h), made as mpi/dispatch.c makes them.
 * Each output is compared bit for bit. Elements are integers, and doubles whose sums are exact, so
 * that no order of reduction changes a bit.
 *
 * The op of a call lies in pages of its own. Nobody may access them while a nonblocking call is
 * complete and not started again: an access by the engine ends the test.
 */
#ifndef GR_TESTS_ENGINE_CALLS_H
#define GR_TESTS_ENGINE_CALLS_H

#include "exec_data.h"
#include "rank_runtime.h"

#include "comm/collectives.h"
#include "engine/call_agreement.h"
#include "exec/op.h"

#include "exec/reduce.h"

#include <stdbool.h>
#include <stddef.h>

/* What is called: the same on all ranks. */
struct what {
    enum gr_call_id id;
    enum gr_type type;
    size_t count; /* elements of the vector, or of a block */
    int root;
    unsigned salt; /* of the values */
};

/* A call of one rank. */
struct call {
    struct gr_op *op; /* in pages of its own; owned */
    bool locked;      /* nobody may access these pages now */
    bool persistent;
    struct gr_op_queue *queue; /* a persistent call's own; owned */
    bool device;               /* the call record says that a buffer is on a device */
    enum gr_agreement_use use; /* where the communicator may have devices */
    struct what what;
    struct ex_buffers buffers;
    unsigned char *tmp; /* owned */
    int unpacks;        /* what unpacking its output returns: 0, or GR_ERR_... */
    /* of a nonblocking call: whether it is complete, and how it ended */
    bool complete;
    int rc, algo;
};

/* ---- any call ---- */

struct call *call_new(bool nonblocking);
void call_free(struct call *call);

/* Abort unless the output is what the call must leave there. */
void call_check(const struct rr_rank *rank, const struct call *call);

/* Case k of a run: all ranks count alike. NCASES: until cases come again. */
struct what case_of(size_t k, int n);
#define NCOLLECTIVES 6
#define NCOUNTS 5
#define NCASES (2 * NCOLLECTIVES * NCOUNTS)
extern const size_t case_counts[NCOUNTS];

/* ---- blocking ---- */

/* Returns the call's result. */
int call_do(struct rr_rank *rank, struct call *call, const struct what *what);

/* The same; aborts unless it succeeds with the right output. */
void call_do_right(struct rr_rank *rank, struct call *call, const struct what *what);

/* ---- nonblocking ---- */

void call_start(struct rr_rank *rank, struct call *call, const struct what *what);

/* Drive the rank's nonblocking calls once, not by gr_runtime_progress(). */
void calls_drive(struct rr_rank *rank);

/* Wait for the end; returns the call's result. */
int call_finish(struct call *call);

/* The same; aborts unless it succeeded with the right output. */
void call_finish_right(struct rr_rank *rank, struct call *call);

/* ---- persistent ---- */

/* Make the request; all ranks come here together. 0, or GR_ERR_... */
int call_init(struct rr_rank *rank, struct call *call, const struct what *what);

/* Start n requests at once, with other values. */
void call_restart(struct rr_rank *rank, struct call *const *calls, size_t n, unsigned salt);

/* ---- worlds ---- */

/* n ranks with more shared memory than they need. */
struct rr_world *new_world(int n);

/* So many calls were counted by all ranks, and messages for the user. Frees it. */
void end_world(struct rr_world *world, int calls, int warnings);

/* Ranks whose calls all succeed, each of them `calls` ones, without a message for the user. */
void run_world(int n, void (*function)(struct rr_rank *rank), int calls);

#endif
