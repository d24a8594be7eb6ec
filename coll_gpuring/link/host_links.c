/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of links in shared host memory: FIFOs and boards. */
#include "link/host_links.h"

#include <stdlib.h>
#include <string.h>

static struct gr_channel_set *set(const struct gr_join *join)
{
    return gr_team_channel_set(join->team, join->way);
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

/* Size of a slab that peers map. */
static size_t slab_bytes(const struct gr_join *join)
{
    const struct gr_channel_set *b = set(join);
    const struct gr_mailbox *box = &gr_team_boards(join->team, join->way)->box;

    return is_boards(join) ? gr_board_bytes(box->p, box->nsets, box->stride)
                           : gr_link_bytes(b->nslots, b->slot_bytes);
}

/* A rank has one board, and a slab for each incoming link. */
static size_t host_bytes(const struct gr_join *join)
{
    return slab_bytes(join) * (size_t) (is_boards(join) ? 1 : join->in.n);
}

/* Map a peer's slab. Its segment must have room for it. */
static int map(struct gr_join *join, struct gr_connection *c)
{
    struct gr_host_connection *w = (void *) c;
    int rc;

    w->base = gr_pool_map(join->pool, &w->handle, &rc);
    return 0 == rc && gr_slab_handle_room(&w->handle) < slab_bytes(join) ? GR_ERR_FOREIGN : rc;
}

static int finish(struct gr_join *join, struct gr_join_agreement *a)
{
    a->host.status = join->status;
    a->host.direct = join->team->direct;
    return join->status;
}

/* The team takes over what was agreed on. */
static void apply_agreement(struct gr_join *join, int status, const struct gr_join_agreement *a)
{
    join->team->direct = a->host.direct;
    *gr_team_state(join->team, join->way, join->root) =
        0 == status ? GR_LINKS_THERE : GR_LINKS_REFUSED;
}

/* ---- links ---- */

static int link_peers(const struct gr_join *join, struct gr_neighbours *n)
{
    const struct gr_team *team = join->team;

    return GR_WAY_NOTES == join->way
               ? gr_rings_lines(&team->rings, team->p, team->rank, n)
               : gr_rings_neighbours(&team->rings, team->p, team->rank, set(join)->nchannels,
                                     gr_way_algo(join->way), join->root, n);
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
    slabs = calloc((size_t) n, sizeof(struct gr_slab *));
    if (NULL == slabs) {
        return GR_ERR_NOMEM;
    }
    rc = gr_pool_lease(pool, bytes, 1, n, slabs);
    for (k = 0; 0 == rc && k < n; k++) {
        connections[k].slab = slabs[k];
        connections[k].handle = gr_pool_export(pool, slabs[k]);
        connections[k].handle.count = gr_link_renew(gr_slab_base(slabs[k]));
    }
    free(slabs);
    return rc;
}

/* A slab for each incoming link, and one for each outgoing inter-node link. */
static int reserve_links(struct gr_join *join)
{
    const struct gr_channel_set *b = set(join);
    struct gr_connections *out = &join->out;
    int rc = lease_slabs(join->pool, slab_bytes(join), join->in.host, join->in.n), k;

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
    struct gr_fifo fifo = gr_link_fifo(shared, host(c)->handle.count, b->nslots, b->slot_bytes);

    fifo.valid_bytes = writes ? gr_link_valid_bytes(shared, b->nslots, b->slot_bytes) : NULL;
    fifo.data_at = writes ? gr_link_data_at(shared, b->nslots, b->slot_bytes) : NULL;
    fifo.lease = host(c)->handle.lease;
    return fifo;
}

static void attach(struct gr_link *l, const struct gr_channel_set *b,
                   const struct gr_host_connection *w)
{
    gr_link_attach(l, NULL == w->slab ? w->base : gr_slab_base(w->slab), w->handle.count, b->nslots,
                   b->slot_bytes);
    l->bell = w->end.bell;
}

static void take_links(struct gr_join *join, int status, const struct gr_join_agreement *a)
{
    struct gr_channel_set *b = set(join);
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

/* ---- boards: every rank reads every other's ---- */

static int board_peers(const struct gr_join *join, struct gr_neighbours *n)
{
    const struct gr_rings no_torus = {.torus = {.ndims = 0}};

    return gr_rings_lines(&no_torus, join->team->p, join->team->rank, n);
}

/* One slab for this rank's board, empty at first; its handle goes to all. */
static int reserve_board(struct gr_join *join)
{
    struct gr_mailbox *box = &gr_team_boards(join->team, join->way)->box;
    struct gr_slab *slab;
    int k, rc = gr_pool_lease(join->pool, slab_bytes(join), box->p, 1, &slab);

    if (0 == rc) {
        gr_board_clean(gr_slab_base(slab), box->p, box->nsets, box->stride, box->posted);
    }
    for (k = 0; 0 == rc && k < join->in.n; k++) {
        join->in.host[k].slab = 0 == k ? slab : NULL; /* released once */
        join->in.host[k].handle = gr_pool_export(join->pool, slab);
    }
    return rc;
}

static void take_boards(struct gr_join *join, int status, const struct gr_join_agreement *a)
{
    struct gr_team *team = join->team;
    struct gr_boards *b = gr_team_boards(team, join->way);
    int k;

    if (0 == status) {
        b->board = join->in.host[0].slab;
        b->leases[team->rank] = join->in.host[0].handle.lease;
        gr_board_attach(&b->box, team->rank, gr_slab_base(b->board));
    }
    for (k = 0; 0 == status && k < join->out.n; k++) {
        struct gr_host_connection *w = &join->out.host[k];

        b->leases[w->end.rank] = w->handle.lease;
        gr_board_attach(&b->box, w->end.rank, w->base);
    }
    apply_agreement(join, status, a);
}

const struct gr_link_memory gr_host_boards = {
    .name = "mailboxes",
    .connection_size = sizeof(struct gr_host_connection),
    .handle_at = offsetof(struct gr_host_connection, handle),
    .handle_size = sizeof(struct gr_slab_handle),
    .peers = board_peers,
    .reserve = reserve_board,
    .map = map,
    .finish = finish,
    .take = take_boards,
    .release = release,
    .host_bytes = host_bytes,
};

int gr_team_join(struct gr_join *join, struct gr_team *team, struct gr_pool *pool, int way,
                 int root)
{
    int boards = GR_WAY_MAILBOX == way || GR_WAY_AGREEMENT == way;

    *join = (struct gr_join) {.memory = boards ? &gr_host_boards : &gr_host_links,
                              .team = team,
                              .pool = pool,
                              .p = team->p,
                              .nchannels = boards ? 1 : gr_team_channel_set(team, way)->nchannels,
                              .remote = boards ? NULL : team->remote,
                              .way = way,
                              .root = root};
    return gr_join_begin(join);
}
