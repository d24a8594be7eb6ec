/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on teams (team_calls.h). */
#include "team_calls.h"

#include "team_net.h"

#include "exec/gpu/op.h"
#include "link/team.h"
#include "cuda/stream.h"
#include "cuda/memory.h"

#include "rng.h"

#include <sched.h>
#include <time.h>

/* Seconds that a call may take. */
enum { PATIENCE = 150 };

/* ---- buffers ---- */

/* Bytes of the output with what is around it. */
static size_t out_bytes(const struct ex_buffers *b)
{
    return b->out_bytes + 2 * (size_t) (b->out - b->out_base);
}

static gr_gpu_ptr put(struct gr_gpu *gpu, const void *from, size_t bytes)
{
    gr_gpu_ptr at = 0;

    CHECK_INT(gr_gpu_alloc(gpu, bytes, &at), 0);
    CHECK_INT(gr_gpu_copy(gpu, (void *) at, from, bytes), 0);
    return at;
}

static void to_device(struct tc_call *call)
{
    struct gr_gpu *gpu = call->team->world->ranks[call->rank].gpu;
    struct ex_buffers *b = &call->buffers;

    call->out = NULL == b->out_base ? 0 : put(gpu, b->out_base, out_bytes(b));
    call->in = NULL == b->in_base ? 0 : put(gpu, b->in_base, b->in_bytes);
}

static void from_device(struct tc_call *call)
{
    struct gr_gpu *gpu = call->team->world->ranks[call->rank].gpu;
    struct ex_buffers *b = &call->buffers;

    if (0 != call->out) {
        CHECK_INT(gr_gpu_copy(gpu, b->out_base, (void *) call->out, out_bytes(b)), 0);
    }
    if (0 != call->in) {
        CHECK_INT(gr_gpu_copy(gpu, b->in_base, (void *) call->in, b->in_bytes), 0);
    }
}

void tc_drop(struct tc_call *call)
{
    struct gr_gpu *gpu = call->team->world->ranks[call->rank].gpu;

    gr_gpu_free(gpu, call->in);
    gr_gpu_free(gpu, call->out);
    gr_gpu_free(gpu, call->tmp);
    ex_buffers_free(&call->buffers);
}

void tc_end(struct tc_call *call)
{
    const struct ex_case *c = call->c;
    int p = call->team->world->p;
    unsigned char *want = ex_want(c, p);
    char why[200], text[200];

    from_device(call);
    if (0 != ex_buffers_check(&call->buffers, c, p, call->rank, want, why, sizeof(why))) {
        fprintf(stderr, "# %s: rank %d: %s\n", ex_describe(c, p, text, sizeof(text)), call->rank,
                why);
        _exit(1);
    }
    free(want);
    tc_drop(call);
}

/* ---- a gate ---- */

static int may_begin(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step)
{
    struct tc_gate *g = ctx;

    if (0 == step->nto) { /* the start */
        return g->held < 0 ? g->held : !g->held && 0 == rng_below(&g->random, 3);
    }
    CHECK(!g->asked[channel] ||
          (slice == g->slice[channel] && 0 == memcmp(step, &g->step[channel], sizeof(*step))));
    g->asked[channel] = 1;
    g->slice[channel] = slice;
    g->step[channel] = *step;
    if (g->in >= g->let || 0 == rng_below(&g->random, 3)) {
        return 0;
    }
    g->in++;
    return 1;
}

static void begins(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step)
{
    struct tc_gate *g = ctx;

    CHECK(g->asked[channel] && slice == g->slice[channel] &&
          0 == memcmp(step, &g->step[channel], sizeof(*step)));
    g->asked[channel] = 0;
    g->begun++;
}

static void ended(void *ctx, uint32_t channel)
{
    struct tc_gate *g = ctx;

    CHECK(!g->asked[channel]);
    g->ended++;
}

static int finished(void *ctx)
{
    struct tc_gate *g = ctx;

    return !g->held && 0 == rng_below(&g->random, 3);
}

const struct gr_gate tc_gate = {may_begin, begins, ended, finished};

/* ---- calls ---- */

/*
 * This rank's handle: of its output; of another buffer, as that of a persistent request may be; or
 * none, by the case's seed. Then those of all.
 */
static const struct gr_ipc_handle *const *exchange(struct tc_call *call, struct tc_handles *handles,
                                                   gr_gpu_ptr out)
{
    struct gr_ipc_cache *share = call->team->world->ranks[call->rank].share;
    unsigned kind = (unsigned) (call->c->seed >> call->rank) % 8;

    if (0 != call->out && 0 != kind) {
        out = 1 == kind && 0 != call->in ? call->in : out;
        handles->of[call->rank] = gr_ipc_cache_export(share, (const void *) (uintptr_t) out, 1);
        CHECK(gr_ipc_handle_valid(&handles->of[call->rank]));
    }
    handles->list[call->rank] = &handles->of[call->rank];
    atomic_fetch_add(&handles->posted, 1);
    while (call->team->world->p > atomic_load(&handles->posted)) {
        sched_yield();
    }
    return handles->list;
}

int tc_begin(struct tc_call *call, struct tr_team *t, int rank, const struct ex_case *c)
{
    return tc_begin_with(call, t, rank, c, NULL);
}

int tc_begin_with(struct tc_call *call, struct tr_team *t, int rank, const struct ex_case *c,
                  struct tc_handles *handles)
{
    const struct ex_buffers *b = &call->buffers;
    struct gr_plan_spec spec = ex_spec(c);
    gr_gpu_ptr space[3] = {0, 0, 0};
    const struct gr_ipc_handle *const *list = NULL;
    int kernel = GR_KERNEL_copy, rc;

    memset(call, 0, sizeof(*call));
    td_rank = rank;
    call->team = t;
    call->rank = rank;
    call->c = c;
    ex_buffers_make(&call->buffers, c, t->world->p, rank);
    to_device(call);
    if (gr_plan_scratch(&spec, t->world->p) > 0) {
        CHECK_INT(gr_gpu_alloc(t->world->ranks[rank].gpu, gr_plan_scratch(&spec, t->world->p),
                               &call->tmp),
                  0);
    }
    if (GR_COLL_BCAST != c->coll && GR_COLL_ALLGATHER != c->coll && GR_COLL_ALLTOALL != c->coll) {
        kernel = gr_gpu_kernel(ex_kinds[c->kind].type, ex_kinds[c->kind].op);
        CHECK(kernel >= 0);
    }
    if (spec.nchannels > t->ranks[rank]->usable) {
        spec.nchannels = t->ranks[rank]->usable;
    }
    space[GR_OUT] = 0 == call->out ? 0 : call->out + (size_t) (b->out - b->out_base);
    space[GR_IN] = call->in;
    space[GR_TMP] = call->tmp;
    if (0 == call->in && NULL != b->in) {
        space[GR_IN] = call->out + (size_t) (b->in - b->out_base); /* in place */
    }
    if (NULL != handles && c->zero_copy) {
        list = exchange(call, handles, space[GR_OUT]);
    }
    gr_gpu_op_init(&call->op, t->ranks[rank]);
    rc = gr_gpu_stream_follow(t->ranks[rank]->stream);
    rc = rc < 0 ? rc
                : gr_gpu_op_begin(&call->op, t->ranks[rank], &spec, (enum gr_kernel) kernel, space,
                                  list);
    if (0 == rc && NULL != getenv("TEAM_TEST_GATE")) {
        call->gate = (struct tc_gate) {.random = c->seed + (uint64_t) rank, .let = INT32_MAX};
        gr_gpu_op_gate(&call->op, &tc_gate, &call->gate);
    }
    return rc;
}

int tc_poll(struct tc_call *call)
{
    const struct tc_gate *g = call->op.gate.ctx;
    int rc;

    td_rank = call->rank;
    tn_progress(call->rank);
    rc = gr_gpu_op_poll(&call->op, &call->moved);
    if (GR_AGAIN == rc) {
        usleep(20); /* blocks are threads of this machine */
    } else if (GR_DONE == rc) {
        CHECK(NULL == g || (g->in == g->begun && g->ended == (int) call->op.nchannels));
        gr_gpu_op_end(&call->op);
    }
    return rc;
}

static void explain(const struct tc_call *call)
{
    int ranks[2 * GR_FAN], n, k;
    struct gr_gpu_report report;
    struct gr_step step;
    char text[200];
    uint32_t c;

    fprintf(stderr, "# %s: rank %d does not end\n",
            ex_describe(call->c, call->team->world->p, text, sizeof(text)), call->rank);
    for (c = 0; c < call->op.nchannels; c++) {
        if (gr_gpu_op_waits(&call->op, c, &step, &report, ranks, &n)) {
            fprintf(stderr, "#   channel %u, slice %u, step %u waits for", c, report.slice,
                    report.index);
            for (k = 0; k < n; k++) {
                fprintf(stderr, " %d", ranks[k]);
            }
            fprintf(stderr, "\n");
        }
    }
}

void tc_finish(struct tc_call *call)
{
    const char *patience = getenv("TEAM_TEST_PATIENCE");
    time_t last = time(NULL) + (NULL == patience ? PATIENCE : atoi(patience));
    int rc;

    while (GR_AGAIN == (rc = tc_poll(call))) {
        if (time(NULL) > last) {
            explain(call);
            _exit(1);
        }
    }
    CHECK_INT(rc, GR_DONE);
}

/* ---- all ranks ---- */

struct batch {
    struct tr_team *team;
    const struct ex_case *cases;
    size_t n;
    struct tc_handles *handles; /* [n] */
};

static void run_all(void *ctx, int rank)
{
    const struct batch *b = ctx;
    struct tc_call call;
    size_t k;

    for (k = 0; k < b->n; k++) {
        CHECK_INT(tc_begin_with(&call, b->team, rank, &b->cases[k], &b->handles[k]), 0);
        tc_finish(&call);
        tc_end(&call);
    }
}

void tc_run(struct tr_team *t, const struct ex_case *cases, size_t n)
{
    struct batch b = {t, cases, n, calloc(n, sizeof(*b.handles))};
    size_t k;
    int r;

    CHECK(NULL != b.handles);
    for (k = 0; k < n; k++) {
        enum gr_algo algo = (enum gr_algo) cases[k].algo;

        if (GR_LINKS_THERE != tr_state(t, 0, algo, cases[k].root)) {
            CHECK_INT(tr_link(t, algo, cases[k].root), 0);
        }
        for (r = 0; r < t->world->p; r++) {
            CHECK_INT(tr_state(t, r, algo, cases[k].root), GR_LINKS_THERE);
        }
    }
    tr_each(t->world->p, run_all, &b);
    free(b.handles);
}

void tc_try(struct tr_team *t, enum gr_algo algo)
{
    struct ex_case c = {.coll = gr_algo_has(algo, GR_COLL_ALLREDUCE) ? GR_COLL_ALLREDUCE
                                                                     : GR_COLL_REDUCE,
                        .algo = (int) algo,
                        .kind = EX_I32_SUM,
                        .nchannels = 2,
                        .count = 777,
                        .seed = 5,
                        .torus = t->ranks[0]->rings.torus};

    tc_run(t, &c, 1);
}
