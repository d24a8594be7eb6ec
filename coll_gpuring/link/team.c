/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams, without the making of their links (host_links.c). */
#include "link/team.h"

#include "base/memory.h"
#include "sched/cost.h"
#include "sched/sched.h"

#include <stdlib.h>

static struct gr_channel_set channel_set(uint32_t nchannels, uint32_t nslots, size_t slot_bytes)
{
    return (struct gr_channel_set) {
        .nchannels = nchannels, .nslots = nslots, .slot_bytes = slot_bytes};
}

/* A mailbox of a group, if this rank is in it. first: as gr_mailbox_init() takes it. */
static int boards_init(struct gr_boards *b, struct gr_group group, uint32_t nsets, size_t bytes,
                       uint64_t first)
{
    b->group = group;
    if (0 == group.n) {
        return 0;
    }
    b->leases = gr_calloc((size_t) group.n, sizeof(*b->leases));
    if (NULL == b->leases) {
        return GR_ERR_NOMEM;
    }
    return gr_mailbox_init(&b->box, group.n, group.me, nsets, gr_board_stride(bytes), first);
}

/* All boards of a team. */
static int all_boards_init(struct gr_team *team, const struct gr_team_params *params)
{
    int p = params->p, rank = params->rank, rc = 0, k;
    struct gr_group groups[GR_NBOARDS] = {
        [GR_BOARDS_AGREEMENT] = {.step = 1, .n = p, .me = rank, .end = p}};

    if (params->leader_bytes > 0) {
        groups[GR_BOARDS_LEADER] = groups[GR_BOARDS_AGREEMENT];
    }
    for (k = 0; k < GR_GROUP_LEVELS && GR_ALGO_MAILBOX == gr_mailbox_use(GR_COLL_BARRIER, p); k++) {
        groups[GR_BOARDS_MAILBOX + k] = gr_group_at(p, rank, k);
    }
    if (GR_USE_GRID == gr_mailbox_use(GR_COLL_ALLTOALL, p)) {
        groups[GR_BOARDS_GRID] = gr_grid_row(p, rank);
        groups[GR_BOARDS_GRID + 1] = gr_grid_column(p, rank);
    }
    for (k = 0; 0 == rc && k < GR_NBOARDS; k++) {
        uint32_t nsets = GR_BOARDS_AGREEMENT == k ? GR_SETS : params->nsets;
        size_t bytes = GR_BOARDS_AGREEMENT == k ? params->record_bytes : params->mailbox_bytes;

        /* the first call then uses set 0, which shares its page with the records before it */
        rc = GR_BOARDS_LEADER == k
                 ? boards_init(&team->boards[k], groups[k], GR_LEADER_SETS, params->leader_bytes, 0)
                 : boards_init(&team->boards[k], groups[k], nsets, bytes, nsets - 1);
    }
    return rc;
}

static void boards_free(struct gr_boards *b)
{
    free(b->leases);
    gr_mailbox_free(&b->box);
}

static void team_free(struct gr_team *team)
{
    int k;

    gr_rings_free(&team->rings);
    free(team->data.in);
    free(team->small.in);
    free(team->notes.in);
    free(team->links);
    free(team->scratch);
    for (k = 0; k < GR_NBOARDS; k++) {
        boards_free(&team->boards[k]);
    }
    free(team);
}

/* Boards need memory that all ranks share. */
static void refuse_boards(struct gr_team *team)
{
    static const int uses[] = {GR_ALGO_MAILBOX, GR_ALGO_LEADER, GR_USE_AGREEMENT, GR_USE_GRID};
    size_t k;

    for (k = 0; k < sizeof(uses) / sizeof(uses[0]); k++) {
        gr_team_ask(team, uses[k], 0, 1);
        gr_team_settle(team, uses[k], 0, 1, GR_ERR_FOREIGN);
    }
}

struct gr_team *gr_team_create(const struct gr_team_params *params)
{
    struct gr_team *team = gr_calloc(1, sizeof(*team));
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
    team->links = gr_calloc(GR_NUSES * (size_t) params->p, sizeof(*team->links));
    complete = complete && 0 == all_boards_init(team, params);
    team->data = channel_set(params->nchannels, params->nslots, params->slot_bytes);
    team->small = channel_set(params->small_slots > 0 ? params->nchannels : 0, params->small_slots,
                              params->small_bytes);
    team->notes = channel_set(params->note_slots > 0, params->note_slots, params->note_bytes);
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

static void leave_boards(struct gr_boards *b, struct gr_pool *pool)
{
    int r;

    if (NULL == b->board) {
        return;
    }
    for (r = 0; r < b->box.p; r++) {
        /* also its own record on its own board */
        gr_lease_leave(&b->box.boards[r].users[b->box.rank], b->leases[r]);
    }
    gr_pool_release(pool, b->board, 1);
}

static void leave_channel_set(struct gr_channel_set *b, int p, struct gr_pool *pool)
{
    size_t n = NULL == b->in ? 0 : (size_t) b->nchannels * (size_t) p, k;

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
    int k;

    if (NULL == team) {
        return;
    }
    if (NULL != pool) {
        leave_channel_set(&team->data, team->p, pool);
        leave_channel_set(&team->small, team->p, pool);
        leave_channel_set(&team->notes, team->p, pool);
        for (k = 0; k < GR_NBOARDS; k++) {
            leave_boards(&team->boards[k], pool);
        }
    }
    team_free(team);
}

static struct gr_links_state *state_of(const struct gr_team *team, int use, int root)
{
    int rooted = (use < GR_NALGOS || use >= GR_USE_SMALL) && gr_algo_is_rooted(gr_use_algo(use));

    return &team->links[(size_t) use * (size_t) team->p + (size_t) (rooted ? root : 0)];
}

struct gr_boards *gr_team_boards(struct gr_team *team, int use)
{
    return &team->boards[GR_USE_AGREEMENT == use ? GR_BOARDS_AGREEMENT
                         : GR_ALGO_LEADER == use ? GR_BOARDS_LEADER
                         : GR_USE_GRID == use    ? GR_BOARDS_GRID
                                                 : GR_BOARDS_MAILBOX];
}

int gr_team_nboards(struct gr_team *team, int use)
{
    const struct gr_boards *b = gr_team_boards(team, use);
    int most = GR_USE_AGREEMENT == use || GR_ALGO_LEADER == use ? 1
               : GR_USE_GRID == use                             ? 2
                                                                : GR_GROUP_LEVELS,
        n = 0;

    while (n < most && b[n].group.n > 0) {
        n++;
    }
    return n;
}

const struct gr_channel_set *gr_team_channel_set(const struct gr_team *team, int use)
{
    return GR_USE_NOTES == use ? &team->notes : use >= GR_USE_SMALL ? &team->small : &team->data;
}

/* Channels in the state of a use: boards and notes have one. */
static uint32_t counted(int use, uint32_t nchannels)
{
    return gr_use_has_boards(use) || GR_USE_NOTES == use ? 1 : nchannels;
}

uint32_t gr_team_channels(const struct gr_team *team, int use, uint32_t nchannels)
{
    uint32_t most = counted(use, gr_team_channel_set(team, use)->nchannels), n = 1;

    while (n < nchannels && n < most) {
        n *= 2;
    }
    return n < most ? n : most;
}

enum gr_links gr_team_links(const struct gr_team *team, int use, int root, uint32_t nchannels)
{
    const struct gr_links_state *state = state_of(team, use, root);

    nchannels = counted(use, nchannels);
    /* first what is equal on all ranks: a call that asks does so on all of them */
    if (state->asked < nchannels) {
        return GR_LINKS_NONE;
    }
    return state->there >= nchannels ? GR_LINKS_THERE
           : state->refused          ? GR_LINKS_REFUSED
                                     : GR_LINKS_ASKED;
}

void gr_team_ask(struct gr_team *team, int use, int root, uint32_t nchannels)
{
    struct gr_links_state *state = state_of(team, use, root);

    state->asked = state->asked < nchannels ? (unsigned char) nchannels : state->asked;
}

void gr_team_settle(struct gr_team *team, int use, int root, uint32_t nchannels, int status)
{
    struct gr_links_state *state = state_of(team, use, root);

    nchannels = counted(use, nchannels);
    gr_team_ask(team, use, root, nchannels); /* tests make links without */
    if (0 == status && state->there < nchannels) {
        state->there = (unsigned char) nchannels;
    }
    state->refused = 0 != status;
}

/* ---- the need of a set-up ---- */

/* Notes go along all dimensions, to all ranks of a row. */
static struct gr_links_count count_lines(const struct gr_team *team)
{
    const struct gr_torus *torus = &team->rings.torus;
    int d, n = 0;

    for (d = 0; d < torus->ndims; d++) {
        n += torus->dims[d] - 1;
    }
    n = torus->ndims > 0 ? n : team->p - 1;
    return (struct gr_links_count) {n, n};
}

struct gr_need gr_team_need(const struct gr_team *team, int use, uint32_t nchannels)
{
    const struct gr_channel_set *set = gr_team_channel_set(team, use);
    struct gr_links_count n = GR_USE_NOTES == use
                                  ? count_lines(team)
                                  : gr_algo_links(gr_use_algo(use), team->p, &team->rings.torus);
    size_t link = gr_link_bytes(set->nslots, set->slot_bytes);
    int channels = (int) nchannels, ends = 1;

    if (NULL != team->remote) { /* a slab at both ends, and a reply to each handle */
        link += gr_link_net_bytes(set->nslots, set->slot_bytes);
        ends = 2;
    }
    /* the agreement is by dissemination */
    return (struct gr_need) {.links = n.most * channels,
                             .bytes = (size_t) (n.mean * channels) * link,
                             .most_bytes = (size_t) (n.most * channels) * link,
                             .messages = n.most * channels * ends + gr_doubling_rounds(team->p)};
}
