/* SPDX-License-Identifier: BSD-3-Clause */
/* The sync of schemes.h, and the prediction of a tick's end from latencies and sizes. */
#include "schemes.h"

#include <stdlib.h>
#include <string.h>

/* Hops that a sync packet takes between coordinates of a dimension. */
static int sync_hops(const struct gr_torus *t, int d, int shortest, int from, int to)
{
    if (shortest || gr_torus_is_line(t, d)) {
        return abs(gr_torus_offset(t, d, from, to));
    }
    return (to - from + t->dims[d]) % t->dims[d];
}

/* C_i of a rank at coordinate x, where ring[] are all ranks of its ring by coordinate. */
static double sync_end(const struct machine *m, int d, const double *estimates, int shortest,
                       const double *entered, const int *ring, const int *farthest, int x)
{
    double mine = NULL == estimates ? 1 : estimates[ring[x] * m->torus.ndims + d], hop = m->hop[d];
    double end = entered[ring[x]] + farthest[x] * hop * mine, theirs, t;
    int y;

    for (y = 0; y < m->torus.dims[d]; y++) {
        int hops = sync_hops(&m->torus, d, shortest, y, x);

        if (y != x) {
            theirs = NULL == estimates ? 1 : estimates[ring[y] * m->torus.ndims + d];
            t = entered[ring[y]] + hops * hop + farthest[y] * hop * theirs - hops * hop * mine;
            end = t > end ? t : end;
        }
    }
    return end;
}

void sync_run(const struct machine *m, const double *estimates, int shortest, double *times)
{
    int p = gr_torus_size(&m->torus), d, rank, x, y;
    double *entered = malloc((size_t) p * sizeof(*entered));
    int *ring = malloc(2 * (size_t) p * sizeof(*ring)), *farthest = ring + p;

    if (NULL == entered || NULL == ring) {
        abort();
    }
    for (d = 0; d < m->torus.ndims; d++) {
        int n = m->torus.dims[d];

        for (x = 0; x < n; x++) {
            for (farthest[x] = y = 0; y < n; y++) {
                int hops = sync_hops(&m->torus, d, shortest, x, y);

                farthest[x] = hops > farthest[x] ? hops : farthest[x];
            }
        }
        memcpy(entered, times, (size_t) p * sizeof(*entered));
        for (rank = 0; rank < p; rank++) {
            if (0 != gr_torus_coord(&m->torus, rank, d)) {
                continue; /* one rank of each ring stands for it */
            }
            for (x = 0; x < n; x++) {
                ring[x] = gr_torus_at(&m->torus, rank, d, x);
            }
            for (x = 0; x < n; x++) {
                times[ring[x]] = sync_end(m, d, estimates, shortest, entered, ring, farthest, x);
            }
        }
    }
    free(entered);
    free(ring);
}

/* A kind of path: hops in each dimension, without direction; and its largest message. */
struct kind {
    int16_t hops[GR_MAX_DIMS];
    double bytes;
};

struct predictor {
    uint32_t nticks;
    size_t *first; /* [nticks + 1] */
    struct kind *kinds;
    size_t n, room;
};

static int add_kind(struct predictor *p, uint32_t tick, const struct message *m)
{
    struct kind new = {.bytes = m->bytes};
    size_t k;
    int d;

    for (d = 0; d < GR_MAX_DIMS; d++) {
        new.hops[d] = (int16_t) abs(m->hops[d]);
    }
    for (k = p->first[tick]; k < p->n; k++) {
        if (0 == memcmp(p->kinds[k].hops, new.hops, sizeof(new.hops))) {
            p->kinds[k].bytes = new.bytes > p->kinds[k].bytes ? new.bytes : p->kinds[k].bytes;
            return 0;
        }
    }
    if (p->n == p->room) {
        size_t room = 0 == p->room ? 64 : 2 * p->room;
        struct kind *kinds = realloc(p->kinds, room * sizeof(*kinds));

        if (NULL == kinds) {
            return -1;
        }
        p->kinds = kinds;
        p->room = room;
    }
    p->kinds[p->n++] = new;
    return 0;
}

struct predictor *predictor_make(const struct traffic *t)
{
    struct predictor *p = calloc(1, sizeof(*p));
    uint32_t tick, k;

    if (NULL == p || NULL == (p->first = calloc(t->nticks + (size_t) 1, sizeof(*p->first)))) {
        free(p);
        return NULL;
    }
    p->nticks = t->nticks;
    for (tick = 0; tick < t->nticks; tick++) {
        p->first[tick] = p->n;
        for (k = t->first[(size_t) tick * (size_t) t->nranks];
             k < t->first[((size_t) tick + 1) * (size_t) t->nranks]; k++) {
            if (add_kind(p, tick, &t->messages[k]) < 0) {
                predictor_free(p);
                return NULL;
            }
        }
    }
    p->first[t->nticks] = p->n;
    return p;
}

double predictor_tick(const struct predictor *p, const struct machine *m, uint32_t tick,
                      const double *estimates)
{
    double longest = 0, t;
    size_t k;
    int d;

    for (k = p->first[tick]; k < p->first[tick + 1]; k++) {
        t = p->kinds[k].bytes / m->bandwidth;
        for (d = 0; d < m->torus.ndims; d++) {
            t += p->kinds[k].hops[d] * m->hop[d] * (NULL == estimates ? 1 : estimates[d]);
        }
        longest = t > longest ? t : longest;
    }
    return longest;
}

void predictor_free(struct predictor *p)
{
    if (NULL != p) {
        free(p->first);
        free(p->kinds);
        free(p);
    }
}
