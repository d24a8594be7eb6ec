/* SPDX-License-Identifier: BSD-3-Clause */
/* The teams of team.h; join.c makes their links. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

static size_t nlinks(const struct gr_team *team)
{
    return (size_t) team->nchannels * (size_t) team->p;
}

static int boards_init(struct gr_boards *b, const struct gr_team_params *params, uint32_t nsets, size_t bytes)
{
    b->leases = calloc((size_t) params->p, sizeof(*b->leases));
    if (NULL == b->leases) {
        return GR_ERR_NOMEM;
    }
    return gr_mailbox_init(&b->box, params->p, params->rank, nsets, gr_board_stride(bytes), 0);
}

static void boards_free(struct gr_boards *b)
{
    free(b->leases);
    gr_mailbox_free(&b->box);
}

static int frames_init(struct gr_frames *f, const struct gr_team_params *params)
{
    f->bytes = params->note_bytes;
    f->base = calloc((size_t) params->p, sizeof(void *));
    f->leases = calloc((size_t) params->p, sizeof(*f->leases));
    return NULL != f->base && NULL != f->leases ? 0 : GR_ERR_NOMEM;
}

static void team_free(struct gr_team *team)
{
    gr_rings_free(&team->rings);
    free(team->in);
    free(team->out);
    free(team->frames);
    free(team->sent);
    free(team->leases);
    free(team->links);
    boards_free(&team->mail);
    boards_free(&team->arrivals);
    free(team->notes.base);
    free(team->notes.leases);
    free(team);
}

/* They need memory that all share. */
static void refuse_boards(struct gr_team *team)
{
    static const int ways[] = {GR_WAY_MAILBOX, GR_WAY_ARRIVALS, GR_WAY_NOTES};
    size_t k;

    for (k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
        *gr_team_state(team, ways[k], 0) = GR_LINKS_REFUSED;
    }
}

struct gr_team *gr_team_create(const struct gr_team_params *params)
{
    struct gr_team *team = calloc(1, sizeof(*team));
    size_t p = (size_t) params->p;
    int k, complete;

    if (NULL == team) {
        return NULL;
    }
    team->p = params->p;
    team->rank = params->rank;
    team->nchannels = params->nchannels;
    team->nslots = params->nslots;
    team->slot_bytes = params->slot_bytes;
    team->pids = params->pids;
    team->direct = params->direct && NULL == params->remote;
    team->remote = params->remote;
    complete = 0 == gr_rings_init(&team->rings, params->p);
    team->in = calloc(nlinks(team), sizeof(*team->in));
    team->out = calloc(nlinks(team), sizeof(*team->out));
    team->frames = calloc(nlinks(team), sizeof(struct gr_frame *));
    team->sent = calloc(nlinks(team), sizeof(struct gr_frame *));
    team->leases = calloc(nlinks(team), sizeof(*team->leases));
    team->links = calloc(GR_NWAYS_MADE * p, sizeof(*team->links));
    complete = complete && 0 == boards_init(&team->mail, params, params->nsets, params->box_bytes) &&
               0 == boards_init(&team->arrivals, params, GR_SETS, params->arrival_bytes) &&
               0 == frames_init(&team->notes, params);
    if (!complete || NULL == team->in || NULL == team->out || NULL == team->frames || NULL == team->sent ||
        NULL == team->leases || NULL == team->links) {
        team_free(team);
        return NULL;
    }
    team->rings.torus = params->torus;
    if (NULL != params->remote) {
        refuse_boards(team);
    }
    for (k = 0; k < 2; k++) {
        gr_order_ring(&params->torus, params->p, k, team->rings.order[k]);
    }
    for (k = 0; 0 == params->torus.ndims && NULL != params->order && k < params->p; k++) {
        team->rings.order[0][k] = params->order[k];
        team->rings.order[1][k] = params->order[(params->p - k) % params->p]; /* position 0 kept, as above */
    }
    gr_rings_invert(&team->rings, params->p);
    return team;
}

static void leave_boards(const struct gr_team *team, struct gr_boards *b, struct gr_pool *pool)
{
    int r;

    if (NULL == b->board) {
        return;
    }
    for (r = 0; r < team->p; r++) {
        /* at my own board, for myself too: every door of it has a user */
        gr_door_leave(&b->box.boards[r].doors[team->rank], b->leases[r]);
    }
    gr_pool_release(pool, b->board, 1);
}

static void leave_frames(const struct gr_team *team, struct gr_frames *f, struct gr_pool *pool)
{
    int r;

    if (NULL == f->mine) {
        return;
    }
    for (r = 0; r < team->p; r++) {
        gr_door_leave((struct gr_door *) f->base[r] + team->rank, f->leases[r]);
    }
    gr_pool_release(pool, f->mine, 1);
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
        if (NULL != team->sent[k]) {
            gr_pool_release(pool, team->sent[k], 1); /* its door is the network's */
        } else if (NULL != team->out[k].shared) {
            gr_door_leave(&team->out[k].shared->writer, team->leases[k]);
        }
    }
    if (NULL != pool) {
        leave_boards(team, &team->mail, pool);
        leave_boards(team, &team->arrivals, pool);
        leave_frames(team, &team->notes, pool);
    }
    team_free(team);
}

_Atomic unsigned char *gr_team_state(const struct gr_team *team, int way, int root)
{
    int rooted = way < GR_NALGOS && gr_algo_is_rooted((enum gr_algo) way);

    return &team->links[(size_t) way * (size_t) team->p + (size_t) (rooted ? root : 0)];
}

struct gr_boards *gr_team_boards(struct gr_team *team, int way)
{
    return GR_WAY_ARRIVALS == way ? &team->arrivals : &team->mail;
}

enum gr_links gr_team_links(const struct gr_team *team, int way, int root)
{
    return (enum gr_links) *gr_team_state(team, way, root);
}

void gr_team_ask(struct gr_team *team, int way, int root)
{
    *gr_team_state(team, way, root) = GR_LINKS_ASKED;
}
