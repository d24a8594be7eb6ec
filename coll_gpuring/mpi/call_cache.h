/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The call cache: what a rank keeps of a kind of call, so that the next call of the kind decides
 * nothing.
 *
 * A cached call holds for calls in host memory among ranks of one node, through mailboxes
 * (exec/grouped.h), without a copy of their own: the buffers are one run of bytes each. Whether a
 * call is of the kind follows from its arguments alone: collective, root, bytes, and for reductions
 * type and operation. Nothing of it was agreed on with other ranks, so a rank may drop it, or not
 * keep it for lack of memory: the call is then dispatched anew, to the same mailbox.
 *
 * The first calls of a kind go through dispatch.c. The second in a row is cached. Blocking and
 * nonblocking calls have mailboxes of their own, and caches. A persistent request keeps its own
 * (request.c).
 */
#ifndef GR_MPI_CALL_CACHE_H
#define GR_MPI_CALL_CACHE_H

#include "mpi/ompi.h"

#include "comm/collectives.h"
#include "comm/devices.h"
#include "comm/runtime.h"
#include "exec/grouped.h"
#include "mpi/call.h"
#include "mpi/datatype.h"
#include "mpi/module.h"
#include "mpi/runtime.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

BEGIN_C_DECLS

struct gr_mpi_op;

/*
 * What makes calls alike. The type and the operation of a reduction are MPI's own, which nobody
 * frees; other types count by their bytes, since a handle may stand for another type later.
 */
struct gr_call_kind {
    enum gr_call_id id;
    int root;
    /* reductions: elements; others: bytes; of the buffer, or of each block, or of this rank's own */
    size_t count;
    struct ompi_datatype_t *type; /* NULL: no reduction */
    struct ompi_op_t *reduction;
    bool in_place;
};

struct gr_cached_call {
    struct gr_call_kind kind;
    struct gr_call_counter counter;
    struct gr_op_queue *queue; /* of the calls' order; borrowed */
    struct gr_grouped run;     /* blocking calls, one at a time: of now, or of the last one */
    const void *hosts[2];      /* its buffers: they are in host memory */
    struct gr_call reduced;    /* type and operation, for Open MPI's reduction */
    bool timed;                /* the times of calls are wanted */
    bool waited;               /* the blocking call of now waits for other ranks */
    ptrdiff_t lowest;          /* allgatherv: of the displacements, in bytes, or 0 */
    /*
     * allgatherv, reduce_scatter: [rank]: elements or bytes of the block, as in run.whole.counts;
     * then [rank]: where it lies, as in run.whole.displs
     */
    size_t lists[];
};

/* Most cached calls of an order, a power of two; most ranks of one with lists: 64 KiB hold all. */
#define GR_CACHED_CALLS 32
#define GR_CACHED_LIST_RANKS 32

/* The cached calls of a communicator's order. All zero: there are none. */
struct gr_call_cache {
    struct gr_cached_call *at[GR_CACHED_CALLS]; /* by the hash of their kinds; NULL: none. Owned */
    uint32_t
        missed[GR_CACHED_CALLS / 2]; /* [pair of places]: hash of the last kind not found there */
    struct gr_cached_call *last[GR_NSUPPORTED]; /* of the collective's last call; NULL: none */
};

/*
 * Whether the op, which is prepared, only posts to mailboxes and takes from them, in the buffers of
 * its call: then nothing of it changes when it is started again.
 */
bool mca_coll_gpuring_may_cache(const struct gr_mpi_op *op);

/* A counter of calls like the op's, which has joined the process's (mpi/runtime.h). */
void mca_coll_gpuring_cached_count(struct gr_call_counter *counter, const struct gr_mpi_op *op);

/* What is returned of a call that is not cached: no code of Open MPI's. */
#define GR_NOT_CACHED INT_MIN

/* Whether a call of the kind of a cached one that has lists has its blocks. */
bool mca_coll_gpuring_cached_has_blocks(const struct gr_cached_call *cached,
                                        const struct gr_call *call);

/* The cached call where it is not of the kind of the collective's last call. NULL: none. */
struct gr_cached_call *mca_coll_gpuring_cached_by_hash(struct gr_call_cache *cache,
                                                       const struct gr_call *call);

/*
 * Wait for the other ranks, whose posts have not all come yet: gr_grouped_run() returned rc. 0, or
 * GR_ERR_..., which has been reported.
 */
int mca_coll_gpuring_cached_wait(struct gr_cached_call *cached, int rc);

/* Count a call that is done, began at `start`, and is timed. */
void mca_coll_gpuring_cached_count_timed(struct gr_cached_call *cached, double start,
                                         bool nonblocking);

/* A nonblocking call that has begun as a cached one. */
struct gr_cached_begun {
    struct gr_cached_call *cached; /* NULL: the call is done, and counted */
    double start;                  /* when it began; 0: it is not timed */
    int rc;                        /* of gr_queue_try_mail() */
};

/*
 * Begin a nonblocking call that is cached. False: it is not. A call that is not done goes on at once
 * in the op of a new request. As for gr_cached_run(), and the process has one thread (gr_threaded()).
 */
bool mca_coll_gpuring_cached_begin(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                   struct gr_cached_begun *begun);
void mca_coll_gpuring_cached_go_on(const struct gr_cached_begun *begun, const struct gr_call *call,
                                   struct gr_mpi_op *op);

/*
 * A blocking call that was not cached is done, or a nonblocking one is prepared: cache it, where
 * that may be and pays.
 */
void mca_coll_gpuring_cache_call(mca_coll_gpuring_module_t *module, const struct gr_mpi_op *op);

/* Free the cached calls of an order. */
void mca_coll_gpuring_call_cache_free(struct gr_call_cache *cache);

/*
 * ---- small calls that are cached ----
 *
 * Inline in the entry points, so that compilers drop what the collective at hand, `id`, does not
 * need. It is call->id, which compilers do not take for constant.
 */

/* ---- which cached call ---- */

static inline bool gr_kind_has_lists(enum gr_call_id id)
{
    return GR_CALL_ALLGATHERV == id || GR_CALL_REDUCE_SCATTER == id;
}

/* Whether such calls are cached; then *kind is the call's. */
static GR_INLINE bool gr_call_find_kind(const struct gr_call *call, enum gr_call_id id,
                                        struct gr_call_kind *kind)
{
    *kind = (struct gr_call_kind) {.id = id, .root = call->root};
    switch (id) {
    case GR_CALL_BARRIER:
        return true;
    case GR_CALL_BCAST:
        kind->count = call->rcount * mca_coll_gpuring_type_size(call->rtype);
        return mca_coll_gpuring_is_contiguous(call->rtype, call->rcount);
    case GR_CALL_ALLREDUCE:
    case GR_CALL_REDUCE:
    case GR_CALL_REDUCE_SCATTER_BLOCK:
        kind->count = call->rcount;
        kind->type = call->rtype;
        kind->reduction = call->reduction;
        break;
    case GR_CALL_REDUCE_SCATTER:
        kind->count = GR_COUNT_AT(call->rcounts, ompi_comm_rank(call->comm));
        kind->type = call->rtype;
        kind->reduction = call->reduction;
        break;
    case GR_CALL_ALLGATHER:
    case GR_CALL_ALLGATHERV:
    case GR_CALL_ALLTOALL:
        kind->count =
            mca_coll_gpuring_type_size(call->rtype) *
            (GR_CALL_ALLGATHERV == id ? GR_COUNT_AT(call->rcounts, ompi_comm_rank(call->comm))
                                      : call->rcount);
        if (!mca_coll_gpuring_is_gapless(call->rtype) ||
            (MPI_IN_PLACE != call->sbuf && !mca_coll_gpuring_is_gapless(call->stype))) {
            return false;
        }
        break;
    default:
        return false;
    }
    if (NULL != kind->type && mca_coll_gpuring_type_tail(kind->type) > 0) {
        return false; /* they are copied */
    }
    kind->in_place = MPI_IN_PLACE == call->sbuf;
    /* in place these need a copy */
    return !kind->in_place || (GR_CALL_REDUCE_SCATTER != id && GR_CALL_REDUCE_SCATTER_BLOCK != id &&
                               GR_CALL_ALLTOALL != id);
}

static GR_INLINE bool gr_kind_is_equal(const struct gr_call_kind *a, const struct gr_call_kind *b)
{
    return a->count == b->count && a->id == b->id && a->root == b->root && a->type == b->type &&
           a->reduction == b->reduction && a->in_place == b->in_place;
}

static GR_INLINE bool gr_cached_is_of(const struct gr_cached_call *cached,
                                      const struct gr_call_kind *kind, const struct gr_call *call,
                                      enum gr_call_id id)
{
    return gr_kind_is_equal(&cached->kind, kind) &&
           (!gr_kind_has_lists(id) || mca_coll_gpuring_cached_has_blocks(cached, call));
}

/*
 * Mostly it is that of the collective's last call. NULL: none. Here and below, what is not inline
 * gets a copy of the call: so compilers keep it in registers.
 */
static GR_INLINE struct gr_cached_call *gr_cached_find(struct gr_call_cache *cache,
                                                       const struct gr_call *call,
                                                       enum gr_call_id id)
{
    struct gr_cached_call *cached;
    struct gr_call_kind kind;
    struct gr_call other;

    if (!gr_call_find_kind(call, id, &kind)) {
        return NULL;
    }
    cached = cache->last[id];
    if (NULL != cached && gr_cached_is_of(cached, &kind, call, id)) {
        return cached;
    }
    other = *call;
    return mca_coll_gpuring_cached_by_hash(cache, &other);
}

/* ---- a call ---- */

/*
 * Whether the buffers are in host memory. On a communicator whose ranks expected no devices a CUDA
 * driver may be loaded later, and then dispatch.c looks where the buffers are. The buffers of the
 * last call before that are known.
 */
static inline bool gr_cached_in_host_memory(struct gr_cached_call *cached,
                                            const struct gr_call *call)
{
    if (cached->hosts[0] == call->sbuf && cached->hosts[1] == call->rbuf) {
        return true;
    }
    if (gr_gpu_loaded()) {
        return false;
    }
    cached->hosts[0] = call->sbuf;
    cached->hosts[1] = call->rbuf;
    return true;
}

/* Where this rank's block lies in the result of an allgather(v), in bytes. */
static inline size_t gr_cached_own_block(const struct gr_cached_call *cached)
{
    size_t rank = (size_t) cached->queue->comm->rank;

    return gr_kind_has_lists(cached->kind.id) ? cached->run.whole.displs[rank]
                                              : rank * cached->kind.count;
}

/* Buffers in the terms of mailboxes; mpi/buffers.c does it for all calls. */
static GR_INLINE void gr_cached_set_buffers(struct gr_mailbox_call *now,
                                            const struct gr_cached_call *cached,
                                            const struct gr_call *call, enum gr_call_id id)
{
    switch (id) {
    case GR_CALL_BARRIER:
        return; /* they are the cached call's own */
    case GR_CALL_BCAST:
        now->in = now->out = mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype);
        return;
    case GR_CALL_ALLGATHER:
    case GR_CALL_ALLGATHERV:
    case GR_CALL_ALLTOALL:
        now->out = mca_coll_gpuring_contiguous_start(call->rbuf, call->rtype) + cached->lowest;
        now->in = cached->kind.in_place
                      ? now->out + gr_cached_own_block(cached)
                      : mca_coll_gpuring_contiguous_start(call->sbuf, call->stype);
        return;
    default:
        now->out = call->rbuf;
        now->in = cached->kind.in_place ? call->rbuf : call->sbuf;
    }
}

/* The cached call for a call of the order, whose buffers are in host memory. NULL: none. */
static GR_INLINE struct gr_cached_call *gr_cached_of(mca_coll_gpuring_module_t *module,
                                                     enum gr_call_order order,
                                                     const struct gr_call *call, enum gr_call_id id)
{
    struct gr_cached_call *cached = gr_cached_find(module->cache[order], call, id);

    return NULL != cached && gr_cached_in_host_memory(cached, call) ? cached : NULL;
}

/* Count a call that is done; where calls are timed, it began at `start`. */
static GR_INLINE void gr_cached_count(struct gr_cached_call *cached, double start, bool nonblocking)
{
    if (cached->timed) {
        mca_coll_gpuring_cached_count_timed(cached, start, nonblocking);
    } else {
        gr_count_call(&cached->counter);
    }
}

/*
 * Do a blocking call that is cached. GR_NOT_CACHED, or an OMPI error code, with which the
 * communicator has failed. The module has a cache, and its communicator has not failed.
 */
static GR_INLINE int gr_cached_run(mca_coll_gpuring_module_t *module, const struct gr_call *call,
                                   enum gr_call_id id)
{
    struct gr_cached_call *cached = gr_cached_of(module, GR_ORDER_BLOCKING, call, id);
    uint64_t moved = 0;
    double start = 0;
    int rc;

    if (NULL == cached) {
        return GR_NOT_CACHED;
    }
    if (cached->timed) {
        start = gr_runtime_now();
    }
    ++cached->queue->shown->seq;
    gr_cached_set_buffers(&cached->run.whole, cached, call, id);
    /* no call of this order is before it */
    rc = gr_grouped_run(&cached->run, GR_CALL_REDUCE == id, &moved);
    if (1 != rc) {
        rc = mca_coll_gpuring_cached_wait(cached, rc);
        if (0 != rc) {
            return mca_coll_gpuring_to_ompi(rc);
        }
    }
    gr_cached_count(cached, start, false);
    return OMPI_SUCCESS;
}

END_C_DECLS

#endif
