/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call agreement: where devices are about, all ranks learn what each of them calls and whether its
 * buffers are on a device.
 */
#ifndef GR_ENGINE_CALL_AGREEMENT_H
#define GR_ENGINE_CALL_AGREEMENT_H

#include "mpi/ompi.h"

#include "mpi/module.h"
#include "mpi/params.h"

#include "link/ipc_cache.h"

BEGIN_C_DECLS

struct gr_op_queue;
struct gr_op;

/*
 * What a rank says of its call to all others, where agreements are exchanged. All but device and
 * what is below must be equal. Only calls that may use zero copy say whose memory their results go
 * to.
 */
struct gr_call_record {
    uint64_t seq, bytes;
    int32_t root;
    int16_t kernel; /* enum gr_kernel, or -1: there is none for its type and operation */
    uint8_t call;   /* enum gr_call_id */
    uint8_t device; /* whether some buffer of this rank is on a device */
    struct gr_ipc_handle output;
};
#define GR_CALL_RECORD_SHORT offsetof(struct gr_call_record, output)

/*
 * All ranks' lines (their short part), combined by bitwise or: between nodes nobody needs them one
 * by one. A bit of both ones and zeros differs between ranks.
 */
#define GR_CALL_RECORD_WORDS (GR_CALL_RECORD_SHORT / sizeof(uint64_t))
struct gr_combined_records {
    uint64_t ones[GR_CALL_RECORD_WORDS], zeros[GR_CALL_RECORD_WORDS];
    uint64_t first[GR_CALL_RECORD_WORDS]; /* rank 0's line */
};

/* The call's line; device: whether a buffer of this rank is on one. Sets op->zero. */
struct gr_call_record mca_coll_gpuring_call_record(struct gr_op *op, const gr_params_t *params,
                                                   bool device);

/*
 * What lines go through: boards in memory that all share; between nodes, host links of an Allreduce
 * (host_run.c): combined, and, where all agree on a call that may use zero copy on devices, once
 * more as they are. Begin when it is the op's turn (OMPI error code); GR_DONE: they are there; else
 * GR_AGAIN, or negative.
 */
int mca_coll_gpuring_agreement_way(const struct gr_op_queue *queue);
int mca_coll_gpuring_agreement_begin(struct gr_op *op);
int mca_coll_gpuring_agreement_poll(struct gr_op *op, uint64_t *moved);

/*
 * They are there. Sets the op's device (all have a kernel for it, and some buffer is on a device),
 * devices and fetches. -1, and said, when the calls differ.
 */
int mca_coll_gpuring_agreement_end(struct gr_op *op);

/* Room for the lines of p ranks. OMPI error code. */
int mca_coll_gpuring_agreement_reserve(struct gr_op *op, int p);

/* The same for a persistent request's init, by messages, waiting for all. OMPI error code. */
int mca_coll_gpuring_agreement_exchange(mca_coll_gpuring_module_t *module, struct gr_op *op,
                                        uint32_t number);

END_C_DECLS

#endif
