/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams, without the making of their links (host_links.c). */
#include "link/team.h"

#include <stdlib.h>
#include <string.h>

static int channel_set_init(struct gr_channel_set *b, uint32_t nchannels, uint32_t nslots,
                            size_t slot_bytes, int p)
{
    size_t n = (size_t) nchannels * (size_t) p;

    b->nchannels = nchannels;
    b->nslots = nslots;
    b->slot_bytes = slot_bytes;
    b->in = calloc(n + 1, sizeof(*b->in)); /* + 1: n may be 0 */
    b->out = calloc(n + 1, sizeof(*b->out));
    b->slabs = calloc(n + 1, sizeof(struct gr_slab *));
    b->sent = calloc(n + 1, sizeof(struct gr_slab *));
    b->leases = calloc(n + 1, sizeof(*b->leases));
    return NULL != b->in && NULL != b->out && NULL != b->slabs && NULL != b->sent &&
                   NULL != b->leases
               ? 0
               : GR_ERR_NOMEM;
}

static void channel_set_free(struct gr_channel_set *b)
{
    free(b->in);
    free(b->out);
    free(b->slabs);
    free(b->sent);
    free(b->leases);
}

static int boards_init(struct gr_boards *b, const struct gr_team_params *params, uint32_t nsets,
                       size_t bytes)
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

static void team_free(struct gr_team *team)
{
    gr_rings_free(&team->rings);
    channel_set_free(&team->data);
    channel_set_free(&team->small);
    channel_set_free(&team->notes);
    free(team->links);
    boards_free(&team->mailbox);
    boards_free(&team->agreement);
    free(team);
}

/* Boards need memory that all ranks share. */
static void refuse_boards(struct gr_team *team)
{
    static const int ways[] = {GR_WAY_MAILBOX, GR_WAY_AGREEMENT};
    size_t k;

    for (k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
        *gr_team_state(team, ways[k], 0) = GR_LINKS_REFUSED;
    }
}

struct gr_team *gr_team_create(const struct gr_team_params *params)
{
    struct gr_team *team = calloc(1, sizeof(*team));
    int k, complete;

    if (NULL == team) {
        return NULL;
    }
    team->p = params->p;
    team->rank = params->rank;
    team->pids = params->pids;
    team->direct = params->direct && NULL == params->remote;
    team->remote = params->remote;
    complete = 0 == gr_rings_init(&team->rings, params->p);
    team->links = calloc(GR_NWAYS_MADE * (size_t) params->p, sizeof(*team->links));
    complete = complete &&
               0 == boards_init(&team->mailbox, params, params->nsets, params->mailbox_bytes) &&
               0 == boards_init(&team->agreement, params, GR_SETS, params->record_bytes) &&
               0 == channel_set_init(&team->data, params->nchannels, params->nslots,
                                     params->slot_bytes, params->p) &&
               0 == channel_set_init(&team->small, params->small_slots > 0 ? params->nchannels : 0,
                                     params->small_slots, params->small_bytes, params->p) &&
               0 == channel_set_init(&team->notes, params->note_slots > 0, params->note_slots,
                                     params->note_bytes, params->p);
    if (!complete || NULL == team->links) {
        team_free(team);
        return NULL;
    }
    team->rings.torus = params->torus;
    if (NULL != params->remote) {
        refuse_boards(team);
    }
    if (0 == params->torus.ndims && NULL != params->order) {
        gr_rings_fill(&team->rings, params->p, params->order);
        return team;
    }
    for (k = 0; k < 2; k++) {
        gr_order_ring(&params->torus, params->p, k, team->rings.order[k]);
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
        /* also its own record on its own board */
        gr_lease_leave(&b->box.boards[r].users[team->rank], b->leases[r]);
    }
    gr_pool_release(pool, b->board, 1);
}

static void leave_channel_set(struct gr_channel_set *b, int p, struct gr_pool *pool)
{
    size_t n = (size_t) b->nchannels * (size_t) p, k;

    for (k = 0; k < n; k++) {
        if (NULL != b->slabs[k]) {
            gr_pool_release(pool, b->slabs[k], 1);
        }
        if (NULL != b->sent[k]) {
            gr_pool_release(pool, b->sent[k], 1); /* the network leaves the lease */
        } else if (NULL != b->out[k].shared) {
            gr_lease_leave(&b->out[k].shared->writer, b->leases[k]);
        }
    }
}

void gr_team_destroy(struct gr_team *team, struct gr_pool *pool)
{
    if (NULL == team) {
        return;
    }
    if (NULL != pool) {
        leave_channel_set(&team->data, team->p, pool);
        leave_channel_set(&team->small, team->p, pool);
        leave_channel_set(&team->notes, team->p, pool);
        leave_boards(team, &team->mailbox, pool);
        leave_boards(team, &team->agreement, pool);
    }
    team_free(team);
}

_Atomic unsigned char *gr_team_state(const struct gr_team *team, int way, int root)
{
    int rooted = (way < GR_NALGOS || way >= GR_WAY_SMALL) && gr_algo_is_rooted(gr_way_algo(way));

    return &team->links[(size_t) way * (size_t) team->p + (size_t) (rooted ? root : 0)];
}

struct gr_boards *gr_team_boards(struct gr_team *team, int way)
{
    return GR_WAY_AGREEMENT == way ? &team->agreement : &team->mailbox;
}

struct gr_channel_set *gr_team_channel_set(struct gr_team *team, int way)
{
    return GR_WAY_NOTES == way ? &team->notes : way >= GR_WAY_SMALL ? &team->small : &team->data;
}

enum gr_links gr_team_links(const struct gr_team *team, int way, int root)
{
    return (enum gr_links) * gr_team_state(team, way, root);
}

void gr_team_ask(struct gr_team *team, int way, int root)
{
    *gr_team_state(team, way, root) = GR_LINKS_ASKED;
}
