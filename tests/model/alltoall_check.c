/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker of alltoall_check.h. It uses only what executors use of a schedule: exchanges and
 * slots.
 */
#include "alltoall_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LANES 2

/* One run. */
struct run {
    struct a2a_world *w;
    int p, lanes;
    struct gr_exchange *now; /* [p][lanes] of this tick */
    int32_t *token;          /* [p][p]: origin * p + destination of the block in a slot */
    int32_t *message;        /* [p][lanes][p]: blocks on their way */
    /* [p][p]: 1 + the tick in which the slot's block came; 0: it is the rank's own */
    int32_t *came;
    uint32_t *link; /* 1 + the tick of last use */
    uint32_t *slot; /* [p][p]: 1 + the tick of last use */
    enum a2a_check failed;
};

const char *a2a_name(enum a2a_check check)
{
    static const char *const names[] = {
        "ok",         "peer",           "route",          "no match",   "slot",
        "link twice", "not as it came", "no permutation", "wrong block"};

    return names[check];
}

__attribute__((format(printf, 5, 6))) static int fail(struct run *r, enum a2a_check check, int rank,
                                                      uint32_t tick, const char *format, ...)
{
    va_list args;
    int n;

    if (A2A_OK == r->failed) {
        r->failed = check;
        n = snprintf(r->w->why, sizeof(r->w->why), "%s: rank %d, tick %u: ", a2a_name(check), rank,
                     tick);
        va_start(args, format);
        vsnprintf(r->w->why + n, sizeof(r->w->why) - (size_t) n, format, args);
        va_end(args);
    }
    return -1;
}

static struct gr_alltoall of_rank(const struct run *r, int rank)
{
    struct gr_alltoall a = r->w->a;

    a.rank = rank;
    return a;
}

/* Walk the message's way and mark its links. */
static int use_links(struct run *r, int rank, const struct gr_exchange *e)
{
    const struct gr_torus *t = &r->w->a.torus;
    int at = rank, hops = abs(e->hops), k;

    for (k = 0; k < hops; k++) {
        int link = gr_torus_link(t, at, e->dim, e->hops > 0);

        if (r->link[link] == e->tick + 1) {
            return fail(r, A2A_LINK, rank, e->tick, "to %d over the link of %d in dimension %d",
                        e->to, at, e->dim);
        }
        r->link[link] = e->tick + 1;
        at = gr_torus_move(t, at, e->dim, e->hops > 0 ? 1 : -1);
        if (at < 0) {
            return fail(r, A2A_ROUTE, rank, e->tick, "beyond the end of dimension %d", e->dim);
        }
    }
    r->w->hops += (uint64_t) hops;
    return at == e->to
               ? 0
               : fail(r, A2A_ROUTE, rank, e->tick, "%d hops in dimension %d lead to %d, not %d",
                      e->hops, e->dim, at, e->to);
}

/* Take the blocks out of their slots. */
static int send(struct run *r, int rank, int lane, const struct gr_exchange *e)
{
    struct gr_alltoall a = of_rank(r, rank);
    int n = gr_slots_count(&a, &e->slots), k;
    int32_t *message =
        r->message + ((size_t) rank * (size_t) r->lanes + (size_t) lane) * (size_t) r->p;

    if (e->to < 0 || e->to >= r->p || e->from < 0 || e->from >= r->p || e->to == rank ||
        e->from == rank || n < 1) {
        return fail(r, A2A_PEER, rank, e->tick, "sends %d blocks to %d, receives from %d", n, e->to,
                    e->from);
    }
    for (k = 0; k < n && n <= r->p; k++) {
        int slot = gr_slots_at(&a, &e->slots, k);
        size_t at = (size_t) rank * (size_t) r->p + (size_t) slot;

        if (slot < 0 || slot >= r->p || r->slot[at] == e->tick + 1) {
            return fail(r, A2A_SLOT, rank, e->tick, "slot %d", slot);
        }
        r->slot[at] = e->tick + 1;
        /* alltoall.h: in round 0 blocks that have come to rest, then those of the round before */
        if (e->round > 0 && (0 == e->tick || r->came[at] != (int32_t) e->tick)) {
            return fail(r, A2A_ROUND, rank, e->tick, "slot %d in round %u", slot, e->round);
        }
        message[k] = r->token[at];
    }
    r->w->messages++;
    r->w->blocks += 0 == rank ? (uint64_t) n : 0;
    return n <= r->p ? use_links(r, rank, e) : fail(r, A2A_SLOT, rank, e->tick, "%d slots", n);
}

/* Put the blocks that the lane's peer sent into the slots. */
static int receive(struct run *r, int rank, int lane, const struct gr_exchange *e)
{
    struct gr_alltoall a = of_rank(r, rank);
    const struct gr_exchange *theirs = &r->now[e->from * r->lanes + lane];
    int n = gr_slots_count(&a, &e->slots), k;
    const int32_t *message =
        r->message + ((size_t) e->from * (size_t) r->lanes + (size_t) lane) * (size_t) r->p;

    if (theirs->to != rank || gr_slots_count(&a, &theirs->slots) != n) {
        return fail(r, A2A_PAIR, rank, e->tick, "wants %d blocks of %d, which sends %d to %d", n,
                    e->from, gr_slots_count(&a, &theirs->slots), theirs->to);
    }
    for (k = 0; k < n; k++) {
        size_t at = (size_t) rank * (size_t) r->p + (size_t) gr_slots_at(&a, &e->slots, k);

        r->token[at] = message[k];
        r->came[at] = (int32_t) e->tick + 1;
    }
    return 0;
}

static int run_tick(struct run *r, uint32_t tick)
{
    int rank, lane, ports;

    for (rank = 0; rank < r->p; rank++) {
        struct gr_alltoall a = of_rank(r, rank);

        for (lane = ports = 0; lane < r->lanes; lane++) {
            struct gr_exchange *e = &r->now[rank * r->lanes + lane];

            *e = NULL != r->w->step ? r->w->step(&a, lane, tick) : gr_alltoall_step(&a, lane, tick);
            e->tick = tick;
            if ((e->to >= 0 || e->from >= 0) && send(r, rank, lane, e) < 0) {
                return -1;
            }
            ports += e->to >= 0;
        }
        r->w->most_ports = ports > r->w->most_ports ? ports : r->w->most_ports;
    }
    for (rank = 0; rank < r->p; rank++) {
        for (lane = 0; lane < r->lanes; lane++) {
            const struct gr_exchange *e = &r->now[rank * r->lanes + lane];

            if (e->from >= 0 && receive(r, rank, lane, e) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* Every block where it belongs: slot by slot, and each slot of the output once. */
static int check_end(struct run *r, int rank)
{
    struct gr_alltoall a = of_rank(r, rank);
    int v, origin;

    for (v = 0; v < r->p; v++) {
        int32_t token = r->token[(size_t) rank * (size_t) r->p + (size_t) v];

        origin = NULL != r->w->origin ? r->w->origin(&a, v) : gr_alltoall_origin(&a, v);
        if (origin < 0 || origin >= r->p || r->message[origin] == rank + 1) {
            return fail(r, A2A_ORIGIN, rank, r->w->ticks, "slot %d goes to %d", v, origin);
        }
        r->message[origin] = rank + 1;
        if (token != origin * r->p + rank) {
            return fail(r, A2A_DELIVERY, rank, r->w->ticks,
                        "slot %d has the block from %d for %d, not from %d", v, token / r->p,
                        token % r->p, origin);
        }
    }
    return 0;
}

enum a2a_check a2a_run(struct a2a_world *w)
{
    size_t p = (size_t) gr_torus_size(&w->a.torus), k;
    struct run r = {.w = w, .p = (int) p, .lanes = gr_alltoall_lanes(&w->a)};
    uint32_t tick;
    int rank;

    w->why[0] = '\0';
    w->messages = w->hops = w->blocks = 0;
    w->most_ports = 0;
    w->ticks = gr_alltoall_ticks(&w->a);
    r.now = calloc(p * MAX_LANES, sizeof(*r.now));
    r.token = calloc(p * p, sizeof(*r.token));
    r.came = calloc(p * p, sizeof(*r.came));
    r.slot = calloc(p * p, sizeof(*r.slot));
    r.message = calloc(p * p * MAX_LANES, sizeof(*r.message));
    r.link = calloc((size_t) gr_torus_links(&w->a.torus), sizeof(*r.link));
    if (NULL == r.now || NULL == r.token || NULL == r.came || NULL == r.slot || NULL == r.message ||
        NULL == r.link) {
        abort();
    }
    for (k = 0; k < p * p; k++) {
        r.token[k] = (int32_t) k; /* rank k / p has the block for rank k % p in slot k % p */
    }
    for (tick = 0; tick < w->ticks && A2A_OK == r.failed; tick++) {
        run_tick(&r, tick);
    }
    memset(r.message, 0, p * sizeof(*r.message));
    for (rank = 0; rank < r.p && A2A_OK == r.failed; rank++) {
        check_end(&r, rank);
    }
    free(r.now);
    free(r.token);
    free(r.came);
    free(r.slot);
    free(r.message);
    free(r.link);
    return r.failed;
}
