/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings and neighbours. */
#include "link/rings.h"

#include "base/errors.h"
#include "base/memory.h"
#include "topo/torus.h"

#include <stdlib.h>

int gr_rings_init(struct gr_rings *rings, int p)
{
    size_t n = (size_t) p;
    int *all = gr_calloc(4 * n, sizeof(*all)), k;

    for (k = 0; NULL != all && k < 2; k++) {
        rings->order[k] = all + (size_t) (2 * k) * n;
        rings->where[k] = all + (size_t) (2 * k + 1) * n;
    }
    return NULL == all ? GR_ERR_NOMEM : 0;
}

void gr_rings_invert(struct gr_rings *rings, int p)
{
    gr_order_invert(rings->order[0], p, rings->where[0]);
    gr_order_invert(rings->order[1], p, rings->where[1]);
}

void gr_rings_fill(struct gr_rings *rings, int p, const int *order)
{
    int k;

    for (k = 0; k < p; k++) {
        rings->order[0][k] = order[k];
        rings->order[1][k] = order[(p - k) % p];
    }
    gr_rings_invert(rings, p);
}

void gr_rings_free(struct gr_rings *rings)
{
    free(rings->order[0]);
}

static int append(struct gr_neighbour *all, int n, uint32_t channel, const int *ranks, int nranks)
{
    int k;

    for (k = 0; k < nranks; k++) {
        all[n + k] = (struct gr_neighbour) {channel, ranks[k]};
    }
    return n + nranks;
}

int gr_neighbours_alloc(struct gr_neighbours *n, size_t most)
{
    *n = (struct gr_neighbours) {gr_calloc(most, sizeof(*n->in)), gr_calloc(most, sizeof(*n->out)),
                                 0, 0};
    if (NULL == n->in || NULL == n->out) {
        gr_neighbours_free(n);
        return GR_ERR_NOMEM;
    }
    return 0;
}

/* Whether two channels have the same schedules, and so the same neighbours. */
static int are_alike(const struct gr_rings *rings, enum gr_algo algo, uint32_t a, uint32_t b)
{
    int coll, alike = gr_algo_is_by_rank(algo) || a % 2 == b % 2;

    for (coll = 0; gr_algo_is_by_rank(algo) && coll < GR_NCOLLS; coll++) {
        uint32_t schedules = gr_algo_schedules(algo, (enum gr_coll) coll, &rings->torus);

        alike = alike && (uint32_t) gr_rings_lane(&rings->torus, a) % schedules ==
                             (uint32_t) gr_rings_lane(&rings->torus, b) % schedules;
    }
    return alike;
}

/* Append the neighbours of channel `from`, which are among the first n, as those of another. */
static int append_again(struct gr_neighbour *all, int n, uint32_t from, uint32_t channel)
{
    int k, end = n;

    for (k = 0; k < end; k++) {
        if (from == all[k].channel) {
            all[n++] = (struct gr_neighbour) {channel, all[k].rank};
        }
    }
    return n;
}

int gr_rings_neighbours(const struct gr_rings *rings, int p, int rank, uint32_t nchannels,
                        enum gr_algo algo, int root, struct gr_neighbours *n)
{
    int *in = gr_calloc(2 * (size_t) p, sizeof(int)), *out = NULL == in ? NULL : in + p;
    int nin, nout;
    uint32_t c, like;

    if (NULL == in || 0 != gr_neighbours_alloc(n, (size_t) nchannels * (size_t) p)) {
        free(in);
        return GR_ERR_NOMEM;
    }
    for (c = 0; c < nchannels; c++) {
        const int *where = rings->where[c % 2];
        int along = gr_algo_is_by_rank(algo);
        struct gr_sched s = {
            .algo = algo,
            .p = p,
            .pos = along ? rank : where[rank],
            .root = along ? root : where[root],
            .order = along ? NULL : rings->order[c % 2],
            .torus = rings->torus,
            .channel = gr_rings_lane(&rings->torus, c),
        };

        for (like = 0; like < c && !are_alike(rings, algo, like, c); like++) {
        }
        if (like < c) {
            n->nin = append_again(n->in, n->nin, like, c);
            n->nout = append_again(n->out, n->nout, like, c);
            continue;
        }
        gr_sched_peers(&s, in, &nin, out, &nout);
        n->nin = append(n->in, n->nin, c, in, nin);
        n->nout = append(n->out, n->nout, c, out, nout);
    }
    free(in);
    return 0;
}

/* Number of coordinates in which two ranks differ; without a torus they have one. */
static int differ(const struct gr_torus *torus, int a, int b)
{
    int d, n = 0;

    for (d = 0; d < torus->ndims; d++) {
        n += gr_torus_coord(torus, a, d) != gr_torus_coord(torus, b, d);
    }
    return torus->ndims > 0 ? n : a != b;
}

int gr_rings_lines(const struct gr_rings *rings, int p, int rank, struct gr_neighbours *n)
{
    int r, rc = gr_neighbours_alloc(n, (size_t) p);

    for (r = 0; 0 == rc && r < p; r++) {
        if (1 == differ(&rings->torus, rank, r)) {
            n->in[n->nin++] = n->out[n->nout++] = (struct gr_neighbour) {0, r};
        }
    }
    return rc;
}

void gr_neighbours_free(struct gr_neighbours *n)
{
    free(n->in);
    free(n->out);
}
