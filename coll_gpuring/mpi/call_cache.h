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
#include "comm/runtime.h"
#include "exec/grouped.h"
#include "mpi/call.h"
#include "mpi/datatype.h"
#include "mpi/module.h"
#include "mpi/runtime.h"

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
    struct gr_op_queue *queue;  /* of the calls' order; borrowed */
    struct gr_grouped_call run; /* blocking calls, one at a time: of now, or of the last one */
    const void *hosts[2];       /* its buffers: they are in host memory */
    struct gr_call reduced;     /* type and operation, for Open MPI's reduction */
    ptrdiff_t lowest;           /* allgatherv: of the displacements, in bytes, or 0 */
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
    /* of the collective's last call; NULL: none */
    struct gr_cached_call *last[GR_NSUPPORTED];
};

/*
 * Whether the op, which is prepared, only posts to mailboxes and takes from them, in the buffers of
 * its call: then nothing of it changes when it is started again.
 */
bool mca_coll_gpuring_may_cache(const struct gr_mpi_op *op);

/* A counter of calls like the op's, which has joined the process's (mpi/runtime.h). */
void mca_coll_gpuring_cached_count(struct gr_call_counter *counter, const struct gr_mpi_op *op);

/* Whether a call of the kind of a cached one that has lists has its blocks. */
bool mca_coll_gpuring_cached_has_blocks(const struct gr_cached_call *cached,
                                        const struct gr_call *call);

/*
 * The cached call for this one, whose buffers it has then, in host memory. last: what
 * gr_cached_last() says. NULL: none.
 */
struct gr_cached_call *mca_coll_gpuring_cached_find(struct gr_call_cache *cache,
                                                    const struct gr_call *call,
                                                    struct gr_cached_call *last);

/*
 * Do a blocking call that is cached, in its buffers. OMPI error code, with which the communicator has
 * failed.
 */
int mca_coll_gpuring_cached_run(struct gr_cached_call *cached);

/* A nonblocking call that has begun as a cached one. */
struct gr_cached_begun {
    struct gr_cached_call *cached; /* NULL: the call is done, and counted */
    double start;                  /* when it began; 0: that is not known */
    int rc;                        /* of gr_queue_try_mail() */
};

/*
 * Begin a nonblocking call that is cached. False: it is not. A call that is not done goes on at once
 * in the op of a new request. The communicator has not failed, and the process has one thread
 * (gr_threaded()).
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

static inline bool gr_id_reduces(enum gr_call_id id)
{
    return GR_CALL_ALLREDUCE == id || GR_CALL_REDUCE == id || GR_CALL_REDUCE_SCATTER == id ||
           GR_CALL_REDUCE_SCATTER_BLOCK == id;
}

/* The kind of a call whose collective is cached. */
static GR_INLINE struct gr_call_kind gr_call_kind_of(const struct gr_call *call, enum gr_call_id id)
{
    struct gr_call_kind kind = {.id = id, .root = call->root};

    switch (id) {
    case GR_CALL_BARRIER:
        return kind;
    case GR_CALL_BCAST:
        kind.count = call->rcount * mca_coll_gpuring_type_size(call->rtype);
        return kind;
    case GR_CALL_ALLREDUCE:
    case GR_CALL_REDUCE:
    case GR_CALL_REDUCE_SCATTER_BLOCK:
        kind.count = call->rcount;
        kind.type = call->rtype;
        kind.reduction = call->reduction;
        break;
    case GR_CALL_REDUCE_SCATTER:
        kind.count = GR_COUNT_AT(call->rcounts, ompi_comm_rank(call->comm));
        kind.type = call->rtype;
        kind.reduction = call->reduction;
        break;
    default:
        kind.count =
            mca_coll_gpuring_type_size(call->rtype) *
            (GR_CALL_ALLGATHERV == id ? GR_COUNT_AT(call->rcounts, ompi_comm_rank(call->comm))
                                      : call->rcount);
    }
    kind.in_place = MPI_IN_PLACE == call->sbuf;
    return kind;
}

/*
 * Whether the buffers of a call are one run of bytes each. A reduction's type is part of the kind:
 * calls of a kind that is cached need not ask again.
 */
static GR_INLINE bool gr_call_is_contiguous(const struct gr_call *call, enum gr_call_id id)
{
    switch (id) {
    case GR_CALL_BCAST:
        return mca_coll_gpuring_is_contiguous(call->rtype, call->rcount);
    case GR_CALL_ALLGATHER:
    case GR_CALL_ALLGATHERV:
    case GR_CALL_ALLTOALL:
        return mca_coll_gpuring_is_gapless(call->rtype) &&
               (MPI_IN_PLACE == call->sbuf || mca_coll_gpuring_is_gapless(call->stype));
    default:
        return true;
    }
}

/* Whether calls of the collective `id`, both in place or neither, are of one kind. */
static GR_INLINE bool gr_kind_is_equal(const struct gr_call_kind *a, const struct gr_call_kind *b,
                                       enum gr_call_id id)
{
    bool rooted = GR_CALL_BCAST == id || GR_CALL_REDUCE == id;

    return a->count == b->count && (!rooted || a->root == b->root) &&
           (!gr_id_reduces(id) || (a->type == b->type && a->reduction == b->reduction));
}

static GR_INLINE bool gr_cached_is_of(const struct gr_cached_call *cached,
                                      const struct gr_call_kind *kind, const struct gr_call *call,
                                      enum gr_call_id id)
{
    return gr_kind_is_equal(&cached->kind, kind, id) && gr_call_is_contiguous(call, id) &&
           (!gr_kind_has_lists(id) || mca_coll_gpuring_cached_has_blocks(cached, call));
}

/* Where this rank's block lies in the result of an allgather(v), in bytes. */
static inline size_t gr_cached_own_block(const struct gr_cached_call *cached)
{
    size_t rank = (size_t) cached->queue->comm->rank;

    return gr_kind_has_lists(cached->kind.id) ? cached->run.whole.displs[rank]
                                              : rank * cached->kind.count;
}

/*
 * The buffers of a call whose types are not part of its kind, in the terms of mailboxes;
 * mpi/buffers.c does it for all calls. Those of a reduction are the call's own.
 */
static GR_INLINE void gr_cached_set_typed(struct gr_cached_call *cached, const struct gr_call *call,
                                          enum gr_call_id id)
{
    struct gr_mailbox_call *now = &cached->run.whole;

    switch (id) {
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
        return;
    }
}

/*
 * The collective's last call that was cached, if this one is alike, in place or not. NULL: it is
 * not. What is not inline gets a copy of the call: so compilers keep it in registers.
 */
static GR_INLINE struct gr_cached_call *gr_cached_last(const struct gr_call_cache *cache,
                                                       const struct gr_call *call,
                                                       enum gr_call_id id)
{
    struct gr_cached_call *cached;
    struct gr_call_kind kind;

    if (id >= GR_NSUPPORTED) { /* only what gpuring does itself is cached */
        return NULL;
    }
    kind = gr_call_kind_of(call, id);
    cached = cache->last[id];
    return NULL != cached && gr_cached_is_of(cached, &kind, call, id) ? cached : NULL;
}

/*
 * Whether the call has the buffers of that last one, which are known to be in host memory; then the
 * cached call is ready. Else mca_coll_gpuring_cached_find() is to be asked.
 */
static GR_INLINE bool gr_cached_is_ready(struct gr_cached_call *cached, const struct gr_call *call,
                                         enum gr_call_id id)
{
    if (cached->hosts[0] != call->sbuf || cached->hosts[1] != call->rbuf) {
        return false;
    }
    gr_cached_set_typed(cached, call, id);
    return true;
}

#endif
