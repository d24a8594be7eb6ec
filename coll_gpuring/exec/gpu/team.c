/* SPDX-License-Identifier: BSD-3-Clause */
/* The device part of a team (team.h). */
#include "exec/gpu/team.h"

#include "cuda/copy.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/rdma.h"
#include "cuda/stream.h"
#include "exec/gpu/connection.h"
#include "link/team.h"

#include <stdlib.h>
#include <string.h>

/* The parts of the device memory and of the pinned memory, in order, each aligned. */
enum table {
    TABLE_IN,
    TABLE_OUT,
    TABLE_ORDER_0,
    TABLE_ORDER_1,
    TABLE_CURSORS,
    TABLE_COUNTS,
    TABLE_PEERS,
    TABLE_END
};
enum pinned { PINNED_REPORTS, PINNED_ABORT, PINNED_COUNTS, PINNED_PEERS, PINNED_END };

/* Bytes rounded up to the alignment. */
static size_t aligned(size_t bytes)
{
    return (bytes + GR_GPU_ALIGN - 1) / GR_GPU_ALIGN * GR_GPU_ALIGN;
}

static size_t nlinks(const struct gr_gpu_team *team)
{
    return (size_t) team->nchannels * (size_t) team->p;
}

/* Offset of a table; TABLE_END: bytes of all tables. */
static size_t table_at(const struct gr_gpu_team *team, enum table table)
{
    size_t p = (size_t) team->p, ends = GR_NPROTOCOLS * nlinks(team) * sizeof(struct gr_gpu_end),
           at = 0;
    size_t bytes[TABLE_END] = {
        [TABLE_IN] = ends,
        [TABLE_OUT] = ends,
        [TABLE_ORDER_0] = p * sizeof(int),
        [TABLE_ORDER_1] = p * sizeof(int),
        [TABLE_CURSORS] = team->nchannels * sizeof(struct gr_gpu_cursor),
        [TABLE_COUNTS] = 2 * p * sizeof(size_t),
        [TABLE_PEERS] = p * sizeof(gr_gpu_ptr),
    };
    int k;

    for (k = 0; k < (int) table; k++) {
        at += aligned(bytes[k]);
    }
    return at;
}

static size_t pinned_at(const struct gr_gpu_team *team, enum pinned what)
{
    size_t bytes[PINNED_END] = {
        [PINNED_REPORTS] = team->nchannels * sizeof(struct gr_gpu_report),
        [PINNED_ABORT] = sizeof(uint64_t),
        [PINNED_COUNTS] = 2 * (size_t) team->p * sizeof(size_t),
        [PINNED_PEERS] = (size_t) team->p * sizeof(gr_gpu_ptr),
    };
    size_t at = 0;
    int k;

    for (k = 0; k < (int) what; k++) {
        at += aligned(bytes[k]);
    }
    return at;
}

static gr_gpu_ptr ends_at(const struct gr_gpu_team *team, enum table table,
                          enum gr_protocol protocol)
{
    return team->tables + table_at(team, table) +
           (size_t) protocol * nlinks(team) * sizeof(struct gr_gpu_end);
}

gr_gpu_ptr gr_gpu_team_in(const struct gr_gpu_team *team, enum gr_protocol protocol)
{
    return ends_at(team, TABLE_IN, protocol);
}

gr_gpu_ptr gr_gpu_team_out(const struct gr_gpu_team *team, enum gr_protocol protocol)
{
    return ends_at(team, TABLE_OUT, protocol);
}

gr_gpu_ptr gr_gpu_team_order(const struct gr_gpu_team *team, int k)
{
    return team->tables + table_at(team, 0 == k ? TABLE_ORDER_0 : TABLE_ORDER_1);
}

gr_gpu_ptr gr_gpu_team_cursors(const struct gr_gpu_team *team)
{
    return team->tables + table_at(team, TABLE_CURSORS);
}

gr_gpu_ptr gr_gpu_team_counts(const struct gr_gpu_team *team)
{
    return team->tables + table_at(team, TABLE_COUNTS);
}

gr_gpu_ptr gr_gpu_team_peers(const struct gr_gpu_team *team)
{
    return team->tables + table_at(team, TABLE_PEERS);
}

struct gr_gpu_report *gr_gpu_team_reports(const struct gr_gpu_team *team)
{
    return (struct gr_gpu_report *) (team->pinned + pinned_at(team, PINNED_REPORTS));
}

_Atomic uint64_t *gr_gpu_team_abort(const struct gr_gpu_team *team)
{
    return (_Atomic uint64_t *) (team->pinned + pinned_at(team, PINNED_ABORT));
}

size_t *gr_gpu_team_counts_host(const struct gr_gpu_team *team)
{
    return (size_t *) (team->pinned + pinned_at(team, PINNED_COUNTS));
}

gr_gpu_ptr *gr_gpu_team_peers_host(const struct gr_gpu_team *team)
{
    return (gr_gpu_ptr *) (team->pinned + pinned_at(team, PINNED_PEERS));
}

/* Index of an algorithm, and of the root if it is rooted, in arrays of the team. */
static size_t algo_index(const struct gr_gpu_team *team, enum gr_algo algo, int root)
{
    return (size_t) algo * (size_t) team->p + (size_t) (gr_algo_is_rooted(algo) ? root : 0);
}

unsigned char *gr_gpu_team_state(const struct gr_gpu_team *team, enum gr_algo algo, int root)
{
    return &team->links[algo_index(team, algo, root)];
}

/* ---- steps ---- */

static struct gr_plan_spec schedule_of(const struct gr_gpu_team *team, enum gr_coll coll,
                                       enum gr_algo algo, int root)
{
    return (struct gr_plan_spec) {
        .coll = coll, .algo = algo, .root = root, .torus = team->rings.torus};
}

/* Set the sizes of the step tables and their offsets from base. Returns the number of all steps. */
static size_t layout_steps(const struct gr_gpu_team *team, enum gr_algo algo, int root,
                           struct gr_gpu_steps *steps)
{
    size_t n = 0;
    uint32_t k;
    int coll;

    for (coll = 0; coll < GR_NCOLLS; coll++) {
        struct gr_plan_spec r = schedule_of(team, (enum gr_coll) coll, algo, root);

        for (k = 0; k < gr_gpu_steps_tables(algo, r.coll); k++) {
            struct gr_gpu_table *table = &steps->of[coll][k];

            *table = gr_gpu_steps_shape(&r, team->p, team->rank, &team->rings, k);
            table->at = n * sizeof(struct gr_gpu_step);
            n += (size_t) table->schedules * table->nsteps;
        }
    }
    return n;
}

/* Write n steps to device memory, and set the tables' addresses. */
static int upload_steps(struct gr_gpu_team *team, enum gr_algo algo, int root,
                        struct gr_gpu_steps *steps, size_t n)
{
    struct gr_gpu_step *image = calloc(n, sizeof(*image));
    uint32_t k;
    int coll, rc;

    if (NULL == image) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_alloc(team->gpu, n * sizeof(*image), &steps->base);
    for (coll = 0; coll < GR_NCOLLS && 0 == rc; coll++) {
        struct gr_plan_spec r = schedule_of(team, (enum gr_coll) coll, algo, root);

        for (k = 0; k < gr_gpu_steps_tables(algo, r.coll); k++) {
            struct gr_gpu_table *table = &steps->of[coll][k];

            gr_gpu_steps_write(&r, team->p, team->rank, &team->rings, k, table,
                               image + table->at / sizeof(*image));
            table->at += steps->base;
        }
    }
    if (0 == rc) {
        rc = gr_gpu_copy(team->gpu, (void *) steps->base, image, n * sizeof(*image));
    }
    free(image);
    return rc;
}

static void free_steps(struct gr_gpu_team *team, struct gr_gpu_steps **at)
{
    if (NULL != *at && 0 != (*at)->base) {
        gr_gpu_free(team->gpu, (*at)->base);
    }
    free(*at);
    *at = NULL;
}

int gr_gpu_team_write_steps(struct gr_gpu_team *team, enum gr_algo algo, int root)
{
    struct gr_gpu_steps **at = &team->steps[algo_index(team, algo, root)];
    int rc;

    if (!gr_algo_is_precomputed(algo) || NULL != *at) {
        return 0;
    }
    *at = calloc(1, sizeof(**at));
    if (NULL == *at) {
        return GR_ERR_NOMEM;
    }
    rc = upload_steps(team, algo, root, *at, layout_steps(team, algo, root, *at));
    if (rc < 0) {
        free_steps(team, at);
    }
    return rc;
}

struct gr_gpu_table gr_gpu_team_steps(const struct gr_gpu_team *team, enum gr_coll coll,
                                      enum gr_algo algo, int root, uint32_t nchunks)
{
    const struct gr_gpu_steps *steps = team->steps[algo_index(team, algo, root)];

    return NULL == steps ? (struct gr_gpu_table) {0, 0, 0}
                         : steps->of[coll][gr_gpu_steps_table(nchunks)];
}

/* Write the initial tables: the orders, and no links. */
static int upload_tables(struct gr_gpu_team *team)
{
    size_t bytes = table_at(team, TABLE_END);
    unsigned char *image = calloc(1, bytes);
    int rc, k;

    if (NULL == image) {
        return GR_ERR_NOMEM;
    }
    for (k = 0; k < 2; k++) {
        memcpy(image + table_at(team, 0 == k ? TABLE_ORDER_0 : TABLE_ORDER_1), team->rings.order[k],
               (size_t) team->p * sizeof(int));
    }
    rc = gr_gpu_copy(team->gpu, (void *) team->tables, image, bytes);
    free(image);
    return rc;
}

/* Allocate the device memory, the pinned memory and the stream. */
static int make_device_part(struct gr_gpu_team *team)
{
    int rc = gr_gpu_alloc(team->gpu, table_at(team, TABLE_END), &team->tables);

    if (rc < 0) {
        return rc;
    }
    team->pinned = gr_gpu_host_alloc(team->gpu, pinned_at(team, PINNED_END));
    if (NULL == team->pinned) {
        return GR_ERR_NOMEM;
    }
    rc = upload_tables(team);
    return rc < 0 ? rc : gr_gpu_stream_open(team->gpu, &team->stream);
}

static void free_device_part(struct gr_gpu_team *team)
{
    size_t k;

    gr_gpu_stream_close(team->stream);
    for (k = 0; k < (size_t) GR_NALGOS * (size_t) team->p; k++) {
        free_steps(team, &team->steps[k]);
    }
    if (0 != team->tables) {
        gr_gpu_free(team->gpu, team->tables);
    }
    if (NULL != team->pinned) {
        gr_gpu_host_free(team->gpu, team->pinned);
    }
}

static void team_free(struct gr_gpu_team *team)
{
    size_t k;

    for (k = 0; NULL != team->steps && k < (size_t) GR_NALGOS * (size_t) team->p; k++) {
        free(team->steps[k]);
    }
    free(team->steps);
    gr_rings_free(&team->rings);
    free(team->in);
    free(team->out);
    free(team->links);
    free(team->mappings);
    free(team);
}

/* Number of ranks of this node that use this rank's device, including this rank. */
static int ranks_on_device(const struct gr_gpu_team_params *params)
{
    const struct gr_gpu_id *mine = &params->ids[params->rank];
    int n = 0, r;

    for (r = 0; r < params->p; r++) {
        n += (NULL == params->remote || !params->remote[r]) &&
             0 == memcmp(params->ids[r].uuid, mine->uuid, sizeof(mine->uuid));
    }
    return n;
}

/*
 * Most channels with which the kernels of all ranks on this device are resident together. With
 * more, calls would complete, too, since waiting kernels exit, but slowly.
 */
static uint32_t channels_for(const struct gr_gpu_team *team, int ranks)
{
    /* ranks >= 1. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    uint32_t resident = (uint32_t) (gr_gpu_resident_blocks(team->gpu) / ranks);

    resident = resident < 1 ? 1 : resident;
    return resident < team->nchannels ? resident : team->nchannels;
}

struct gr_gpu_team *gr_gpu_team_create(const struct gr_gpu_team_params *params)
{
    struct gr_gpu_team *team = calloc(1, sizeof(*team));
    size_t p = (size_t) params->p;
    int complete, ranks = ranks_on_device(params);

    if (NULL == team) {
        return NULL;
    }
    team->p = params->p;
    team->rank = params->rank;
    team->nchannels = team->usable = params->nchannels;
    team->nslots = params->nslots;
    team->slot_bytes = params->slot_bytes;
    team->shares_device = ranks > 1;
    team->path = params->path;
    team->remote = params->remote;
    team->gpu = params->gpu;
    team->rdma = NULL != params->gpu && params->rdma ? gr_gpu_rdma(params->gpu) : GR_RDMA_NONE;
    team->pool = params->pool;
    team->ipc_cache = params->ipc_cache;
    complete = 0 == gr_rings_init(&team->rings, params->p);
    team->in = calloc(nlinks(team), sizeof(*team->in));
    team->out = calloc(nlinks(team), sizeof(*team->out));
    team->links = calloc(GR_NALGOS * p, sizeof(*team->links));
    team->steps = calloc(GR_NALGOS * p, sizeof(*team->steps));
    team->mappings = calloc(p, sizeof(*team->mappings));
    if (!complete || NULL == team->in || NULL == team->out || NULL == team->links ||
        NULL == team->steps || NULL == team->mappings) {
        team_free(team);
        return NULL;
    }
    gr_rings_fill(&team->rings, params->p, params->order);
    team->rings.torus = params->torus;
    team->status = NULL == team->gpu ? params->status : make_device_part(team);
    if (0 == team->status) {
        team->usable = channels_for(team, ranks);
    }
    return team;
}

void gr_gpu_team_destroy(struct gr_gpu_team *team, int pool)
{
    size_t k;

    if (NULL == team) {
        return;
    }
    if (pool) {
        free_device_part(team); /* waits for kernels, before links are released */
    }
    for (k = 0; pool && k < nlinks(team); k++) {
        struct gr_gpu_connection *connections[2] = {&team->in[k], &team->out[k]};
        int side;

        for (side = 0; side < 2; side++) {
            if (NULL != connections[side]->mapped.user) {
                gr_gpu_leave(&connections[side]->mapped);
            }
            gr_gpu_connection_release(team, connections[side], 1);
        }
    }
    team_free(team);
}
