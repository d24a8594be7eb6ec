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

#include "engine/comm.h"
#include "engine/params.h"

#include "exec/mailbox.h"
#include "link/ipc_cache.h"
#include "link/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_op_queue;
struct gr_op;
struct gr_setup;

/* What a rank tells all others about its call. All but device, freed and output must be equal. */
struct gr_call_record {
    uint64_t seq;                /* number of the call in the order of the communicator */
    uint64_t bytes;              /* as bandwidth is counted */
    int32_t root;                /* 0 where the call has none */
    int16_t kernel;              /* enum gr_kernel; -1: no kernel for the type and operation */
    uint8_t call;                /* enum gr_call_id */
    uint8_t device;              /* 1: some buffer of this rank is on a device */
    uint64_t freed;              /* names of memory that others unmap (link/ipc_cache.h) */
    struct gr_ipc_handle output; /* of the receive buffer; sent only with zero copy */
};
#define GR_CALL_RECORD_SHORT offsetof(struct gr_call_record, output)

/*
 * The records of all ranks without output, combined by bitwise or: between nodes no rank needs them
 * one by one. A bit set in both masks differs between ranks.
 */
#define GR_CALL_RECORD_WORDS (GR_CALL_RECORD_SHORT / sizeof(uint64_t))
struct gr_combined_records {
    uint64_t ones[GR_CALL_RECORD_WORDS], zeros[GR_CALL_RECORD_WORDS];
    uint64_t first[GR_CALL_RECORD_WORDS]; /* rank 0's record */
};

/* What an op does with an agreement. */
enum gr_agreement_use {
    GR_AGREEMENT_NONE,  /* nothing: its executor is picked at the call */
    GR_AGREEMENT_FIRST, /* begins with it: its executor is picked then */
    GR_AGREEMENT_ONLY   /* ends with it: it only asks whether some buffer is on a device */
};

/* Between nodes, the exchange in progress. */
enum gr_agreement_round {
    GR_ROUND_COMBINED, /* combined records */
    GR_ROUND_SINGLE    /* records one by one, for their IPC handles */
};

/* An op's agreement. All zero at first; records and what follows are kept for the next call. */
struct gr_call_agreement {
    enum gr_agreement_use use;            /* what the op does with it */
    enum gr_agreement_round round;        /* between nodes: the exchange in progress */
    int result;                           /* between nodes: 0, or -1 when calls differ */
    struct gr_call_record record;         /* this rank's */
    struct gr_combined_records combined;  /* between nodes: this rank's, then all ranks' */
    struct gr_mailbox_call exchange;      /* inside a node: the allgather of records on boards */
    struct gr_call_record *records;       /* [rank]; owned */
    const struct gr_ipc_handle **handles; /* [rank]: of receive buffers, in records */
    size_t *spots;                        /* [rank]: bytes from records to the rank's record */
    int nrecords;                         /* ranks for which there is room */
    unsigned char *scratch;               /* between nodes: GR_TMP of the exchange; owned */
    size_t scratch_bytes;                 /* of scratch */
};

/*
 * Write this rank's record of the op. device: whether a buffer of this rank is on a device. Sets
 * op->agreed.zero_copy.
 */
void mca_coll_gpuring_agreement_record(struct gr_op *op, const gr_params_t *params, bool device);

/*
 * The record has been written: let the op, which is not queued yet, begin with an agreement. Takes
 * GR_SETUPS_OF_OP set-up numbers of the queue. 0, or GR_ERR_...
 */
int mca_coll_gpuring_agreement_prepare(struct gr_op *op, enum gr_agreement_use use);

/*
 * The links or boards that an agreement of the queue's ops needs: their state, and a set-up of
 * them, numbered `number`, which the caller owns; NULL: no memory.
 */
enum gr_links mca_coll_gpuring_agreement_links(const struct gr_op_queue *queue);
struct gr_setup *mca_coll_gpuring_agreement_connect(struct gr_op_queue *queue, uint32_t number);

/*
 * Exchange the records, when the op is the first of its queue: on boards inside a node; between
 * nodes combined, by an Allreduce over host links, and, where all ranks agree on a call that may
 * use zero copy on devices, once more one by one. begin: 0, or GR_ERR_... poll: GR_DONE, GR_AGAIN,
 * or a negative enum gr_error. explain: what it waits for, in words.
 */
int mca_coll_gpuring_agreement_begin(struct gr_op *op);
int mca_coll_gpuring_agreement_poll(struct gr_op *op, uint64_t *moved);
void mca_coll_gpuring_agreement_explain(struct gr_op *op, char *text, size_t size);

/*
 * All records are there: sets op->agreed.devices, kernels and fetches, and unmaps memory that other
 * ranks have freed. Returns 0; -1 when the calls differ, which one rank reports.
 */
int mca_coll_gpuring_agreement_end(struct gr_op *op);

/* Free what the agreement keeps. */
void mca_coll_gpuring_agreement_free(struct gr_call_agreement *agreement);

/*
 * The whole agreement for the init of a persistent request, by point-to-point messages; waits for
 * all ranks. queue: that of the communicator's blocking calls; its next set-up number is that of the
 * messages. 0, or GR_ERR_...
 */
int mca_coll_gpuring_agreement_exchange(struct gr_op *op, struct gr_op_queue *queue);

#endif
