/* SPDX-License-Identifier: BSD-3-Clause */
/* A virtual clock and network (timing_world.h). */
#include "timing_world.h"

#include "rng.h"

#include <stdlib.h>
#include <string.h>

static int64_t tw_now(void *ctx)
{
    const struct tw_rank *r = ctx;

    return r->world->now + r->clock;
}

int64_t tw_way(const struct tw_world *w, int from, int to)
{
    int64_t ns = 0;
    int d;

    for (d = 0; d < w->torus.ndims; d++) {
        ns += w->way[d][gr_torus_coord(&w->torus, from, d) * w->torus.dims[d] +
                        gr_torus_coord(&w->torus, to, d)];
    }
    return ns;
}

static int tw_send(void *ctx, int to, const struct gr_note *note)
{
    struct tw_rank *r = ctx, *other;
    struct tw_world *w = r->world;
    struct tw_mail mail = {*note, to, 0};

    if (w->refuse > 0 && 0 == rng_below(&w->random, w->refuse)) {
        return 0;
    }
    if (to < 0 || to >= w->p) {
        abort();
    }
    other = &w->ranks[to];
    mail.at = w->now + tw_way(w, r->rank, to) + note->pad * w->byte_fs / 1000000;
    mail.at += w->jitter > 0 ? (int64_t) rng_below(&w->random, w->jitter) : 0;
    mail.at = mail.at < other->last[r->rank] ? other->last[r->rank] : mail.at;
    other->last[r->rank] = mail.at;
    if (other->n == other->room) {
        other->room = 2 * other->room + 64;
        other->mail = realloc(other->mail, other->room * sizeof(mail));
        if (NULL == other->mail) {
            abort();
        }
    }
    other->mail[other->n++] = mail;
    w->sent[note->kind]++;
    return 1;
}

/* The note that arrived first. */
static int tw_poll(void *ctx, struct gr_note *note, int64_t *at)
{
    struct tw_rank *r = ctx;
    size_t first = r->inbox, k;

    for (k = r->inbox; k < r->n; k++) {
        first = r->mail[k].at < r->mail[first].at ? k : first;
    }
    if (first == r->n || r->mail[first].at > r->world->now) {
        return 0;
    }
    *note = r->mail[first].note;
    *at = r->mail[first].at + r->clock;
    memmove(&r->mail[r->inbox + 1], &r->mail[r->inbox], (first - r->inbox) * sizeof(r->mail[0]));
    r->inbox++;
    if (r->inbox == r->n) {
        r->inbox = r->n = 0;
    }
    return 1;
}

void tw_open(struct tw_world *w, const char *torus, int64_t hop, int64_t quantum, int common,
             uint64_t seed)
{
    int r, d, x, y;

    memset(w, 0, sizeof(*w));
    w->quantum = quantum;
    w->random = seed;
    if (0 != gr_torus_parse(torus, &w->torus)) {
        abort();
    }
    w->p = gr_torus_size(&w->torus);
    w->now = 1000000;
    w->ranks = calloc((size_t) w->p, sizeof(*w->ranks));
    if (NULL == w->ranks || w->p > TW_MAX_RANKS) {
        abort();
    }
    for (r = 0; r < w->p; r++) {
        w->ranks[r].world = w;
        w->ranks[r].rank = r;
        w->ranks[r].clock = common ? 0 : (int64_t) rng_below(&w->random, 1000000000);
        w->ranks[r].port = (struct gr_port) {tw_now, tw_send, tw_poll, &w->ranks[r], 1000, 1};
    }
    for (d = 0; d < w->torus.ndims; d++) {
        for (x = 0; x < w->torus.dims[d]; x++) {
            for (y = 0; y < x; y++) {
                int hops = abs(gr_torus_offset(&w->torus, d, x, y));
                int64_t ns = hops * hop + (int64_t) rng_below(&w->random, hop);

                w->way[d][x * w->torus.dims[d] + y] = w->way[d][y * w->torus.dims[d] + x] = ns;
            }
        }
    }
}

void tw_close(struct tw_world *w)
{
    int r;

    for (r = 0; r < w->p; r++) {
        free(w->ranks[r].mail);
    }
    free(w->ranks);
}

void tw_fill(const struct tw_world *w, struct gr_latency *l, int rank)
{
    int d;

    if (0 != gr_latency_init(l, &w->torus, w->p, rank)) {
        abort();
    }
    for (d = 0; d < w->torus.ndims; d++) {
        size_t bytes = (size_t) w->torus.dims[d] * (size_t) w->torus.dims[d] * sizeof(int64_t);

        memcpy(l->ring[d], w->way[d], bytes);
        memcpy(l->all[d], w->way[d], bytes);
        l->byte_fs[d] = w->byte_fs;
    }
}
