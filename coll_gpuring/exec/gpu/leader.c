/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's part of a call with a leader (leader.h). */
#include "exec/gpu/leader.h"

#include "base/memory.h"
#include "base/now.h"
#include "base/status.h"
#include "cuda/copy.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "exec/gpu/leader_state.h"

#include <stdlib.h>
#include <string.h>

/*
 * Bytes of a piece of an input or output. Up to SMALL_BYTES it is copied to pinned host memory,
 * which changes no context.
 */
#define SMALL_BYTES ((size_t) 32 << 10)
#define PIECE_BYTES ((size_t) 8 << 20)

/* Blocks of a piece begin at multiples of this, as vectors do in memory from the allocator. */
#define CELL_ALIGN 256

/*
 * Seconds for which the last leader may claim a call before others do: also where another would have
 * to map memory first, and the driver is not to wait.
 */
#define LEADERS_TURN 20e-6
#define LEADERS_TURN_UNMAPPED 2.0

/* Polls between two looks whether the stream has failed: a kernel that failed does not end. */
#define POLLS_PER_QUERY 1024

/* ---- the team's part ---- */

struct gr_leader *gr_leader_new(struct gr_gpu_team *team, gr_gpu_ptr counter,
                                struct gr_leader_words *words)
{
    struct gr_leader *leader =
        gr_calloc(1, sizeof(*leader) + (size_t) team->p * sizeof(leader->peers[0]));

    if (NULL != leader) {
        leader->team = team;
        leader->counter = counter;
        leader->words = words;
    }
    return leader;
}

/* No kernel uses the slabs: each call of the team is over. */
void gr_leader_free(struct gr_leader *leader, int pool)
{
    int k;

    if (NULL == leader || !pool) {
        free(leader);
        return;
    }
    gr_leader_release(leader);
    for (k = 0; k < 2; k++) {
        if (NULL != leader->slab[k]) {
            gr_gpu_pool_release(leader->team->pool, leader->slab[k], 0);
        }
    }
    free(leader);
}

size_t gr_leader_board_bytes(int p)
{
    return sizeof(struct gr_leader_post) + (size_t) p * sizeof(uint64_t);
}

/* ---- sizes ---- */

/* Whether a rank has an input, or output. */
static int has_side(const struct gr_leader_run *run, int rank, int side)
{
    int root = run->spec.root == rank;

    return GR_COLL_BCAST == run->spec.coll    ? root == (0 == side)
           : GR_COLL_REDUCE == run->spec.coll ? 0 == side || root
                                              : 1;
}

/* The number of the block that lies at place k of this rank's side. */
static int block_at(const struct gr_leader_run *run, int side, int k)
{
    return gr_leader_blocks(run, side) > 1 ? k : run->leader->team->rank;
}

/* Elements from the start of this rank's side to its block k. */
static size_t place_of(const struct gr_leader_run *run, int side, int k)
{
    size_t sum = 0;
    int b;

    if (1 == side && GR_COLL_ALLGATHER == run->spec.coll && NULL != run->spec.displs) {
        return run->spec.displs[k] * run->scale;
    }
    if (NULL == run->spec.counts) {
        return (size_t) k * gr_leader_block(run, 0);
    }
    for (b = 0; b < k; b++) {
        sum += gr_leader_block(run, b);
    }
    return sum;
}

/* Bytes that this rank's side spans. */
static size_t span_of(const struct gr_leader_run *run, int side)
{
    int n = gr_leader_blocks(run, side), k;
    size_t span = 0;

    for (k = 0; k < n; k++) {
        size_t end =
            (n > 1 ? place_of(run, side, k) : 0) + gr_leader_block(run, block_at(run, side, k));

        span = end > span ? end : span;
    }
    return span * run->spec.elem_bytes;
}

/* How the call is cut into pieces, where it is: equal on all ranks. */
static void set_pieces(struct gr_leader_run *run)
{
    size_t elem = run->spec.elem_bytes, each;
    int p = run->leader->team->p, blocks, b;

    blocks = gr_leader_blocks(run, 0) > 1 || gr_leader_blocks(run, 1) > 1 ? p : 1;
    run->largest = 0;
    for (b = 0; b < p; b++) {
        size_t n = gr_leader_block(run, b);

        run->largest = n > run->largest ? n : run->largest;
    }
    each = (run->small ? SMALL_BYTES : PIECE_BYTES) / (size_t) blocks / CELL_ALIGN * CELL_ALIGN;
    run->most = each / elem < run->largest ? each / elem : run->largest;
    run->cell = (run->most * elem + CELL_ALIGN - 1) / CELL_ALIGN * CELL_ALIGN;
    run->on_device = (size_t) blocks * run->cell > SMALL_BYTES;
}

/* ---- this rank's buffers ---- */

static struct gr_leader_seen *seen_of(struct gr_leader *leader, uint64_t id)
{
    struct gr_leader_seen *seen = &leader->seen[id % GR_LEADER_SEEN];

    if (id != seen->id) {
        *seen = (struct gr_leader_seen) {.id = id};
    }
    return seen;
}

/* Where a side is: in an allocation that others may map, or to be copied. Writes its post. */
static enum gr_leader_how place_side(struct gr_leader_run *run, int side,
                                     struct gr_leader_post *post)
{
    struct gr_leader *leader = run->leader;
    struct gr_gpu_team *team = leader->team;
    struct gr_leader_place *place = &post->side[side];
    uint64_t id = gr_gpus_buffer_id(gr_gpu_owner(team->gpu), run->at[side]);
    struct gr_leader_seen *seen;
    struct gr_ipc_handle handle;

    if (0 == id || NULL == team->ipc_cache) {
        return GR_LEADER_COPIED;
    }
    seen = seen_of(leader, id);
    seen->uses += run->call != seen->call; /* input and output may share it */
    seen->call = run->call;
    if (run->copies || seen->unmapped || seen->uses < GR_LEADER_USES) {
        return GR_LEADER_COPIED;
    }
    handle = gr_ipc_cache_export_known(team->ipc_cache, (const void *) (uintptr_t) run->at[side],
                                       id, span_of(run, side));
    if (!gr_ipc_handle_valid(&handle)) {
        seen->unmapped = 1;
        return GR_LEADER_COPIED;
    }
    if (place->id != id || GR_LEADER_MAPPED != place->how) {
        post->handle[side] = handle;
    }
    *place = (struct gr_leader_place) {id, handle.offset, GR_LEADER_MAPPED};
    return GR_LEADER_MAPPED;
}

static int is_exported(const struct gr_leader *leader, const struct gr_gpu_slab *slab)
{
    static const unsigned char none[GR_GPU_IPC_BYTES];
    struct gr_gpu_slab_handle handle = gr_gpu_pool_export(leader->team->pool, slab);

    return 0 != memcmp(handle.ipc, none, sizeof(none));
}

/* Lease a slab in the place of the present one: in pinned memory, or on the device (where 1). */
static int lease_slab(struct gr_leader *leader, int where, size_t bytes)
{
    int rc;

    if (NULL != leader->slab[where]) {
        gr_gpu_pool_release(leader->team->pool, leader->slab[where], 0);
        leader->slab[where] = NULL;
        leader->slab_bytes[where] = 0;
    }
    rc = gr_gpu_pool_lease(leader->team->pool, where ? GR_ON_DEVICE : GR_ON_HOST, bytes, 0, 1,
                           &leader->slab[where]);
    if (rc < 0) {
        leader->slab[where] = NULL;
        return rc;
    }
    leader->slab_bytes[where] = bytes;
    return 0;
}

/*
 * A slab for both sides of a piece, at least as large as it. 0; GR_AGAIN: there is none, and it is
 * leased for later calls; or an error.
 */
static int need_slab(struct gr_leader_run *run)
{
    struct gr_leader *leader = run->leader;
    int blocks = gr_leader_blocks(run, 0) + gr_leader_blocks(run, 1), where = run->on_device, rc;
    size_t need = (size_t) blocks * run->cell, bytes = 2 * SMALL_BYTES;

    if (need <= leader->slab_bytes[where]) {
        return 0;
    }
    while (bytes < need) {
        bytes *= 2;
    }
    if (!run->may_wait && !run->small) {
        leader->wanted_bytes[where] = bytes;
        return GR_AGAIN;
    }
    rc = lease_slab(leader, where, bytes);
    if (rc < 0) {
        return rc;
    }
    return where && !is_exported(leader, leader->slab[where]) ? GR_ERR_PEER : 0;
}

void gr_leader_offer(struct gr_leader *leader, void *set)
{
    struct gr_leader_post *post = set;

    memset(&post->first_slab, 0, sizeof(post->first_slab));
    if (NULL != leader->slab[0] || 0 == lease_slab(leader, 0, 2 * SMALL_BYTES)) {
        post->first_slab = gr_gpu_pool_export(leader->team->pool, leader->slab[0]);
    }
}

void gr_leader_accept(struct gr_leader *leader, const struct gr_boards *boards)
{
    int r;

    for (r = 0; r < leader->team->p; r++) {
        const struct gr_leader_post *post = gr_leader_post_of(boards, r);

        if (r != leader->team->rank && 0 != post->first_slab.host.lease) {
            (void) gr_leader_map_slab(leader, r, &post->first_slab);
        }
    }
}

void gr_leader_map_wanted(struct gr_leader *leader)
{
    int where;

    gr_leader_map_peers(leader);
    for (where = 0; where < 2; where++) {
        if (leader->wanted_bytes[where] > leader->slab_bytes[where]) {
            (void) lease_slab(leader, where, leader->wanted_bytes[where]);
        }
        leader->wanted_bytes[where] = 0;
    }
}

/* Offset of a side in the slab. */
static size_t slab_offset(const struct gr_leader_run *run, int side)
{
    return 0 == side ? 0 : (size_t) gr_leader_blocks(run, 0) * run->cell;
}

/* Put the copies of a side's piece on the stream: into the slab, or out of it. */
static int copy_side(struct gr_leader_run *run, int side, int out)
{
    struct gr_leader *leader = run->leader;
    gr_gpu_ptr slab = gr_gpu_slab_at(leader->slab[run->on_device]) + slab_offset(run, side);
    size_t first = run->piece * run->most, elem = run->spec.elem_bytes, nruns = 0;
    struct gr_gpu_run runs[GR_LEADER_RANKS];
    int n = gr_leader_blocks(run, side), k;

    for (k = 0; k < n; k++) {
        size_t count = gr_leader_block(run, block_at(run, side, k));
        void *there = (void *) (uintptr_t) (slab + (size_t) k * run->cell),
             *here = (void *) (uintptr_t) (run->at[side] +
                                           ((n > 1 ? place_of(run, side, k) : 0) + first) * elem);

        count = count < first ? 0 : count - first;
        count = count < run->most ? count : run->most;
        if (count > 0) {
            runs[nruns++] = (struct gr_gpu_run) {
                .dst = out ? here : there, .src = out ? there : here, .bytes = count * elem};
        }
    }
    return 0 == nruns ? 0 : gr_gpu_stream_copy_runs(leader->team->stream, runs, nruns);
}

/* ---- begin, and arrive ---- */

void gr_leader_begin(struct gr_leader_run *run, struct gr_leader *leader, struct gr_boards *boards,
                     const struct gr_plan_spec *spec, enum gr_kernel kernel, gr_gpu_ptr in,
                     gr_gpu_ptr out, int busy, int may_wait)
{
    size_t scale = gr_kernel_counts_bytes(kernel) ? spec->elem_bytes : 1;

    memset(run, 0, sizeof(*run));
    run->leader = leader;
    run->boards = boards;
    run->kernel = kernel;
    run->spec = *spec;
    run->scale = scale;
    run->spec.elem_bytes /= scale;
    run->spec.total *= scale;
    run->spec.block *= scale;
    run->at[0] = has_side(run, leader->team->rank, 0) ? in : 0;
    run->at[1] = has_side(run, leader->team->rank, 1) ? out : 0;
    run->busy = busy;
    run->may_wait = may_wait;
    /* now, since other ranks may wait when this one leads, and loading may wait for the device */
    (void) gr_gpu_load_kernel(leader->team->gpu, GR_ENTRY_LEADER, kernel);
    run->call = ++leader->calls;
    set_pieces(run);
    run->state = GR_LEADER_FILL;
}

/* Decide where this rank's buffers are, in the first round of a call. */
static void place_sides(struct gr_leader_run *run, struct gr_leader_post *post)
{
    int side, any = 0, late, rc;

    for (side = 0; side < 2; side++) {
        enum gr_leader_how how = 0 == run->at[side] ? GR_LEADER_NONE : place_side(run, side, post);

        run->copied[side] = GR_LEADER_COPIED == how;
        any |= run->copied[side];
        if (GR_LEADER_NONE == how) {
            post->side[side].how = how;
        }
    }
    run->on_device = run->on_device && !run->leader->no_export;
    rc = any ? need_slab(run) : 0;
    if (rc < 0 && run->on_device) { /* memory of the host may do */
        run->on_device = 0;
        run->leader->no_export = GR_ERR_PEER == rc;
        rc = need_slab(run);
    }
    run->refused = rc < 0;
    late = GR_AGAIN == rc;
    for (side = 0; side < 2; side++) {
        if (run->refused) {
            post->side[side].how = GR_LEADER_REFUSED;
        } else if (late && run->copied[side]) {
            post->side[side].how = GR_LEADER_LATE;
        } else if (run->copied[side]) {
            post->side[side] =
                (struct gr_leader_place) {gr_gpu_slab_lease(run->leader->slab[run->on_device]),
                                          slab_offset(run, side), GR_LEADER_COPIED};
        }
    }
    if (run->refused || late) {
        run->copied[0] = run->copied[1] = 0;
    } else if (any) {
        post->slab = gr_gpu_pool_export(run->leader->team->pool, run->leader->slab[run->on_device]);
    }
    post->has_places = GR_COLL_ALLGATHER == run->spec.coll && NULL != run->spec.displs;
    for (side = 0; post->has_places && side < run->leader->team->p; side++) {
        post->places[side] = run->spec.displs[side];
    }
}

/* GR_LEADER_FILL */
static int fill(struct gr_leader_run *run)
{
    struct gr_leader_post *post = gr_leader_post_of(run->boards, run->leader->team->rank);
    int rc = 0;

    if (0 == run->pieces) { /* the first round, or it is tried again */
        place_sides(run, post);
    }
    if (run->copied[0]) {
        rc = copy_side(run, 0, 0);
    }
    if (rc < 0 && 0 == run->pieces) { /* nothing has moved yet: all ranks may refuse */
        post->side[0].how = GR_LEADER_REFUSED;
        rc = 0;
    }
    run->state = GR_LEADER_COPIES;
    return rc;
}

static int has_arrived(const struct gr_leader_run *run, int rank)
{
    return atomic_load_explicit(&gr_leader_post_of(run->boards, rank)->arrived,
                                memory_order_acquire) >= run->round;
}

/* Whether all ranks have arrived at the round. */
static int all_arrived(struct gr_leader_run *run)
{
    int p = run->leader->team->p;

    while (run->arrived < p && has_arrived(run, run->arrived)) {
        run->arrived++;
    }
    return run->arrived == p;
}

/* GR_LEADER_COPIES: arrive when they are done. Returns GR_AGAIN, 0 or an error. */
static int arrive(struct gr_leader_run *run)
{
    struct gr_leader_post *post = gr_leader_post_of(run->boards, run->leader->team->rank);
    int rc = run->copied[0] ? gr_gpu_stream_done(run->leader->team->stream) : 1;

    if (1 != rc) {
        return 0 == rc ? GR_AGAIN : rc;
    }
    run->round = ++run->leader->rounds;
    if (1 == run->round) {
        atomic_store_explicit(&post->withdrawn, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&post->arrived, run->round, memory_order_seq_cst);
    run->arrived = 0;
    run->since = 0;
    run->last = all_arrived(run);
    run->state = GR_LEADER_ARRIVED;
    return 0;
}

/* ---- who leads ---- */

/* Whether this rank is the leader of the call, now that all have arrived. */
static int claim(struct gr_leader_run *run)
{
    _Atomic uint64_t *word = gr_leader_claim(run->boards);
    uint64_t claimed, mine;
    int last;

    if (run->leads) {
        return 1;
    }
    claimed = atomic_load_explicit(word, memory_order_acquire);
    if (claimed / GR_LEADER_CLAIMS == run->call) {
        return 0;
    }
    last = (int) (claimed % GR_LEADER_CLAIMS) - 1;
    mine = run->call * GR_LEADER_CLAIMS + (uint64_t) run->leader->team->rank + 1;
    if (last >= 0 && last != run->leader->team->rank) {
        double now = gr_now();

        if (0 == run->since) {
            run->since = now;
            run->turn = !run->may_wait && !gr_leader_has_mapped(run) ? LEADERS_TURN_UNMAPPED
                        : run->last && run->busy                     ? 0
                                                                     : LEADERS_TURN;
        }
        if (now - run->since < run->turn) {
            return 0;
        }
    }
    run->leads = atomic_compare_exchange_strong_explicit(word, &claimed, mine, memory_order_seq_cst,
                                                         memory_order_relaxed);
    return run->leads;
}

/* Whether some rank has left the call. What is written to `taken` before is seen by those that do. */
static int any_withdrawn(const struct gr_leader_run *run)
{
    int r, any = 0;

    for (r = 0; r < run->leader->team->p; r++) {
        any |= 0 != atomic_load_explicit(&gr_leader_post_of(run->boards, r)->withdrawn,
                                         memory_order_seq_cst);
    }
    return any;
}

/* Tell all ranks how the round ended. */
static void say_done(const struct gr_leader_run *run, enum gr_leader_end end,
                     const struct gr_leader_unmapped *unmapped)
{
    struct gr_leader_done *done = gr_leader_done_of(run->boards);

    done->pieces = run->pieces;
    if (GR_LEADER_AGAIN == end) {
        done->unmapped = *unmapped;
    }
    atomic_store_explicit(&done->word, run->round * GR_LEADER_NENDS + end, memory_order_release);
}

/* This rank leads: launch the kernel, or say why there is none. Returns 0 or an error. */
static int lead(struct gr_leader_run *run)
{
    struct gr_leader_unmapped unmapped;
    enum gr_leader_end end;

    atomic_store_explicit(gr_leader_taken(run->boards), run->round, memory_order_seq_cst);
    end = any_withdrawn(run) ? GR_LEADER_WITHDRAWN : gr_leader_launch(run, &unmapped);
    if (GR_LEADER_OK == end) {
        run->state = GR_LEADER_LEADS;
        return 0;
    }
    if (GR_LEADER_WITHDRAWN != end && run->piece > 0) {
        return GR_ERR_CUDA; /* pieces have been moved: there is no other way any more */
    }
    say_done(run, end, &unmapped);
    return 0;
}

/* ---- progress, and the end of a round ---- */

/* GR_LEADER_LEADS. Returns GR_AGAIN, 0 or an error. */
static int await_kernel(struct gr_leader_run *run)
{
    struct gr_leader *leader = run->leader;
    int rc;

    if (atomic_load_explicit(&leader->words->done, memory_order_acquire) != run->round) {
        rc = 0 == ++run->polls % POLLS_PER_QUERY ? gr_gpu_stream_done(leader->team->stream) : 0;
        return rc < 0 ? rc : GR_AGAIN;
    }
    gr_leader_release(leader);
    say_done(run, GR_LEADER_OK, NULL);
    run->state = GR_LEADER_ARRIVED;
    return 0;
}

/* The next piece, or the call is over. */
static int end_piece(struct gr_leader_run *run)
{
    if (++run->piece == run->pieces) {
        return GR_DONE;
    }
    run->state = GR_LEADER_FILL;
    return GR_AGAIN;
}

/*
 * This rank's memory on the device cannot be mapped: neither its allocations, nor its slab. later:
 * not now, so they are copied in this call.
 */
static void copy_from_now_on(struct gr_leader_run *run, int later)
{
    int side;

    run->copies = 1;
    run->leader->no_export =
        run->leader->no_export || (!later && run->on_device && (run->copied[0] || run->copied[1]));

    for (side = 0; side < 2; side++) {
        uint64_t id = 0 == run->at[side]
                          ? 0
                          : gr_gpus_buffer_id(gr_gpu_owner(run->leader->team->gpu), run->at[side]);

        if (0 != id) {
            seen_of(run->leader, id)->unmapped = !later;
            seen_of(run->leader, id)->uses = GR_LEADER_USES - 1; /* the next call may map it */
        }
    }
}

/* The round has ended. Returns a status of gr_leader_poll(). */
static int end_round(struct gr_leader_run *run, enum gr_leader_end end)
{
    const struct gr_leader_done *done = gr_leader_done_of(run->boards);
    int rc;

    switch (end) {
    case GR_LEADER_OK:
        run->pieces = done->pieces;
        if (!run->copied[1]) {
            return end_piece(run);
        }
        rc = copy_side(run, 1, 1);
        run->state = GR_LEADER_TAKE;
        return rc < 0 ? rc : GR_AGAIN;
    case GR_LEADER_AGAIN:
        if (0 != done->unmapped.slabs) {
            run->small = 1;
            set_pieces(run);
        }
        if (0 != (done->unmapped.all >> run->leader->team->rank & 1)) {
            copy_from_now_on(run, 0 != (done->unmapped.later >> run->leader->team->rank & 1));
        }
        run->state = GR_LEADER_FILL;
        return GR_AGAIN;
    case GR_LEADER_REFUSAL:
        return GR_ERR_FALLBACK;
    default:
        run->state = GR_LEADER_STOPPED;
        return GR_AGAIN;
    }
}

/* GR_LEADER_ARRIVED. Returns a status of gr_leader_poll(). */
static int await_round(struct gr_leader_run *run, uint64_t *moved)
{
    uint64_t word =
        atomic_load_explicit(&gr_leader_done_of(run->boards)->word, memory_order_acquire);

    if (word / GR_LEADER_NENDS == run->round) {
        ++*moved;
        return end_round(run, (enum gr_leader_end)(word % GR_LEADER_NENDS));
    }
    if (all_arrived(run) && claim(run)) {
        int rc = lead(run);

        ++*moved;
        return rc < 0 ? rc : GR_AGAIN;
    }
    return GR_AGAIN;
}

int gr_leader_poll(struct gr_leader_run *run, uint64_t *moved)
{
    int rc = 0;

    if (GR_LEADER_FILL == run->state) {
        rc = fill(run);
    }
    if (0 == rc && GR_LEADER_COPIES == run->state) {
        rc = arrive(run);
    }
    if (0 == rc && GR_LEADER_LEADS == run->state) {
        rc = await_kernel(run);
    }
    if (0 == rc && GR_LEADER_ARRIVED == run->state) {
        return await_round(run, moved);
    }
    if (0 == rc && GR_LEADER_TAKE == run->state) {
        rc = gr_gpu_stream_done(run->leader->team->stream);
        return 1 == rc ? end_piece(run) : 0 == rc ? GR_AGAIN : rc;
    }
    return 0 == rc ? GR_AGAIN : rc;
}

int gr_leader_abort(struct gr_leader_run *run)
{
    struct gr_leader *leader = run->leader;
    uint64_t word;

    switch (run->state) {
    case GR_LEADER_LEADS: /* its kernel ends, and others wait for it */
        if (0 == gr_gpu_stream_wait(leader->team->stream)) {
            say_done(run, GR_LEADER_OK, NULL);
        }
        gr_leader_release(leader);
        return 1;
    case GR_LEADER_ARRIVED:
        atomic_store_explicit(&gr_leader_post_of(run->boards, leader->team->rank)->withdrawn, 1,
                              memory_order_seq_cst);
        word = atomic_load_explicit(&gr_leader_done_of(run->boards)->word, memory_order_acquire);
        return word / GR_LEADER_NENDS == run->round || run->leads ||
               atomic_load_explicit(gr_leader_taken(run->boards), memory_order_seq_cst) !=
                   run->round;
    default:
        if (run->copied[0] || run->copied[1]) { /* copies of this rank's */
            (void) gr_gpu_stream_wait(leader->team->stream);
        }
        return 1;
    }
}

int gr_leader_waits(const struct gr_leader_run *run, int *ranks, int *leads)
{
    uint64_t claimed;
    int p = run->leader->team->p, r, n = 0;

    *leads = 0;
    if (GR_LEADER_ARRIVED != run->state && GR_LEADER_LEADS != run->state) {
        return 0;
    }
    for (r = 0; r < p; r++) {
        if (!has_arrived(run, r)) {
            ranks[n++] = r;
        }
    }
    claimed = atomic_load_explicit(gr_leader_claim(run->boards), memory_order_acquire);
    if (0 == n && claimed / GR_LEADER_CLAIMS == run->call) {
        ranks[n++] = (int) (claimed % GR_LEADER_CLAIMS) - 1;
        *leads = 1;
    }
    return n;
}
