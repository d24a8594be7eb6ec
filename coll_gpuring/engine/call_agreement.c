/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreements. MPI lets a buffer be on a device at one rank and in host memory at another; whether
 * kernels do a call must be known to all before it begins. So where GPUs are about each rank writes
 * a line for each call and reads those of the others: on boards; between nodes they go over links,
 * combined. The same lines show who has not come, and calls that do not match. Between nodes they
 * take a round trip, so there short calls have none: choose.c.
 *
 * A persistent request's init exchanges them by messages: it is no call of its communicator's
 * queue.
 */
#include "engine/call_agreement.h"

#include "engine/collectives.h"
#include "engine/devices.h"
#include "engine/host_run.h"
#include "engine/log.h"
#include "engine/op.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "engine/setup_messages.h"
#include "engine/watchdog.h"
#include "mpi/datatype.h"
#include "mpi/module.h"
#include "engine/params.h"
#include "mpi/type_codes.h"

#include "base/errors.h"
#include "exec/gpu/op.h"
#include "exec/mail.h"
#include "exec/stepper.h"
#include "link/ipc_cache.h"
#include "sched/sched.h"
#include "tune/select.h"

#include "ompi/mca/pml/pml.h"

#include <stdlib.h>
#include <string.h>

/* Results of these end in more than one rank's buffer. */
static bool distributes(const struct gr_op *op)
{
    enum gr_coll coll = op->data.request.coll;

    return GR_COLL_ALLREDUCE == coll || GR_COLL_ALLGATHER == coll || GR_COLL_BCAST == coll;
}

/* Whether the call may use zero copy: the same on all ranks. */
static bool may_zero(const struct gr_op *op, const gr_params_t *params)
{
    int64_t least = params->value[GR_PARAM_ZERO_COPY];

    return op->call.id < GR_NSUPPORTED && least >= 0 && op->data.bytes >= (size_t) least &&
           distributes(op);
}

struct gr_call_record mca_coll_gpuring_call_record(struct gr_op *op, const gr_params_t *params,
                                                   bool device)
{
    const struct gr_call *call = &op->call;
    struct gr_call_record record = {
        .seq = op->seq,
        .bytes = op->data.bytes,
        .root = call->root,
        .kernel = GR_KERNEL_copy,
        .call = (uint8_t) call->id,
        .device = device,
    };

    if (gr_calls[call->id].reduces) {
        record.kernel = (int16_t) gr_gpu_kernel(mca_coll_gpuring_type(call->rtype),
                                                mca_coll_gpuring_op(call->op));
    }
    op->zero = may_zero(op, params);
    if (op->zero && device && mca_coll_gpuring_is_contiguous(call->rtype, 2)) {
        record.output = mca_coll_gpuring_ipc_handle(
            mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype), op->data.bytes);
    }
    return record;
}

static bool is_equal(const struct gr_call_record *a, const struct gr_call_record *b)
{
    return a->seq == b->seq && a->bytes == b->bytes && a->root == b->root &&
           a->kernel == b->kernel && a->call == b->call;
}

/* What differs is an error of the application; every rank sees it, the one at fault says so. */
static void tell_difference(const struct gr_op *op, const struct gr_call_record *other, int rank)
{
    const struct gr_call_record *mine = &op->record;
    unsigned known = GR_NCALLS - 1;

    mca_coll_gpuring_warn("calls-differ", ompi_comm_rank(op->call.comm),
                          gr_comm_name(op->call.comm), gr_calls[mine->call].name,
                          (size_t) mine->bytes, mine->root, (size_t) mine->seq, rank,
                          gr_calls[other->call < known ? other->call : known].name,
                          (size_t) other->bytes, other->root, (size_t) other->seq);
}

/* All have called the same, and some buffer is on a device, or not. */
static void apply_agreement(struct gr_op *op, bool devices)
{
    op->devices = devices;
    op->device = devices && op->record.kernel >= 0;
    op->fetches = !devices;
}

/* 0; or -1, and said once, when the calls differ. */
static int apply_records(struct gr_op *op, const struct gr_call_record *records)
{
    int p = ompi_comm_size(op->call.comm), rank = ompi_comm_rank(op->call.comm), r;
    bool devices = false;

    for (r = 0; r < p; r++) {
        if (!is_equal(&records[0], &records[r])) {
            /* the lowest rank that is unlike rank 0 says so, for all */
            if (r == rank) {
                tell_difference(op, &records[0], 0);
            }
            return -1;
        }
        devices = devices || records[r].device;
    }
    apply_agreement(op, devices);
    return 0;
}

/* ---- combined ---- */

static void combine(struct gr_op *op)
{
    struct gr_combined_records *c = &op->combined;
    size_t k;

    memcpy(c->ones, &op->record, sizeof(c->ones));
    memset(c->first, 0, sizeof(c->first));
    if (0 == ompi_comm_rank(op->call.comm)) {
        memcpy(c->first, &op->record, sizeof(c->first));
    }
    for (k = 0; k < GR_CALL_RECORD_WORDS; k++) {
        c->zeros[k] = ~c->ones[k];
    }
}

/* 0; or -1 when the calls differ, and each rank unlike rank 0 says so. */
static int apply_combined(struct gr_op *op)
{
    const struct gr_combined_records *c = &op->combined;
    struct gr_call_record free_bits = {.device = UINT8_MAX}, any = {.device = 0}, first = any;
    uint64_t may[GR_CALL_RECORD_WORDS], differs = 0;
    size_t k;

    memcpy(may, &free_bits, sizeof(may));
    memcpy(&any, c->ones, sizeof(c->ones));
    memcpy(&first, c->first, sizeof(c->first));
    for (k = 0; k < GR_CALL_RECORD_WORDS; k++) {
        differs |= c->ones[k] & c->zeros[k] & ~may[k];
    }
    if (0 != differs && !is_equal(&first, &op->record)) {
        tell_difference(op, &first, 0);
    }
    apply_agreement(op, any.device);
    return 0 != differs ? -1 : 0;
}

int mca_coll_gpuring_agreement_end(struct gr_op *op)
{
    return NULL != op->queue->team->remote ? op->agreed : apply_records(op, op->records);
}

int mca_coll_gpuring_agreement_reserve(struct gr_op *op, int p)
{
    size_t each = sizeof(op->records[0]) + sizeof(op->outputs[0]) + sizeof(op->spots[0]);
    int r;

    if (NULL == op->records || op->nrecords < p) {
        free(op->records);
        op->records = calloc((size_t) p, each);
        op->nrecords = p;
        op->outputs =
            NULL == op->records ? NULL : (const struct gr_ipc_handle **) (op->records + p);
        op->spots = NULL == op->records ? NULL : (size_t *) (op->outputs + p);
        for (r = 0; NULL != op->records && r < p; r++) {
            op->outputs[r] = &op->records[r].output;
            op->spots[r] = (size_t) r * sizeof(op->records[0]);
        }
    }
    return NULL == op->records ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}

/* ---- through boards, or links ---- */

int mca_coll_gpuring_agreement_way(const struct gr_op_queue *queue)
{
    return NULL == queue->team->remote ? GR_WAY_AGREEMENT
                                       : gr_choice_way(&queue->module->agreement_choice);
}

/* Boards have the line since the call was queued. */
int mca_coll_gpuring_agreement_begin(struct gr_op *op)
{
    if (NULL == op->queue->team->remote) {
        return OMPI_SUCCESS;
    }
    combine(op);
    op->gathers = false;
    return mca_coll_gpuring_host_run_records(op);
}

/*
 * The lines between nodes: combined, and gathered where kernels may write into the others' buffers.
 */
static int poll_links(struct gr_op *op, uint64_t *moved)
{
    int rc = gr_stepper_run(&op->stepper, moved);

    if (GR_DONE != rc || op->gathers) {
        return rc;
    }
    op->agreed = apply_combined(op);
    op->gathers = 0 == op->agreed && op->device && op->zero;
    if (!op->gathers) {
        return GR_DONE;
    }
    return OMPI_SUCCESS == mca_coll_gpuring_host_run_records(op) ? GR_AGAIN : GR_ERR_NOMEM;
}

int mca_coll_gpuring_agreement_poll(struct gr_op *op, uint64_t *moved)
{
    struct gr_mailbox *box = &op->queue->team->agreement.box;

    if (NULL != op->queue->team->remote) {
        return poll_links(op, moved);
    }
    return box->posted - op->agreement.epoch < box->nsets &&
                   gr_mail_take(box, &op->agreement, moved)
               ? GR_DONE
               : GR_AGAIN;
}

/* ---- by messages ---- */

struct exchange {
    struct gr_call_record *records;
    ompi_request_t **requests;
    int n, p, rank;
};

static int exchange_poll(void *ctx, uint64_t *moved)
{
    struct exchange *x = ctx;
    int rc;

    for (; x->n > 0; x->n--, ++*moved) {
        rc = mca_coll_gpuring_request_done(&x->requests[x->n - 1]);
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
    }
    return GR_DONE;
}

/* Receives were posted first. */
static void exchange_explain(void *ctx, char *text, size_t size)
{
    struct exchange *x = ctx;
    size_t used = (size_t) snprintf(text, size, "init, waits for rank");
    int r;

    for (r = 0; r < x->p && used < size; r++) {
        if (r != x->rank && r < x->n && MPI_REQUEST_NULL != x->requests[r]) {
            used += (size_t) snprintf(text + used, size - used, " %d", r);
        }
    }
}

static int exchange_post(struct exchange *x, struct ompi_communicator_t *comm, int tag)
{
    int r, rc = OMPI_SUCCESS;

    for (r = 0; r < 2 * x->p && OMPI_SUCCESS == rc; r++) {
        x->requests[x->n++] = MPI_REQUEST_NULL;
        if (x->rank == r % x->p) {
            continue;
        }
        if (r < x->p) {
            rc = MCA_PML_CALL(irecv(&x->records[r], sizeof(x->records[r]), MPI_BYTE, r, tag, comm,
                                    &x->requests[r]));
        } else {
            rc = MCA_PML_CALL(isend(&x->records[x->rank], sizeof(x->records[0]), MPI_BYTE, r - x->p,
                                    tag, MCA_PML_BASE_SEND_STANDARD, comm, &x->requests[r]));
        }
    }
    return rc;
}

int mca_coll_gpuring_agreement_exchange(mca_coll_gpuring_module_t *module, struct gr_op *op,
                                        uint32_t number)
{
    struct ompi_communicator_t *comm = op->call.comm;
    int p = ompi_comm_size(comm), rc, agreed;
    struct exchange x = {.p = p, .rank = ompi_comm_rank(comm)};
    struct gr_waiting waiting = {module, gr_calls[op->call.id].name, op->seq, exchange_explain, &x};

    x.records = calloc((size_t) p, sizeof(*x.records));
    x.requests = calloc(2 * (size_t) p, sizeof(ompi_request_t *));
    if (NULL == x.records || NULL == x.requests) {
        free(x.records);
        free(x.requests);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    x.records[x.rank] = op->record;
    rc = exchange_post(&x, comm, mca_coll_gpuring_setup_tag(number));
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_wait(exchange_poll, &waiting);
    }
    if (OMPI_SUCCESS != rc) {
        /* Messages may be under way into the records, which stay. */
        return rc; /* NOLINT(clang-analyzer-unix.Malloc) */
    }
    rc = mca_coll_gpuring_agreement_reserve(op, p);
    if (OMPI_SUCCESS == rc) {
        memcpy(op->records, x.records, (size_t) p * sizeof(*x.records));
    }
    agreed = apply_records(op, x.records);
    free(x.records);
    free(x.requests);
    return agreed < 0 ? OMPI_ERR_BAD_PARAM : rc;
}
