/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of exec_ranks.h, and the making of links between them. */
#include "exec_ranks.h"

#include <stdlib.h>
#include <string.h>

enum { UNMATCHED = -1000 };

int ex_team(struct ex_world *w)
{
    int r;

    for (r = 0; r < w->params.p; r++) {
        struct gr_team_params params = w->params;

        params.rank = r;
        w->ranks[r].team = gr_team_create(&params);
        if (NULL == w->ranks[r].team) {
            snprintf(w->why, sizeof(w->why), "rank %d: no team", r);
            return -1;
        }
    }
    return 0;
}

int ex_open(struct ex_world *w, const struct gr_team_params *params, size_t pool_bytes, uint64_t seed)
{
    int r;

    memset(w, 0, sizeof(*w));
    w->params = *params;
    w->seed = seed;
    w->ranks = calloc((size_t) params->p, sizeof(*w->ranks));
    if (NULL == w->ranks || 0 != pthread_barrier_init(&w->barrier, NULL, (unsigned) params->p)) {
        abort();
    }
    for (r = 0; r < params->p; r++) {
        struct gr_peer_id self = {1, (uint64_t) r};

        w->ranks[r].world = w;
        w->ranks[r].rank = r;
        w->ranks[r].pool = gr_pool_open("/dev/shm", self, pool_bytes);
        if (NULL == w->ranks[r].pool) {
            abort();
        }
    }
    return ex_team(w);
}

void ex_leave(struct ex_world *w)
{
    int r;

    for (r = 0; r < w->params.p; r++) {
        gr_team_destroy(w->ranks[r].team, w->ranks[r].pool);
        w->ranks[r].team = NULL;
    }
}

void ex_close(struct ex_world *w)
{
    int r;

    ex_leave(w);
    for (r = 0; r < w->params.p; r++) {
        gr_pool_close(w->ranks[r].pool);
    }
    pthread_barrier_destroy(&w->barrier);
    free(w->ranks);
    w->ranks = NULL;
}

/* ---- making links, in phases; every rank must be through with one before any begins the next ---- */

static struct gr_wire *find_wire(struct gr_wire *wires, int n, uint32_t channel, int rank)
{
    int k;

    for (k = 0; k < n; k++) {
        if (wires[k].channel == channel && wires[k].rank == rank) {
            return &wires[k];
        }
    }
    return NULL;
}

static void phase_begin(struct ex_rank *r, enum gr_algo algo, int root)
{
    r->joined = gr_join_begin(&r->join, r->team, r->pool, algo, root);
}

/* Hand each offer to its writer. */
static void phase_deliver(struct ex_rank *r, enum gr_algo algo, int root)
{
    int k;

    (void) algo;
    (void) root;
    for (k = 0; k < r->join.nin; k++) {
        struct gr_wire *in = &r->join.in[k];
        struct gr_join *writer = &r->world->ranks[in->rank].join;
        struct gr_wire *out = find_wire(writer->out, writer->nout, in->channel, r->rank);

        if (NULL == out) {
            r->joined = UNMATCHED;
        } else {
            out->offer = in->offer;
        }
    }
}

static void phase_map(struct ex_rank *r, enum gr_algo algo, int root)
{
    int k, rc = gr_join_map(&r->join, r->pool);

    (void) algo;
    (void) root;
    for (k = 0; k < r->join.nout; k++) {
        struct gr_wire *out = &r->join.out[k];
        struct gr_join *reader = &r->world->ranks[out->rank].join;
        struct gr_wire *in = find_wire(reader->in, reader->nin, out->channel, r->rank);

        if (NULL == in) {
            rc = UNMATCHED;
        } else if (EX_TSAN && NULL != out->shared) {
            out->shared = gr_frame_link(in->frame);
        }
    }
    r->joined = rc < r->joined ? rc : r->joined;
}

static void phase_end(struct ex_rank *r, enum gr_algo algo, int root)
{
    struct ex_world *w = r->world;
    int k, verdict = 0;

    (void) algo;
    (void) root;
    for (k = 0; k < w->params.p; k++) {
        verdict = w->ranks[k].joined < verdict ? w->ranks[k].joined : verdict;
    }
    if (0 == r->rank) {
        w->verdict = verdict;
    }
    gr_join_end(&r->join, r->pool, verdict);
}

static void (*const phases[])(struct ex_rank *, enum gr_algo, int) = {phase_begin, phase_deliver, phase_map,
                                                                      phase_end};
enum { NPHASES = sizeof(phases) / sizeof(phases[0]) };

int ex_link(struct ex_world *w, enum gr_algo algo, int root)
{
    int phase, r;

    for (phase = 0; phase < NPHASES; phase++) {
        for (r = 0; r < w->params.p; r++) {
            phases[phase](&w->ranks[r], algo, root);
        }
    }
    return w->verdict;
}

void ex_link_rank(struct ex_rank *r, enum gr_algo algo, int root)
{
    int phase;

    for (phase = 0; phase < NPHASES; phase++) {
        phases[phase](r, algo, root);
        pthread_barrier_wait(&r->world->barrier);
    }
}
