/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The making of device links, team.h.
 *
 *      on devices                                          in pinned host memory, where the writer cannot map the reader
 *      reader's slab   [tail][lines][slot][slot]...       writer's slab   [heads][tail][lines][slot][slot]...
 *      writer's slab   [heads]
 *
 * The tail is Simple's; there is a head for each protocol, in one line, and slots of lines for LL,
 * then for LL128.
 */
#include "exec/gpu/team.h"
#include "cuda/copy.h"
#include "cuda/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t nlinks(const struct gr_gpu_team *team)
{
    return (size_t) team->nchannels * (size_t) team->p;
}

static size_t link_index(const struct gr_gpu_team *team, const struct gr_gpu_connection *w)
{
    return (size_t) w->channel * (size_t) team->p + (size_t) w->rank;
}

/* From one slot to the next. */
static size_t slot_stride(const struct gr_gpu_team *team, enum gr_protocol protocol)
{
    return GR_PROTOCOL_SIMPLE == protocol ? team->slot_bytes : gr_line_slot_bytes(protocol);
}

/*
 * What the reader has of a link: the tail, and the lines, which must be clean at first; then
 * Simple's slots.
 */
static size_t clean_bytes(const struct gr_gpu_team *team)
{
    return GR_GPU_LINE + team->nslots * (slot_stride(team, GR_PROTOCOL_LL) +
                                         slot_stride(team, GR_PROTOCOL_LL128));
}

static size_t reader_bytes(const struct gr_gpu_team *team)
{
    return clean_bytes(team) + team->nslots * slot_stride(team, GR_PROTOCOL_SIMPLE);
}

/* This end of a link whose heads and tail lie there. */
static void set_ends(const struct gr_gpu_team *team, struct gr_gpu_connection *w, gr_gpu_ptr heads,
                     gr_gpu_ptr tail, int writes)
{
    gr_gpu_ptr slots = tail + GR_GPU_LINE;
    int k;

    for (k = GR_NPROTOCOLS - 1; k >= 0; k--) { /* Simple's slots come last */
        gr_gpu_ptr head = heads + (size_t) k * sizeof(uint64_t),
                   flag = GR_PROTOCOL_SIMPLE == k ? tail : 0;

        w->ends[k] = (struct gr_gpu_end) {
            .slots = slots, .mine = writes ? flag : head, .other = writes ? head : flag};
        slots += team->nslots * slot_stride(team, (enum gr_protocol) k);
    }
}

static int is_remote(const struct gr_gpu_team *team, int rank)
{
    return NULL != team->remote && team->remote[rank];
}

/*
 * Add a connection for each neighbour of the kind to which there is no link yet, behind the n that
 * are there.
 */
static int add_wires(struct gr_gpu_connection *connections, int n, const struct gr_gpu_team *team,
                     const struct gr_gpu_connection *there, const struct gr_neighbour *all,
                     int nall, int remote)
{
    int k;

    for (k = 0; k < nall; k++) {
        connections[n].channel = all[k].channel;
        connections[n].rank = all[k].rank;
        n += remote == is_remote(team, all[k].rank) &&
             0 == there[link_index(team, &connections[n])].ends[0].slots;
    }
    return n;
}

static int find_links(struct gr_gpu_join *join)
{
    struct gr_gpu_team *team = join->team;
    struct gr_neighbours n;
    int rc = gr_rings_neighbours(&team->rings, team->p, team->rank, team->nchannels, join->algo,
                                 join->root, &n);

    if (0 == rc) {
        join->near_in = add_wires(join->in, 0, team, team->in, n.in, n.nin, 0);
        join->nin = add_wires(join->in, join->near_in, team, team->in, n.in, n.nin, 1);
        join->near_out = add_wires(join->out, 0, team, team->out, n.out, n.nout, 0);
        join->nout = add_wires(join->out, join->near_out, team, team->out, n.out, n.nout, 1);
        gr_neighbours_free(&n);
    }
    return rc;
}

/*
 * The slabs that this rank has before it hears of others: those of its readers' ends, and both of
 * remote links.
 */
static int lease_frames(struct gr_gpu_join *join)
{
    struct gr_gpu_team *team = join->team;
    int rc = gr_gpu_connections_lease(team, GR_ON_DEVICE, reader_bytes(team), clean_bytes(team),
                                      join->in, join->near_in);

    rc = 0 != rc
             ? rc
             : gr_gpu_remote_lease(team, join->in + join->near_in, join->nin - join->near_in, 0);
    return 0 != rc ? rc
                   : gr_gpu_remote_lease(team, join->out + join->near_out,
                                         join->nout - join->near_out, 1);
}

int gr_gpu_join_begin(struct gr_gpu_join *join, struct gr_gpu_team *team, enum gr_algo algo,
                      int root)
{
    int k, rc;

    memset(join, 0, sizeof(*join));
    join->team = team;
    join->algo = algo;
    join->root = root;
    join->status = team->status;
    join->unmapped = -1;
    /* one more: what is not added may be tried there */
    join->in = calloc(nlinks(team) + 1, sizeof(*join->in));
    join->out = calloc(nlinks(team) + 1, sizeof(*join->out));
    rc = NULL == join->in || NULL == join->out ? GR_ERR_NOMEM : find_links(join);
    if (0 != rc) {
        free(join->in);
        free(join->out);
        return rc;
    }
    if (0 == join->status) {
        join->status = lease_frames(join);
    }
    if (0 == join->status) {
        join->status = gr_gpu_team_write_steps(team, algo, root);
    }
    for (k = 0; 0 == join->status && k < join->near_in; k++) {
        join->in[k].offer = gr_gpu_pool_offer(team->pool, join->in[k].slab);
    }
    return 0;
}

/* Links over host memory are slower: worth a word. */
static void note_unmapped(struct gr_gpu_join *join, const struct gr_gpu_connection *w)
{
    static const unsigned char none[sizeof(w->offer.ipc)];

    if (join->unmapped < 0) {
        join->unmapped = w->rank;
        snprintf(join->why, sizeof(join->why), "%s",
                 0 == memcmp(none, w->offer.ipc, sizeof(none)) ? "its driver exports none"
                                                               : gr_gpu_error());
    }
}

/* Answer one offer: with a line for head, or with the whole link. */
static int answer(struct gr_gpu_join *join, struct gr_gpu_connection *w)
{
    struct gr_gpu_team *team = join->team;
    int rc = gr_gpu_pool_map(team->pool, &w->offer, &w->mapped);
    gr_gpu_ptr heads;

    if (0 == rc) {
        rc = gr_gpu_connections_lease(team, GR_ON_DEVICE, GR_GPU_LINE, GR_GPU_LINE, w, 1);
    } else if (GR_ERR_PEER == rc) {
        note_unmapped(join, w);
        memset(&w->mapped, 0, sizeof(w->mapped));
        rc = gr_gpu_connections_lease(team, GR_ON_HOST, GR_GPU_LINE + reader_bytes(team),
                                      GR_GPU_LINE + clean_bytes(team), w, 1);
    }
    if (rc < 0) {
        return rc;
    }
    w->answer = gr_gpu_pool_offer(team->pool, w->slab);
    heads = gr_gpu_slab_at(w->slab);
    set_ends(team, w, heads, 0 != w->mapped.at ? w->mapped.at : heads + GR_GPU_LINE, 1);
    return 0;
}

void gr_gpu_join_answer(struct gr_gpu_join *join)
{
    int k;

    for (k = 0; k < join->near_out && 0 == join->status; k++) {
        /* otherwise that rank has a problem and says so in the verdict */
        if (0 != join->out[k].offer.door.pid) {
            join->status = answer(join, &join->out[k]);
        }
    }
}

/* Use what the writer answered. A slab of this rank that it did not want is given back. */
static int map(struct gr_gpu_join *join, struct gr_gpu_connection *w)
{
    struct gr_gpu_team *team = join->team;
    int rc = gr_gpu_pool_map(team->pool, &w->answer, &w->mapped);

    if (rc < 0) {
        return rc;
    }
    if (GR_ON_HOST == w->answer.where) {
        gr_gpu_pool_release(team->pool, w->slab, 0);
        w->slab = NULL;
    }
    set_ends(team, w, w->mapped.at,
             NULL == w->slab ? w->mapped.at + GR_GPU_LINE : gr_gpu_slab_at(w->slab), 0);
    return 0;
}

/*
 * Tell the kernels of a side's links, which they look at when all ranks have them. No kernel of
 * this team is running.
 */
static int show_ends(struct gr_gpu_team *team, const struct gr_gpu_connection *connections, int n,
                     gr_gpu_ptr (*table)(const struct gr_gpu_team *, enum gr_protocol))
{
    struct gr_gpu_run *runs = calloc((size_t) n * GR_NPROTOCOLS + 1, sizeof(*runs));
    size_t nruns = 0;
    int k, protocol, rc;

    if (NULL == runs) {
        return GR_ERR_NOMEM;
    }
    for (k = 0; k < n; k++) {
        for (protocol = 0; protocol < GR_NPROTOCOLS; protocol++) {
            gr_gpu_ptr at = table(team, (enum gr_protocol) protocol) +
                            link_index(team, &connections[k]) * sizeof(struct gr_gpu_end);

            runs[nruns++] = (struct gr_gpu_run) {.dst = (void *) at,
                                                 .src = &connections[k].ends[protocol],
                                                 .bytes = sizeof(struct gr_gpu_end)};
        }
    }
    rc = gr_gpu_copy_runs(team->gpu, runs, nruns);
    free(runs);
    return rc;
}

static int show_all(const struct gr_gpu_join *join)
{
    int rc = show_ends(join->team, join->in, join->nin, gr_gpu_team_in);

    return 0 == rc ? show_ends(join->team, join->out, join->nout, gr_gpu_team_out) : rc;
}

struct gr_gpu_verdict gr_gpu_join_map(struct gr_gpu_join *join)
{
    int k;

    for (k = 0; k < join->near_in && 0 == join->status; k++) {
        if (0 != join->in[k].answer.door.pid) {
            join->status = map(join, &join->in[k]);
        }
    }
    join->status = 0 == join->status ? show_all(join) : join->status;
    return (struct gr_gpu_verdict) {join->status, join->unmapped < 0 ? INT32_MAX : join->team->rank,
                                    join->team->usable};
}

struct gr_gpu_verdict gr_gpu_verdict_combine(struct gr_gpu_verdict a, struct gr_gpu_verdict b)
{
    return (struct gr_gpu_verdict) {a.status < b.status ? a.status : b.status,
                                    a.unmapped < b.unmapped ? a.unmapped : b.unmapped,
                                    a.channels < b.channels ? a.channels : b.channels};
}

static void take(struct gr_gpu_join *join)
{
    struct gr_gpu_team *team = join->team;
    int k;

    for (k = 0; k < join->nin; k++) {
        team->in[link_index(team, &join->in[k])] = join->in[k];
    }
    for (k = 0; k < join->nout; k++) {
        team->out[link_index(team, &join->out[k])] = join->out[k];
    }
}

/* Nobody has learnt of the slabs, or nobody will use them, but the network. */
static void give_back(struct gr_gpu_join *join, struct gr_gpu_connection *connections, int n)
{
    int k;

    for (k = 0; k < n; k++) {
        gr_gpu_connection_release(join->team, &connections[k], connections[k].used);
    }
}

void gr_gpu_join_end(struct gr_gpu_join *join, struct gr_gpu_verdict verdict)
{
    struct gr_gpu_team *team = join->team;

    if (0 == verdict.status) {
        take(join);
        team->usable = verdict.channels;
        team->path =
            verdict.unmapped < INT32_MAX && NULL == team->remote ? GR_PATH_HOST : team->path;
    } else {
        give_back(join, join->in, join->nin);
        give_back(join, join->out, join->nout);
    }
    *gr_gpu_team_state(team, join->algo, join->root) =
        0 == verdict.status ? GR_LINKS_THERE : GR_LINKS_REFUSED;
    free(join->in);
    free(join->out);
    memset(join, 0, sizeof(*join));
}
