/* SPDX-License-Identifier: BSD-3-Clause */
/* The teams of team.h; join.c makes their links. */
#include "team.h"

#include <stdlib.h>
#include <string.h>

static size_t nlinks(const struct gr_team *team)
{
    return (size_t) team->nchannels * (size_t) team->p;
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
    free(team->board_leases);
    free(team->links);
    gr_mailbox_free(&team->box);
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
    team->pids = params->pids;
    team->direct = params->direct;
    for (k = 0; k < 2; k++) {
        team->order[k] = calloc(p, sizeof(int));
        team->where[k] = calloc(p, sizeof(int));
        complete = complete && NULL != team->order[k] && NULL != team->where[k];
    }
    team->in = calloc(nlinks(team), sizeof(*team->in));
    team->out = calloc(nlinks(team), sizeof(*team->out));
    team->frames = calloc(nlinks(team), sizeof(struct gr_frame *));
    team->leases = calloc(nlinks(team), sizeof(*team->leases));
    team->board_leases = calloc(p, sizeof(*team->board_leases));
    team->links = calloc(GR_NWAYS * p, sizeof(*team->links));
    complete = complete && 0 == gr_mailbox_init(&team->box, params->p, params->rank, params->nsets,
                                                gr_board_stride(params->box_bytes), 0);
    if (!complete || NULL == team->in || NULL == team->out || NULL == team->frames || NULL == team->leases ||
        NULL == team->board_leases || NULL == team->links) {
        team_free(team);
        return NULL;
    }
    for (k = 0; k < 2; k++) {
        gr_order_ring(&params->torus, params->p, k, team->order[k]);
        gr_order_invert(team->order[k], params->p, team->where[k]);
    }
    return team;
}

static void leave_boards(struct gr_team *team, struct gr_pool *pool)
{
    int r;

    if (NULL == team->board) {
        return;
    }
    for (r = 0; r < team->p; r++) {
        /* at my own board, for myself too: every door of it has a user */
        gr_door_leave(&team->box.boards[r].doors[team->rank], team->board_leases[r]);
    }
    gr_pool_release(pool, team->board, 1);
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
            gr_door_leave(&team->out[k].shared->writer, team->leases[k]);
        }
    }
    if (NULL != pool) {
        leave_boards(team, pool);
    }
    team_free(team);
}

_Atomic unsigned char *gr_team_state(const struct gr_team *team, int way, int root)
{
    return &team->links[(size_t) way * (size_t) team->p + (size_t) (GR_ALGO_TREE == way ? root : 0)];
}

enum gr_links gr_team_links(const struct gr_team *team, int way, int root)
{
    return (enum gr_links) *gr_team_state(team, way, root);
}

void gr_team_ask(struct gr_team *team, int way, int root)
{
    *gr_team_state(team, way, root) = GR_LINKS_ASKED;
}
