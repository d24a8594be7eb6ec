/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's part of a call with a leader (leader.h). */
#include "exec/gpu/leader.h"

#include "base/memory.h"
#include "base/system.h"
#include "cuda/device.h"
#include "cuda/stream.h"

#include <stdlib.h>
#include <string.h>

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

    if (NULL != leader && pool) {
        gr_leader_release(leader);
        for (k = 0; k < 2; k++) {
            if (NULL != leader->slab[k]) {
                gr_gpu_pool_release(leader->team->pool, leader->slab[k], 0);
            }
        }
    }
    free(leader);
}

size_t gr_leader_board_bytes(int p)
{
    return sizeof(struct gr_leader_post) + (size_t) p * sizeof(uint64_t);
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
    run->at[0] = gr_leader_has_side(run, leader->team->rank, 0) ? in : 0;
    run->at[1] = gr_leader_has_side(run, leader->team->rank, 1) ? out : 0;
    run->busy = busy;
    run->may_wait = may_wait;
    /* now, since other ranks may wait when this one leads, and loading may wait for the device */
    (void) gr_gpu_load_kernel(leader->team->gpu, GR_ENTRY_LEADER, kernel);
    run->call = ++leader->calls;
    gr_leader_set_pieces(run);
    run->state = GR_LEADER_FILL;
}

/* GR_LEADER_FILL */
static int fill(struct gr_leader_run *run)
{
    struct gr_leader_post *post = gr_leader_post_of(run->boards, run->leader->team->rank);
    int rc = 0;

    if (0 == run->pieces) { /* the first round, or it is tried again */
        gr_leader_place_sides(run, post);
    }
    if (run->copied[0]) {
        rc = gr_leader_copy_side(run, 0, 0);
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
        rc = gr_leader_copy_side(run, 1, 1);
        run->state = GR_LEADER_TAKE;
        return rc < 0 ? rc : GR_AGAIN;
    case GR_LEADER_AGAIN:
        run->leader->refused |= 0 != done->unmapped.refused;
        if (0 != done->unmapped.slabs) {
            run->small = 1;
            gr_leader_set_pieces(run);
        }
        if (0 != (done->unmapped.all >> run->leader->team->rank & 1)) {
            gr_leader_copy_from_now_on(run,
                                       0 != (done->unmapped.later >> run->leader->team->rank & 1));
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
