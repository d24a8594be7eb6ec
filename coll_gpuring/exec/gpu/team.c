/* SPDX-License-Identifier: BSD-3-Clause */
/* The device part of a team (team.h). */
#include "exec/gpu/team.h"

#include "base/memory.h"
#include "cuda/device.h"
#include "cuda/stream.h"
#include "exec/gpu/leader.h"

#include <stdlib.h>

static size_t nlinks(const struct gr_gpu_team *team)
{
    return (size_t) team->nchannels * (size_t) team->p;
}

/* Bytes of n regions, each aligned. */
static size_t sum_aligned(const size_t *bytes, int n)
{
    size_t sum = 0;
    int k;

    for (k = 0; k < n; k++) {
        sum += gr_round_up(bytes[k], GR_GPU_ALIGN);
    }
    return sum;
}

/* Offset of a region; GR_REGIONS: bytes of all of them. */
static size_t region_at(const struct gr_gpu_team *team, enum gr_gpu_region region)
{
    size_t p = (size_t) team->p, ends = GR_NPROTOCOLS * nlinks(team) * sizeof(struct gr_gpu_end);
    size_t bytes[GR_REGIONS] = {
        [GR_REGION_IN] = ends,
        [GR_REGION_OUT] = ends,
        [GR_REGION_COUNTER] = sizeof(uint64_t),
        [GR_REGION_CURSORS] = team->nchannels * sizeof(struct gr_gpu_cursor),
        [GR_REGION_CELLS] = p * sizeof(struct gr_cells),
        [GR_REGION_STEPS] = team->steps.room,
        [GR_REGION_PEERS] = p * sizeof(gr_gpu_ptr),
    };

    return sum_aligned(bytes, (int) region);
}

/* The same of the pinned memory. */
static size_t pinned_at(const struct gr_gpu_team *team, enum gr_gpu_pinned_region region)
{
    size_t bytes[GR_PINNED_REGIONS] = {
        [GR_PINNED_REPORTS] = team->nchannels * sizeof(struct gr_gpu_report),
        [GR_PINNED_ABORT] = sizeof(uint64_t),
        [GR_PINNED_COUNTS] = 2 * (size_t) team->p * sizeof(size_t),
        [GR_PINNED_CELLS] = (size_t) team->p * sizeof(struct gr_cells),
        [GR_PINNED_STEPS] = team->longest_table,
        [GR_PINNED_LEADER] = gr_leader_fits(team->p) ? gr_leader_words_bytes(team->p) : 0,
        [GR_PINNED_PEERS] = (size_t) team->p * sizeof(gr_gpu_ptr),
    };

    return sum_aligned(bytes, (int) region);
}

gr_gpu_ptr gr_gpu_team_region(const struct gr_gpu_team *team, enum gr_gpu_region region)
{
    return team->tables + region_at(team, region);
}

gr_gpu_ptr gr_gpu_team_ends(const struct gr_gpu_team *team, enum gr_gpu_region region,
                            enum gr_protocol protocol)
{
    return gr_gpu_team_region(team, region) +
           (size_t) protocol * nlinks(team) * sizeof(struct gr_gpu_end);
}

void *gr_gpu_team_pinned(const struct gr_gpu_team *team, enum gr_gpu_pinned_region region)
{
    return team->pinned + pinned_at(team, region);
}

unsigned char *gr_gpu_team_state(const struct gr_gpu_team *team, enum gr_algo algo, int root)
{
    return &team->links[(int) algo * team->p + (gr_algo_is_rooted(algo) ? root : 0)];
}

/* ---- steps ---- */

/*
 * Calls of a program are of few kinds, so that room for the longest table some times over holds the
 * tables of all.
 */
#define TABLES_ROOM 8

int gr_gpu_team_steps(struct gr_gpu_team *team, const struct gr_plan_spec *spec, uint32_t nchunks,
                      struct gr_gpu_table *table)
{
    gr_gpu_ptr range = gr_gpu_team_region(team, GR_REGION_STEPS);
    struct gr_gpu_step *steps = gr_gpu_team_pinned(team, GR_PINNED_STEPS);
    int fresh, rc = 0;
    uint32_t k =
        gr_gpu_tables_find(&team->steps, spec, team->p, team->rank, &team->rings, nchunks, &fresh);

    *table = team->steps.table[k];
    table->at += range;
    if (fresh && 0 != gr_gpu_steps_bytes(table)) {
        gr_gpu_steps_write(spec, team->p, team->rank, &team->rings, nchunks, table, steps);
        rc = gr_gpu_stream_copy(team->stream, table->at, (gr_gpu_ptr) (uintptr_t) steps,
                                gr_gpu_steps_bytes(table));
    }
    if (rc < 0) {
        team->steps.n = 0; /* the table is not there */
        team->steps.used = 0;
    }
    return rc;
}

/* Write the initial tables: no links. */
static int upload_tables(struct gr_gpu_team *team)
{
    size_t bytes = region_at(team, GR_REGION_CURSORS);
    unsigned char *image = gr_calloc(1, bytes);
    int rc;

    if (NULL == image) {
        return GR_ERR_NOMEM;
    }
    rc = gr_gpu_copy(team->gpu, (void *) team->tables, image, bytes);
    free(image);
    return rc;
}

/* Allocate the device memory, the pinned memory and the stream. */
static int make_device_part(struct gr_gpu_team *team)
{
    int rc;

    if (team->p > GR_GPU_RANKS) {
        return GR_ERR_NOT_SUPPORTED;
    }
    team->longest_table = gr_gpu_steps_most(team->p, team->rank, &team->rings);
    team->steps.room = TABLES_ROOM * team->longest_table;
    rc = gr_gpu_alloc(team->gpu, region_at(team, GR_REGIONS), &team->tables);
    if (rc < 0) {
        return rc;
    }
    team->pinned = gr_gpu_host_alloc(team->gpu, pinned_at(team, GR_PINNED_REGIONS));
    if (NULL == team->pinned) {
        return GR_ERR_CUDA; /* the driver's error says why */
    }
    rc = upload_tables(team);
    return rc < 0 ? rc : gr_gpu_stream_open(team->gpu, &team->stream);
}

static void team_free(struct gr_gpu_team *team)
{
    gr_rings_free(&team->rings);
    free(team->in);
    free(team->out);
    free(team->links);
    free(team->mappings);
    free(team);
}

/* Number of ranks of this node that use this rank's device, including this rank. */
static int ranks_on_device(const struct gr_gpu_team *team, const struct gr_gpu_id *ids)
{
    int n = 0, r;

    for (r = 0; r < team->p; r++) {
        n += (NULL == team->remote || !team->remote[r]) &&
             gr_gpu_id_equal(&ids[r], &ids[team->rank]);
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

struct gr_gpu_team *gr_gpu_team_create(const struct gr_gpu_team *given, const int *order,
                                       struct gr_torus torus, const struct gr_gpu_id *ids)
{
    struct gr_gpu_team *team = gr_malloc(sizeof(*team));
    size_t p = (size_t) given->p;
    int complete;

    if (NULL == team) {
        return NULL;
    }
    *team = *given;
    team->usable = team->nchannels;
    team->one_device = GR_PATH_SAME == team->path && gr_leader_fits(team->p);
    complete = 0 == gr_rings_init(&team->rings, team->p);
    team->in = gr_calloc(nlinks(team), sizeof(*team->in));
    team->out = gr_calloc(nlinks(team), sizeof(*team->out));
    team->links = gr_calloc(GR_NALGOS * p, sizeof(*team->links));
    team->mappings = gr_calloc(p, sizeof(*team->mappings));
    if (!complete || NULL == team->in || NULL == team->out || NULL == team->links ||
        NULL == team->mappings) {
        team_free(team);
        return NULL;
    }
    gr_rings_fill(&team->rings, team->p, order);
    team->rings.torus = torus;
    if (NULL != team->gpu) {
        team->status = make_device_part(team);
    }
    if (0 == team->status) {
        team->usable = channels_for(team, ranks_on_device(team, ids));
    }
    if (team->one_device && 0 == team->status) {
        team->leader = gr_leader_new(team, gr_gpu_team_region(team, GR_REGION_COUNTER),
                                     gr_gpu_team_pinned(team, GR_PINNED_LEADER));
        team->status = NULL == team->leader ? GR_ERR_NOMEM : 0;
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
        gr_gpu_stream_close(team->stream); /* waits for kernels, before links are released */
        gr_gpu_free(team->gpu, team->tables);
        gr_gpu_host_free(team->gpu, team->pinned);
    }
    gr_leader_free(team->leader, pool);
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

void gr_gpu_connection_release(const struct gr_gpu_team *team, struct gr_gpu_connection *connection,
                               int used)
{
    if (NULL != connection->slab) {
        gr_gpu_pool_release(team->pool, connection->slab, used);
    }
    if (NULL != connection->slots) {
        gr_gpu_pool_release(team->pool, connection->slots, used);
    }
}
