/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine without MPI: ranks as threads (rank_runtime.h) make calls as mpi/dispatch.c does, and
 * each output is compared bit for bit. Elements are integers, and doubles whose sums are exact, so
 * that no order of reduction changes a bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rank_runtime.h"

#include "engine/choose.h"
#include "engine/comm_queues.h"
#include "engine/failure.h"
#include "engine/op.h"
#include "engine/op_hooks.h"
#include "engine/op_queue.h"
#include "engine/runtime.h"
#include "engine/submit.h"

#include "base/errors.h"
#include "exec/mail.h"
#include "exec/plan.h"
#include "exec/reduce.h"
#include "sched/sched.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the owner of an op ---- */

struct call {
    struct gr_op op; /* first: the engine hands it to the hooks */
    enum gr_type type;
    unsigned char *in, *out, *tmp; /* owned */
    size_t in_bytes, out_bytes;
    bool complete; /* nonblocking: the request is */
};

static int prepare(struct gr_op *op, struct gr_gpu *gpu)
{
    struct call *call = (struct call *) op;
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
    data->reducer.fused = gr_reduce_find(call->type, GR_OP_SUM);
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
    ((struct call *) op)->complete = true;
}

static const struct gr_op_hooks hooks = {
    .prepare = prepare,
    .replace_host = replace_host,
    .unpack = unpack,
    .release = release,
    .complete = complete,
};

/* ---- calls ---- */

/* What is called: the same on all ranks. */
struct what {
    enum gr_call_id id;
    enum gr_type type;
    size_t count; /* elements of the vector, or of a block */
    int root;
    unsigned salt; /* of the values */
};

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

static struct call *call_new(bool nonblocking)
{
    struct call *call = calloc(1, sizeof(*call));

    if (NULL == call) {
        abort();
    }
    call->op.hooks = &hooks;
    call->op.nonblocking = nonblocking;
    return call;
}

static void call_free(struct call *call)
{
    mca_coll_gpuring_op_free(&call->op);
    free(call->in);
    free(call->out);
    free(call->tmp);
    free(call);
}

/* Set the call's buffers; an output holds -1 where nothing is written. */
static void fill(struct call *call, const struct what *what, int n, int rank)
{
    size_t nin = in_count(what, n), nout = out_count(what, n), k;

    free(call->in);
    free(call->out);
    call->type = what->type;
    call->in_bytes = nin * elem_bytes(what->type);
    call->out_bytes = nout * elem_bytes(what->type);
    call->in = malloc(call->in_bytes);
    call->out = malloc(call->out_bytes);
    for (k = 0; k < nin; k++) {
        store(what->type, call->in, k, value(what, rank, k));
    }
    for (k = 0; k < nout; k++) {
        store(what->type, call->out, k,
              GR_CALL_BCAST == what->id && rank == what->root ? value(what, rank, k) : -1);
    }
}

/* Tell the engine what is called, and let it choose. 0, or GR_ERR_... */
static int describe(struct rr_rank *rank, struct gr_op_queue *queue, struct call *call,
                    const struct what *what)
{
    struct gr_op *op = &call->op;
    struct gr_plan_spec *r = &op->data.spec;
    size_t n = (size_t) rank->world->n, total, largest;

    mca_coll_gpuring_op_reset(op, &rank->comm, queue);
    fill(call, what, (int) n, rank->rank);
    memset(&op->data, 0, sizeof(op->data));
    op->id = what->id;
    op->root = what->root;
    op->buffers[0] = call->in;
    op->buffers[1] = call->out;
    r->coll = gr_calls[what->id].coll;
    r->root = what->root;
    r->elem_bytes = elem_bytes(what->type);
    if (GR_COLL_ALLREDUCE == r->coll || GR_COLL_BCAST == r->coll || GR_COLL_REDUCE == r->coll) {
        r->total = total = largest = what->count;
    } else {
        r->block = largest = what->count;
        total = n * what->count;
    }
    op->data.bytes = total * r->elem_bytes;
    op->data.post_bytes = gr_mail_bytes(r->coll, op->data.bytes, largest * r->elem_bytes);
    return mca_coll_gpuring_op_decide(queue, op, GR_AGREEMENT_FIRST, false);
}

static void check_output(const struct rr_rank *rank, const struct call *call,
                         const struct what *what)
{
    size_t nout = out_count(what, rank->world->n), k;
    unsigned char want[sizeof(double)];

    for (k = 0; k < nout; k++) {
        store(what->type, want, 0, wanted(what, rank->world->n, rank->rank, k));
        if (0 != memcmp(want, call->out + k * elem_bytes(what->type), elem_bytes(what->type))) {
            print_error("%s of %zu elements, way %s, rank %d of %d: element %zu is wrong\n",
                        gr_calls[what->id].name, what->count, gr_way_name(call->op.choice.way),
                        rank->rank, rank->world->n, k);
            abort();
        }
    }
}

static struct gr_op_queue *queue_of(struct rr_rank *rank, enum gr_call_order order)
{
    struct gr_op_queue *queue = mca_coll_gpuring_queue_of(&rank->comm, order);

    if (NULL == queue) {
        abort();
    }
    return queue;
}

/* A blocking call; returns its result. */
static int do_blocking(struct rr_rank *rank, struct call *call, const struct what *what)
{
    struct gr_op_queue *queue = queue_of(rank, GR_ORDER_BLOCKING);
    int rc = describe(rank, queue, call, what);

    rc = 0 == rc ? mca_coll_gpuring_op_prepare(queue, &call->op) : rc;
    return 0 == rc ? mca_coll_gpuring_queue_do(queue, &call->op) : rc;
}

static void start(struct rr_rank *rank, struct call *call, const struct what *what)
{
    struct gr_op_queue *queue = queue_of(rank, GR_ORDER_NONBLOCKING);
    struct gr_op *op = &call->op;

    call->complete = false;
    if (0 != describe(rank, queue, call, what) || 0 != mca_coll_gpuring_op_prepare(queue, op)) {
        abort();
    }
    mca_coll_gpuring_queue_start(&op, 1);
}

/* Wait for a nonblocking call; returns its result. */
static int finish(struct call *call)
{
    while (!call->complete) {
        gr_runtime_progress();
    }
    return call->op.rc;
}

/* ---- cases ---- */

static const enum gr_call_id collectives[] = {
    GR_CALL_ALLREDUCE, GR_CALL_ALLGATHER, GR_CALL_REDUCE_SCATTER_BLOCK,
    GR_CALL_BCAST,     GR_CALL_REDUCE,    GR_CALL_ALLTOALL,
};
#define NCOLLECTIVES (sizeof(collectives) / sizeof(collectives[0]))

static const size_t counts[] = {1, 3, 100, 1000, 20000};
#define NCOUNTS (sizeof(counts) / sizeof(counts[0]))

/* Case k of a run: all ranks count alike. */
static struct what case_of(size_t k, int n)
{
    struct what what = {
        .id = collectives[k % NCOLLECTIVES],
        .count = counts[k / NCOLLECTIVES % NCOUNTS],
        .type = 0 == k % 4 ? GR_TYPE_F64 : GR_TYPE_I32,
        .salt = (unsigned) k,
    };

    what.root = gr_calls[what.id].has_root ? (int) (k % (size_t) n) : 0;
    return what;
}
#define NCASES (2 * NCOLLECTIVES * NCOUNTS)

static void run_blocking(struct rr_rank *rank)
{
    struct call *call = call_new(false);
    size_t k;

    for (k = 0; k < NCASES; k++) {
        struct what what = case_of(k, rank->world->n);

        if (0 != do_blocking(rank, call, &what)) {
            abort();
        }
        check_output(rank, call, &what);
    }
    call_free(call);
}

/* A world whose calls all succeeded, and were counted. */
static void run_world(int n, void (*function)(struct rr_rank *rank), int calls)
{
    struct rr_world *world = rr_world_new(n, (size_t) 64 << 20);

    assert_non_null(world);
    rr_run(world, function);
    assert_int_equal(world->calls, n * calls);
    assert_int_equal(world->warnings, 0);
    assert_int_equal(world->fallbacks, 0);
    rr_world_free(world);
}

static void blocking_calls(void **state)
{
    int n;

    (void) state;
    for (n = 2; n <= 8; n += n < 5 ? 1 : 3) {
        run_world(n, run_blocking, (int) NCASES);
    }
}

/* Each algorithm for allreduce, forced. */
static _Atomic int forced;

static void run_forced(struct rr_rank *rank)
{
    struct call *call = call_new(false);
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_F64};
    size_t k;

    rank->comm.params.value[GR_PARAM_ALGORITHM + GR_COLL_ALLREDUCE] = forced;
    for (k = 0; k < NCOUNTS; k++) {
        what.count = counts[k];
        what.salt = (unsigned) k;
        if (0 != do_blocking(rank, call, &what)) {
            abort();
        }
        check_output(rank, call, &what);
        if (counts[k] >= 1000 && forced != call->op.choice.way) {
            abort();
        }
    }
    call_free(call);
}

static void forced_algorithms(void **state)
{
    struct gr_torus none = {.ndims = 0};
    int algo, ran = 0;

    (void) state;
    for (algo = 0; algo < GR_NALGOS; algo++) {
        if (gr_algo_has((enum gr_algo) algo, GR_COLL_ALLREDUCE) &&
            gr_algo_fits((enum gr_algo) algo, 5, &none)) {
            forced = algo;
            run_world(5, run_forced, (int) NCOUNTS);
            ran++;
        }
    }
    assert_true(ran >= 2);
}

/* ---- nonblocking calls, between and after blocking ones ---- */

#define PENDING 6
#define ROUNDS 6

static void run_pending(struct rr_rank *rank)
{
    int n = rank->world->n;
    struct call *calls[PENDING], *between = call_new(false);
    struct what asked[PENDING], what;
    size_t k, round;

    for (k = 0; k < PENDING; k++) {
        calls[k] = call_new(true);
    }
    for (round = 0; round < ROUNDS; round++) {
        for (k = 0; k < PENDING; k++) {
            asked[k] = case_of(round * 7 + k * 11, n);
            start(rank, calls[k], &asked[k]);
            /* blocking calls come at another moment on each rank: the orders are apart */
            if (k == (round + (size_t) rank->rank) % PENDING) {
                what = case_of(round * 5, n);
                if (0 != do_blocking(rank, between, &what)) {
                    abort();
                }
                check_output(rank, between, &what);
            }
        }
        for (k = PENDING; k > 0; k--) {
            if (0 != finish(calls[k - 1])) {
                abort();
            }
            check_output(rank, calls[k - 1], &asked[k - 1]);
        }
    }
    for (k = 0; k < PENDING; k++) {
        call_free(calls[k]);
    }
    call_free(between);
}

static void nonblocking_calls(void **state)
{
    (void) state;
    run_world(2, run_pending, ROUNDS * (PENDING + 1));
    run_world(4, run_pending, ROUNDS * (PENDING + 1));
    run_world(5, run_pending, ROUNDS * (PENDING + 1));
}

/* ---- links refused: one rank has no shared memory for them ---- */

#define POOR 1 /* the rank */

static void run_refused(struct rr_rank *rank)
{
    struct call *call = call_new(false), *pending = call_new(true);
    size_t k;

    for (k = 0; k < NCASES; k++) {
        struct what what = case_of(k, rank->world->n);

        /* on all ranks, and again at the next call */
        if (GR_ERR_FALLBACK != do_blocking(rank, call, &what) ||
            GR_FALLBACK_SETUP != call->op.fallback) {
            abort();
        }
        /* a nonblocking call is completed, by messages */
        start(rank, pending, &what);
        if (0 != finish(pending)) {
            abort();
        }
        check_output(rank, pending, &what);
    }
    call_free(call);
    call_free(pending);
}

static void refused_links(void **state)
{
    struct rr_world *world = rr_world_new(4, (size_t) 64 << 20);

    (void) state;
    assert_non_null(world);
    rr_limit_pool(&world->ranks[POOR], 4096);
    rr_run(world, run_refused);
    assert_int_equal(world->calls, 0);
    assert_int_equal(world->fallbacks, 4 * NCASES);
    assert_true(world->warnings >= 1); /* the poor rank says why */
    rr_world_free(world);
}

/* ---- a set-up that breaks: the message that a rank posts fails ---- */

#define BROKEN 2 /* the rank */
#define POSTS 4  /* messages of a rank that are let fail, one in each world */

/* Messages may be under way into a set-up that broke, so it is never freed, and neither is its op. */
static struct call *stuck[POSTS * 4];
static atomic_int nstuck;

static void run_broken(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_I32, .count = 1000};
    struct call *call = call_new(false);

    if (GR_ERR_FAILED != do_blocking(rank, call, &what)) {
        abort();
    }
    /* the communicator has failed for good, on all ranks */
    if (GR_ERR_FAILED != mca_coll_gpuring_failure_check(&rank->comm, false)) {
        abort();
    }
    stuck[atomic_fetch_add(&nstuck, 1)] = call;
}

static void broken_setup(void **state)
{
    int post;

    (void) state;
    for (post = 1; post <= POSTS; post++) {
        struct rr_world *world = rr_world_new(4, (size_t) 64 << 20);

        assert_non_null(world);
        world->ranks[BROKEN].fail_post = post;
        rr_run(world, run_broken);
        assert_int_equal(world->calls, 0);
        assert_int_equal(world->warnings, 4); /* each rank says so once */
        rr_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocking_calls),    cmocka_unit_test(forced_algorithms),
        cmocka_unit_test(nonblocking_calls), cmocka_unit_test(refused_links),
        cmocka_unit_test(broken_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
