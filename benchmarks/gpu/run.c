/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of run.h. */
#include "run.h"

#include "common/device.h"
#include "cuda/device.h"
#include "cuda/stream.h"
#include "exec/gpu/op.h"
#include "common/clock.h"
#include "common/fit.h"
#include "common/ideal.h"

#include <err.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>

/* The schedules' collectives as those of the benchmarks. */
static const struct {
    const struct moves *moves;
    enum ideal_kind kind;
} collectives[GR_NCOLLS] = {
    [GR_COLL_ALLREDUCE] = {&moves_allreduce, IDEAL_ALLREDUCE},
    [GR_COLL_ALLGATHER] = {&moves_allgather, IDEAL_SHARES},
    [GR_COLL_REDUCE_SCATTER] = {&moves_reduce_scatter, IDEAL_SHARES},
    [GR_COLL_BCAST] = {&moves_bcast, IDEAL_ROOTED},
    [GR_COLL_REDUCE] = {&moves_reduce, IDEAL_ROOTED},
};

static const enum gr_type types[ELEMENT_TYPES] = {
    [ELEMENT_INT8] = GR_TYPE_I8,   [ELEMENT_UINT8] = GR_TYPE_U8,
    [ELEMENT_INT16] = GR_TYPE_I16, [ELEMENT_UINT16] = GR_TYPE_U16,
    [ELEMENT_INT32] = GR_TYPE_I32, [ELEMENT_UINT32] = GR_TYPE_U32,
    [ELEMENT_INT64] = GR_TYPE_I64, [ELEMENT_UINT64] = GR_TYPE_U64,
    [ELEMENT_HALF] = GR_TYPE_F16,  [ELEMENT_BFLOAT16] = GR_TYPE_BF16,
    [ELEMENT_FLOAT] = GR_TYPE_F32, [ELEMENT_DOUBLE] = GR_TYPE_F64,
};

/* The operations that kernels have. */
static const enum gr_redop ops[] = {
    [ELEMENT_SUM] = GR_OP_SUM,
    [ELEMENT_PROD] = GR_OP_PROD,
    [ELEMENT_MIN] = GR_OP_MIN,
    [ELEMENT_MAX] = GR_OP_MAX,
};

double run_busbw(enum gr_coll coll, size_t bytes, double seconds, int ranks)
{
    return ideal_busbw(collectives[coll].kind, bytes, seconds, ranks);
}

/* ---- buffers ---- */

static int is_reduction(const struct run *run)
{
    return 0 != (collectives[run->coll].moves->flags & MOVES_REDUCED);
}

/* Whole warps, 16 bytes per thread, for the part of a block, or of the vector, of a channel. */
static uint32_t data_threads(const struct run *run, size_t bytes)
{
    const struct world *w = run->world;
    int blocks = GR_BLOCKS == gr_algo_layout(w->shape.algo, run->coll);
    size_t warps = (bytes / w->shape.channels / (blocks ? (size_t) w->crew->ranks : 1) + 511) / 512;

    return 32 * (uint32_t) (0 == warps                   ? 1
                            : warps < GR_LINE_UNITS / 32 ? warps
                                                         : GR_LINE_UNITS / 32);
}

static void fill_request(struct run *run, const struct shape *s, size_t bytes)
{
    const struct world_shape *w = &run->world->shape;

    run->spec = (struct gr_plan_spec) {
        .coll = run->coll,
        .algo = w->algo,
        .root = w->root,
        .nchannels = w->channels,
        .elem_bytes = s->element,
        .total = s->total,
        .block = s->moves->flags & MOVES_DIVIDED ? s->block : 0,
        .protocol = w->protocol,
        .threads = data_threads(run, bytes),
    };
}

static int fail(struct run *run)
{
    snprintf(run->error, CLI_ERROR_CHARS, "%s: %s", gr_coll_name(run->coll), gr_gpu_error());
    return -1;
}

/* Zero copy: all ranks learn where each other's output lies. */
static void share_outputs(struct run *run)
{
    struct world *w = run->world;
    struct gr_ipc_handle mine[CREW_RANKS];

    for (int i = 0; i < w->crew->n; i++) {
        mine[i] = gr_ipc_cache_export(w->share, run->buffers[i].recv,
                                      run->shapes[i].out_count * run->shapes[i].element);
    }
    crew_tell(w->crew, mine, run->handles, sizeof mine[0]);
    for (int r = 0; r < w->crew->ranks; r++) {
        run->handle_of[r] = &run->handles[r];
    }
}

int run_open(struct run *run, struct world *world, const struct run_options *options,
             enum gr_coll coll, size_t bytes, char *error)
{
    const struct options *o = &options->bench;
    const struct element_type *type = &element_types[o->type];
    struct crew *crew = world->crew;
    int short_of_memory = 0;

    *run = (struct run) {.world = world, .options = options, .coll = coll, .error = error};
    run->kernel = is_reduction(run) ? (enum gr_kernel) gr_gpu_kernel(types[o->type], ops[o->op])
                                    : GR_KERNEL_copy;
    run->shapes = calloc((size_t) crew->n, sizeof *run->shapes);
    run->buffers = calloc((size_t) crew->n, sizeof *run->buffers);
    for (int i = 0; i < crew->n && NULL != run->shapes && NULL != run->buffers; i++) {
        run->shapes[i] = moves_shape(collectives[coll].moves, bytes, type->size, crew->ranks,
                                     crew->first + i, o->root, o->in_place);
        short_of_memory =
            0 != moves_alloc(&run->buffers[i], &memory_cuda, &run->shapes[i]) || short_of_memory;
    }
    if (0 != crew_max(crew, short_of_memory || NULL == run->shapes || NULL == run->buffers)) {
        snprintf(error, CLI_ERROR_CHARS, "-m: too little memory for buffers of %zu bytes", bytes);
        return -1;
    }
    fill_request(run, &run->shapes[0], bytes);
    if (world->shape.zero_copy) {
        share_outputs(run);
    }
    return 0;
}

void run_close(struct run *run)
{
    for (int i = 0; NULL != run->buffers && i < run->world->crew->n; i++) {
        if (NULL != run->buffers[i].memory) {
            moves_release(&run->buffers[i]);
        }
    }
    free(run->shapes);
    free(run->buffers);
}

/* The kernel's buffers, by enum gr_space; no schedule here has scratch. */
static void find_spaces(const struct shape *s, const struct buffers *b, gr_gpu_ptr space[3])
{
    const char *in = s->shared ? b->recv + s->in_at * s->element : b->send;

    space[GR_IN] = (gr_gpu_ptr) (uintptr_t) in;
    space[GR_OUT] = (gr_gpu_ptr) (uintptr_t) b->recv;
    space[GR_TMP] = 0;
    if (s->moves->flags & MOVES_FROM_ROOT) {
        space[GR_IN] = space[GR_OUT];
    }
}

/* ---- calls ---- */

/* Aborts the calls that are not over. Their reports say what they wait for. */
static int give_up(struct run *run, double since)
{
    struct world *w = run->world;
    int used = 0;

    for (int i = 0; i < w->crew->n && NULL == run->nccl; i++) {
        struct seat *seat = &w->seats[i];
        for (uint32_t c = 0; !seat->over && c < run->spec.nchannels && used < CLI_ERROR_CHARS / 2;
             c++) {
            struct gr_gpu_report r;
            struct gr_step step;
            int ranks[2 * GR_FAN], n;

            used += !gr_gpu_op_waits(&seat->op, c, &step, &r, ranks, &n)
                        ? 0
                        : snprintf(run->error + used, (size_t) (CLI_ERROR_CHARS - used),
                                   "rank %d channel %u waits at step %u of slice %u (links from "
                                   "%x, to %x); ",
                                   seat->rank, c, r.index, r.slice, r.from, r.to);
        }
        gr_gpu_op_abort(&seat->op);
    }
    snprintf(run->error + used, (size_t) (CLI_ERROR_CHARS - used),
             "%s%s: not done after %.0f seconds", NULL != run->nccl ? "NCCL's " : "",
             gr_coll_name(run->coll), (clock_us() - since) * 1e-6);
    return -1;
}

/* Polls the rank's call. Returns how many calls are over then. */
static int poll_seat(struct run *run, struct seat *seat)
{
    uint64_t moved = 0;
    int done;

    if (seat->over) {
        return 0;
    }
    if (NULL != run->nccl) {
        done = gr_gpu_stream_done(seat->team->stream);
    } else {
        done = gr_gpu_op_poll(&seat->op, &moved);
        done = GR_DONE == done ? 1 : GR_AGAIN == done ? 0 : -1;
    }
    seat->over = 1 == done;
    return done < 0 ? fail(run) : done;
}

/* Returns 0, or -1 with a line in error. */
static int prepare(struct run *run)
{
    struct world *w = run->world;
    int rc = 0;

    for (int i = 0; 0 == rc && i < w->crew->n; i++) {
        gr_gpu_ptr space[3];
        w->seats[i].over = 0;
        find_spaces(&run->shapes[i], &run->buffers[i], space);
        if (NULL == run->nccl) {
            rc = world_begin(&w->seats[i], &run->spec, run->kernel, space, run->options->patience,
                             w->shape.zero_copy ? run->handle_of : NULL);
        }
    }
    return 0 == rc ? 0 : fail(run);
}

static int start_nccl(struct run *run)
{
    const struct options *o = &run->options->bench;
    struct nccl_call calls[CREW_RANKS];
    struct gr_gpu_stream *streams[CREW_RANKS];

    for (int i = 0; i < run->world->crew->n; i++) {
        calls[i] =
            (struct nccl_call) {run->coll, o->type, o->op, &run->shapes[i], &run->buffers[i]};
        streams[i] = run->world->seats[i].team->stream;
    }
    return nccl_start(run->nccl, calls, streams, run->error);
}

/* All ranks of this process, once. Returns 0, or -1 with a line in error. */
static int call(struct run *run, double *us)
{
    struct world *w = run->world;
    int n = w->crew->n, over = 0, rc = prepare(run);
    double start;

    crew_meet(w->crew);
    start = clock_us();
    if (0 != rc || (NULL != run->nccl && 0 != start_nccl(run))) {
        return -1;
    }
    for (int i = 0; over < n; i = (i + 1) % n) {
        rc = poll_seat(run, &w->seats[i]);
        if (rc < 0) {
            return -1;
        }
        over += rc;
        if (i == n - 1) {
            sched_yield(); /* for the process that is waited for */
            if (over < n && clock_us() - start > run->options->timeout * 1e6) {
                return give_up(run, start);
            }
        }
    }
    *us = clock_us() - start;
    for (int i = 0; NULL == run->nccl && i < n; i++) {
        gr_gpu_op_end(&w->seats[i].op);
    }
    return 0;
}

/* A failed call leaves links in the middle of it: no call can follow, and other processes wait. */
static void must_call(struct run *run, double *us)
{
    if (0 != call(run, us)) {
        warnx("%s", run->error);
        _Exit(3);
    }
}

static double check(struct run *run, unsigned seed)
{
    const struct options *o = &run->options->bench;
    struct crew *crew = run->world->crew;
    struct element_rule rule = {&element_types[o->type], is_reduction(run) ? o->op : ELEMENT_MOVE,
                                crew->ranks, seed};
    double wrong = 0, us;

    for (int i = 0; i < crew->n; i++) {
        moves_prepare(&run->buffers[i], &run->shapes[i], &rule);
    }
    must_call(run, &us);
    for (int i = 0; i < crew->n; i++) {
        if (run->options->corrupt && run->shapes[i].out_count > 0) {
            moves_corrupt(&run->buffers[i], &run->shapes[i]);
        }
        wrong += (double) moves_check(&run->buffers[i], &run->shapes[i], &rule);
    }
    return crew_sum(crew, wrong);
}

/* By the ranks of this process, so far. */
static double count_launches(const struct world *w)
{
    double n = 0;

    for (int i = 0; i < w->crew->n; i++) {
        n += (double) w->seats[i].team->launches;
    }
    return n;
}

int run_measure(struct run *run, struct run_result *result)
{
    const struct options *o = &run->options->bench;
    struct crew *crew = run->world->crew;
    struct element_rule data = {&element_types[o->type], ELEMENT_MOVE, crew->ranks, 0};
    size_t bytes = run->shapes[0].total * run->shapes[0].element;
    int iterations = o->iterations > 0 ? o->iterations : bytes <= 16 << 20 ? 20 : 5;
    int warmup = o->warmup >= 0 ? o->warmup : 2;
    double *us = malloc((size_t) iterations * sizeof *us), launches = 0, one;

    if (0 != crew_max(crew, NULL == us)) {
        free(us);
        snprintf(run->error, CLI_ERROR_CHARS, "out of memory");
        return -1;
    }
    *result = (struct run_result) {.bytes = bytes, .errors = o->check ? check(run, 0) : NAN};
    for (int i = 0; i < crew->n; i++) {
        moves_prepare(&run->buffers[i], &run->shapes[i], &data);
    }
    for (int i = -warmup; i < iterations; i++) {
        launches -= 0 == i ? count_launches(run->world) : 0;
        must_call(run, &one);
        us[i < 0 ? 0 : i] = crew_max(crew, one);
    }
    fit_sort(us, iterations);
    result->us = fit_percentile(us, iterations, 50);
    result->best_us = us[0];
    launches = crew_sum(crew, launches + count_launches(run->world));
    result->launches = launches / iterations / crew->ranks;
    result->launches = NULL != run->nccl ? NAN : result->launches;
    if (o->check) { /* with other data: results of the timed calls must not pass */
        result->errors += check(run, 1);
    }
    free(us);
    return 0;
}
