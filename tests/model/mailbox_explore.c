/* SPDX-License-Identifier: BSD-3-Clause */
/* The explorer of mailbox_explore.h: depth-first search with a table of visited states. */
#include "mailbox_explore.h"

#include "exec_data.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIDE = 64,
    BOARD = MX_RANKS * sizeof(struct gr_lease_user) + MX_SETS * STRIDE,
    DEPTH = 400
};

/*
 * All that changes. What points somewhere always points to the same place, so states are compared
 * as bytes.
 */
struct state {
    _Alignas(GR_CACHE_LINE) unsigned char boards[MX_RANKS][BOARD];
    struct gr_mailbox box[MX_RANKS];
    uint64_t out[MX_RANKS][MX_CALLS][MX_RANKS];
    int next[MX_RANKS][MX_CALLS];
    int posted[MX_RANKS], taken[MX_RANKS]; /* calls */
};

struct key {
    uint64_t a, b; /* a is 0 in an empty place of the table */
};

static struct {
    const struct mx_game *game;
    struct state now, saved[DEPTH];
    struct key *seen;
    size_t nseen, room;
    uint64_t in[MX_RANKS][MX_CALLS][MX_RANKS];
    size_t counts[MX_CALLS][MX_RANKS], displs[MX_CALLS][MX_RANKS];
    enum mx_fault fault;
    char *why;
    size_t size;
} x;

static const char *const names[MX_NFAULTS] = {"no fault",      "stuck",        "overrun",
                                              "needless wait", "wrong result", "wrong report"};

__attribute__((format(printf, 4, 5))) static int fail(enum mx_fault fault, int rank, int call,
                                                      const char *format, ...)
{
    int n = snprintf(x.why, x.size, "%s: rank %d, call %d: ", names[fault], rank, call);
    va_list args;

    va_start(args, format);
    vsnprintf(x.why + n, x.size - (size_t) n, format, args);
    va_end(args);
    x.fault = fault;
    return -1;
}

/* ---- states that were seen ---- */

static struct key hash(const struct state *s)
{
    struct key k = {0xcbf29ce484222325u, 0x9e3779b97f4a7c15u};
    uint64_t word;
    size_t i;

    for (i = 0; i + 8 <= sizeof(*s); i += 8) {
        memcpy(&word, (const char *) s + i, 8);
        k.a = (k.a ^ word) * 0x100000001b3u;
        k.a ^= k.a >> 29;
        k.b = (k.b + word) * 0xd6e8feb86659fd93u;
        k.b ^= k.b >> 32;
    }
    k.a |= 1;
    return k;
}

/* 1 when it was not there. */
static int table_add(struct key *table, size_t room, struct key k)
{
    size_t at = k.b & (room - 1);

    for (; 0 != table[at].a; at = (at + 1) & (room - 1)) {
        if (table[at].a == k.a && table[at].b == k.b) {
            return 0;
        }
    }
    table[at] = k;
    return 1;
}

static void table_grow(void)
{
    size_t room = 0 == x.room ? 4096 : 4 * x.room, k;
    struct key *larger = calloc(room, sizeof(*larger));

    if (NULL == larger) {
        abort();
    }
    for (k = 0; k < x.room; k++) {
        if (0 != x.seen[k].a) {
            (void) table_add(larger, room, x.seen[k]);
        }
    }
    free(x.seen);
    x.seen = larger;
    x.room = room;
}

/* Note the present state. 1 when it is a new one. */
static int is_new(void)
{
    if (2 * x.nseen >= x.room) {
        table_grow();
    }
    if (!table_add(x.seen, x.room, hash(&x.now))) {
        return 0;
    }
    x.nseen++;
    return 1;
}

/* ---- calls and their results ---- */

static int posts(const struct mx_call *c, int rank)
{
    return GR_COLL_BCAST == c->coll ? rank == c->root
                                    : GR_COLL_ALLGATHER != c->coll || rank != c->hollow;
}

static struct gr_mailbox_call make_mail(int rank, int call)
{
    const struct mx_call *c = &x.game->calls[call];
    struct gr_mailbox_call m = {
        .coll = c->coll, .root = c->root, .count = 1, .reducer = {.elem_bytes = 8}};

    m.in = (const unsigned char *) x.in[rank][call];
    m.out = (unsigned char *) x.now.out[rank][call];
    m.reducer.fused = ex_kinds[EX_ORDERED].fused;
    if (ex_has_blocks(c->coll)) {
        m.counts = x.counts[call];
        m.displs = x.displs[call];
    }
    m.epoch = x.game->first + 1 + (uint64_t) call; /* all were begun at once */
    m.at = gr_mailbox_set(&x.now.box[rank], m.epoch);
    m.next = x.now.next[rank][call];
    gr_mailbox_prepare(&x.now.box[rank], &m);
    return m;
}

/* Element `at` of all ranks' posts, combined. */
static uint64_t combined(int call, size_t at)
{
    uint64_t sum = x.in[0][call][at];
    int r;

    for (r = 1; r < x.game->p; r++) {
        ex_kinds[EX_ORDERED].combine(&sum, &x.in[r][call][at]);
    }
    return sum;
}

static int check_result(int rank, int call)
{
    const struct mx_call *c = &x.game->calls[call];
    uint64_t want[MX_RANKS] = {0};
    int r;

    switch (c->coll) {
    case GR_COLL_ALLREDUCE:
        want[0] = combined(call, 0);
        break;
    case GR_COLL_ALLGATHER:
        for (r = 0; r < x.game->p; r++) {
            want[r] = r == c->hollow ? 0 : x.in[r][call][0];
        }
        break;
    case GR_COLL_REDUCE_SCATTER:
        want[0] = rank == c->hollow ? 0 : combined(call, x.displs[call][rank]);
        break;
    case GR_COLL_BCAST:
        want[0] = rank == c->root ? 0 : x.in[c->root][call][0];
        break;
    default:
        want[0] = rank == c->root ? combined(call, 0) : 0;
    }
    for (r = 0; r < MX_RANKS; r++) {
        if (x.now.out[rank][call][r] != want[r]) {
            return fail(MX_RESULT, rank, call, "element %d is %llx, must be %llx", r,
                        (unsigned long long) x.now.out[rank][call][r],
                        (unsigned long long) want[r]);
        }
    }
    return 0;
}

/* ---- tries ---- */

/*
 * Whether r is in the way of posting that call: surely, as it has not taken what is in the set; or
 * perhaps, as it need not have said so: that it does every half round.
 */
static int in_the_way(int r, int call, int perhaps)
{
    int nsets = (int) x.game->nsets;

    return call + 1 - (x.now.taken[r] - (perhaps ? nsets / 2 - 1 : 0)) > nsets;
}

static int check_postponed(int rank, int call, const struct gr_mailbox_call *m)
{
    int ranks[MX_RANKS], named = 0, n = gr_mailbox_waits_for(&x.now.box[rank], m, ranks), k;

    for (k = 0; k < n; k++) {
        named |= 1 << ranks[k];
    }
    for (k = 0; k < x.game->p; k++) {
        if (k != rank && (named >> k & 1) != in_the_way(k, call, named >> k & 1)) {
            return fail(MX_REPORT, rank, call, "waits to post, for the ranks %x; %d has taken %d",
                        (unsigned) named, k, x.now.taken[k]);
        }
    }
    if (0 == named && !in_the_way(rank, call, 0)) {
        return fail(MX_NEEDLESS, rank, call, "cannot post");
    }
    return 0;
}

static int try_post(int rank)
{
    int call = x.now.posted[rank], k;
    struct gr_mailbox_call m;

    if (call == x.game->ncalls) {
        return 0;
    }
    m = make_mail(rank, call);
    if (!gr_mailbox_post(&x.now.box[rank], &m)) {
        return check_postponed(rank, call, &m);
    }
    for (k = 0; k < x.game->p; k++) {
        if (in_the_way(k, call, 0)) {
            return fail(MX_OVERRUN, rank, call, "posted; %d has taken %d", k, x.now.taken[k]);
        }
    }
    x.now.posted[rank]++;
    return 0;
}

static int try_take(int rank)
{
    int call = x.now.taken[rank], missing[MX_RANKS], n;
    struct gr_mailbox_call m;
    uint64_t moved = 0;

    if (call == x.now.posted[rank]) {
        return 0;
    }
    m = make_mail(rank, call);
    if (gr_mailbox_take(&x.now.box[rank], &m, &moved)) {
        x.now.next[rank][call] = 0;
        x.now.taken[rank]++;
        return check_result(rank, call);
    }
    x.now.next[rank][call] = m.next;
    n = gr_mailbox_waits_for(&x.now.box[rank], &m, missing);
    if (1 != n || missing[0] == rank || !posts(&x.game->calls[call], missing[0]) ||
        x.now.posted[missing[0]] > call) {
        return fail(MX_REPORT, rank, call, "waits for a post, of %d ranks, of %d", n,
                    n > 0 ? missing[0] : -1);
    }
    return 0;
}

static int all_through(void)
{
    int r, through = 1;

    for (r = 0; r < x.game->p; r++) {
        through = through && x.now.taken[r] == x.game->ncalls;
    }
    return through;
}

/* Make every try from the present state. */
static int visit(int depth)
{
    struct state *before = &x.saved[depth];
    int k, moved = 0;

    if (DEPTH - 1 == depth) {
        abort();
    }
    memcpy(before, &x.now, sizeof(*before));
    for (k = 0; k < 2 * x.game->p; k++) {
        if ((k % 2 ? try_take(k / 2) : try_post(k / 2)) < 0) {
            return -1;
        }
        if (0 == memcmp(before, &x.now, sizeof(*before))) {
            continue;
        }
        moved = 1;
        if (is_new() && visit(depth + 1) < 0) {
            return -1;
        }
        memcpy(&x.now, before, sizeof(*before));
    }
    return moved || all_through() ? 0
                                  : fail(MX_STUCK, 0, x.now.taken[0], "posted %d", x.now.posted[0]);
}

/* ---- the game ---- */

/*
 * Boards with what a team before may have left there: sets and users that say what this one will
 * wait for.
 */
static void make_boards(const struct mx_game *g)
{
    int r, k;

    for (r = 0; r < g->p; r++) {
        unsigned char *sets = x.now.boards[r] + (size_t) g->p * sizeof(struct gr_lease_user);

        memset(x.now.boards[r], 0xee, BOARD);
        for (k = 0; k < (int) g->nsets; k++) {
            uint64_t epoch = g->first + 1 + (uint64_t) k;

            memcpy(sets + (epoch & (g->nsets - 1)) * STRIDE, &epoch, sizeof(epoch));
        }
        for (k = 0; k < g->p; k++) {
            ((struct gr_lease_user *) (void *) x.now.boards[r])[k].word =
                g->first + (uint64_t) g->ncalls;
        }
        gr_board_clean(x.now.boards[r], g->p, g->nsets, STRIDE, g->first, GR_ALL_SETS);
    }
}

static void make_calls(const struct mx_game *g)
{
    int r, call, k;

    for (call = 0; call < g->ncalls; call++) {
        const struct mx_call *c = &g->calls[call];
        size_t at = 0;

        for (r = 0; r < g->p; r++) {
            x.counts[call][r] = r != c->hollow;
            x.displs[call][r] = GR_COLL_ALLGATHER == c->coll ? (size_t) r : at;
            at += x.counts[call][r];
            for (k = 0; k < MX_RANKS; k++) {
                x.in[r][call][k] = 1000003u * (uint64_t) (1 + r) + 10007u * (uint64_t) (1 + call) +
                                   101u * (uint64_t) k;
            }
        }
    }
}

enum mx_fault mx_explore(const struct mx_game *g, uint64_t *states, char *why, size_t size)
{
    int r, k;

    memset(&x.now, 0, sizeof(x.now));
    x.game = g;
    x.fault = MX_OK;
    x.why = why;
    x.size = size;
    x.nseen = 0;
    if (x.room > 0) {
        memset(x.seen, 0, x.room * sizeof(*x.seen));
    }
    make_calls(g);
    make_boards(g);
    for (r = 0; r < g->p; r++) {
        if (0 != gr_mailbox_init(&x.now.box[r], g->p, r, g->nsets, STRIDE, g->first)) {
            abort();
        }
        for (k = 0; k < g->p; k++) {
            gr_board_attach(&x.now.box[r], k, x.now.boards[k]);
        }
        for (k = 0; k < g->ncalls; k++) {
            struct gr_mailbox_call m;

            gr_mailbox_begin_again(&x.now.box[r], &m);
        }
    }
    (void) is_new();
    (void) visit(0);
    *states += x.nseen;
    for (r = 0; r < g->p; r++) {
        gr_mailbox_free(&x.now.box[r]);
    }
    return x.fault;
}

/* ---- games by number ---- */

enum { UNROOTED = 5 }; /* kinds of calls that have no root */

uint64_t mx_games(int p, int ncalls)
{
    uint64_t n = 1;

    for (; ncalls > 0; ncalls--) {
        n *= (uint64_t) (UNROOTED + 2 * p);
    }
    return n;
}

static struct mx_call kind(int p, int k)
{
    static const struct mx_call unrooted[UNROOTED] = {{GR_COLL_ALLREDUCE, 0, -1},
                                                      {GR_COLL_ALLGATHER, 0, -1},
                                                      {GR_COLL_ALLGATHER, 0, 0},
                                                      {GR_COLL_REDUCE_SCATTER, 0, -1},
                                                      {GR_COLL_REDUCE_SCATTER, 0, 1}};

    if (k < UNROOTED) {
        return unrooted[k];
    }
    return (struct mx_call) {k - UNROOTED < p ? GR_COLL_BCAST : GR_COLL_REDUCE, (k - UNROOTED) % p,
                             -1};
}

struct mx_game mx_game(int p, uint32_t nsets, uint64_t first, int ncalls, uint64_t k)
{
    struct mx_game g = {.p = p, .nsets = nsets, .first = first, .ncalls = ncalls};
    uint64_t kinds = (uint64_t) (UNROOTED + 2 * p);
    int call;

    for (call = 0; call < ncalls; call++, k /= kinds) {
        g.calls[call] = kind(p, (int) (k % kinds));
    }
    return g;
}
