/* SPDX-License-Identifier: BSD-3-Clause */
/* The making of links and mailboxes, team.h. */
#include "link/team.h"

#include <stdlib.h>
#include <string.h>

static struct gr_channel_set *set(const struct gr_join *join)
{
    return gr_team_channel_set(join->team, join->way);
}

static size_t link_index(const struct gr_team *team, const struct gr_connection *w)
{
    return (size_t) w->channel * (size_t) team->p + (size_t) w->rank;
}

static int is_remote(const struct gr_team *team, int rank)
{
    return NULL != team->remote && team->remote[rank];
}

/*
 * Add a connection for each neighbour of the kind to which there is no link yet, behind the n that
 * are there.
 */
static int add_wires(struct gr_connection *connections, int n, const struct gr_team *team,
                     const struct gr_link *links, const struct gr_neighbour *all, int nall,
                     int remote)
{
    int k;

    for (k = 0; k < nall; k++) {
        connections[n].channel = all[k].channel;
        connections[n].rank = all[k].rank;
        n += remote == is_remote(team, all[k].rank) &&
             NULL == links[link_index(team, &connections[n])].shared;
    }
    return n;
}

static int find_links(struct gr_join *join)
{
    const struct gr_team *team = join->team;
    const struct gr_channel_set *b = set(join);
    struct gr_neighbours n;
    int rc = GR_WAY_NOTES == join->way
                 ? gr_rings_lines(&team->rings, team->p, team->rank, &n)
                 : gr_rings_neighbours(&team->rings, team->p, team->rank, b->nchannels,
                                       gr_way_algo(join->way), join->root, &n);

    if (0 == rc) {
        join->near_in = add_wires(join->in, 0, team, b->in, n.in, n.nin, 0);
        join->nin = add_wires(join->in, join->near_in, team, b->in, n.in, n.nin, 1);
        join->near_out = add_wires(join->out, 0, team, b->out, n.out, n.nout, 0);
        join->nout = add_wires(join->out, join->near_out, team, b->out, n.out, n.nout, 1);
        gr_neighbours_free(&n);
    }
    return rc;
}

/* Whether each rank has one slab for it, which all others map. */
static int has_boards(int way)
{
    return GR_WAY_MAILBOX == way || GR_WAY_AGREEMENT == way;
}

/* Everybody reads everybody's board. */
static void find_boards(struct gr_join *join)
{
    int r;

    for (r = 0; r < join->team->p; r++) {
        if (r != join->team->rank) {
            join->in[join->nin++].rank = r;
            join->out[join->nout++].rank = r;
        }
    }
    join->near_in = join->nin;
    join->near_out = join->nout;
}

/* Lease a slab of that size for each of n connections and write its offer. */
static int lease_frames(struct gr_pool *pool, size_t bytes, struct gr_connection *connections,
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
        connections[k].offer = gr_pool_offer(pool, slabs[k]);
        connections[k].offer.count = gr_link_renew(gr_slab_base(slabs[k]));
    }
    free(slabs);
    return rc;
}

/* Bytes of a slab that others map. */
static size_t near_bytes(const struct gr_join *join)
{
    const struct gr_channel_set *b = set(join);
    const struct gr_mailbox *box;

    if (!has_boards(join->way)) {
        return gr_link_bytes(b->nslots, b->slot_bytes);
    }
    box = &gr_team_boards(join->team, join->way)->box;
    return gr_board_bytes(box->p, box->nsets, box->stride);
}

/* Slabs of links lie at their reader; those of remote ones at both ends. */
static int lease_links(struct gr_join *join, struct gr_pool *pool)
{
    const struct gr_channel_set *b = set(join);
    int rc = lease_frames(pool, near_bytes(join), join->in, join->nin), k;

    if (0 == rc) {
        rc = lease_frames(pool, gr_link_filled_bytes(b->nslots, b->slot_bytes),
                          join->out + join->near_out, join->nout - join->near_out);
    }
    /* not all who write to links say where from */
    for (k = join->near_out; 0 == rc && k < join->nout; k++) {
        memset(gr_link_from(gr_slab_base(join->out[k].slab), b->nslots, b->slot_bytes), 0,
               b->nslots * sizeof(void *));
    }
    return rc;
}

struct gr_fifo gr_connection_fifo(const struct gr_channel_set *b,
                                  const struct gr_connection *connection, int writes)
{
    struct gr_link_shared *shared = gr_slab_base(connection->slab);
    struct gr_fifo fifo = gr_link_fifo(shared, connection->offer.count, b->nslots, b->slot_bytes);

    fifo.fill = writes ? gr_link_valid_bytes(shared, b->nslots, b->slot_bytes) : NULL;
    fifo.from = writes ? gr_link_from(shared, b->nslots, b->slot_bytes) : NULL;
    fifo.turn = writes ? &shared->turn : NULL;
    fifo.lease = connection->offer.lease;
    return fifo;
}

/* Lease one slab for this rank's board, which says nothing yet, and offer it to all. */
static int lease_board(struct gr_join *join, struct gr_pool *pool)
{
    struct gr_mailbox *box = &gr_team_boards(join->team, join->way)->box;
    struct gr_slab *slab;
    int k, rc = gr_pool_lease(pool, near_bytes(join), box->p, 1, &slab);

    if (0 == rc) {
        gr_board_clean(gr_slab_base(slab), box->p, box->nsets, box->stride, box->posted);
    }
    for (k = 0; 0 == rc && k < join->nin; k++) {
        join->in[k].slab = slab;
        join->in[k].offer = gr_pool_offer(pool, slab);
    }
    return rc;
}

int gr_join_begin(struct gr_join *join, struct gr_team *team, struct gr_pool *pool, int way,
                  int root)
{
    size_t nlinks = (size_t) gr_team_channel_set(team, way)->nchannels * (size_t) team->p;
    int rc = 0;

    memset(join, 0, sizeof(*join));
    join->team = team;
    join->way = way;
    join->root = root;
    /* one more: what is not added may be tried there */
    join->in = calloc(nlinks + 1, sizeof(*join->in));
    join->out = calloc(nlinks + 1, sizeof(*join->out));
    if (NULL == join->in || NULL == join->out) {
        rc = GR_ERR_NOMEM;
    } else if (has_boards(way)) {
        find_boards(join);
    } else {
        rc = find_links(join);
    }
    if (0 != rc) {
        free(join->in);
        free(join->out);
        return rc;
    }
    join->status = has_boards(way) ? lease_board(join, pool) : lease_links(join, pool);
    return 0;
}

struct gr_verdict gr_join_map(struct gr_join *join, struct gr_pool *pool)
{
    int k, rc;

    for (k = 0; k < join->near_out && 0 == join->status; k++) {
        if (0 == join->out[k].offer.pid) {
            continue; /* that rank has a problem of its own and says so in the verdict */
        }
        join->out[k].base = gr_pool_map(pool, &join->out[k].offer, &rc);
        if (0 == rc && gr_offer_room(&join->out[k].offer) < near_bytes(join)) {
            rc = GR_ERR_FOREIGN; /* not a slab of this way */
        }
        join->status = rc;
    }
    return (struct gr_verdict) {join->status, join->team->direct};
}

struct gr_verdict gr_verdict_combine(struct gr_verdict a, struct gr_verdict b)
{
    return (struct gr_verdict) {a.status < b.status ? a.status : b.status, a.direct && b.direct};
}

static void take_links(struct gr_join *join)
{
    struct gr_channel_set *b = set(join);
    int k;

    for (k = 0; k < join->nin; k++) {
        struct gr_connection *w = &join->in[k];
        size_t at = link_index(join->team, w);

        b->slabs[at] = w->slab;
        gr_link_attach(&b->in[at], gr_slab_base(w->slab), w->offer.count, b->nslots, b->slot_bytes);
    }
    for (k = 0; k < join->nout; k++) {
        struct gr_connection *w = &join->out[k];
        size_t at = link_index(join->team, w);
        struct gr_link *l = &b->out[at];

        b->leases[at] = w->offer.lease;
        b->sent[at] = w->slab;
        gr_link_attach(l, NULL == w->slab ? w->base : gr_slab_base(w->slab), w->offer.count,
                       b->nslots, b->slot_bytes);
        l->fill = NULL == w->slab ? NULL : gr_link_valid_bytes(l->shared, l->nslots, l->slot_bytes);
        l->from = NULL == w->slab ? NULL : gr_link_from(l->shared, l->nslots, l->slot_bytes);
        l->turns = &join->team->turns;
    }
}

static void take_boards(struct gr_join *join)
{
    struct gr_team *team = join->team;
    struct gr_boards *b = gr_team_boards(team, join->way);
    int k;

    b->board = join->in[0].slab;
    b->leases[team->rank] = join->in[0].offer.lease;
    gr_board_attach(&b->box, team->rank, gr_slab_base(b->board));
    for (k = 0; k < join->nout; k++) {
        struct gr_connection *w = &join->out[k];

        b->leases[w->rank] = w->offer.lease;
        gr_board_attach(&b->box, w->rank, w->base);
    }
}

/*
 * Nobody has learnt of the slabs, or nobody will use them, but the network. A board's connections
 * share one.
 */
static void give_back(struct gr_join *join, struct gr_pool *pool)
{
    int k;

    for (k = 0; k < join->nin; k++) {
        if (NULL != join->in[k].slab && (0 == k || join->in[k].slab != join->in[k - 1].slab)) {
            gr_pool_release(pool, join->in[k].slab, join->in[k].used);
        }
    }
    for (k = join->near_out; k < join->nout; k++) {
        if (NULL != join->out[k].slab) {
            gr_pool_release(pool, join->out[k].slab, join->out[k].used);
        }
    }
}

void gr_join_end(struct gr_join *join, struct gr_pool *pool, struct gr_verdict verdict)
{
    int taken = 0 == verdict.status;

    if (!taken) {
        give_back(join, pool);
    } else if (has_boards(join->way)) {
        take_boards(join);
    } else {
        take_links(join);
    }
    join->team->direct = verdict.direct;
    *gr_team_state(join->team, join->way, join->root) = taken ? GR_LINKS_THERE : GR_LINKS_REFUSED;
    free(join->in);
    free(join->out);
    memset(join, 0, sizeof(*join));
}
