/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the engine on ranks as threads (engine_calls.h). */

#include "cmocka_test.h"

#include "engine_calls.h"

#include "comm/runtime.h"
#include "engine/choose.h"
#include "engine/op_queue.h"
#include "engine/phases.h"
#include "exec/executor.h"
#include "exec/op.h"

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
    struct gr_op op; /* first: the queue returns it */
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

static void prepare(struct gr_op *op)
{
    struct call *call = call_of(op);
    struct gr_data *data = &op->data;
    size_t bytes = 0;

    assert_false(op->exec->on_device);
    if (op->choice.algo < GR_NALGOS) {
        data->spec.algo = (enum gr_algo) op->choice.algo;
        bytes = gr_plan_scratch(&data->spec, op->comm->size);
    }
    free(call->tmp);
    call->tmp = bytes > 0 ? malloc(bytes) : NULL;
    data->tmp = call->tmp;
    data->in = call->buffers.in;
    data->out = call->buffers.out;
    data->reducer.elem_bytes = data->spec.elem_bytes;
    data->reducer.fused = gr_reduce_find(call->what.type, GR_OP_SUM);
    gr_op_prepared(op, 0);
}

static void complete(struct gr_op *op)
{
    struct call *call = call_of(op);

    call->rc = op->rc;
    call->algo = op->choice.algo;
    call->complete = true;
    set_locked(call, true);
}

/* The queue has returned the op. */
static void serve(struct gr_op *op)
{
    if (GR_OP_BUFFERS == op->phase) {
        prepare(op);
        return;
    }
    gr_op_end(op, 0 == op->rc ? call_of(op)->unpacks : op->rc);
    if (op->nonblocking) {
        complete(op);
    }
}

static void drive(struct gr_op_queue *queue)
{
    struct gr_op *op;

    while (NULL != (op = gr_queue_drive(queue, true))) {
        serve(op);
    }
}

static void drive_all(struct gr_queue_walk *walk)
{
    struct gr_op_queue *queue;

    while (NULL != (queue = gr_queues_next(walk))) {
        drive(queue);
    }
}

void calls_drive(struct rr_rank *rank)
{
    struct gr_queue_walk walk;

    gr_queues_begin(&walk, &rank->process, true);
    drive_all(&walk);
}

static int progress(void *ctx)
{
    struct gr_queue_walk walk;

    if (gr_queues_begin_progress(&walk, ctx)) {
        drive_all(&walk);
    }
    return 0;
}

static void begin(struct gr_op *op)
{
    gr_op_begin(op);
    prepare(op);
}

/* The set-ups that the op needs first, and its buffers where its executor is known. */
static int begin_in(struct gr_op_queue *queue, struct gr_op *op)
{
    int rc = gr_op_set_up(queue, op);

    if (0 == rc && !op->chosen_in_turn) {
        begin(op);
    }
    return rc;
}

static int wait_for(struct gr_op *op)
{
    struct gr_op *served;

    gr_queue_enter(op);
    while (NULL != (served = gr_queue_wait(op))) {
        serve(served);
    }
    return op->rc;
}

static void start(struct gr_op *const *ops, size_t n)
{
    size_t k;

    for (k = 0; k < n; k++) {
        gr_queue_append(ops[k]);
    }
    for (k = 0; k < n; k++) {
        struct gr_op_queue *queue = ops[k]->queue;

        if (gr_try(&queue->busy)) {
            drive(queue);
            gr_unlock(&queue->busy);
        }
    }
}

/* What the rank waits for moves its nonblocking calls from now on. */
static void open_progress(struct rr_rank *rank)
{
    if (0 != gr_runtime_register(GR_PROGRESS_QUEUES, progress, &rank->process, true)) {
        abort();
    }
}

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
    call->op->nonblocking = nonblocking;
    call->use = GR_AGREEMENT_FIRST;
    return call;
}

void call_free(struct call *call)
{
    unlock(call);
    gr_queue_free(call->queue);
    gr_op_free(call->op);
    free(call->op);
    ex_buffers_free(&call->buffers);
    free(call->tmp);
    free(call);
}

/* ---- data ---- */

static size_t elem_bytes(enum gr_type type)
{
    return GR_TYPE_F64 == type ? sizeof(double) : sizeof(int32_t);
}

/* The call as a case of exec_data.h; a bcast has one buffer. */
static struct ex_case data_of(const struct what *what)
{
    return (struct ex_case) {.coll = gr_calls[what->id].coll,
                             .algo = GR_ALGO_MAILBOX,
                             .root = what->root,
                             .kind = GR_TYPE_F64 == what->type ? EX_F64_SUM : EX_I32_SUM,
                             .count = what->count,
                             .in_place = GR_CALL_BCAST == what->id,
                             .seed = what->salt};
}

void call_check(const struct rr_rank *rank, const struct call *call)
{
    struct ex_case data = data_of(&call->what);
    int n = rank->world->n;
    unsigned char *want = ex_want(&data, n);
    char why[160];

    if (0 != ex_buffers_check(&call->buffers, &data, n, rank->rank, want, why, sizeof(why))) {
        print_error("%s of %zu elements, rank %d of %d: %s\n", gr_calls[call->what.id].name,
                    call->what.count, rank->rank, n, why);
        abort();
    }
    free(want);
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
    struct ex_case data;

    op->persistent = call->persistent;
    gr_op_reset(op, &rank->comm, call->persistent ? NULL : queue);
    ex_buffers_free(&call->buffers);
    call->what = *what;
    data = data_of(what);
    ex_buffers_make(&call->buffers, &data, (int) n, rank->rank);
    memset(&op->data, 0, sizeof(op->data));
    op->id = what->id;
    op->root = what->root;
    op->kernel = -1;
    op->buffers[0] = call->buffers.in;
    op->buffers[1] = call->buffers.out;
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
    return gr_op_decide(queue, op, call->use, call->device);
}

static struct gr_op_queue *queue_of(struct rr_rank *rank, enum gr_call_order order)
{
    struct gr_op_queue *queue = gr_queue_of(&rank->comm, order);

    if (NULL == queue) {
        abort();
    }
    return queue;
}

int call_do(struct rr_rank *rank, struct call *call, const struct what *what)
{
    struct gr_op_queue *queue = queue_of(rank, GR_ORDER_BLOCKING);
    int rc = describe(rank, queue, call, what);

    rc = 0 == rc ? begin_in(queue, call->op) : rc;
    rc = 0 == rc ? wait_for(call->op) : rc;
    call->algo = call->op->choice.algo;
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
    open_progress(rank);
    if (0 != describe(rank, queue, call, what) || 0 != begin_in(queue, call->op)) {
        abort();
    }
    start(&call->op, 1);
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
    open_progress(rank);
    rc = describe(rank, queue_of(rank, GR_ORDER_BLOCKING), call, what);
    rc = 0 == rc ? gr_persistent_queue(call->op, &call->queue) : rc;
    if (0 != rc) {
        call->queue = NULL; /* the engine has freed it */
    }
    return rc;
}

void call_restart(struct rr_rank *rank, struct call *const *calls, size_t n, unsigned salt)
{
    struct gr_op *ops[16];
    struct ex_case data;
    size_t k;

    if (n > sizeof(ops) / sizeof(ops[0])) {
        abort();
    }
    for (k = 0; k < n; k++) {
        struct call *call = calls[k];

        unlock(call);
        call->complete = false;
        call->what.salt = salt;
        data = data_of(&call->what);
        ex_buffers_fill(&call->buffers, &data, rank->world->n, rank->rank);
        begin(call->op);
        ops[k] = call->op;
    }
    start(ops, n);
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

struct rr_world *new_world(int n)
{
    struct rr_world *world = rr_world_new(n, (size_t) 64 << 20);

    assert_non_null(world);
    return world;
}

void end_world(struct rr_world *world, int calls, int warnings)
{
    assert_int_equal(world->calls, calls);
    assert_int_equal(world->warnings, warnings);
    rr_world_free(world);
}

void run_world(int n, void (*function)(struct rr_rank *rank), int calls)
{
    struct rr_world *world = new_world(n);

    rr_run(world, function);
    assert_int_equal(world->fallbacks, 0);
    end_world(world, n * calls, 0);
}
