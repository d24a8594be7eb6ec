/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The set-up of device links (team.h). Layout of a link inside a node:
 *
 *      on devices         reader's slab   [tail][slots of LL128][slots of LL][slots of Simple]
 *                         writer's slab   [heads]
 *      in pinned memory   writer's slab   [heads][tail][slots ...]
 *
 * The heads of all protocols share 128 bytes (GR_GPU_ALIGN). Only Simple has a tail. team.h has the
 * layout of links between nodes.
 */
#include "exec/gpu/team.h"

#include "base/memory.h"
#include "cuda/device.h"
#include "cuda/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lease a slab for each of n connections. Returns the result of gr_gpu_pool_lease(). */
static int lease_slabs(const struct gr_gpu_team *team, enum gr_gpu_where where, size_t bytes,
                       size_t clean, struct gr_gpu_connection *connections, int n)
{
    struct gr_gpu_slab **slabs;
    int k, rc;

    if (0 == n) {
        return 0;
    }
    slabs = gr_calloc((size_t) n, sizeof(struct gr_gpu_slab *));
    if (NULL == slabs) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_pool_lease(team->pool, where, bytes, clean, n, slabs);
    for (k = 0; 0 == rc && k < n; k++) {
        connections[k].slab = slabs[k];
    }
    free(slabs);
    return rc;
}

/* ---- links between nodes ---- */

/* Bytes of heads and tail, which are zero at first. */
#define COUNTERS (2 * (size_t) GR_GPU_ALIGN)

/* Offset of `valid_bytes` in the slab. slots_here: the slots are in the slab. */
static size_t valid_bytes_at(const struct gr_gpu_team *team, int slots_here)
{
    return COUNTERS + (slots_here ? team->nslots * team->slot_bytes : 0);
}

/* Offset of `send_limit` in the slab. */
static size_t until_at(const struct gr_gpu_team *team, int slots_here)
{
    return valid_bytes_at(team, slots_here) + (team->nslots + 1) / 2 * 2 * sizeof(uint32_t);
}

static size_t slab_bytes(const struct gr_gpu_team *team, int slots_here)
{
    return until_at(team, slots_here) + sizeof(uint64_t);
}

_Atomic uint64_t *gr_gpu_remote_send_limit(const struct gr_gpu_team *team,
                                           const struct gr_gpu_connection *connection)
{
    unsigned char *at = gr_gpu_slab_base(connection->slab);

    return (_Atomic uint64_t *) (void *) (at + until_at(team, NULL == connection->slots));
}

/* Lease slots on the device for all connections, or for none. Returns whether. */
static int lease_slots(struct gr_gpu_team *team, struct gr_gpu_connection *connections, int n)
{
    int k, here = GR_RDMA_NONE == team->rdma ||
                  0 != lease_slabs(team, GR_ON_DEVICE, team->nslots * team->slot_bytes, 0,
                                   connections, n);

    for (k = 0; k < n && !here; k++) {
        connections[k].slots = connections[k].slab;
        connections[k].slab = NULL;
    }
    return !here;
}

/*
 * Lease slabs for n connections, and set their ends. writes: 1: connections out. If the device has
 * no memory for slots, they are in host memory. Returns the result of gr_gpu_pool_lease().
 */
static int lease_remote(struct gr_gpu_team *team, struct gr_gpu_connection *connections, int n,
                        int writes)
{
    int here = !lease_slots(team, connections, n), k;
    int rc = lease_slabs(team, GR_ON_HOST, slab_bytes(team, here), COUNTERS, connections, n);

    for (k = 0; 0 == rc && k < n; k++) {
        gr_gpu_ptr head = connections[k].slab->at, tail = head + GR_GPU_ALIGN;

        connections[k].ends[GR_PROTOCOL_SIMPLE] = (struct gr_gpu_end) {
            .slots = here ? head + COUNTERS : connections[k].slots->at,
            .mine = writes ? tail : head,
            .other = writes ? head : tail,
            .valid_bytes = writes ? head + valid_bytes_at(team, here) : 0,
        };
        atomic_store_explicit(gr_gpu_remote_send_limit(team, &connections[k]), UINT64_MAX,
                              memory_order_relaxed);
    }
    return rc;
}

static int flush(void *gpu)
{
    return gr_gpu_flush(gpu);
}

struct gr_fifo gr_gpu_remote_fifo(const struct gr_gpu_team *team,
                                  const struct gr_gpu_connection *connection, int writes)
{
    unsigned char *at = gr_gpu_slab_base(connection->slab);
    int here = NULL == connection->slots;
    struct gr_fifo fifo = {
        .head = (_Atomic uint64_t *) (void *) at,
        .tail = (_Atomic uint64_t *) (void *) (at + GR_GPU_ALIGN),
        .slots = at + COUNTERS,
        .nslots = team->nslots,
        .slot_bytes = team->slot_bytes,
        .valid_bytes =
            writes ? (const uint32_t *) (const void *) (at + valid_bytes_at(team, here)) : NULL,
        .send_limit = writes ? gr_gpu_remote_send_limit(team, connection) : NULL,
        .user = connection->slab->user,
        .lease = connection->slab->lease,
    };

    if (!here) {
        fifo.slots = (unsigned char *) (uintptr_t) connection->slots->at;
        fifo.gpu = (struct gr_fifo_gpu) {
            .on = 1,
            .flush = writes || GR_RDMA_ORDERED == team->rdma ? NULL : flush,
            .gpu = team->gpu,
            .user = connection->slots->user,
            .lease = connection->slots->lease,
        };
    }
    return fifo;
}

void gr_gpu_remote_hold(const struct gr_gpu_team *team, int hold)
{
    const struct gr_gpu_connection *c;

    for (c = team->remote_in; NULL != c; c = c->next_remote) {
        gr_doorbell_hold(c->end.bell, hold);
    }
    for (c = team->remote_out; NULL != c; c = c->next_remote) {
        gr_doorbell_hold(c->end.bell, hold);
    }
}

int gr_gpu_remote_unsent(const struct gr_gpu_team *team, uint32_t nchannels, int *ranks, int most)
{
    const struct gr_gpu_connection *c;
    int n = 0;

    for (c = team->remote_out; NULL != c && n < most; c = c->next_remote) {
        struct gr_fifo fifo = gr_gpu_remote_fifo(team, c, 1);

        if (c->end.channel < nchannels &&
            atomic_load_explicit(fifo.head, memory_order_acquire) !=
                atomic_load_explicit(fifo.tail, memory_order_acquire)) {
            ranks[n++] = c->end.rank;
        }
    }
    return n;
}

/* ---- slabs of links inside a node ---- */

static size_t link_index(const struct gr_gpu_team *team, const struct gr_connection *c)
{
    return (size_t) c->channel * (size_t) team->p + (size_t) c->rank;
}

/* Bytes of a slot. */
static size_t slot_stride(const struct gr_gpu_team *team, enum gr_protocol protocol)
{
    return GR_PROTOCOL_SIMPLE == protocol ? team->slot_bytes : gr_line_slot_bytes(protocol);
}

/* Bytes at the begin of a reader's slab that are zero at first: the tail, and slots with flags. */
static size_t clean_bytes(const struct gr_gpu_team *team)
{
    return GR_GPU_ALIGN + team->nslots * (slot_stride(team, GR_PROTOCOL_LL) +
                                          slot_stride(team, GR_PROTOCOL_LL128));
}

/* Bytes of a reader's slab. */
static size_t reader_bytes(const struct gr_gpu_team *team)
{
    return clean_bytes(team) + team->nslots * slot_stride(team, GR_PROTOCOL_SIMPLE);
}

/* Set the ends of a connection from the addresses of its heads and tail. */
static void set_ends(const struct gr_gpu_team *team, struct gr_gpu_connection *w, gr_gpu_ptr heads,
                     gr_gpu_ptr tail, int writes)
{
    gr_gpu_ptr slots = tail + GR_GPU_ALIGN;
    int k;

    for (k = GR_NPROTOCOLS - 1; k >= 0; k--) { /* Simple's slots come last */
        gr_gpu_ptr head = heads + (size_t) k * sizeof(uint64_t),
                   flag = GR_PROTOCOL_SIMPLE == k ? tail : 0;

        w->ends[k] = (struct gr_gpu_end) {
            .slots = slots, .mine = writes ? flag : head, .other = writes ? head : flag};
        slots += team->nslots * slot_stride(team, (enum gr_protocol) k);
    }
}

static int peers(const struct gr_join *join, struct gr_neighbours *n)
{
    const struct gr_gpu_team *team = join->gpu;

    if (GR_ALGO_LEADER ==
        join->use) { /* all that is to be agreed on is whether devices can be used */
        return gr_neighbours_alloc(n, 1);
    }
    return gr_rings_neighbours(&team->rings, team->p, team->rank, team->nchannels,
                               (enum gr_algo) join->use, join->root, n);
}

static int has(const struct gr_join *join, int writes, const struct gr_connection *c)
{
    const struct gr_gpu_connection *there = writes ? join->gpu->out : join->gpu->in;

    return 0 != there[link_index(join->gpu, c)].ends[0].slots;
}

/*
 * The slabs of readers' ends inside the node, and those of both ends of inter-node links; then the
 * tables of steps.
 */
static int reserve(struct gr_join *join)
{
    struct gr_gpu_team *team = join->gpu;
    const struct gr_connections *in = &join->in, *out = &join->out;
    int k, rc = lease_slabs(team, GR_ON_DEVICE, reader_bytes(team), clean_bytes(team), in->gpu,
                            in->near);

    if (0 == rc) {
        rc = lease_remote(team, in->gpu + in->near, in->n - in->near, 0);
    }
    if (0 == rc) {
        rc = lease_remote(team, out->gpu + out->near, out->n - out->near, 1);
    }
    for (k = 0; 0 == rc && k < in->near; k++) {
        in->gpu[k].handle = gr_gpu_pool_export(team->pool, in->gpu[k].slab);
    }
    return rc;
}

/* Keep why a peer's device memory cannot be mapped: links in host memory are slower. */
static void note_unmapped(struct gr_join *join, const struct gr_gpu_connection *w)
{
    static const unsigned char none[sizeof(w->handle.ipc)];
    const struct gr_gpus *gpus = join->gpu->gpu->gpus;

    if (join->unmapped < 0) {
        join->unmapped = w->end.rank;
        snprintf(join->why, sizeof(join->why), "%s", gr_gpu_error());
        join->cause = 0 == memcmp(none, w->handle.ipc, sizeof(none)) ? GR_UNMAPPED_NO_HANDLE
                      : gr_gpus_see(gpus, &w->handle.gpu)            ? GR_UNMAPPED_REFUSED
                                                                     : GR_UNMAPPED_UNSEEN;
    }
}

/* Reply to a reader: with a slab for the heads, or with one for the whole link. */
static int reply(struct gr_join *join, struct gr_connection *c)
{
    struct gr_gpu_connection *w = (void *) c;
    struct gr_gpu_team *team = join->gpu;
    int rc = gr_gpu_pool_map(team->pool, &w->handle, &w->mapped);
    gr_gpu_ptr heads;

    if (0 == rc) {
        rc = lease_slabs(team, GR_ON_DEVICE, GR_GPU_ALIGN, GR_GPU_ALIGN, w, 1);
    } else if (GR_ERR_PEER == rc) {
        note_unmapped(join, w);
        memset(&w->mapped, 0, sizeof(w->mapped));
        rc = lease_slabs(team, GR_ON_HOST, GR_GPU_ALIGN + reader_bytes(team),
                         GR_GPU_ALIGN + clean_bytes(team), w, 1);
    }
    if (rc < 0) {
        return rc;
    }
    w->reply = gr_gpu_pool_export(team->pool, w->slab);
    heads = w->slab->at;
    set_ends(team, w, heads, 0 != w->mapped.at ? w->mapped.at : heads + GR_GPU_ALIGN, 1);
    return 0;
}

/* Map the writer's slab. Release this rank's if the writer's holds the whole link. */
static int map(struct gr_join *join, struct gr_connection *c)
{
    struct gr_gpu_connection *w = (void *) c;
    struct gr_gpu_team *team = join->gpu;
    int rc = gr_gpu_pool_map(team->pool, &w->reply, &w->mapped);

    if (rc < 0) {
        return rc;
    }
    if (GR_ON_HOST == w->reply.where) {
        gr_gpu_pool_release(team->pool, w->slab, 0);
        w->slab = NULL;
    }
    set_ends(team, w, w->mapped.at, NULL == w->slab ? w->mapped.at + GR_GPU_ALIGN : w->slab->at, 0);
    return 0;
}

/*
 * Copy the ends of new connections to the table that kernels read. No kernel of this team is
 * running, and none uses a new link before all ranks have agreed.
 */
static int upload_ends(struct gr_gpu_team *team, const struct gr_gpu_connection *connections, int n,
                       enum gr_gpu_region region)
{
    struct gr_gpu_run *runs = gr_calloc((size_t) n * GR_NPROTOCOLS + 1, sizeof(*runs));
    size_t nruns = 0;
    int k, protocol, rc;

    if (NULL == runs) {
        return GR_ERR_NOMEM;
    }
    for (k = 0; k < n; k++) {
        for (protocol = 0; protocol < GR_NPROTOCOLS; protocol++) {
            gr_gpu_ptr at = gr_gpu_team_ends(team, region, (enum gr_protocol) protocol) +
                            link_index(team, &connections[k].end) * sizeof(struct gr_gpu_end);

            runs[nruns++] = (struct gr_gpu_run) {.dst = (void *) at,
                                                 .src = &connections[k].ends[protocol],
                                                 .bytes = sizeof(struct gr_gpu_end)};
        }
    }
    rc = gr_gpu_copy_runs(team->gpu, runs, nruns);
    free(runs);
    return rc;
}

static int finish(struct gr_join *join, struct gr_join_agreement *a)
{
    struct gr_gpu_team *team = join->gpu;

    if (0 == join->status) {
        join->status = upload_ends(team, join->in.gpu, join->in.n, GR_REGION_IN);
    }
    if (0 == join->status) {
        join->status = upload_ends(team, join->out.gpu, join->out.n, GR_REGION_OUT);
    }
    a->gpu.status = join->status;
    a->gpu.unmapped = join->unmapped < 0 ? INT32_MAX : team->rank;
    a->gpu.channels = team->usable;
    return join->status;
}

/* The team takes connections into its array, and those to other nodes into its list. */
static void take_side(const struct gr_gpu_team *team, const struct gr_connections *side,
                      struct gr_gpu_connection *array, struct gr_gpu_connection **remote)
{
    int k;

    for (k = 0; k < side->n; k++) {
        struct gr_gpu_connection *c = &array[link_index(team, &side->gpu[k].end)];

        *c = side->gpu[k];
        if (NULL != c->end.bell) {
            c->next_remote = *remote;
            *remote = c;
        }
    }
}

static void take(struct gr_join *join, int status, const struct gr_join_agreement *a)
{
    struct gr_gpu_team *team = join->gpu;

    if (GR_ALGO_LEADER == join->use) {
        team->refused = 0 != status;
    } else {
        *gr_gpu_team_state(team, (enum gr_algo) join->use, join->root) =
            0 == status ? GR_LINKS_THERE : GR_LINKS_REFUSED;
    }
    if (0 != status) {
        return;
    }
    take_side(team, &join->in, team->in, &team->remote_in);
    take_side(team, &join->out, team->out, &team->remote_out);
    team->usable = a->gpu.channels;
    team->path = a->gpu.unmapped < INT32_MAX && NULL == team->remote ? GR_PATH_PINNED : team->path;
}

static void release(struct gr_join *join, struct gr_connection *c)
{
    gr_gpu_connection_release(join->gpu, (struct gr_gpu_connection *) (void *) c, NULL != c->bell);
}

static struct gr_fifo fifo(const struct gr_join *join, const struct gr_connection *c, int writes)
{
    return gr_gpu_remote_fifo(join->gpu, (const struct gr_gpu_connection *) (const void *) c,
                              writes);
}

/* A lease user for each slab on the device, and the slabs of inter-node links. */
static size_t host_bytes(const struct gr_join *join)
{
    return (size_t) (join->in.n + join->out.n) * sizeof(struct gr_lease_user) +
           (size_t) (join->in.n - join->in.near + join->out.n - join->out.near) *
               slab_bytes(join->gpu, 1);
}

static const struct gr_link_memory links = {
    .name = "links",
    .connection_size = sizeof(struct gr_gpu_connection),
    .handle_at = offsetof(struct gr_gpu_connection, handle),
    .reply_at = offsetof(struct gr_gpu_connection, reply),
    .handle_size = sizeof(struct gr_gpu_slab_handle),
    .peers = peers,
    .has = has,
    .reserve = reserve,
    .reply = reply,
    .map = map,
    .finish = finish,
    .take = take,
    .release = release,
    .fifo = fifo,
    .host_bytes = host_bytes,
};

int gr_gpu_team_join(struct gr_join *join, struct gr_gpu_team *team, enum gr_algo algo, int root)
{
    *join = (struct gr_join) {.memory = &links,
                              .gpu = team,
                              .p = team->p,
                              .nchannels = team->nchannels,
                              .remote = team->remote,
                              .use = (int) algo,
                              .root = root,
                              .status = team->status};
    return gr_join_begin(join);
}
