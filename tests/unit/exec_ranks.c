/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a communicator in one process, and their links (exec_ranks.h). */
#include "exec_ranks.h"

#include "base/cma.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNMATCHED = -1000 };

int ex_team(struct ex_world *w)
{
    int r, k;

    for (r = 0; r < w->params.p; r++) {
        struct gr_team_params params = w->params;

        params.rank = r;
        w->ranks[r].team = gr_team_create(&params);
        if (NULL == w->ranks[r].team) {
            snprintf(w->why, sizeof(w->why), "rank %d: no team", r);
            return -1;
        }
        for (k = 0; 0 != w->first && k < GR_BOARDS_AGREEMENT; k++) {
            gr_mailbox_begin_at(&w->ranks[r].team->boards[k].box, w->first);
        }
    }
    return 0;
}

int ex_open(struct ex_world *w, const struct gr_team_params *params, size_t pool_bytes,
            uint64_t seed)
{
    int r;

    memset(w, 0, sizeof(*w));
    w->params = *params;
    w->params.note_slots = GR_NOTE_SLOTS;
    w->params.note_bytes = GR_NOTE_BYTES;
    w->params.pids = w->pids;
    w->params.direct = 1;
    w->seed = seed;
    w->ranks = calloc((size_t) params->p, sizeof(*w->ranks));
    if (NULL == w->ranks || 0 != pthread_barrier_init(&w->barrier, NULL, (unsigned) params->p)) {
        abort();
    }
    for (r = 0; r < params->p; r++) {
        struct gr_peer_id self = {1, (uint64_t) r};

        w->ranks[r].world = w;
        w->ranks[r].rank = r;
        w->ranks[r].pool = gr_pool_open(self, pool_bytes);
        w->ranks[r].bounce = malloc(GR_BOUNCE_BYTES);
        w->pids[r] = (int32_t) getpid();
        if (NULL == w->ranks[r].pool || NULL == w->ranks[r].bounce) {
            abort();
        }
    }
    return ex_team(w);
}

void ex_leave(struct ex_world *w)
{
    int r;

    for (r = 0; r < w->params.p; r++) {
        if (GR_SYNC_NONE != w->sync) {
            gr_timer_free(&w->ranks[r].timer);
        }
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
        free(w->ranks[r].bounce);
    }
    pthread_barrier_destroy(&w->barrier);
    free(w->ranks);
    w->ranks = NULL;
}

int ex_can_fetch(void)
{
    struct gr_probe probe = gr_probe_make();

    return gr_probe_test(&probe);
}

/*
 * ---- making links, in phases; every rank must be through with one before any begins the next ----
 */

static struct gr_host_connection *find_connection(const struct gr_connections *connections,
                                                  uint32_t channel, int rank)
{
    int k;

    for (k = 0; k < connections->n; k++) {
        if (connections->host[k].end.channel == channel && connections->host[k].end.rank == rank) {
            return &connections->host[k];
        }
    }
    return NULL;
}

static void phase_begin(struct ex_rank *r, int use, int root)
{
    uint32_t nchannels = 0 == r->world->channels ? GR_MAX_CHANNELS : r->world->channels;

    r->joined.host.status = gr_team_join(&r->join, r->team, r->pool, use, root,
                                         gr_team_channels(r->team, use, nchannels));
}

/* Hand each handle to its writer. */
static void phase_deliver(struct ex_rank *r, int use, int root)
{
    int k;

    (void) use;
    (void) root;
    for (k = 0; k < r->join.in.n; k++) {
        struct gr_host_connection *in = &r->join.in.host[k];
        struct gr_join *writer = &r->world->ranks[in->end.rank].join;
        struct gr_host_connection *out = find_connection(&writer->out, in->end.channel, r->rank);

        if (NULL == out) {
            r->joined.host.status = UNMATCHED;
        } else {
            out->handle = in->handle;
        }
    }
}

static void phase_map(struct ex_rank *r, int use, int root)
{
    struct gr_join_agreement mine;
    int k;

    (void) use;
    (void) root;
    (void) gr_join_map(&r->join, &mine);
    for (k = 0; k < r->join.out.n; k++) {
        struct gr_host_connection *out = &r->join.out.host[k];
        struct gr_join *reader = &r->world->ranks[out->end.rank].join;
        struct gr_host_connection *in = find_connection(&reader->in, out->end.channel, r->rank);

        if (NULL == in) {
            mine.host.status = UNMATCHED;
        } else if (EX_TSAN && NULL != out->base) {
            /* the connections of a board share the slab of the first */
            while (NULL == in->slab) {
                in--;
            }
            out->base = gr_slab_base(in->slab);
        }
    }
    r->joined.host.status =
        r->joined.host.status < mine.host.status ? r->joined.host.status : mine.host.status;
    r->joined.host.direct = mine.host.direct;
}

static void phase_end(struct ex_rank *r, int use, int root)
{
    struct ex_world *w = r->world;
    struct gr_join_agreement agreed = w->ranks[0].joined;
    int k;

    (void) use;
    (void) root;
    for (k = 1; k < w->params.p; k++) {
        agreed = gr_join_agreement_combine(agreed, w->ranks[k].joined);
    }
    if (0 == r->rank) {
        w->agreed = agreed;
    }
    gr_join_end(&r->join, agreed.host.status, &agreed);
}

static void (*const phases[])(struct ex_rank *, int, int) = {phase_begin, phase_deliver, phase_map,
                                                             phase_end};
enum { NPHASES = sizeof(phases) / sizeof(phases[0]) };

int ex_link(struct ex_world *w, int use, int root)
{
    int phase, r;

    for (phase = 0; phase < NPHASES; phase++) {
        for (r = 0; r < w->params.p; r++) {
            phases[phase](&w->ranks[r], use, root);
        }
    }
    return w->agreed.host.status;
}

void ex_link_rank(struct ex_rank *r, int use, int root)
{
    int phase;

    for (phase = 0; phase < NPHASES; phase++) {
        phases[phase](r, use, root);
        pthread_barrier_wait(&r->world->barrier);
    }
}

void ex_timers(struct ex_world *w, enum gr_step_sync sync)
{
    int r;

    if (0 != ex_link(w, GR_USE_NOTES, 0)) {
        abort();
    }
    w->sync = sync;
    for (r = 0; r < w->params.p; r++) {
        struct ex_rank *rank = &w->ranks[r];

        struct gr_channel_set *notes = &rank->team->notes;

        if (0 != gr_sync_port_init(&rank->port, notes->in, notes->out, w->params.p, 1) ||
            0 != gr_timer_init(&rank->timer, sync, &rank->port.port, &w->params.torus, w->params.p,
                               r)) {
            abort();
        }
    }
}
