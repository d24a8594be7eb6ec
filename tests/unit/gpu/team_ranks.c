/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a communicator in one process, and their links (team_ranks.h). */
#include "cuda/device.h"
#include "exec/gpu/team.h"
#include "team_net.h"
#include "usage.h"

#include <pthread.h>

/* ---- threads ---- */

struct runner {
    pthread_t thread;
    tr_body body;
    void *ctx;
    int rank;
};

static void *run_body(void *arg)
{
    struct runner *r = arg;

    td_rank = r->rank;
    r->body(r->ctx, r->rank);
    return NULL;
}

void tr_each(int p, tr_body body, void *ctx)
{
    struct runner runners[TR_RANKS];
    int r;

    for (r = 0; r < p; r++) {
        runners[r].body = body;
        runners[r].ctx = ctx;
        runners[r].rank = r;
        CHECK_INT(pthread_create(&runners[r].thread, NULL, run_body, &runners[r]), 0);
    }
    for (r = 0; r < p; r++) {
        CHECK_INT(pthread_join(runners[r].thread, NULL), 0);
    }
}

/* ---- ranks ---- */

int tr_few_kernels(void)
{
    return GR_SANITIZER(0, 1, 1) || NULL != getenv("TEAM_TEST_KERNELS");
}

/*
 * The component's kernels instead of device_kernels.cu's, which do nothing: all of them, or under a
 * sanitizer those of team_kernels.cu, with the others from device_kernels.cu; or such few that
 * TEAM_TEST_KERNELS names.
 */
static void choose_kernels(void)
{
    const char *folder = getenv("FAKECUDA"), *others = getenv("TEAM_TEST_KERNELS");
    char path[4096];

    if (NULL == folder) {
        return;
    }
    if (NULL != others) {
        snprintf(path, sizeof(path), "%s", others);
    } else if (tr_few_kernels()) {
        snprintf(path, sizeof(path), "%s/fakecuda_kernels.so:%s/device_kernels.so", folder, folder);
    } else {
        snprintf(path, sizeof(path), "%s/fakecuda_kernels.so", folder);
    }
    setenv("FAKECUDA_KERNELS", path, 1);
}

void tr_open(struct tr_world *w, int p, const struct tr_bounds *bounds)
{
    static const struct tr_bounds enough = {(size_t) 64 << 20, (size_t) 256 << 20, TR_THREADS};
    int r;

    bounds = NULL == bounds ? &enough : bounds;
    choose_kernels();
    memset(w, 0, sizeof(*w));
    w->p = p;
    w->gpus = open_gpus();
    /* strides in PTX are of whole blocks */
    td_install(w->gpus, NULL == getenv("FAKECUDA_PTX") ? bounds->threads : GR_GPU_THREADS);
    for (r = 0; r < p; r++) {
        struct gr_peer_id self = {1, (uint64_t) r};

        w->ranks[r].gpu = get_gpu(w->gpus, r % gr_gpus_count(w->gpus));
        w->ids[r] = w->ranks[r].gpu->id;
        w->ranks[r].host = gr_pool_open(self, bounds->host);
        CHECK(NULL != w->ranks[r].host);
        w->ranks[r].pool = gr_gpu_pool_open(w->ranks[r].gpu, w->ranks[r].host, bounds->pool);
        CHECK(NULL != w->ranks[r].pool);
        w->ranks[r].share = gr_ipc_cache_open(w->ranks[r].gpu, self, 4, 4);
        CHECK(NULL != w->ranks[r].share);
    }
}

size_t tr_leased(const struct tr_world *w, int rank)
{
    return gpu_pool_usage(w->ranks[rank].pool).leased + gr_pool_usage(w->ranks[rank].host).leased;
}

void tr_close(struct tr_world *w)
{
    int r;

    for (r = 0; r < w->p; r++) {
        CHECK_INT(tr_leased(w, r), 0);
        CHECK_INT(ipc_cache_usage(w->ranks[r].share).in_use, 0);
    }
    for (r = 0; r < w->p; r++) {
        gr_ipc_cache_close(w->ranks[r].share);
        gr_gpu_pool_close(w->ranks[r].pool);
        gr_pool_close(w->ranks[r].host);
    }
    CHECK_INT(td_held(), 0);
    gr_gpus_close(w->gpus);
}

/* ---- teams ---- */

void tr_make(struct tr_team *t, struct tr_world *w, const struct tr_shape *shape)
{
    int same[TR_RANKS], r, listed = 0;

    for (r = 0; r < w->p; r++) {
        same[r] = r;
        listed |= shape->order[r];
    }
    memset(t, 0, sizeof(*t));
    t->world = w;
    for (r = 0; r < w->p; r++) {
        int lacks = shape->lacking && 1 == r;
        struct gr_gpu_team given = {
            .p = w->p,
            .rank = r,
            .nchannels = shape->nchannels,
            .nslots = shape->nslots,
            .slot_bytes = shape->slot_bytes,
            .remote = tn_remote(r),
            .rdma = !lacks && tn_rdma() ? gr_gpu_rdma(w->ranks[r].gpu) : GR_RDMA_NONE,
            .gpu = lacks ? NULL : w->ranks[r].gpu,
            .status = lacks ? GR_ERR_NODEVICE : 0,
            .pool = lacks ? NULL : w->ranks[r].pool,
            .ipc_cache = lacks ? NULL : w->ranks[r].share,
        };

        t->ranks[r] =
            gr_gpu_team_create(&given, listed ? shape->order : same, shape->torus, w->ids);
        CHECK(NULL != t->ranks[r]);
    }
}

int tr_state(const struct tr_team *t, int rank, enum gr_algo algo, int root)
{
    return *gr_gpu_team_state(t->ranks[rank], algo, root);
}

void tr_leave_rank(struct tr_team *t, int rank)
{
    td_rank = rank;
    tn_leave(t->ranks[rank]);
    gr_gpu_team_destroy(t->ranks[rank], 1);
    t->ranks[rank] = NULL;
}

static void leave(void *ctx, int rank)
{
    tr_leave_rank(ctx, rank);
}

void tr_leave(struct tr_team *t)
{
    tr_each(t->world->p, leave, t);
    tn_settle();
}

/* ---- making links, in phases; all ranks are through with one before any begins the next ---- */

static void begin(void *ctx, int rank)
{
    struct tr_team *t = ctx;

    CHECK_INT(gr_gpu_team_join(&t->joins[rank], t->ranks[rank], t->algo, t->root), 0);
}

static void answer(void *ctx, int rank)
{
    struct tr_team *t = ctx;

    gr_join_reply(&t->joins[rank]);
}

static void map(void *ctx, int rank)
{
    struct tr_team *t = ctx;

    (void) gr_join_map(&t->joins[rank], &t->mine[rank]);
}

static void end(void *ctx, int rank)
{
    struct tr_team *t = ctx;

    gr_join_end(&t->joins[rank], t->agreed.gpu.status, &t->agreed);
}

/* The writer's end of a link; there must be one. */
static struct gr_gpu_connection *find_out(struct tr_team *t, int writer, uint32_t channel,
                                          int reader)
{
    struct gr_join *join = &t->joins[writer];
    int k;

    for (k = 0; k < join->out.near &&
                (channel != join->out.gpu[k].end.channel || reader != join->out.gpu[k].end.rank);
         k++) {
    }
    CHECK(k < join->out.near);
    return &join->out.gpu[k];
}

/* Carry offers to the writers, or answers back; inside nodes. */
static void carry(struct tr_team *t, int answers)
{
    int r, k, nin = 0, nout = 0;

    for (r = 0; r < t->world->p; r++) {
        nin += t->joins[r].in.near;
        nout += t->joins[r].out.near;
        for (k = 0; k < t->joins[r].in.near; k++) {
            struct gr_gpu_connection *in = &t->joins[r].in.gpu[k],
                                     *out = find_out(t, in->end.rank, in->end.channel, r);

            if (answers) {
                in->reply = out->reply;
            } else {
                out->handle = in->handle;
            }
        }
    }
    CHECK_INT(nin, nout);
    if (NULL != t->carried) {
        t->carried(t, answers);
    }
}

int tr_link(struct tr_team *t, enum gr_algo algo, int root)
{
    int p = t->world->p, r;

    t->algo = algo;
    t->root = root;
    tr_each(p, begin, t);
    tn_join(t);
    carry(t, 0);
    tr_each(p, answer, t);
    carry(t, 1);
    tr_each(p, map, t);
    t->agreed = t->mine[0];
    for (r = 1; r < p; r++) {
        t->agreed = gr_join_agreement_combine(t->agreed, t->mine[r]);
    }
    tr_each(p, end, t);
    return t->agreed.gpu.status;
}

/* ---- rows ---- */

void tr_set_up(struct tr_team *t, int p, const struct tr_shape *shape, int algo)
{
    static struct tr_world world;

    tr_open(&world, p, NULL);
    tr_make(t, &world, shape);
    if (TR_NO_LINKS != algo) {
        CHECK_INT(tr_link(t, (enum gr_algo) algo, 0), 0);
    }
}

void tr_tear_down(struct tr_team *t)
{
    tr_leave(t);
    tr_close(t->world);
}
