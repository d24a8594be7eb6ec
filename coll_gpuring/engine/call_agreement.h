/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call agreement: all ranks learn what each of them calls, and whether some buffer is on a device.
 *
 * MPI lets a buffer be on a device at one rank and in host memory at another, but all ranks must
 * know before the call begins whether kernels run it. So, where some rank may use devices, each
 * rank writes a call record and reads those of the others. The records also show which ranks have
 * not come yet, and calls that do not match.
 */
#ifndef GR_ENGINE_CALL_AGREEMENT_H
#define GR_ENGINE_CALL_AGREEMENT_H

#include "comm/params.h"
#include "exec/executor.h"
#include "exec/op.h"

#include "link/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_op_queue;
struct gr_setup;

/*
 * Write this rank's record of the op. device: whether a buffer of this rank is on a device. Sets
 * op->agreed.zero_copy.
 */
void gr_agreement_record(struct gr_op *op, const gr_params_t *params, bool device);

/*
 * The record has been written: let the op, which is not queued yet, begin with an agreement. Takes
 * GR_SETUPS_OF_OP set-up numbers of the queue. 0, or GR_ERR_...
 */
int gr_agreement_prepare(struct gr_op *op, enum gr_agreement_use use);

/*
 * The links or boards that an agreement of the queue's ops needs: their state, and a set-up of
 * them, numbered `number`, which the caller owns; NULL: no memory.
 */
enum gr_links gr_agreement_links(const struct gr_op_queue *queue);
struct gr_setup *gr_agreement_connect(struct gr_op_queue *queue, uint32_t number);

/*
 * Exchange the records, when the op is the first of its queue: on boards inside a node; between
 * nodes combined, by an Allreduce over host links, and, where all ranks agree on a call that may
 * use zero copy on devices, once more one by one. poll: GR_DONE, GR_AGAIN, or a negative enum
 * gr_error. explain: what it waits for, in words.
 */
void gr_agreement_begin(struct gr_op *op);
int gr_agreement_poll(struct gr_op *op, uint64_t *moved);
void gr_agreement_explain(struct gr_op *op, char *text, size_t size);

/*
 * All records are there: sets op->agreed.devices, kernels and fetches, and unmaps memory that other
 * ranks have freed. Returns 0; -1 when the calls differ, which one rank reports.
 */
int gr_agreement_end(struct gr_op *op);

/* Free what the agreement keeps. */
void gr_agreement_free(struct gr_call_agreement *agreement);

/*
 * The whole agreement for the init of a persistent request, by messages; waits for all ranks.
 * queue: that of the communicator's blocking calls; its next set-up number is that of the
 * messages. 0, or GR_ERR_...
 */
int gr_agreement_exchange(struct gr_op *op, struct gr_op_queue *queue);

#endif
