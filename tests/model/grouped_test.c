/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls through the mailboxes of groups (exec/grouped.h), on boards in plain memory: every
 * collective with data, in seeded orders of scheduling and in threads, across the wrap of epochs.
 * The operation does not commute, so results show the order of ranks. Seed: GPURING_SEED.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/grouped.h"
#include "sanitizer/sanitizer.h"

#include "rng.h"

#include <pthread.h>
#include <sched.h>

enum { MOST = 256, JOBS = 48, GUARD = 4, MOST_COUNT = 3 };

static uint64_t seed;

/* ---- elements ---- */

/* The map x -> a x + b. Maps one after the other are associative, but do not commute. */
struct elem {
    uint32_t a, b;
};

/* A gr_reduce_fn. */
static void combine(void *d1, void *d2, const void *a, const void *b, size_t n)
{
    const struct elem *first = a, *second = b;
    struct elem *to = d1;
    size_t i;

    assert_null(d2);
    for (i = 0; i < n; i++) {
        to[i] = (struct elem) {first[i].a * second[i].a, second[i].a * first[i].b + second[i].b};
    }
}

static struct elem value(uint64_t job_seed, int rank, size_t i)
{
    uint64_t state = job_seed + (uint64_t) rank * 0x100000001b3u + (i << 40), x = rng_next(&state);

    return (struct elem) {(uint32_t) x | 1, (uint32_t) (x >> 32)};
}

/* Two floats of any magnitude, whose sum depends on the order. */
static struct elem floats(uint64_t job_seed, int rank, size_t i)
{
    union {
        struct elem elem;
        float f[2];
    } x;
    struct elem random = value(job_seed, rank, i);

    x.f[0] = (float) (int32_t) random.a / (float) (1 + random.b % 100000);
    x.f[1] = (float) (int32_t) random.b / (float) (1 + random.a % 100000);
    return x.elem;
}

/* ---- calls ---- */

struct job {
    enum gr_coll coll;
    int root;
    size_t count;                      /* of the vector, or of each block */
    int has_counts, has_displs;        /* blocks of their own sizes; with gaps between them */
    size_t counts[MOST], displs[MOST]; /* always set for collectives of blocks */
    size_t span;                       /* elements of the vector, with gaps */
    int in_place;
    int is_float;
    uint64_t seed;
    struct elem *want; /* the vector; not for alltoall and barrier */
};

static int has_blocks(enum gr_coll coll)
{
    return GR_COLL_ALLGATHER == coll || GR_COLL_REDUCE_SCATTER == coll || GR_COLL_ALLTOALL == coll;
}

static int reduces(enum gr_coll coll)
{
    return GR_COLL_ALLREDUCE == coll || GR_COLL_REDUCE == coll || GR_COLL_REDUCE_SCATTER == coll;
}

static struct elem input(const struct job *j, int rank, size_t i)
{
    return j->is_float ? floats(j->seed, rank, i) : value(j->seed, rank, i);
}

/* Where blocks lie. With gaps: in any order in an allgather, else ascending. */
static void place_blocks(struct job *j, int p)
{
    int order[MOST], k, other, held;
    size_t at = 0;

    for (k = 0; k < p; k++) {
        order[k] = k;
        j->counts[k] = j->has_counts ? (size_t) rng_below(&seed, MOST_COUNT) : j->count;
    }
    j->counts[rng_below(&seed, p)] += j->has_counts;
    for (k = p; k > 1 && GR_COLL_ALLGATHER == j->coll && j->has_displs; k--) {
        other = rng_below(&seed, k);
        held = order[k - 1];
        order[k - 1] = order[other];
        order[other] = held;
    }
    for (k = 0; k < p; k++) {
        at += j->has_displs ? rng_below(&seed, 2) : 0;
        j->displs[order[k]] = at;
        at += j->counts[order[k]];
    }
    j->span = at;
}

static void make_want(struct job *j, int p)
{
    size_t i;
    int r;

    j->want = calloc(j->span + 1, sizeof(*j->want));
    assert_non_null(j->want);
    for (i = 0; i < j->span; i++) {
        j->want[i] = input(j, GR_COLL_BCAST == j->coll ? j->root : 0, i);
        for (r = 1; r < p && reduces(j->coll); r++) {
            struct elem next = input(j, r, i);

            combine(&j->want[i], NULL, &j->want[i], &next, 1);
        }
    }
    for (r = 0; r < p && GR_COLL_ALLGATHER == j->coll; r++) {
        for (i = 0; i < j->counts[r]; i++) {
            j->want[j->displs[r] + i] = input(j, r, i);
        }
    }
}

static struct job make_job(int p)
{
    struct job j = {.coll = (enum gr_coll) rng_below(&seed, GR_NCOLLS),
                    .root = rng_below(&seed, p),
                    .count = 1 + rng_below(&seed, MOST_COUNT),
                    .in_place = rng_below(&seed, 2),
                    .seed = rng_next(&seed)};

    j.span = j.count;
    if (GR_COLL_BARRIER == j.coll) {
        j.count = j.span = 1;
    }
    if (has_blocks(j.coll)) {
        j.has_counts = GR_COLL_ALLTOALL != j.coll && 0 != rng_below(&seed, 3);
        j.has_displs = GR_COLL_ALLTOALL != j.coll && 0 != rng_below(&seed, 2);
        place_blocks(&j, p);
    }
    make_want(&j, p);
    return j;
}

/* ---- ranks ---- */

struct world;

struct rank {
    struct world *world;
    struct gr_team *team;
    struct gr_grouped call;
    struct elem *in, *out; /* out: with guards around it */
    size_t inputs, outputs;
    int number, at, running;
    uint64_t random;
};

struct world {
    int p;
    struct rank *ranks;
    void *boards[MOST][GR_NBOARDS];
    struct job *jobs;
    int njobs;
    atomic_int entered[JOBS];
    atomic_int failed; /* a rank has a wrong result */
    char why[200];
};

static void make_boards(struct world *w, int rank, uint64_t first)
{
    struct gr_team *team = w->ranks[rank].team;
    int k;

    for (k = 0; k < GR_BOARDS_AGREEMENT; k++) {
        struct gr_mailbox *box = &team->boards[k].box;
        size_t bytes;

        w->boards[rank][k] = NULL;
        if (0 == team->boards[k].group.n) {
            continue;
        }
        bytes = gr_board_bytes(box->p, box->nsets, box->stride);
        w->boards[rank][k] = aligned_alloc(GR_CACHE_LINE, bytes);
        assert_non_null(w->boards[rank][k]);
        memset(w->boards[rank][k], 0xee, bytes);
        gr_board_clean(w->boards[rank][k], box->p, box->nsets, box->stride, first, GR_ALL_SETS);
        box->begun = box->posted = box->taken = box->freed = box->acked = first;
    }
    team->scratch = malloc(team->boards[0].box.stride);
    assert_non_null(team->scratch);
}

static void open_world(struct world *w, int p, uint32_t nsets, uint64_t first)
{
    size_t bytes = (size_t) p * (MOST_COUNT + 2) * sizeof(struct elem);
    int order[MOST], r, k, m;

    memset(w, 0, sizeof(*w));
    w->p = p;
    w->ranks = calloc((size_t) p, sizeof(*w->ranks));
    assert_non_null(w->ranks);
    for (r = 0; r < p; r++) {
        order[r] = r;
    }
    for (r = 0; r < p; r++) {
        struct gr_team_params params = {.p = p,
                                        .rank = r,
                                        .nchannels = 1,
                                        .nslots = 2,
                                        .slot_bytes = 64,
                                        .nsets = nsets,
                                        .mailbox_bytes = bytes,
                                        .order = order};

        w->ranks[r] = (struct rank) {
            .world = w, .number = r, .team = gr_team_create(&params), .random = rng_next(&seed)};
        assert_non_null(w->ranks[r].team);
        make_boards(w, r, first);
    }
    for (r = 0; r < p; r++) {
        for (k = 0; k < GR_BOARDS_AGREEMENT; k++) {
            struct gr_boards *b = &w->ranks[r].team->boards[k];

            for (m = 0; m < b->group.n; m++) {
                gr_board_attach(&b->box, m, w->boards[b->group.first + m * b->group.step][k]);
            }
        }
    }
}

static void close_world(struct world *w)
{
    int r, k;

    for (r = 0; r < w->p; r++) {
        for (k = 0; k < GR_BOARDS_AGREEMENT; k++) {
            free(w->boards[r][k]);
        }
        gr_team_destroy(w->ranks[r].team, NULL);
    }
    free(w->ranks);
}

/* ---- one rank ---- */

static const struct elem untouched = {0xa5a5a5a5, 0xa5a5a5a5};

static void enter(struct rank *r)
{
    const struct job *j = &r->world->jobs[r->at];
    struct gr_mailbox_call *call = &r->call.whole;
    size_t block = has_blocks(j->coll) ? j->counts[r->number] : 0, i;
    int shares = j->in_place && GR_COLL_REDUCE_SCATTER != j->coll && GR_COLL_ALLTOALL != j->coll;

    r->inputs = GR_COLL_ALLGATHER == j->coll ? block : j->span;
    r->outputs = GR_COLL_REDUCE_SCATTER == j->coll ? block : j->span;
    r->in = calloc(r->inputs + 1, sizeof(*r->in));
    r->out = calloc(r->outputs + 2 * GUARD, sizeof(*r->out));
    assert_non_null(r->in);
    assert_non_null(r->out);
    for (i = 0; i < r->outputs + 2 * GUARD; i++) {
        r->out[i] = untouched;
    }
    *call = (struct gr_mailbox_call) {.coll = j->coll,
                                      .root = j->root,
                                      .in = (unsigned char *) r->in,
                                      .out = (unsigned char *) (r->out + GUARD),
                                      .count = j->count,
                                      .counts = j->has_counts ? j->counts : NULL,
                                      .displs = j->has_displs ? j->displs : NULL,
                                      .reducer = {sizeof(struct elem), combine, NULL, NULL}};
    if (j->is_float) {
        call->reducer = (struct gr_reducer) {4, gr_reduce_find(GR_TYPE_F32, GR_OP_SUM), NULL, NULL};
        call->count *= 2;
    }
    if (shares) {
        call->in = call->out;
        call->in += GR_COLL_ALLGATHER == j->coll ? j->displs[r->number] * sizeof(struct elem) : 0;
    }
    for (i = 0; i < r->inputs; i++) {
        struct elem x = input(j, r->number, i);

        memcpy((unsigned char *) call->in + i * sizeof(x), &x, sizeof(x));
    }
    if (GR_COLL_REDUCE == j->coll && r->number != j->root) {
        call->out = NULL; /* not significant there */
    }
    atomic_fetch_add(&r->world->entered[r->at], 1);
    gr_grouped_begin(&r->call, r->team);
    r->running = 1;
}

/* Element i of the rank's output. */
static struct elem wanted(const struct job *j, int p, int rank, size_t i)
{
    int k;

    switch (j->coll) {
    case GR_COLL_ALLTOALL:
        return input(j, (int) (i / j->count), (size_t) rank * j->count + i % j->count);
    case GR_COLL_REDUCE_SCATTER:
        return j->want[j->displs[rank] + i];
    case GR_COLL_ALLGATHER:
        for (k = 0; k < p; k++) {
            if (i >= j->displs[k] && i < j->displs[k] + j->counts[k]) {
                return j->want[i];
            }
        }
        return untouched;
    default:
        return j->want[i];
    }
}

static void check(struct rank *r)
{
    struct world *w = r->world;
    struct job *j = &w->jobs[r->at];
    int gets = r->number == j->root ? GR_COLL_BCAST != j->coll : GR_COLL_REDUCE != j->coll,
        wrong = 0;
    size_t i;

    for (i = 0; i < GUARD; i++) {
        wrong |= 0 != memcmp(&r->out[i], &untouched, sizeof(untouched)) ||
                 0 != memcmp(&r->out[GUARD + r->outputs + i], &untouched, sizeof(untouched));
    }
    for (i = 0; i < r->outputs && gets && GR_COLL_BARRIER != j->coll; i++) {
        struct elem x = wanted(j, w->p, r->number, i);

        wrong |= 0 != memcmp(&r->out[GUARD + i], &x, sizeof(x));
    }
    if (wrong || (GR_COLL_BARRIER == j->coll && atomic_load(&w->entered[r->at]) < w->p)) {
        snprintf(w->why, sizeof(w->why), "p=%d call %d, %s root %d count %zu%s%s%s: rank %d", w->p,
                 r->at, gr_coll_name(j->coll), j->root, j->count, j->has_counts ? " counts" : "",
                 j->has_displs ? " displs" : "", j->in_place ? " in place" : "", r->number);
        atomic_store(&w->failed, 1);
    }
    free(r->in);
    free(r->out);
}

/* Whether anything moved. */
static int poll_rank(struct rank *r)
{
    uint64_t moved = 0;

    if (!r->running) {
        enter(r);
    }
    if (!gr_grouped_poll(&r->call, &moved)) {
        return moved > 0;
    }
    check(r);
    r->running = 0;
    r->at++;
    return 1;
}

/* ---- all ranks ---- */

static void run_stepped(struct world *w)
{
    uint64_t random = rng_next(&seed), idle = 0;
    int left = w->p;

    while (left > 0 && !atomic_load(&w->failed)) {
        struct rank *r = &w->ranks[rng_below(&random, w->p)];
        /* favour some rank for a while, so that ranks get as far apart as they can */
        int turns = 1 + rng_below(&random, 2) * rng_below(&random, 40);

        for (; turns > 0 && r->at < w->njobs; turns--) {
            idle = poll_rank(r) ? 0 : idle + 1;
            left -= r->at == w->njobs;
        }
        if (idle > 4000 * (uint64_t) w->p) {
            fail_msg("p=%d: nothing moves", w->p);
        }
    }
}

static void *rank_thread(void *arg)
{
    struct rank *r = arg;

    while (r->at < r->world->njobs && !atomic_load(&r->world->failed)) {
        if (!poll_rank(r) || 0 == rng_below(&r->random, 64)) {
            sched_yield();
        }
    }
    return NULL;
}

static void run_threads(struct world *w)
{
    pthread_t threads[MOST];
    int r;

    for (r = 0; r < w->p; r++) {
        assert_int_equal(pthread_create(&threads[r], NULL, rank_thread, &w->ranks[r]), 0);
    }
    for (r = 0; r < w->p; r++) {
        pthread_join(threads[r], NULL);
    }
}

static void run(struct world *w, struct job *jobs, int njobs, void (*how)(struct world *w))
{
    int r, k;

    w->jobs = jobs;
    w->njobs = njobs;
    for (k = 0; k < njobs; k++) {
        atomic_store(&w->entered[k], 0);
    }
    for (r = 0; r < w->p; r++) {
        w->ranks[r].at = 0;
    }
    how(w);
    if (atomic_load(&w->failed)) {
        fail_msg("%s", w->why);
    }
}

static void play(int p, uint32_t nsets, uint64_t first, int njobs, void (*how)(struct world *w))
{
    struct job *jobs = calloc((size_t) njobs, sizeof(*jobs));
    struct world *w = malloc(sizeof(*w));
    int k;

    assert_non_null(jobs);
    assert_non_null(w);
    open_world(w, p, nsets, first);
    for (k = 0; k < njobs; k++) {
        jobs[k] = make_job(p);
        /* without a grid there is no alltoall */
        while (gr_mailbox_way(jobs[k].coll, p) < 0) {
            free(jobs[k].want);
            jobs[k] = make_job(p);
        }
    }
    run(w, jobs, njobs, how);
    for (k = 0; k < njobs; k++) {
        free(jobs[k].want);
    }
    close_world(w);
    free(w);
    free(jobs);
}

static const int sizes[] = {2,  3,  8,  9,  10, 11, 13, 16, 17, 18, 24,  25,  31,  33,  37,  40,
                            48, 63, 64, 65, 66, 72, 73, 74, 81, 96, 100, 127, 128, 200, 255, 256};
enum { NSIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void calls_are_right_in_any_order_of_ranks(void **state)
{
    int k;

    (void) state;
    for (k = 0; k < NSIZES; k += GR_SANITIZER(1, 1, 3)) {
        uint32_t nsets = 2u << rng_below(&seed, 3);

        play(sizes[k], nsets, rng_next(&seed), sizes[k] > 100 ? JOBS / 2 : JOBS, run_stepped);
    }
}

static void epochs_may_wrap_and_sets_are_used_again(void **state)
{
    static const int few[] = {10, 17, 40, 81};
    uint32_t nsets;
    int k;

    (void) state;
    for (k = 0; k < 4; k++) {
        for (nsets = 2; nsets <= GR_SETS; nsets *= 2) {
            play(few[k], nsets, UINT64_MAX - rng_below(&seed, 20), JOBS, run_stepped);
        }
    }
}

static void calls_are_right_in_threads(void **state)
{
    static const int few[] = {3, 10, 17, 25};
    int k;

    (void) state;
    for (k = 0; k < 4; k++) {
        play(few[k], 2u << rng_below(&seed, 3), rng_next(&seed), JOBS, run_threads);
    }
}

/* An allreduce, a reduce to any rank and a reduce_scatter combine in one order. */
static void all_reductions_give_the_same_bits(void **state)
{
    enum { P = 40, COUNT = P };
    struct job jobs[2 + P];
    struct world *w = malloc(sizeof(*w));
    struct elem *bits;
    size_t i;
    int k, r;

    (void) state;
    assert_non_null(w);
    memset(jobs, 0, sizeof(jobs));
    open_world(w, P, 4, 0);
    for (k = 0; k < 2 + P; k++) {
        struct job *j = &jobs[k];

        j->coll = 0 == k ? GR_COLL_ALLREDUCE : 1 == k ? GR_COLL_REDUCE_SCATTER : GR_COLL_REDUCE;
        j->root = k < 2 ? 0 : k - 2;
        j->is_float = 1;
        j->span = COUNT;
        j->count = GR_COLL_REDUCE_SCATTER == j->coll ? 1 : COUNT;
        j->seed = 12345;
        for (r = 0; r < P; r++) {
            j->counts[r] = 1;
            j->displs[r] = (size_t) r;
        }
    }
    /* what rank 0 gets is what all must get, in all calls */
    bits = calloc(COUNT, sizeof(*bits));
    assert_non_null(bits);
    w->jobs = jobs;
    w->njobs = 1;
    jobs[0].want = bits;
    for (r = 0; r < P; r++) {
        enter(&w->ranks[r]);
    }
    for (k = 0; k < 4000; k++) {
        uint64_t moved = 0;

        r = k % P;
        if (w->ranks[r].running && gr_grouped_poll(&w->ranks[r].call, &moved)) {
            if (0 == r) {
                memcpy(bits, w->ranks[r].out + GUARD, COUNT * sizeof(*bits));
            }
            w->ranks[r].running = 0;
            free(w->ranks[r].in);
            free(w->ranks[r].out);
        }
    }
    for (r = 0; r < P; r++) {
        assert_false(w->ranks[r].running);
    }
    for (k = 0; k < 2 + P; k++) {
        jobs[k].want = bits;
    }
    run(w, jobs, 2 + P, run_stepped);
    /* and that is a sum: to what floats of such magnitudes can hold */
    for (i = 0; i < COUNT; i++) {
        float want = 0, got[2];

        for (r = 0; r < P; r++) {
            struct elem x = floats(12345, r, i);
            float f[2];

            memcpy(f, &x, sizeof(f));
            want += f[0];
        }
        memcpy(got, &bits[i], sizeof(got));
        assert_true(want - got[0] < 1e-2f * (want > 0 ? want : -want) + 1e4f &&
                    got[0] - want < 1e-2f * (want > 0 ? want : -want) + 1e4f);
    }
    free(bits);
    close_world(w);
    free(w);
}

/* Whoever waits names the member of its group whose post is missing. */
static void a_missing_rank_is_waited_for_by_its_group(void **state)
{
    enum { P = 20, LATE = 11 };
    struct job j = {.coll = GR_COLL_ALLREDUCE, .count = 1, .span = 1, .seed = 1};
    struct world *w = malloc(sizeof(*w));
    int r, k, ranks[GR_GROUP_MOST];

    (void) state;
    assert_non_null(w);
    make_want(&j, P);
    open_world(w, P, 2, 0);
    w->jobs = &j;
    w->njobs = 1;
    for (k = 0; k < 100; k++) {
        for (r = 0; r < P; r++) {
            if (r != LATE) {
                (void) poll_rank(&w->ranks[r]);
            }
        }
    }
    for (r = 0; r < P; r++) {
        const struct gr_grouped *c = &w->ranks[r].call;
        const struct gr_group *g;

        if (r == LATE) {
            continue;
        }
        assert_true(w->ranks[r].running);
        g = &gr_grouped_at(c)->group;
        assert_int_equal(gr_mailbox_waits_for(&gr_grouped_at(c)->box, &c->now, ranks), 1);
        /* the leader of its group for it, rank 0 for that leader, all others for their leader */
        assert_int_equal(g->first + ranks[0] * g->step, 8 == r              ? LATE
                                                        : 0 == r || 16 == r ? 8
                                                                            : r / 8 * 8);
    }
    while (w->ranks[LATE].at < 1 || w->ranks[0].at < 1 || w->ranks[P - 1].at < 1) {
        for (r = 0; r < P; r++) {
            if (w->ranks[r].at < 1) {
                (void) poll_rank(&w->ranks[r]);
            }
        }
    }
    for (k = 0; k < 100; k++) {
        for (r = 0; r < P; r++) {
            if (w->ranks[r].at < 1) {
                (void) poll_rank(&w->ranks[r]);
            }
        }
    }
    assert_false(atomic_load(&w->failed));
    close_world(w);
    free(w);
    free(j.want);
}

/* ---- shapes ---- */

/* Each rank is in one group of each level up to its highest; the members speak for all ranks. */
static void groups_hold_all_ranks_once(void **state)
{
    int p, r, k, level, levels;

    (void) state;
    for (p = 2; p <= GR_GROUPED_MOST; p++) {
        levels = gr_group_levels(p);
        assert_in_range(levels, 1, GR_GROUP_LEVELS);
        assert_int_equal(levels > 1, p > GR_GROUP_MOST);
        for (r = 0; r < p; r++) {
            for (level = 0; level < levels; level++) {
                struct gr_group g = gr_group_at(p, r, level), leader;

                if (0 == g.n) { /* it leads no group of the level below */
                    assert_true(level > 0 && 0 != gr_group_at(p, r, level - 1).me);
                    break;
                }
                assert_true(0 == level || 0 == gr_group_at(p, r, level - 1).me);
                assert_in_range(g.n, 2, GR_GROUP_MOST);
                assert_int_equal(g.first + g.me * g.step, r);
                leader = gr_group_at(p, g.first, level);
                assert_true(0 == leader.me && leader.n == g.n && leader.end == g.end);
                assert_int_equal(gr_group_next(&g, g.n - 1), g.end);
                for (k = 0; k < g.n; k++) {
                    int first = g.first + k * g.step;

                    assert_true(gr_group_at(p, first, level).me == k);
                    assert_int_equal(gr_group_member(&g, first), k);
                    assert_int_equal(gr_group_member(&g, gr_group_next(&g, k) - 1), k);
                }
                assert_int_equal(gr_group_member(&g, g.first - 1), -1);
                assert_int_equal(gr_group_member(&g, g.end), -1);
                assert_true(level + 1 < levels || (0 == g.first && p == g.end));
                assert_int_equal(level + 1 == levels, 0 == gr_group_at(p, 0, level + 1).n);
            }
        }
    }
}

static void grids_have_all_ranks_in_a_row_and_a_column(void **state)
{
    int p, r, columns;

    (void) state;
    for (p = 2; p <= GR_GRID_SIDE * GR_GRID_SIDE + 1; p++) {
        columns = gr_grid_columns(p);
        if (0 == columns) {
            for (r = 1; r <= GR_GRID_SIDE; r++) {
                assert_true(0 != p % r || p / r > GR_GRID_SIDE);
            }
            assert_int_equal(gr_grid_row(p, 0).n, 0);
            assert_int_equal(gr_grid_column(p, 0).n, 0);
            continue;
        }
        assert_true(columns <= GR_GRID_SIDE && 0 == p % columns && columns * columns >= p);
        for (r = 0; r < p; r++) {
            struct gr_group row = gr_grid_row(p, r), column = gr_grid_column(p, r);

            assert_int_equal(row.n, columns);
            assert_int_equal(row.first + row.me * row.step, r);
            assert_int_equal(row.first / columns, r / columns);
            assert_int_equal(column.n, p == columns ? 0 : p / columns);
            assert_true(0 == column.n || column.first + column.me * column.step == r);
        }
    }
    assert_int_equal(gr_grid_columns(64), 8);
    assert_int_equal(gr_grid_columns(31), 31);
    assert_int_equal(gr_grid_columns(37), 0);
}

static void a_way_is_there_where_its_boards_are(void **state)
{
    (void) state;
    assert_int_equal(gr_mailbox_way(GR_COLL_ALLTOALL, 9), GR_WAY_MAILBOX);
    assert_int_equal(gr_mailbox_way(GR_COLL_ALLTOALL, 10), GR_WAY_GRID);
    assert_int_equal(gr_mailbox_way(GR_COLL_ALLTOALL, 37), -1);
    assert_int_equal(gr_mailbox_way(GR_COLL_BCAST, 37), GR_WAY_MAILBOX);
    assert_int_equal(gr_mailbox_way(GR_COLL_BCAST, GR_GROUPED_MOST), GR_WAY_MAILBOX);
    assert_int_equal(gr_mailbox_way(GR_COLL_BCAST, GR_GROUPED_MOST + 1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_hold_all_ranks_once),
        cmocka_unit_test(grids_have_all_ranks_in_a_row_and_a_column),
        cmocka_unit_test(a_way_is_there_where_its_boards_are),
        cmocka_unit_test(calls_are_right_in_any_order_of_ranks),
        cmocka_unit_test(epochs_may_wrap_and_sets_are_used_again),
        cmocka_unit_test(calls_are_right_in_threads),
        cmocka_unit_test(all_reductions_give_the_same_bits),
        cmocka_unit_test(a_missing_rank_is_waited_for_by_its_group),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
