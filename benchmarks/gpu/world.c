/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of world.h. */
#include "world.h"

#include "cuda/device.h"
#include "exec/gpu/team.h"

#include <stdlib.h>
#include <unistd.h>

/* Nothing but the device's memory bounds the links. */
#define MOST_BYTES ((size_t) 1 << 44)

/* ---- links ---- */

/* The board's entry for a link: the reader's handle, then the writer's reply. */
static struct gr_gpu_slab_handle *entry(const struct world *w, int reader, uint32_t channel,
                                        int writer)
{
    size_t p = (size_t) w->crew->ranks;

    return (struct gr_gpu_slab_handle *) w->crew->board +
           ((size_t) channel * p + (size_t) reader) * p + (size_t) writer;
}

size_t world_board_bytes(int ranks, uint32_t channels)
{
    return (size_t) ranks * (size_t) ranks * channels * sizeof(struct gr_gpu_slab_handle);
}

/* Carries the readers' handles to the writers, and the writers' replies back. */
static void exchange(struct world *w, struct gr_join *joins)
{
    int n = w->crew->n, i, k;

    for (i = 0; i < n; i++) {
        for (k = 0; k < joins[i].in.n; k++) {
            const struct gr_gpu_connection *in = &joins[i].in.gpu[k];
            *entry(w, w->seats[i].rank, in->end.channel, in->end.rank) = in->handle;
        }
    }
    crew_meet(w->crew);
    for (i = 0; i < n; i++) {
        for (k = 0; k < joins[i].out.n; k++) {
            struct gr_gpu_connection *out = &joins[i].out.gpu[k];
            out->handle = *entry(w, out->end.rank, out->end.channel, w->seats[i].rank);
        }
        gr_join_reply(&joins[i]);
        for (k = 0; k < joins[i].out.n; k++) {
            const struct gr_gpu_connection *out = &joins[i].out.gpu[k];
            *entry(w, out->end.rank, out->end.channel, w->seats[i].rank) = out->reply;
        }
    }
    crew_meet(w->crew);
    for (i = 0; i < n; i++) {
        for (k = 0; k < joins[i].in.n; k++) {
            struct gr_gpu_connection *in = &joins[i].in.gpu[k];
            in->reply = *entry(w, w->seats[i].rank, in->end.channel, in->end.rank);
        }
    }
}

static struct gr_join_agreement agree(struct world *w, struct gr_join *joins)
{
    struct gr_join_agreement mine[CREW_RANKS], all[CREW_RANKS];

    for (int i = 0; i < w->crew->n; i++) {
        (void) gr_join_map(&joins[i], &mine[i]);
    }
    crew_tell(w->crew, mine, all, sizeof mine[0]);
    for (int r = 1; r < w->crew->ranks; r++) {
        all[0] = gr_join_agreement_combine(all[0], all[r]);
    }
    return all[0];
}

static int make_links(struct world *w)
{
    struct gr_join *joins = calloc((size_t) w->crew->n, sizeof *joins);
    struct gr_join_agreement agreed;
    int rc = NULL == joins ? GR_ERR_NOMEM : 0;

    for (int i = 0; 0 == rc && i < w->crew->n; i++) {
        rc = gr_gpu_team_join(&joins[i], w->seats[i].team, w->shape.algo, w->shape.root);
    }
    if (0 != crew_max(w->crew, 0 != rc)) {
        free(joins);
        return 0 != rc ? rc : GR_ERR_PEER;
    }
    exchange(w, joins);
    agreed = agree(w, joins);
    /* more blocks than fit the device are no deadlock: those that wait leave */
    agreed.gpu.channels = w->shape.channels;
    for (int i = 0; i < w->crew->n; i++) {
        gr_join_end(&joins[i], agreed.gpu.status, &agreed);
    }
    free(joins);
    return agreed.gpu.status;
}

/* ---- teams ---- */

static int make_teams(struct world *w, const struct gr_gpu_id *ids)
{
    int order[CREW_RANKS], rc = 0;

    for (int r = 0; r < w->crew->ranks; r++) {
        order[r] = r;
    }
    for (int i = 0; 0 == rc && i < w->crew->n; i++) {
        struct gr_gpu_team given = {.p = w->crew->ranks,
                                    .rank = w->crew->first + i,
                                    .nchannels = w->shape.channels,
                                    .nslots = w->shape.slots,
                                    .slot_bytes = w->shape.slot_bytes,
                                    .gpu = w->gpu,
                                    .pool = w->pool,
                                    .ipc_cache = w->share};

        w->seats[i].rank = given.rank;
        w->seats[i].team = gr_gpu_team_create(&given, order, (struct gr_torus) {.ndims = 0}, ids);
        rc = NULL == w->seats[i].team ? GR_ERR_NOMEM : w->seats[i].team->status;
    }
    return rc;
}

int world_open(struct world *w, struct crew *crew, struct gr_gpu *gpu,
               const struct world_shape *shape)
{
    struct gr_peer_id self = {1, (uint64_t) getpid()};
    struct gr_gpu_id mine[CREW_RANKS], ids[CREW_RANKS];
    int rc;

    *w = (struct world) {.crew = crew,
                         .gpu = gpu,
                         .shape = *shape,
                         .doors = gr_pool_open(self, MOST_BYTES),
                         .share = gr_ipc_cache_open(gpu, self, CREW_RANKS, CREW_RANKS),
                         .seats = calloc((size_t) crew->n, sizeof *w->seats)};
    w->pool = NULL == w->doors ? NULL : gr_gpu_pool_open(gpu, w->doors, MOST_BYTES);
    for (int i = 0; i < crew->n; i++) {
        mine[i] = gpu->id;
    }
    crew_tell(crew, mine, ids, sizeof mine[0]);
    rc =
        NULL == w->pool || NULL == w->share || NULL == w->seats ? GR_ERR_NOMEM : make_teams(w, ids);
    if (0 != crew_max(crew, 0 != rc)) {
        return 0 != rc ? rc : GR_ERR_PEER;
    }
    return make_links(w);
}

void world_close(struct world *w)
{
    for (int i = 0; NULL != w->seats && i < w->crew->n; i++) {
        gr_gpu_team_destroy(w->seats[i].team, 1);
    }
    crew_meet(w->crew); /* all kernels are done: memory is freed that others have mapped */
    gr_ipc_cache_close(w->share);
    gr_gpu_pool_close(w->pool);
    gr_pool_close(w->doors);
    free(w->seats);
}

int world_begin(struct seat *seat, const struct gr_plan_spec *spec, enum gr_kernel kernel,
                const gr_gpu_ptr space[3], uint64_t patience,
                const struct gr_ipc_handle *const *handles)
{
    int rc = gr_gpu_op_begin(&seat->op, seat->team, spec, kernel, space, handles);

    seat->op.args.patience = patience;
    seat->over = 0;
    return rc;
}
