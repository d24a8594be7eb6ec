/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of links in shared host memory: FIFOs and boards. */
#include "link/connect.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const struct gr_channel_set *set(const struct gr_join *join)
{
    return gr_team_channel_set(join->team, join->use);
}

static size_t link_index(const struct gr_team *team, const struct gr_connection *c)
{
    return (size_t) c->channel * (size_t) team->p + (size_t) c->rank;
}

static const struct gr_host_connection *host(const struct gr_connection *c)
{
    return (const void *) c;
}

static int is_boards(const struct gr_join *join)
{
    return &gr_host_boards == join->memory;
}

/* The boards of number k: the channel of their connections. */
static struct gr_boards *boards_at(const struct gr_join *join, uint32_t k)
{
    return gr_team_boards(join->team, join->use) + k;
}

static size_t board_bytes(const struct gr_boards *b)
{
    return gr_board_set_offset(b->box.p, b->box.nsets, b->box.stride);
}

/* Size of the slab that the reader of a link leases, or the owner of a board. */
static size_t slab_bytes(const struct gr_join *join, const struct gr_connection *c)
{
    const struct gr_channel_set *b = set(join);

    return is_boards(join) ? board_bytes(boards_at(join, c->channel))
                           : gr_link_bytes(b->nslots, b->slot_bytes);
}

/* A rank has one board in each group, and a slab for each incoming link. */
static size_t host_bytes(const struct gr_join *join)
{
    const struct gr_channel_set *b = set(join);
    size_t bytes = 0;
    int k;

    if (!is_boards(join)) {
        return gr_link_bytes(b->nslots, b->slot_bytes) * (size_t) join->in.n;
    }
    for (k = 0; k < gr_team_nboards(join->team, join->use); k++) {
        bytes += board_bytes(boards_at(join, (uint32_t) k));
    }
    return bytes;
}

/* Map a peer's slab. Its segment must have room for it. */
static int map(struct gr_join *join, struct gr_connection *c)
{
    struct gr_host_connection *w = (void *) c;
    int rc;

    w->base = gr_pool_map(join->pool, &w->handle, &rc);
    return 0 == rc && gr_slab_handle_room(&w->handle) < slab_bytes(join, c) ? GR_ERR_FOREIGN : rc;
}

static int finish(struct gr_join *join, struct gr_join_agreement *a)
{
    a->host.status = join->status;
    a->host.direct = join->team->direct;
    return join->status;
}

/* The team takes over what was agreed on. Only set-ups of links have tested `direct`. */
static void apply_agreement(struct gr_join *join, int status, const struct gr_join_agreement *a)
{
    join->team->direct = is_boards(join) ? join->team->direct : a->host.direct;
    gr_team_settle(join->team, join->use, join->root, join->nchannels, status);
}

/* ---- links ---- */

static int link_peers(const struct gr_join *join, struct gr_neighbours *n)
{
    const struct gr_team *team = join->team;

    return GR_USE_NOTES == join->use
               ? gr_rings_lines(&team->rings, team->p, team->rank, n)
               : gr_rings_neighbours(&team->rings, team->p, team->rank, join->nchannels,
                                     gr_use_algo(join->use), join->root, n);
}

static int has_link(const struct gr_join *join, int writes, const struct gr_connection *c)
{
    const struct gr_link *links = writes ? set(join)->out : set(join)->in;

    return NULL != links[link_index(join->team, c)].shared;
}

/* Lease a slab of that size for each of n connections and write its handle. */
static int lease_slabs(struct gr_pool *pool, size_t bytes, struct gr_host_connection *connections,
                       int n)
{
    struct gr_slab **slabs;
    int k, rc;

    if (0 == n) {
        return 0;
    }
    slabs = gr_calloc((size_t) n, sizeof(struct gr_slab *));
    if (NULL == slabs) {
        return GR_ERR_NOMEM;
    }
    rc = gr_pool_lease(pool, GR_SLAB_WHOLE, bytes, 1, n, slabs);
    for (k = 0; 0 == rc && k < n; k++) {
        connections[k].slab = slabs[k];
        connections[k].handle = gr_pool_export(pool, slabs[k]);
        gr_link_renew(gr_slab_base(slabs[k]));
    }
    free(slabs);
    return rc;
}

/* A slab for each incoming link, and one for each outgoing inter-node link. */
static int reserve_links(struct gr_join *join)
{
    const struct gr_channel_set *b = set(join);
    struct gr_connections *out = &join->out;
    int rc = lease_slabs(join->pool, gr_link_bytes(b->nslots, b->slot_bytes), join->in.host,
                         join->in.n),
        k;

    if (0 == rc) {
        rc = lease_slabs(join->pool, gr_link_net_bytes(b->nslots, b->slot_bytes),
                         out->host + out->near, out->n - out->near);
    }
    /* some writers never set the addresses that data are sent from */
    for (k = out->near; 0 == rc && k < out->n; k++) {
        memset(gr_link_data_at(gr_slab_base(out->host[k].slab), b->nslots, b->slot_bytes), 0,
               b->nslots * sizeof(void *));
    }
    return rc;
}

static struct gr_fifo link_fifo(const struct gr_join *join, const struct gr_connection *c,
                                int writes)
{
    const struct gr_channel_set *b = set(join);
    struct gr_link_shared *shared = gr_slab_base(host(c)->slab);
    struct gr_fifo fifo = gr_link_fifo(shared, 0, b->nslots, b->slot_bytes);

    fifo.valid_bytes = writes ? gr_link_valid_bytes(shared, b->nslots, b->slot_bytes) : NULL;
    fifo.data_at = writes ? gr_link_data_at(shared, b->nslots, b->slot_bytes) : NULL;
    fifo.lease = host(c)->handle.lease;
    return fifo;
}

static void attach(struct gr_link *l, const struct gr_channel_set *b,
                   const struct gr_host_connection *w)
{
    gr_link_attach(l, NULL == w->slab ? w->base : gr_slab_base(w->slab), 0, b->nslots,
                   b->slot_bytes);
    l->bell = w->end.bell;
}

static void take_links(struct gr_join *join, int status, const struct gr_join_agreement *a)
{
    const struct gr_channel_set *b = set(join);
    int k;

    for (k = 0; 0 == status && k < join->in.n; k++) {
        struct gr_host_connection *w = &join->in.host[k];
        size_t at = link_index(join->team, &w->end);

        b->slabs[at] = w->slab;
        attach(&b->in[at], b, w);
    }
    for (k = 0; 0 == status && k < join->out.n; k++) {
        struct gr_host_connection *w = &join->out.host[k];
        size_t at = link_index(join->team, &w->end);
        struct gr_link *l = &b->out[at];

        b->leases[at] = w->handle.lease;
        b->sent[at] = w->slab;
        attach(l, b, w);
        if (NULL != w->slab) {
            l->valid_bytes = gr_link_valid_bytes(l->shared, l->nslots, l->slot_bytes);
            l->data_at = gr_link_data_at(l->shared, l->nslots, l->slot_bytes);
        }
    }
    apply_agreement(join, status, a);
}

static void release(struct gr_join *join, struct gr_connection *c)
{
    if (NULL != host(c)->slab) {
        gr_pool_release(join->pool, host(c)->slab, NULL != c->bell);
    }
    if (NULL != host(c)->base) {
        gr_pool_unmap(join->pool, &host(c)->handle);
    }
}

const struct gr_link_memory gr_host_links = {
    .name = "links",
    .connection_size = sizeof(struct gr_host_connection),
    .handle_at = offsetof(struct gr_host_connection, handle),
    .handle_size = sizeof(struct gr_slab_handle),
    .peers = link_peers,
    .has = has_link,
    .reserve = reserve_links,
    .map = map,
    .finish = finish,
    .take = take_links,
    .release = release,
    .fifo = link_fifo,
    .host_bytes = host_bytes,
};

/* ---- boards: every rank of a group reads every other's ---- */

static int board_peers(const struct gr_join *join, struct gr_neighbours *n)
{
    int rc = gr_neighbours_alloc(n, (size_t) join->nchannels * (size_t) join->p), k;
    uint32_t c;

    for (c = 0; 0 == rc && c < join->nchannels; c++) {
        const struct gr_group *g = &boards_at(join, c)->group;

        for (k = 0; k < g->n; k++) {
            if (k != g->me) {
                n->in[n->nin++] = n->out[n->nout++] =
                    (struct gr_neighbour) {c, g->first + k * g->step};
            }
        }
    }
    return rc;
}

/*
 * A slab for this rank's board, empty at first. Sets that are zero are not written: that would
 * allocate their pages, and many communicators have one call. Their epoch is 0, which no call on
 * the board has, but where its epochs begin so high that they wrap.
 */
static int reserve_board(struct gr_join *join, const struct gr_boards *b, struct gr_slab **slab)
{
    const struct gr_mailbox *box = &b->box;
    int rc = gr_pool_lease(join->pool, GR_SLAB_SPARSE, board_bytes(b), box->p, 1, slab), is_zero;
    uint64_t used = 0;
    uint32_t k;

    if (0 != rc) {
        return rc;
    }
    for (k = 0; k < box->nsets && 0 == rc; k++) {
        rc =
            gr_pool_count(join->pool, *slab, gr_board_set_offset(box->p, k, box->stride), &is_zero);
        used |= (uint64_t) !is_zero << k;
    }
    if (0 != rc) {
        gr_pool_release(join->pool, *slab, 0);
        return rc;
    }
    gr_board_clean(gr_slab_base(*slab), box->p, box->nsets, box->stride, box->posted,
                   box->posted < box->nsets ? used : GR_ALL_SETS);
    return 0;
}

/* Scratch for calls that take several mailboxes. */
static int reserve_scratch(struct gr_join *join)
{
    struct gr_team *team = join->team;

    if (!gr_is_grouped(team->p) || GR_USE_AGREEMENT == join->use || GR_ALGO_LEADER == join->use ||
        NULL != team->scratch) {
        return 0;
    }
    team->scratch = gr_malloc(boards_at(join, 0)->box.stride);
    return NULL == team->scratch ? GR_ERR_NOMEM : 0;
}

/* A board in each group; its handle goes to all others there. Connections are by group. */
static int reserve_boards(struct gr_join *join)
{
    struct gr_slab *slab = NULL;
    int rc = reserve_scratch(join), first, k;

    for (k = 0; 0 == rc && k < join->in.n; k++) {
        struct gr_host_connection *c = &join->in.host[k];

        first = 0 == k || c[-1].end.channel != c->end.channel;
        rc = first ? reserve_board(join, boards_at(join, c->end.channel), &slab) : 0;
        if (0 == rc) {
            c->slab = first ? slab : NULL; /* released once */
            c->handle = gr_pool_export(join->pool, slab);
        }
    }
    return rc;
}

static void take_boards(struct gr_join *join, int status, const struct gr_join_agreement *a)
{
    int k;

    for (k = 0; 0 == status && k < join->in.n; k++) {
        struct gr_host_connection *c = &join->in.host[k];
        struct gr_boards *b = boards_at(join, c->end.channel);

        if (NULL != c->slab) {
            b->board = c->slab;
            b->leases[b->group.me] = c->handle.lease;
            gr_board_attach(&b->box, b->group.me, gr_slab_base(b->board));
        }
    }
    for (k = 0; 0 == status && k < join->out.n; k++) {
        struct gr_host_connection *w = &join->out.host[k];
        struct gr_boards *b = boards_at(join, w->end.channel);
        int member = gr_group_member(&b->group, w->end.rank);

        b->leases[member] = w->handle.lease;
        gr_board_attach(&b->box, member, w->base);
    }
    apply_agreement(join, status, a);
}

const struct gr_link_memory gr_host_boards = {
    .name = "mailboxes",
    .connection_size = sizeof(struct gr_host_connection),
    .handle_at = offsetof(struct gr_host_connection, handle),
    .handle_size = sizeof(struct gr_slab_handle),
    .peers = board_peers,
    .reserve = reserve_boards,
    .map = map,
    .finish = finish,
    .take = take_boards,
    .release = release,
    .host_bytes = host_bytes,
};

/* Make room for the links of a use, if it has some. 0, or GR_ERR_NOMEM. */
static int reserve_team(struct gr_team *team, int use)
{
    struct gr_channel_set *b = (struct gr_channel_set *) gr_team_channel_set(team, use);
    size_t n = (size_t) b->nchannels * (size_t) team->p;

    if (NULL != b->in || gr_use_has_boards(use)) {
        return 0;
    }
    b->in =
        gr_calloc(n + 1, 2 * sizeof(*b->in) + 2 * sizeof(struct gr_slab *) + sizeof(*b->leases));
    if (NULL == b->in) {
        return GR_ERR_NOMEM;
    }
    b->out = b->in + n;
    b->slabs = (void *) (b->out + n);
    b->sent = b->slabs + n;
    b->leases = (void *) (b->sent + n);
    return 0;
}

int gr_team_join(struct gr_join *join, struct gr_team *team, struct gr_pool *pool, int use,
                 int root, uint32_t nchannels)
{
    int boards = gr_use_has_boards(use);

    *join =
        (struct gr_join) {.memory = boards ? &gr_host_boards : &gr_host_links,
                          .team = team,
                          .pool = pool,
                          .p = team->p,
                          .nchannels = boards ? (uint32_t) gr_team_nboards(team, use) : nchannels,
                          .remote = boards ? NULL : team->remote,
                          .use = use,
                          .root = root};
    return 0 == reserve_team(team, use) ? gr_join_begin(join) : GR_ERR_NOMEM;
}
