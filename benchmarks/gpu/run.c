/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns one collective of one size on the devices. See run.h. */
#include "run.h"

#include "common/device.h"
#include "cuda/error.h"
#include "cuda/stream.h"
#include "exec/gpu/op.h"
#include "common/fit.h"
#include "common/ideal.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

/*
 * The schedules' collectives in the words of the benchmarks; those that combine nothing move bytes.
 */
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
    [ELEMENT_INT8] = GR_TYPE_I8,    [ELEMENT_UINT8] = GR_TYPE_U8,   [ELEMENT_INT16] = GR_TYPE_I16,
    [ELEMENT_UINT16] = GR_TYPE_U16, [ELEMENT_INT32] = GR_TYPE_I32,  [ELEMENT_UINT32] = GR_TYPE_U32,
    [ELEMENT_INT64] = GR_TYPE_I64,  [ELEMENT_UINT64] = GR_TYPE_U64, [ELEMENT_FLOAT] = GR_TYPE_F32,
    [ELEMENT_DOUBLE] = GR_TYPE_F64,
};

/* Of those that a kernel combines. */
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

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* ---- buffers ---- */

static int is_reduction(const struct run *run)
{
    return 0 != (collectives[run->coll].moves->flags & MOVES_REDUCED);
}

/* Whole warps, with 16 bytes for each thread of what a channel has of a block, or of the vector. */
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
    /* what the schedule counts: elements, or their bytes */
    size_t unit = is_reduction(run) ? 1 : s->element;

    run->request = (struct gr_request) {
        .coll = run->coll,
        .algo = w->algo,
        .root = w->root,
        .nchannels = w->channels,
        .elem_bytes = is_reduction(run) ? s->element : 1,
        .total = s->total * unit,
        .block = s->block * unit,
        .protocol = w->protocol,
        .threads = data_threads(run, bytes),
    };
}

static int fail(struct run *run)
{
    snprintf(run->error, OPTIONS_ERROR_CHARS, "%s: %s", gr_coll_name(run->coll), gr_gpu_error());
    return -1;
}

/* Zero copy: all ranks are in this process, and reach each other's buffers. */
static int share_outputs(struct run *run)
{
    gr_gpu_ptr outputs[CREW_RANKS];

    for (int i = 0; i < run->world->crew->n; i++) {
        outputs[i] = (gr_gpu_ptr) (uintptr_t) run->buffers[i].recv;
    }
    return 0 == world_outputs(run->world, outputs) ? 0 : fail(run);
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
        snprintf(error, OPTIONS_ERROR_CHARS, "-m: too little memory for buffers of %zu bytes",
                 bytes);
        return -1;
    }
    fill_request(run, &run->shapes[0], bytes);
    return world->shape.zero_copy ? share_outputs(run) : 0;
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

/* Where the kernel finds its data, by enum gr_space; no schedule has scratch. */
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

/*
 * The ranks that have not come through are told to stop; what they waited for is in their reports.
 */
static int give_up(struct run *run, double since)
{
    struct world *w = run->world;
    int used = 0;

    for (int i = 0; i < w->crew->n; i++) {
        struct seat *seat = &w->seats[i];
        for (uint32_t c = 0;
             !seat->over && c < run->request.nchannels && used < OPTIONS_ERROR_CHARS / 2; c++) {
            const struct gr_gpu_report *r = &seat->reports[c];
            used += GR_GPU_LEFT != r->word % 4
                        ? 0
                        : snprintf(run->error + used, (size_t) (OPTIONS_ERROR_CHARS - used),
                                   "rank %d channel %u waits at step %u of slice %u (links from "
                                   "%x, to %x); ",
                                   seat->rank, c, r->index, r->slice, r->from, r->to);
        }
        world_abort(seat);
    }
    snprintf(run->error + used, (size_t) (OPTIONS_ERROR_CHARS - used),
             "%s%s: not through after %.0f seconds", NULL != run->nccl ? "NCCL's " : "",
             gr_coll_name(run->coll), now() - since);
    return -1;
}

/*
 * A rank whose launch is done either is through or has left to come again. Returns how many seats
 * are over then.
 */
static int look_at(struct run *run, struct seat *seat, uint64_t *launches)
{
    uint64_t slots = 0;
    int done = seat->over ? 0 : gr_gpu_stream_done(seat->stream);

    if (done < 0) {
        return fail(run);
    }
    if (0 == done) {
        return 0;
    }
    if (NULL != run->nccl || !world_left(seat, &slots)) {
        seat->over = 1;
        return 1;
    }
    ++*launches;
    return 0 == world_launch(seat, run->kernel) ? 0 : fail(run);
}

static void prepare(struct run *run)
{
    struct world *w = run->world;

    for (int i = 0; i < w->crew->n; i++) {
        gr_gpu_ptr space[3];
        find_spaces(&run->shapes[i], &run->buffers[i], space);
        world_prepare(w, &w->seats[i], &run->request, space, run->options->patience);
    }
}

static int start_nccl(struct run *run)
{
    const struct options *o = &run->options->bench;
    struct nccl_call calls[CREW_RANKS];
    struct gr_gpu_stream *streams[CREW_RANKS];

    for (int i = 0; i < run->world->crew->n; i++) {
        calls[i] =
            (struct nccl_call) {run->coll, o->type, o->op, &run->shapes[i], &run->buffers[i]};
        streams[i] = run->world->seats[i].stream;
    }
    return nccl_start(run->nccl, calls, streams, run->error);
}

static int start_kernels(struct run *run, uint64_t *launches)
{
    for (int i = 0; i < run->world->crew->n; i++, ++*launches) {
        if (0 != world_launch(&run->world->seats[i], run->kernel)) {
            return fail(run);
        }
    }
    return 0;
}

/* All ranks of this process, once. Returns 0, or -1 with a line in error. */
static int call(struct run *run, double *seconds, uint64_t *launches)
{
    struct world *w = run->world;
    int n = w->crew->n, over = 0, rc;
    double start;

    prepare(run);
    crew_meet(w->crew);
    start = now();
    rc = NULL != run->nccl ? start_nccl(run) : start_kernels(run, launches);
    if (0 != rc) {
        return -1;
    }
    for (int i = 0; over < n; i = (i + 1) % n) {
        rc = look_at(run, &w->seats[i], launches);
        if (rc < 0) {
            return -1;
        }
        over += rc;
        if (i == n - 1) {
            sched_yield(); /* whoever is waited for may want this processor */
            if (over < n && now() - start > run->options->timeout) {
                return give_up(run, start);
            }
        }
    }
    *seconds = now() - start;
    return 0;
}

/*
 * A call that failed leaves links in the middle of it: nothing can follow, and other processes wait
 * in vain.
 */
static void must_call(struct run *run, double *seconds, uint64_t *launches)
{
    if (0 != call(run, seconds, launches)) {
        fprintf(stderr, "gpuring_gpu: %s\n", run->error);
        _Exit(3);
    }
}

static double check(struct run *run, unsigned seed)
{
    const struct options *o = &run->options->bench;
    struct crew *crew = run->world->crew;
    struct element_rule rule = {&element_types[o->type], is_reduction(run) ? o->op : ELEMENT_MOVE,
                                crew->ranks, seed};
    double wrong = 0, seconds;
    uint64_t launches = 0;

    for (int i = 0; i < crew->n; i++) {
        moves_prepare(&run->buffers[i], &run->shapes[i], &rule);
    }
    must_call(run, &seconds, &launches);
    for (int i = 0; i < crew->n; i++) {
        if (run->options->corrupt && run->shapes[i].out_count > 0) {
            moves_corrupt(&run->buffers[i], &run->shapes[i]);
        }
        wrong += (double) moves_check(&run->buffers[i], &run->shapes[i], &rule);
    }
    return crew_sum(crew, wrong);
}

int run_measure(struct run *run, struct run_result *result)
{
    const struct options *o = &run->options->bench;
    struct crew *crew = run->world->crew;
    struct element_rule data = {&element_types[o->type], ELEMENT_MOVE, crew->ranks, 0};
    size_t bytes = run->shapes[0].total * run->shapes[0].element;
    int iterations = o->iterations > 0 ? o->iterations : bytes <= 16 << 20 ? 20 : 5;
    int warmup = o->warmup >= 0 ? o->warmup : 2;
    double *us = malloc((size_t) iterations * sizeof *us), seconds;
    uint64_t launches = 0;

    if (0 != crew_max(crew, NULL == us)) {
        free(us);
        snprintf(run->error, OPTIONS_ERROR_CHARS, "out of memory");
        return -1;
    }
    *result = (struct run_result) {.bytes = bytes, .errors = o->check ? check(run, 0) : NAN};
    for (int i = 0; i < crew->n; i++) {
        moves_prepare(&run->buffers[i], &run->shapes[i], &data);
    }
    for (int i = -warmup; i < iterations; i++) {
        launches = i <= 0 ? 0 : launches;
        must_call(run, &seconds, &launches);
        us[i < 0 ? 0 : i] = crew_max(crew, seconds * 1e6);
    }
    fit_sort(us, iterations);
    result->us = fit_percentile(us, iterations, 50);
    result->best_us = us[0];
    result->launches = crew_sum(crew, (double) launches) / iterations / crew->ranks;
    result->launches = NULL != run->nccl ? NAN : result->launches;
    if (o->check) { /* other data: what the timed calls left behind must not pass */
        result->errors += check(run, 1);
    }
    free(us);
    return 0;
}
