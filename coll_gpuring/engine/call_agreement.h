/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call agreement: where devices are about, all ranks learn what each of them calls and whether its
 * buffers are on a device.
 */
#ifndef GR_ENGINE_CALL_AGREEMENT_H
#define GR_ENGINE_CALL_AGREEMENT_H

#include "mpi/ompi.h"

#include "mpi/module.h"
#include "engine/params.h"

#include "link/ipc_cache.h"

BEGIN_C_DECLS

struct gr_op_queue;
struct gr_op;

/* What a rank tells all others about its call. All but device and output must be equal. */
struct gr_call_record {
    uint64_t seq;   /* number of the call in the order of the communicator */
    uint64_t bytes; /* as bandwidth is counted */
    int32_t root;
    int16_t kernel;              /* enum gr_kernel; -1: no kernel for the type and operation */
    uint8_t call;                /* enum gr_call_id */
    uint8_t device;              /* 1: some buffer of this rank is on a device */
    struct gr_ipc_handle output; /* of the receive buffer; sent only with zero copy */
};
#define GR_CALL_RECORD_SHORT offsetof(struct gr_call_record, output)

/*
 * The records of all ranks without output, combined by bitwise or: between nodes nobody needs them
 * one by one. A bit set in both masks differs between ranks.
 */
#define GR_CALL_RECORD_WORDS (GR_CALL_RECORD_SHORT / sizeof(uint64_t))
struct gr_combined_records {
    uint64_t ones[GR_CALL_RECORD_WORDS], zeros[GR_CALL_RECORD_WORDS];
    uint64_t first[GR_CALL_RECORD_WORDS]; /* rank 0's record */
};

/*
 * This rank's record of the op. device: whether a buffer of this rank is on a device. Sets
 * op->zero.
 */
struct gr_call_record mca_coll_gpuring_call_record(struct gr_op *op, const gr_params_t *params,
                                                   bool device);

/*
 * Exchange the records, when the op is the first of its queue: on boards inside a node; between
 * nodes combined, by an Allreduce over host links (host_run.c), and, where all agree on a call that
 * may use zero copy on devices, once more one by one. way: what it needs links for. begin: OMPI
 * error code. poll: GR_DONE, GR_AGAIN, or negative.
 */
int mca_coll_gpuring_agreement_way(const struct gr_op_queue *queue);
int mca_coll_gpuring_agreement_begin(struct gr_op *op);
int mca_coll_gpuring_agreement_poll(struct gr_op *op, uint64_t *moved);

/*
 * All records are there: sets op->devices, op->fetches, and op->device (some buffer is on a device
 * and there is a kernel). Returns 0; -1 when the calls differ, which one rank reports.
 */
int mca_coll_gpuring_agreement_end(struct gr_op *op);

/* Make room for the records of p ranks. OMPI error code. */
int mca_coll_gpuring_agreement_reserve(struct gr_op *op, int p);

/*
 * The whole agreement for the init of a persistent request, by point-to-point messages; waits for
 * all ranks. OMPI error code.
 */
int mca_coll_gpuring_agreement_exchange(mca_coll_gpuring_module_t *module, struct gr_op *op,
                                        uint32_t number);

END_C_DECLS

#endif
