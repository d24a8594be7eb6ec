/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams and the making of links, team.h. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

static size_t nlinks(const struct gr_team *team)
{
    return (size_t) team->nchannels * (size_t) team->p;
}

static size_t link_index(const struct gr_team *team, uint32_t channel, int rank)
{
    return (size_t) channel * (size_t) team->p + (size_t) rank;
}

static void team_free(struct gr_team *team)
{
    int k;

    for (k = 0; k < 2; k++) {
        free(team->order[k]);
        free(team->where[k]);
    }
    free(team->in);
    free(team->out);
    free(team->frames);
    free(team->leases);
    free(team->links);
    free(team);
}

struct gr_team *gr_team_create(const struct gr_team_params *params)
{
    struct gr_team *team = calloc(1, sizeof(*team));
    size_t p = (size_t) params->p;
    int k, complete = 1;

    if (NULL == team) {
        return NULL;
    }
    team->p = params->p;
    team->rank = params->rank;
    team->nchannels = params->nchannels;
    team->nslots = params->nslots;
    team->slot_bytes = params->slot_bytes;
    for (k = 0; k < 2; k++) {
        team->order[k] = calloc(p, sizeof(int));
        team->where[k] = calloc(p, sizeof(int));
        complete = complete && NULL != team->order[k] && NULL != team->where[k];
    }
    team->in = calloc(nlinks(team), sizeof(*team->in));
    team->out = calloc(nlinks(team), sizeof(*team->out));
    team->frames = calloc(nlinks(team), sizeof(struct gr_frame *));
    team->leases = calloc(nlinks(team), sizeof(*team->leases));
    team->links = calloc(GR_NALGOS * p, 1);
    if (!complete || NULL == team->in || NULL == team->out || NULL == team->frames || NULL == team->leases ||
        NULL == team->links) {
        team_free(team);
        return NULL;
    }
    for (k = 0; k < 2; k++) {
        gr_order_ring(&params->torus, params->p, k, team->order[k]);
        gr_order_invert(team->order[k], params->p, team->where[k]);
    }
    return team;
}

void gr_team_destroy(struct gr_team *team, struct gr_pool *pool)
{
    size_t k;

    if (NULL == team) {
        return;
    }
    for (k = 0; NULL != pool && k < nlinks(team); k++) {
        if (NULL != team->frames[k]) {
            gr_pool_release(pool, team->frames[k], 1);
        }
        if (NULL != team->out[k].shared) {
            gr_pool_leave(team->out[k].shared, team->leases[k]);
        }
    }
    team_free(team);
}

/* Only trees have other links for another root. */
static unsigned char *links_of(const struct gr_team *team, enum gr_algo algo, int root)
{
    return &team->links[(size_t) algo * (size_t) team->p + (size_t) (GR_ALGO_TREE == algo ? root : 0)];
}

enum gr_links gr_team_links(const struct gr_team *team, enum gr_algo algo, int root)
{
    return (enum gr_links) *links_of(team, algo, root);
}

/* Append a wire for each peer to which there is no link yet. */
static int add_wires(struct gr_wire *wires, int n, const struct gr_team *team, const struct gr_link *links,
                     uint32_t channel, const int *peers, int npeers)
{
    int k;

    for (k = 0; k < npeers; k++) {
        if (NULL == links[link_index(team, channel, peers[k])].shared) {
            wires[n].channel = channel;
            wires[n++].rank = peers[k];
        }
    }
    return n;
}

static void find_wires(struct gr_join *join, int *in, int *out)
{
    struct gr_team *team = join->team;
    uint32_t c;
    int nin, nout;

    for (c = 0; c < team->nchannels; c++) {
        const int *where = team->where[c % 2];

        gr_algo_peers(join->algo, team->p, where[team->rank], where[join->root], team->order[c % 2], in, &nin, out,
                      &nout);
        join->nin = add_wires(join->in, join->nin, team, team->in, c, in, nin);
        join->nout = add_wires(join->out, join->nout, team, team->out, c, out, nout);
    }
}

/* Lease a frame for each incoming wire and write its offer. */
static int lease_wires(struct gr_join *join, struct gr_pool *pool)
{
    struct gr_frame **frames;
    int k, rc;

    if (0 == join->nin) {
        return 0;
    }
    frames = calloc((size_t) join->nin, sizeof(struct gr_frame *));
    if (NULL == frames) {
        return GR_ERR_NOMEM;
    }
    rc = gr_pool_lease(pool, gr_link_bytes(join->team->nslots, join->team->slot_bytes), join->nin, frames);
    for (k = 0; 0 == rc && k < join->nin; k++) {
        join->in[k].frame = frames[k];
        join->in[k].offer = gr_pool_offer(pool, frames[k]);
    }
    free(frames);
    return rc;
}

int gr_join_begin(struct gr_join *join, struct gr_team *team, struct gr_pool *pool, enum gr_algo algo, int root)
{
    size_t p = (size_t) team->p;
    int *peers = calloc(2 * p, sizeof(int));

    memset(join, 0, sizeof(*join));
    join->team = team;
    join->algo = algo;
    join->root = root;
    join->in = calloc(nlinks(team), sizeof(*join->in));
    join->out = calloc(nlinks(team), sizeof(*join->out));
    if (NULL == peers || NULL == join->in || NULL == join->out) {
        free(peers);
        free(join->in);
        free(join->out);
        return GR_ERR_NOMEM;
    }
    find_wires(join, peers, peers + p);
    free(peers);
    join->status = lease_wires(join, pool);
    return 0;
}

int gr_join_map(struct gr_join *join, struct gr_pool *pool)
{
    int k, rc;

    for (k = 0; k < join->nout && 0 == join->status; k++) {
        if (0 == join->out[k].offer.pid) {
            continue; /* that rank has a problem of its own and says so in the verdict */
        }
        join->out[k].shared = gr_pool_map(pool, &join->out[k].offer, &rc);
        join->status = rc;
    }
    return join->status;
}

void gr_join_end(struct gr_join *join, struct gr_pool *pool, int verdict)
{
    struct gr_team *team = join->team;
    int k;

    for (k = 0; k < join->nin; k++) {
        struct gr_wire *w = &join->in[k];
        size_t i = link_index(team, w->channel, w->rank);

        if (0 != verdict && NULL != w->frame) {
            gr_pool_release(pool, w->frame, 0);
        } else if (0 == verdict) {
            team->frames[i] = w->frame;
            gr_link_attach(&team->in[i], gr_frame_link(w->frame), w->offer.count, team->nslots, team->slot_bytes);
        }
    }
    for (k = 0; k < join->nout && 0 == verdict; k++) {
        struct gr_wire *w = &join->out[k];
        size_t i = link_index(team, w->channel, w->rank);

        team->leases[i] = w->offer.lease;
        gr_link_attach(&team->out[i], w->shared, w->offer.count, team->nslots, team->slot_bytes);
    }
    *links_of(team, join->algo, join->root) = 0 == verdict ? GR_LINKS_THERE : GR_LINKS_REFUSED;
    free(join->in);
    free(join->out);
    memset(join, 0, sizeof(*join));
}
