/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the engine on ranks as threads (engine_calls.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine_calls.h"

#include "engine/choose.h"
#include "engine/comm_queues.h"
#include "engine/op_hooks.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "engine/submit.h"

#include "base/errors.h"
#include "exec/mailbox.h"
#include "exec/plan.h"
#include "sched/sched.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the owner of an op ---- */

/* What the pages of an op hold. */
struct op_pages {
    struct gr_op op; /* first: the engine hands it to the hooks */
    struct call *call;
};

static struct call *call_of(struct gr_op *op)
{
    return ((struct op_pages *) op)->call;
}

static size_t pages_bytes(void)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);

    return (sizeof(struct op_pages) + page - 1) / page * page;
}

static void set_locked(struct call *call, bool locked)
{
    if (0 != mprotect(call->op, pages_bytes(), locked ? PROT_NONE : PROT_READ | PROT_WRITE)) {
        abort();
    }
    call->locked = locked;
}

static void unlock(struct call *call)
{
    if (call->locked) {
        set_locked(call, false);
    }
}

static int prepare(struct gr_op *op, struct gr_gpu *gpu)
{
    struct call *call = call_of(op);
    struct gr_data *data = &op->data;
    size_t bytes = 0;

    assert_null(gpu);
    if (op->choice.way < GR_NALGOS) {
        data->spec.algo = (enum gr_algo) op->choice.way;
        bytes = gr_plan_scratch(&data->spec, op->comm->size);
    }
    free(call->tmp);
    call->tmp = bytes > 0 ? malloc(bytes) : NULL;
    data->tmp = call->tmp;
    data->in = GR_COLL_BCAST == data->spec.coll ? call->out : call->in;
    data->out = call->out;
    data->reducer.elem_bytes = data->spec.elem_bytes;
    data->reducer.fused = gr_reduce_find(call->what.type, GR_OP_SUM);
    return 0;
}

static const struct gr_executor *replace_host(const struct gr_op *op)
{
    (void) op;
    return NULL;
}

static int unpack(struct gr_op *op)
{
    (void) op;
    return 0;
}

static int release(struct gr_op *op, int rc)
{
    (void) op;
    return rc;
}

static void complete(struct gr_op *op)
{
    struct call *call = call_of(op);

    call->rc = op->rc;
    call->way = op->choice.way;
    call->complete = true;
    set_locked(call, true);
}

static const struct gr_op_hooks hooks = {
    .prepare = prepare,
    .replace_host = replace_host,
    .unpack = unpack,
    .release = release,
    .complete = complete,
};

struct call *call_new(bool nonblocking)
{
    struct call *call = calloc(1, sizeof(*call));
    struct op_pages *pages;

    if (NULL == call) {
        abort();
    }
    /* of the heap, where a leak checker looks for what an op owns */
    pages = aligned_alloc((size_t) sysconf(_SC_PAGESIZE), pages_bytes());
    if (NULL == pages) {
        abort();
    }
    memset(pages, 0, pages_bytes());
    pages->call = call;
    call->op = &pages->op;
    call->op->hooks = &hooks;
    call->op->nonblocking = nonblocking;
    call->use = GR_AGREEMENT_FIRST;
    return call;
}

void call_free(struct call *call)
{
    unlock(call);
    mca_coll_gpuring_queue_free(call->queue);
    mca_coll_gpuring_op_free(call->op);
    free(call->op);
    free(call->in);
    free(call->out);
    free(call->tmp);
    free(call);
}

/* ---- data ---- */

static size_t elem_bytes(enum gr_type type)
{
    return GR_TYPE_F64 == type ? sizeof(double) : sizeof(int32_t);
}

/* Element k of the input of a rank; small, so that sums of doubles are exact. */
static int value(const struct what *what, int rank, size_t k)
{
    return (int) ((k * 2654435761u + (unsigned) rank * 40503u + what->salt * 97u) % 20011u) - 10005;
}

static void store(enum gr_type type, unsigned char *at, size_t k, int64_t v)
{
    double d = (double) v;
    int32_t i = (int32_t) v;

    memcpy(at + k * elem_bytes(type), GR_TYPE_F64 == type ? (void *) &d : (void *) &i,
           elem_bytes(type));
}

/* Element k of the sum of all ranks' inputs. */
static int64_t sum(const struct what *what, int n, size_t k)
{
    int64_t s = 0;
    int r;

    for (r = 0; r < n; r++) {
        s += value(what, r, k);
    }
    return s;
}

/* Elements of a rank's input and output. */
static size_t in_count(const struct what *what, int n)
{
    bool blocks = GR_CALL_REDUCE_SCATTER_BLOCK == what->id || GR_CALL_ALLTOALL == what->id;

    return what->count * (blocks ? (size_t) n : 1);
}

static size_t out_count(const struct what *what, int n)
{
    bool blocks = GR_CALL_ALLGATHER == what->id || GR_CALL_ALLTOALL == what->id;

    return what->count * (blocks ? (size_t) n : 1);
}

/* Element k of what the call leaves in the output of a rank. */
static int64_t wanted(const struct what *what, int n, int rank, size_t k)
{
    size_t count = what->count;

    switch (what->id) {
    case GR_CALL_ALLREDUCE:
        return sum(what, n, k);
    case GR_CALL_REDUCE:
        return rank == what->root ? sum(what, n, k) : -1;
    case GR_CALL_BCAST:
        return value(what, what->root, k);
    case GR_CALL_ALLGATHER:
        return value(what, (int) (k / count), k % count);
    case GR_CALL_REDUCE_SCATTER_BLOCK:
        return sum(what, n, (size_t) rank * count + k);
    default: /* alltoall: block r of the output is block `rank` of rank r's input */
        return value(what, (int) (k / count), (size_t) rank * count + k % count);
    }
}

/* Make buffers for what is called. */
static void make_buffers(struct call *call, const struct what *what, int n)
{
    free(call->in);
    free(call->out);
    call->what = *what;
    call->in_bytes = in_count(what, n) * elem_bytes(what->type);
    call->out_bytes = out_count(what, n) * elem_bytes(what->type);
    call->in = malloc(call->in_bytes);
    call->out = malloc(call->out_bytes);
    if (NULL == call->in || NULL == call->out) {
        abort();
    }
}

/* Set the call's input; an output holds -1 where nothing is written. */
static void fill(struct call *call, int n, int rank)
{
    const struct what *what = &call->what;
    size_t nin = in_count(what, n), nout = out_count(what, n), k;

    for (k = 0; k < nin; k++) {
        store(what->type, call->in, k, value(what, rank, k));
    }
    for (k = 0; k < nout; k++) {
        store(what->type, call->out, k,
              GR_CALL_BCAST == what->id && rank == what->root ? value(what, rank, k) : -1);
    }
}

void call_check(const struct rr_rank *rank, const struct call *call)
{
    const struct what *what = &call->what;
    size_t nout = out_count(what, rank->world->n), k;
    unsigned char want[sizeof(double)];

    for (k = 0; k < nout; k++) {
        store(what->type, want, 0, wanted(what, rank->world->n, rank->rank, k));
        if (0 != memcmp(want, call->out + k * elem_bytes(what->type), elem_bytes(what->type))) {
            print_error("%s of %zu elements, rank %d of %d: element %zu is wrong\n",
                        gr_calls[what->id].name, what->count, rank->rank, rank->world->n, k);
            abort();
        }
    }
}

/* ---- calls ---- */

/*
 * Tell the engine what is called, and let it choose. queue: that numbers the call. 0, or
 * GR_ERR_...
 */
static int describe(struct rr_rank *rank, struct gr_op_queue *queue, struct call *call,
                    const struct what *what)
{
    struct gr_op *op = call->op;
    struct gr_plan_spec *spec = &op->data.spec;
    size_t n = (size_t) rank->world->n, total, largest;

    op->persistent = call->persistent;
    mca_coll_gpuring_op_reset(op, &rank->comm, call->persistent ? NULL : queue);
    make_buffers(call, what, (int) n);
    fill(call, (int) n, rank->rank);
    memset(&op->data, 0, sizeof(op->data));
    op->id = what->id;
    op->root = what->root;
    op->kernel = -1;
    op->buffers[0] = call->in;
    op->buffers[1] = call->out;
    spec->coll = gr_calls[what->id].coll;
    spec->root = what->root;
    spec->elem_bytes = elem_bytes(what->type);
    if (GR_COLL_ALLREDUCE == spec->coll || GR_COLL_BCAST == spec->coll ||
        GR_COLL_REDUCE == spec->coll) {
        spec->total = total = largest = what->count;
    } else {
        spec->block = largest = what->count;
        total = n * what->count;
    }
    op->data.bytes = total * spec->elem_bytes;
    op->data.post_bytes =
        gr_mailbox_bytes(spec->coll, op->comm->size, op->data.bytes, largest * spec->elem_bytes);
    return mca_coll_gpuring_op_decide(queue, op, call->use, call->device);
}

static struct gr_op_queue *queue_of(struct rr_rank *rank, enum gr_call_order order)
{
    struct gr_op_queue *queue = mca_coll_gpuring_queue_of(&rank->comm, order);

    if (NULL == queue) {
        abort();
    }
    return queue;
}

int call_do(struct rr_rank *rank, struct call *call, const struct what *what)
{
    struct gr_op_queue *queue = queue_of(rank, GR_ORDER_BLOCKING);
    int rc = describe(rank, queue, call, what);

    rc = 0 == rc ? mca_coll_gpuring_op_prepare(queue, call->op) : rc;
    rc = 0 == rc ? mca_coll_gpuring_queue_do(queue, call->op) : rc;
    call->way = call->op->choice.way;
    return rc;
}

void call_do_right(struct rr_rank *rank, struct call *call, const struct what *what)
{
    if (0 != call_do(rank, call, what)) {
        abort();
    }
    call_check(rank, call);
}

void call_start(struct rr_rank *rank, struct call *call, const struct what *what)
{
    struct gr_op_queue *queue = queue_of(rank, GR_ORDER_NONBLOCKING);

    unlock(call);
    call->complete = false;
    if (0 != describe(rank, queue, call, what) ||
        0 != mca_coll_gpuring_op_prepare(queue, call->op)) {
        abort();
    }
    mca_coll_gpuring_queue_start(&call->op, 1);
}

int call_finish(struct call *call)
{
    while (!call->complete) {
        gr_runtime_progress();
    }
    return call->rc;
}

void call_finish_right(struct rr_rank *rank, struct call *call)
{
    if (0 != call_finish(call)) {
        abort();
    }
    call_check(rank, call);
}

int call_init(struct rr_rank *rank, struct call *call, const struct what *what)
{
    int rc;

    call->persistent = true;
    rc = describe(rank, queue_of(rank, GR_ORDER_BLOCKING), call, what);
    rc = 0 == rc ? mca_coll_gpuring_persistent_queue(call->op, &call->queue) : rc;
    if (0 != rc) {
        call->queue = NULL; /* the engine has freed it */
    }
    return rc;
}

void call_restart(struct rr_rank *rank, struct call *const *calls, size_t n, unsigned salt)
{
    struct gr_op *ops[16];
    size_t k;

    if (n > sizeof(ops) / sizeof(ops[0])) {
        abort();
    }
    for (k = 0; k < n; k++) {
        struct call *call = calls[k];

        unlock(call);
        call->complete = false;
        call->what.salt = salt;
        fill(call, rank->world->n, rank->rank);
        if (0 != mca_coll_gpuring_op_begin(call->op)) {
            abort();
        }
        ops[k] = call->op;
    }
    mca_coll_gpuring_queue_start(ops, n);
}

/* ---- cases ---- */

static const enum gr_call_id collectives[NCOLLECTIVES] = {
    GR_CALL_ALLREDUCE, GR_CALL_ALLGATHER, GR_CALL_REDUCE_SCATTER_BLOCK,
    GR_CALL_BCAST,     GR_CALL_REDUCE,    GR_CALL_ALLTOALL,
};

const size_t case_counts[NCOUNTS] = {1, 3, 100, 1000, 20000};

struct what case_of(size_t k, int n)
{
    struct what what = {
        .id = collectives[k % NCOLLECTIVES],
        .count = case_counts[k / NCOLLECTIVES % NCOUNTS],
        .type = 0 == k % 4 ? GR_TYPE_F64 : GR_TYPE_I32,
        .salt = (unsigned) k,
    };

    what.root = gr_calls[what.id].has_root ? (int) (k % (size_t) n) : 0;
    return what;
}

void run_world(int n, void (*function)(struct rr_rank *rank), int calls)
{
    struct rr_world *world = rr_world_new(n, (size_t) 64 << 20);

    assert_non_null(world);
    rr_run(world, function);
    assert_int_equal(world->calls, n * calls);
    assert_int_equal(world->warnings, 0);
    assert_int_equal(world->fallbacks, 0);
    rr_world_free(world);
}
