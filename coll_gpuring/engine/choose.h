/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the algorithm of a call: the questions to the cost model (tune/select.h). */
#ifndef GR_ENGINE_CHOOSE_H
#define GR_ENGINE_CHOOSE_H

#include "engine/comm.h"

#include "sched/protocol.h"
#include "tune/select.h"

#include <stdbool.h>
#include <stddef.h>

struct gr_op;

/*
 * Calls of one size follow each other, so a queue keeps its last choices. That made at the call is
 * kept by the thread that makes the calls; those after an agreement by the thread that drives the
 * queue, which may be the progress thread.
 */
enum gr_chosen_when {
    GR_CHOSEN_AT_CALL,
    GR_CHOSEN_TO_ASK,         /* at the call: whether it is worth an agreement */
    GR_CHOSEN_IN_TURN,        /* after the network between nodes was measured */
    GR_CHOSEN_AGREED_HOST,    /* after an agreement: the host runs the call */
    GR_CHOSEN_AGREED_KERNELS, /* after an agreement: kernels do */
    GR_NCHOSEN
};

/* The last choice, for the next call with the same arguments of the model. */
struct gr_chosen {
    size_t bytes;            /* of the call; 0: there is no choice yet */
    size_t post_bytes;       /* most that a rank posts to a mailbox */
    enum gr_path path;       /* devices only */
    bool tuned;              /* devices only: it follows the tuning file's constants of them */
    bool fetches;            /* host memory only: single copy is allowed */
    struct gr_choice choice; /* what was chosen */
    bool bounded;            /* its links may be made, whatever the root (engine/setup_bound.h) */
};

/*
 * Whether the op begins with an agreement. Between nodes an agreement takes a round trip, so short
 * calls go without: the host runs them, and each rank stages the buffers that it has on devices.
 * May set op->path, for the question to the cost model.
 */
bool mca_coll_gpuring_needs_agreement(struct gr_comm *comm, struct gr_op *op);

/*
 * What is to be agreed on has been agreed on. Sets op->choice, and op->exec: the executor for it.
 * Returns 0; or GR_ERR_FALLBACK, on all ranks: the call is large, and all its buffers are in host
 * memory, or calls on host memory are not wanted, or its links would need more memory than is
 * allowed. op->fallback then is the reason.
 */
int mca_coll_gpuring_op_choose(struct gr_comm *comm, struct gr_op *op);

/* The links of kernels were refused: choose again, for the host. Returns as op_choose(). */
int mca_coll_gpuring_op_choose_host(struct gr_comm *comm, struct gr_op *op);

/*
 * Whether op_choose() would return GR_ERR_FALLBACK, which needs no choice. op->fallback then is the
 * reason.
 */
bool mca_coll_gpuring_op_left(const struct gr_comm *comm, struct gr_op *op);

/*
 * How call records are exchanged between nodes. Follows built-in constants and parameters: the
 * records come before anything is measured.
 */
struct gr_choice mca_coll_gpuring_choose_agreement(const struct gr_comm *comm);

/*
 * The links between devices have been made and their path is known: choose protocol, channels and
 * chunks once more.
 */
void mca_coll_gpuring_op_reselect(struct gr_comm *comm, struct gr_op *op);

#endif
