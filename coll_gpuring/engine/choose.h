/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the algorithm of a call, by questions to the cost model (tune/select.h); its executor. */
#ifndef GR_ENGINE_CHOOSE_H
#define GR_ENGINE_CHOOSE_H

#include "comm/comm.h"
#include "exec/executor.h"

#include "sched/protocol.h"
#include "tune/select.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_executor;
struct gr_op;

/*
 * Whether the op begins with an agreement. Between nodes an agreement takes a round trip, so short
 * calls go without: the host runs them, and each rank stages the buffers that it has on devices.
 * May set op->path, for the question to the cost model.
 */
bool gr_needs_agreement(struct gr_comm *comm, struct gr_op *op);

/*
 * What is to be agreed on has been agreed on. Sets op->choice, and op->exec: the executor for it.
 * Returns 0; or GR_ERR_FALLBACK, on all ranks: the call is large, and all its buffers are in host
 * memory, or calls on host memory are not wanted, or its links would need more memory than is
 * allowed. op->fallback then is the reason.
 */
int gr_op_choose(struct gr_comm *comm, struct gr_op *op);

/* The links of kernels were refused: choose again, for the host. Returns as gr_op_choose(). */
int gr_op_choose_host(struct gr_comm *comm, struct gr_op *op);

/*
 * Whether gr_op_choose() would return GR_ERR_FALLBACK, which needs no choice. op->fallback then is the
 * reason.
 */
bool gr_op_left(const struct gr_comm *comm, struct gr_op *op);

/*
 * How call records are exchanged between nodes. Follows built-in constants and parameters: the
 * records come before anything is measured.
 */
struct gr_choice gr_choose_agreement(const struct gr_comm *comm);

/*
 * The links between devices have been made and their path is known: choose protocol, channels and
 * chunks once more.
 */
void gr_op_reselect(struct gr_comm *comm, struct gr_op *op);

/*
 * The executor for an op whose algorithm has been chosen. It depends on the choice, on what the
 * ranks agreed on (op->agreed), on the phase, and on the links; call again when one of them has
 * changed.
 */
const struct gr_executor *gr_pick(const struct gr_op *op);

/* ---- the bound of what set-ups may need (setup_bound.c) ---- */

/*
 * The bound of what a set-up of links in host memory may need (docs/links.md): coll_gpuring_setup_mib
 * per rank, or more where the bytes of the call justify it. It depends only on what all ranks know
 * alike, and holds before any message is sent.
 *
 *      justified       the links' memory is at most GR_JUSTIFIED times the bytes of the call
 *      within bound    the memory is at most the bound; of an algorithm whose links depend on the
 *                      root: for the first roots, as many as half of the bound has room for
 *      free            some call has asked for these links before; not for a reduction, and not
 *                      where calls may be chosen in another order on each rank
 */

/* With the default of four slots: a call that fills a slot of each link. */
#define GR_JUSTIFIED 4

/* Whether the links of a choice for `bytes` may be made, whatever the root and the calls before. */
bool gr_setup_always(const struct gr_comm *comm, const struct gr_choice *choice, size_t bytes);

/* Whether the links of a choice may be made for an op, or need not be. */
bool gr_setup_allowed(const struct gr_comm *comm, const struct gr_op *op,
                      const struct gr_choice *choice);

/*
 * The algorithms, as bits, whose links may not be made for an op, with as many channels and
 * messages as small as in that choice.
 */
uint32_t gr_setup_denied(const struct gr_comm *comm, const struct gr_op *op,
                         const struct gr_choice *choice);

/* The memory per rank that a choice's links need, in bytes. */
size_t gr_setup_need(const struct gr_comm *comm, const struct gr_choice *choice);

#endif
