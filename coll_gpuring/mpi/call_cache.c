/* SPDX-License-Identifier: BSD-3-Clause */
/* Cached calls: how they are found, done and kept (call_cache.h). */
#include "mpi/call_cache.h"

#include "comm/devices.h"
#include "comm/failure.h"
#include "comm/params.h"
#include "comm/runtime.h"
#include "comm/watchdog.h"
#include "engine/op_queue.h"
#include "engine/phases.h"
#include "exec/executor.h"
#include "exec/op.h"
#include "mpi/call.h"
#include "mpi/datatype.h"
#include "mpi/module.h"
#include "mpi/op.h"
#include "mpi/runtime.h"

#include "base/memory.h"
#include "base/errors.h"
#include "exec/mailbox.h"
#include "link/public.h"
#include "link/team.h"

#include <stdlib.h>

/* ---- which cached call ---- */

bool mca_coll_gpuring_cached_has_blocks(const struct gr_cached_call *cached,
                                        const struct gr_call *call)
{
    bool moves = GR_CALL_ALLGATHERV == call->id;
    size_t unit = moves ? mca_coll_gpuring_type_size(call->rtype) : 1;
    int p = cached->queue->comm->size, r;

    for (r = 0; r < p; r++) {
        if (GR_COUNT_AT(call->rcounts, r) * unit != cached->lists[r] ||
            (moves && GR_DISP_AT(call->displs, r) * (ptrdiff_t) unit !=
                          (ptrdiff_t) cached->lists[p + r] + cached->lowest)) {
            return false;
        }
    }
    return true;
}

static inline uint32_t hash_of(const struct gr_call_kind *kind)
{
    uint64_t h = kind->count ^ (uint64_t) kind->id << 56 ^ (uint64_t) kind->root << 32 ^
                 (uint64_t) (uintptr_t) kind->type << 8 ^ (uint64_t) (uintptr_t) kind->reduction;

    return (uint32_t) ((h * UINT64_C(0x9e3779b97f4a7c15)) >> 32) | 1;
}

/* The first of the two places that a kind may have. */
static inline unsigned place_of(uint32_t hash)
{
    return (hash >> 16) & (GR_CACHED_CALLS - 2);
}

/* Whether calls like this one are cached; then *kind is its kind. */
static bool find_kind(const struct gr_call *call, struct gr_call_kind *kind)
{
    if (call->id >= GR_NSUPPORTED) { /* only what gpuring does itself is cached */
        return false;
    }
    *kind = gr_call_kind_of(call, call->id);
    /* these are copied: types with a tail, and in place: */
    return gr_call_is_contiguous(call, call->id) &&
           (NULL == kind->type || 0 == mca_coll_gpuring_type_tail(kind->type)) &&
           (!kind->in_place ||
            (GR_CALL_REDUCE_SCATTER != call->id && GR_CALL_REDUCE_SCATTER_BLOCK != call->id &&
             GR_CALL_ALLTOALL != call->id));
}

/* Whether the call, which is of that kind, is alike. */
static bool is_of(const struct gr_cached_call *cached, const struct gr_call_kind *kind,
                  const struct gr_call *call)
{
    return cached->kind.id == kind->id && cached->kind.in_place == kind->in_place &&
           gr_cached_is_of(cached, kind, call, kind->id);
}

/* The cached call of the kind, of which this call is. NULL: none. */
static struct gr_cached_call *find_by_hash(const struct gr_call_cache *cache,
                                           const struct gr_call_kind *kind,
                                           const struct gr_call *call)
{
    unsigned k = place_of(hash_of(kind)), end = k + 2;

    while (k < end && (NULL == cache->at[k] || !is_of(cache->at[k], kind, call))) {
        k++;
    }
    return k < end ? cache->at[k] : NULL;
}

/*
 * Whether the buffers are in host memory. On a communicator whose ranks expected no devices a CUDA
 * driver may be loaded later, and then dispatch.c looks where the buffers are. The buffers of the
 * last call before that are known.
 */
static bool in_host_memory(const struct gr_cached_call *cached, const struct gr_call *call)
{
    return (cached->hosts[0] == call->sbuf && cached->hosts[1] == call->rbuf) || !gr_gpu_loaded();
}

/* Let the cached call have the call's buffers. */
static void set_buffers(struct gr_cached_call *cached, const struct gr_call *call)
{
    cached->hosts[0] = call->sbuf;
    cached->hosts[1] = call->rbuf;
    if (gr_id_reduces(call->id)) {
        cached->run.whole.in = cached->kind.in_place ? call->rbuf : call->sbuf;
        cached->run.whole.out = call->rbuf;
    }
    if (GR_CALL_REDUCE == call->id) { /* what its root posts depends on the buffers */
        gr_grouped_prepare(&cached->run, cached->queue->team);
    }
    gr_cached_set_typed(cached, call, call->id);
}

struct gr_cached_call *mca_coll_gpuring_cached_find(struct gr_call_cache *cache,
                                                    const struct gr_call *call,
                                                    struct gr_cached_call *last)
{
    struct gr_cached_call *cached = last;
    struct gr_call_kind kind;

    if (NULL == last || last->kind.in_place != (MPI_IN_PLACE == call->sbuf)) {
        cached = find_kind(call, &kind) ? find_by_hash(cache, &kind, call) : NULL;
    }
    if (NULL == cached || !in_host_memory(cached, call)) {
        return NULL;
    }
    cache->last[call->id] = cached;
    set_buffers(cached, call);
    return cached;
}

/* ---- a call ---- */

/* rc: of gr_grouped_poll(). GR_DONE, GR_AGAIN, or GR_ERR_..., which is reported. */
static int polled(struct gr_cached_call *cached, int rc)
{
    struct gr_label_pair pair;

    if (rc >= 0) {
        return rc > 0 ? GR_DONE : GR_AGAIN;
    }
    pair = gr_grouped_difference(&cached->run);
    gr_report_difference(cached->queue->comm, cached->kind.id, cached->queue->shown->seq, rc,
                         &pair);
    return rc;
}

static int poll(void *ctx, uint64_t *moved)
{
    struct gr_cached_call *cached = ctx;

    return polled(cached, gr_grouped_poll(&cached->run, moved));
}

static void explain(void *ctx, char *text, size_t size)
{
    const struct gr_cached_call *cached = ctx;

    gr_grouped_explain(&cached->run, text, size);
}

/* gr_poll_to_end(): the wait becomes a long one, of which the time is taken. */
static int wait_long(struct gr_cached_call *cached, const struct gr_waiting *waiting)
{
    struct gr_call_times *times = cached->counter.times;
    double start = gr_stats_now();
    int rc = gr_poll_to_end(poll, waiting);

    if (NULL != times) {
        times->long_us += 1e6 * (gr_runtime_now() - start);
    }
    return rc;
}

/* Wait for the other ranks: gr_grouped_run() returned rc. OMPI error code; all ranks are told. */
static int wait_for_others(struct gr_cached_call *cached, int rc)
{
    const struct gr_waiting waiting = {cached->queue->comm,
                                       gr_calls[cached->kind.id].name,
                                       cached->queue->shown->seq,
                                       explain,
                                       cached,
                                       cached->queue->shown};
    unsigned polls = gr_polls_per_progress();
    uint64_t moved = 0;

    rc = polled(cached, rc);
    while (GR_AGAIN == rc && --polls > 0) {
        rc = poll(cached, &moved);
    }
    rc = GR_AGAIN == rc ? wait_long(cached, &waiting) : rc;
    if (0 != rc) {
        gr_failure_tell(cached->queue->comm);
    }
    return mca_coll_gpuring_to_ompi(rc);
}

/* A blocking call that is to be timed. OMPI error code. */
__attribute__((noinline)) static int run_timed(struct gr_cached_call *cached)
{
    const struct gr_call_times *times = cached->counter.times;
    double start = gr_runtime_now(), before = times->long_us;
    bool waits;
    int rc;

    (void) gr_public_begin_call(cached->queue->shown, cached->kind.id);
    rc = gr_grouped_run(&cached->run);
    waits = 1 != rc;
    rc = waits ? wait_for_others(cached, rc) : OMPI_SUCCESS;
    if (OMPI_SUCCESS == rc) {
        mca_coll_gpuring_count_timed(&cached->counter, start, waits, times->long_us - before);
    }
    return rc;
}

/* Not inline: so mca_coll_gpuring_cached_run() saves few registers. */
__attribute__((noinline)) static int go_to_end(struct gr_cached_call *cached, int rc)
{
    rc = wait_for_others(cached, rc);
    if (OMPI_SUCCESS == rc) {
        gr_count_call(&cached->counter);
    }
    return rc;
}

int mca_coll_gpuring_cached_run(struct gr_cached_call *cached)
{
    int rc;

    if (gr_call_is_timed(&cached->counter)) {
        return run_timed(cached);
    }
    (void) gr_public_begin_call(cached->queue->shown, cached->kind.id);
    /* no call of this order is before it */
    rc = gr_grouped_run(&cached->run);
    if (1 != rc) {
        return go_to_end(cached, rc);
    }
    gr_count_call(&cached->counter);
    return OMPI_SUCCESS;
}

/* The op of a call as dispatch.c would leave it before the queue. */
static void set_op(struct gr_mpi_op *op, const struct gr_cached_call *cached,
                   const struct gr_call *call)
{
    struct gr_op *base = &op->base;

    gr_op_reset(base, cached->queue->comm, cached->queue);
    op->call = *call;
    op->stages = false;
    op->finish = GR_FINISH_NONE;
    base->id = call->id;
    base->root = call->root;
    base->data.bytes = cached->counter.bytes;
    base->data.spec.coll = gr_calls[call->id].coll; /* says whose boards it takes */
    base->choice.algo = GR_ALGO_MAILBOX;
    base->choice.small = 0; /* the request may have served a call between nodes */
    base->exec = &gr_run_mailbox;
    base->has_buffers = true;
    base->seq = gr_public_begin_call(cached->queue->shown, call->id);
    gr_grouped_hand_over(&base->run.mailbox, &cached->run);
    /* the cached call may go before this one is done */
    base->run.mailbox.whole.reducer.ctx = base->run.mailbox.now.reducer.ctx = &op->call;
    if (1 == cached->run.levels) {
        base->early = (struct gr_early_post) {&base->run.mailbox.whole, GR_ALGO_MAILBOX};
    }
}

bool mca_coll_gpuring_cached_begin(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                   struct gr_cached_begun *begun)
{
    struct gr_call_cache *cache = module->cache[GR_ORDER_NONBLOCKING];
    struct gr_cached_call *cached = gr_cached_last(cache, call, call->id);

    if (NULL == cached || !gr_cached_is_ready(cached, call, call->id)) {
        cached = mca_coll_gpuring_cached_find(cache, call, cached);
    }
    if (NULL == cached) {
        return false;
    }
    begun->start = gr_call_start(&cached->counter);
    begun->rc = gr_queue_try_mail(cached->queue, &cached->run);
    begun->cached = cached;
    if (1 == begun->rc) {
        (void) gr_public_begin_call(cached->queue->shown, cached->kind.id);
        gr_count_started(&cached->counter, begun->start);
        begun->cached = NULL;
    }
    return true;
}

void mca_coll_gpuring_cached_go_on(const struct gr_cached_begun *begun, const struct gr_call *call,
                                   struct gr_mpi_op *op)
{
    set_op(op, begun->cached, call);
    op->base.start = 0 == begun->start ? gr_stats_now() : begun->start;
    if (GR_NO_MAIL == begun->rc) {
        mca_coll_gpuring_ops_start(&op, 1);
    } else {
        gr_queue_go_on(&op->base);
    }
}

/* ---- making one ---- */

/* Whether the op's call, which is prepared or done, only posts to mailboxes and takes from them. */
static bool may_cache(const struct gr_mpi_op *op)
{
    const struct gr_op *base = &op->base;

    return &gr_run_mailbox == base->exec && !base->comm->gpu && !op->stages &&
           GR_FINISH_NONE == op->finish &&
           gr_settings.verbose < 2; /* which says each call's choice */
}

bool mca_coll_gpuring_may_cache(const struct gr_mpi_op *op)
{
    struct gr_call_kind kind;

    return may_cache(op) && find_kind(&op->call, &kind);
}

void mca_coll_gpuring_cached_count(struct gr_call_counter *counter, const struct gr_mpi_op *op)
{
    *counter = (struct gr_call_counter) {
        .id = op->base.id,
        .algo = GR_ALGO_MAILBOX,
        .bytes = gr_call_has_buffers(op->base.id) ? op->base.data.bytes : 0};
    mca_coll_gpuring_counter_join(counter, op->base.comm->size, op->base.nonblocking);
}

/* What a barrier posts: any byte. */
static const unsigned char token = 1;

/* The op's lists serve its next call. */
static void copy_lists(struct gr_cached_call *cached, const struct gr_mpi_op *op)
{
    struct gr_mailbox_call *whole = &cached->run.whole;
    size_t p = (size_t) cached->queue->comm->size;

    memcpy(cached->lists, whole->counts, p * sizeof(*cached->lists));
    memcpy(cached->lists + p, whole->displs, p * sizeof(*cached->lists));
    whole->counts = cached->lists;
    whole->displs = cached->lists + p;
    if (GR_CALL_ALLGATHERV == cached->kind.id) {
        cached->lowest =
            whole->out - mca_coll_gpuring_contiguous_start(op->call.rbuf, op->call.rtype);
    }
}

static struct gr_cached_call *cached_new(const struct gr_mpi_op *op,
                                         const struct gr_call_kind *kind)
{
    size_t n = gr_kind_has_lists(kind->id) ? 2 * (size_t) op->base.comm->size : 0;
    struct gr_cached_call *cached = gr_calloc(1, sizeof(*cached) + n * sizeof(*cached->lists));

    if (NULL != cached) {
        cached->kind = *kind;
        mca_coll_gpuring_cached_count(&cached->counter, op);
        cached->queue = op->base.queue;
        gr_grouped_hand_over(&cached->run, &op->base.run.mailbox);
        cached->reduced = op->call;
        cached->run.whole.reducer.ctx = &cached->reduced;
        if (GR_CALL_BARRIER == kind->id) {
            cached->run.whole.in = &token;
        }
        cached->hosts[0] = op->call.sbuf;
        cached->hosts[1] = op->call.rbuf;
        if (n > 0) {
            copy_lists(cached, op);
        }
    }
    return cached;
}

static void cached_free(struct gr_cached_call *cached)
{
    if (NULL != cached) {
        mca_coll_gpuring_counter_leave(&cached->counter);
        free(cached);
    }
}

_Static_assert(GR_NORDERS * sizeof(struct gr_call_cache) +
                       GR_NORDERS * GR_CACHED_CALLS * sizeof(struct gr_cached_call) +
                       GR_CACHED_CALLS * 2 * GR_CACHED_LIST_RANKS * sizeof(size_t) <=
                   64 << 10,
               "a communicator's cached calls take at most 64 KiB");

void mca_coll_gpuring_cache_call(mca_coll_gpuring_module_t *module, const struct gr_mpi_op *op)
{
    struct gr_call_cache **of_order = &module->cache[op->base.queue->order], *cache;
    struct gr_cached_call *cached;
    struct gr_call_kind kind;
    uint32_t hash;
    unsigned k;

    if (!may_cache(op) || !find_kind(&op->call, &kind) ||
        /* several calls may wait, and need the lists of one that is replaced meanwhile */
        (gr_kind_has_lists(kind.id) && (GR_ORDER_NONBLOCKING == op->base.queue->order ||
                                        op->base.comm->size > GR_CACHED_LIST_RANKS)) ||
        GR_LINKS_THERE != op->base.exec->links(&op->base)) {
        return;
    }
    if (NULL == *of_order) { /* many communicators have one call */
        *of_order = gr_calloc(1, sizeof(**of_order));
    }
    cache = *of_order;
    if (NULL == cache) {
        return;
    }
    hash = hash_of(&kind);
    k = place_of(hash);
    /* of a thousand sizes in turn none is worth it */
    if (hash != cache->missed[k / 2]) {
        cache->missed[k / 2] = hash;
        return;
    }
    cached = cached_new(op, &kind);
    if (NULL != cached) {
        k += NULL != cache->at[k];
        if (NULL != cache->at[k]) {
            cache->last[cache->at[k]->kind.id] = NULL;
            cached_free(cache->at[k]);
        }
        cache->at[k] = cached;
    }
}

void mca_coll_gpuring_call_cache_free(struct gr_call_cache *cache)
{
    for (int k = 0; NULL != cache && k < GR_CACHED_CALLS; k++) {
        cached_free(cache->at[k]);
    }
    free(cache);
}
