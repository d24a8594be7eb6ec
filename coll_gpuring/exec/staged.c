/* SPDX-License-Identifier: BSD-3-Clause */
/* staged.h */
#include "exec/staged.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Of a block that no step reads, or stores for the last time. */
#define UNUSED UINT32_MAX

/* Runs of bytes that are put on a stream at a time. */
#define RUNS 64

static int is_pipe(const struct gr_staged *s)
{
    return GR_PIPE == s->stepper->plan->split.layout;
}

/* ---- what comes when ---- */

/*
 * Whether a step reads its chunks of the input; whether it puts some value, and whether their
 * result, into the output.
 */
static int reads_input(const struct gr_step *step)
{
    return 0 != step->bits && (0 == (step->bits & GR_RECV) || step->bits & GR_REDUCE) &&
           GR_IN == step->operand;
}

static int stores_output(const struct gr_step *step)
{
    return step->bits & GR_STORE && GR_OUT == step->dest;
}

static int stores_result(const struct gr_step *step)
{
    return stores_output(step) && step->bits & GR_FINAL;
}

/*
 * Number the blocks of one channel in the order in which such steps come to them, from n on; how
 * many there are then.
 */
static uint32_t order_blocks(int (*concerns)(const struct gr_step *), const struct gr_sched *sched,
                             uint32_t n, uint32_t *order)
{
    const struct gr_step *step;
    struct gr_step_walk w;
    uint32_t k;

    gr_step_walk_begin(&w, sched, 1);
    while (NULL != (step = gr_step_walk_get(&w, sched)) && n < (uint32_t) sched->p) {
        for (k = 0; concerns(step) && k < step->count; k++) {
            uint32_t block = gr_step_chunk(step, k);

            if (UNUSED == order[block]) {
                order[block] = n++;
            }
        }
        gr_step_walk_next(&w);
    }
    return n;
}

static void find_order(struct gr_staged *s, struct gr_staged_direction *w)
{
    const struct gr_plan *plan = s->stepper->plan;
    uint32_t p = (uint32_t) s->host->p, c, n;

    w->nblocks = is_pipe(s);
    memset(w->order, is_pipe(s) ? 0 : 0xff, plan->split.nchannels * p * sizeof(w->order[0]));
    for (c = 0; !is_pipe(s) && c < plan->split.nchannels; c++) {
        uint32_t *order = w->order + c * p;

        n = order_blocks(GR_IN == w->space ? reads_input : stores_result, &plan->sched[c], 0,
                         order);
        if (GR_OUT == w->space) { /* of a schedule that does not say what is a result, too */
            n = order_blocks(stores_output, &plan->sched[c], n, order);
        }
        w->nblocks = n > w->nblocks ? n : w->nblocks;
    }
}

/*
 * A block of a cell has a number in time, of cell * nblocks + its order. Equal shares of these
 * numbers are the bands: the first number of band k, and the band of a number.
 */
static size_t numbers(const struct gr_staged *s, const struct gr_staged_direction *w)
{
    return gr_split_cells(&s->stepper->plan->split) * w->nblocks;
}

static size_t first_number(const struct gr_staged *s, const struct gr_staged_direction *w,
                           uint32_t band)
{
    return (band * numbers(s, w) + w->nbands - 1) / w->nbands;
}

/* The band of a chunk in the slice where the channel is; UNUSED: none. */
static uint32_t band_of(const struct gr_staged *s, const struct gr_staged_direction *w,
                        uint32_t channel, uint32_t chunk)
{
    const struct gr_split *split = &s->stepper->plan->split;
    size_t slice = s->stepper->at[channel].walk.slice,
           cell = is_pipe(s) ? slice * split->nchunks + chunk : slice;
    uint32_t order = is_pipe(s) ? 0 : w->order[channel * (uint32_t) s->host->p + chunk];

    return UNUSED == order ? UNUSED
                           : (uint32_t) ((cell * w->nblocks + order) * w->nbands / numbers(s, w));
}

/* Where the part of a block that belongs to a band lies: a run of elements. */
static struct gr_range part_of(const struct gr_staged *s, const struct gr_staged_direction *w,
                               uint32_t band, uint32_t channel, int block)
{
    uint32_t order = w->order[channel * (uint32_t) s->host->p + (uint32_t) block];
    size_t from = first_number(s, w, band), to = first_number(s, w, band + 1), n = w->nblocks;

    if (UNUSED == order) {
        return (struct gr_range) {0, 0};
    }
    /* cells u with from <= u * n + order < to */
    from = from > order ? (from - order + n - 1) / n : 0;
    to = to > order ? (to - order + n - 1) / n : 0;
    return gr_split_run(&s->stepper->plan->split, w->space, channel, block, from, to - from);
}

static int count_blocks(const struct gr_staged *s)
{
    return is_pipe(s) ? 1 : s->host->p;
}

static size_t band_elements(const struct gr_staged *s, const struct gr_staged_direction *w,
                            uint32_t band)
{
    uint32_t c;
    size_t sum = 0;
    int b;

    for (b = 0; b < count_blocks(s); b++) {
        for (c = 0; c < s->stepper->plan->split.nchannels; c++) {
            sum += part_of(s, w, band, c, b).count;
        }
    }
    return sum;
}

/* ---- copies ---- */

/* Put a band's copy on its stream. */
static int copy_band(const struct gr_staged *s, const struct gr_staged_direction *w, uint32_t band)
{
    size_t elem = s->host->reducer.elem_bytes, n = 0;
    struct gr_gpu_run runs[RUNS];
    uint32_t c;
    int b, rc = 0;

    for (b = 0; b < count_blocks(s) && 0 == rc; b++) {
        for (c = 0; c < s->stepper->plan->split.nchannels && 0 == rc; c++) {
            struct gr_range part = part_of(s, w, band, c, b);
            unsigned char *host = s->host->space[w->space] + part.offset * elem,
                          *device = host + w->copy.device;
            struct gr_gpu_run run = {.bytes = part.count * elem};

            run.dst = GR_IN == w->space ? host : device;
            run.src = GR_IN == w->space ? device : host;
            if (0 == run.bytes || (n > 0 && gr_gpu_run_join(&runs[n - 1], &run))) {
                continue;
            }
            if (RUNS == n) {
                rc = gr_gpu_stream_copy_runs(w->copy.stream, runs, n);
                n = 0;
            }
            runs[n++] = run;
        }
    }
    return 0 == rc ? gr_gpu_stream_copy_runs(w->copy.stream, runs, n) : rc;
}

/* Cut the copies of one direction into bands. */
static void cut(struct gr_staged *s, struct gr_staged_direction *w, size_t band_bytes)
{
    size_t bytes, most;

    find_order(s, w);
    w->done = 0;
    w->nbands = 0;
    most = numbers(s, w) < GR_BANDS ? numbers(s, w) : GR_BANDS;
    if (most > 0) {
        w->nbands = 1;
        bytes = band_elements(s, w, 0) * s->host->reducer.elem_bytes;
        w->nbands = (uint32_t) (bytes / band_bytes < 1      ? 1
                                : bytes / band_bytes < most ? bytes / band_bytes
                                                            : most);
    }
}

static int begin_in(struct gr_staged *s, size_t band_bytes)
{
    uint32_t k;
    int rc = 0;

    cut(s, &s->in, band_bytes);
    for (k = 0; k < s->in.nbands && 0 == rc; k++) {
        rc = copy_band(s, &s->in, k);
        rc = 0 == rc ? gr_gpu_stream_mark(s->in.copy.stream, k) : rc;
    }
    return rc;
}

static void begin_out(struct gr_staged *s, size_t band_bytes)
{
    uint32_t k;

    cut(s, &s->out, band_bytes);
    for (k = 0; k < s->out.nbands; k++) {
        s->left[k] = band_elements(s, &s->out, k);
        s->out.done += 0 == s->left[k];
    }
}

int gr_staged_begin(struct gr_staged *s, struct gr_host_op *host, const struct gr_stepper *stepper,
                    const struct gr_staged_copy *in, const struct gr_staged_copy *out,
                    size_t band_bytes)
{
    size_t need = 2 * stepper->plan->split.nchannels * (size_t) host->p;

    s->host = host;
    s->stepper = stepper;
    s->error = 0;
    s->nfull = 0;
    if (need > s->room) {
        free(s->orders);
        s->orders = gr_malloc(need * sizeof(s->orders[0]));
        s->room = NULL == s->orders ? 0 : need;
    }
    s->in = (struct gr_staged_direction) {.copy = *in, .space = GR_IN, .order = s->orders};
    s->out =
        (struct gr_staged_direction) {.copy = *out, .space = GR_OUT, .order = s->orders + need / 2};
    if (NULL == s->orders) {
        s->error = GR_ERR_NOMEM;
        return s->error;
    }
    if (NULL != out->stream) {
        begin_out(s, band_bytes);
    }
    s->error = NULL != in->stream ? begin_in(s, band_bytes) : 0;
    return s->error;
}

int gr_staged_end(struct gr_staged *s)
{
    struct gr_gpu_stream *streams[2] = {s->in.copy.stream, s->out.copy.stream};
    int k, rc;

    for (k = 0; k < 2; k++) {
        rc = NULL != streams[k] ? gr_gpu_stream_wait(streams[k]) : 0;
        s->error = 0 == s->error ? rc : s->error;
    }
    s->in.copy.stream = s->out.copy.stream = NULL;
    return s->error;
}

void gr_staged_free(struct gr_staged *s)
{
    free(s->orders);
    s->orders = NULL;
    s->room = 0;
}

/* ---- the backend ---- */

/*
 * Bands, from the first on, that must be there before the step's next slot is moved: those of what
 * it reads, and, where the output lies over the input, of what it overwrites.
 */
static uint32_t bands_needed(const struct gr_staged *s, uint32_t channel,
                             const struct gr_step *step)
{
    const struct gr_staged_direction *w = &s->in;
    int over = s->host->space[GR_IN] == s->host->space[GR_OUT] && stores_output(step);
    uint32_t k, band, need = 0;

    if (NULL == w->copy.stream || w->done == w->nbands || !(over || reads_input(step))) {
        return 0;
    }
    for (k = s->stepper->at[channel].run; k < step->count; k++) {
        band = band_of(s, w, channel, step->first + k * step->stride);
        need = UNUSED != band && band >= need ? band + 1 : need;
    }
    return need;
}

/* Look whether more bands have come. */
static void look(struct gr_staged *s, uint32_t need)
{
    struct gr_staged_direction *w = &s->in;
    int rc = 1;

    while (w->done < need && 1 == rc) {
        rc = gr_gpu_stream_reached(w->copy.stream, w->done);
        w->done += 1 == rc;
    }
    s->error = rc < 0 ? rc : s->error;
}

static int staged_ready(void *ctx, uint32_t channel, const struct gr_step *step)
{
    struct gr_staged *s = ctx;
    uint32_t need = bands_needed(s, channel, step);

    look(s, need);
    if (s->error < 0) {
        return s->error;
    }
    return s->in.done < need ? 0 : gr_host_backend.ready(s->host, channel, step);
}

static int staged_move(void *ctx, const struct gr_move *mv)
{
    struct gr_staged *s = ctx;
    const struct gr_step *step = mv->step;
    int rc = gr_host_backend.move(s->host, mv);

    if (0 == rc && NULL != s->out.copy.stream && stores_result(step)) {
        uint32_t band =
            band_of(s, &s->out, mv->channel, gr_step_chunk(step, s->stepper->at[mv->channel].run));

        s->left[band] -= mv->count;
        if (0 == s->left[band]) {
            s->full[s->nfull++] = band;
        }
    }
    return rc;
}

/* Begin to copy what the slot's last values completed: some of them are written only now. */
static void staged_commit(void *ctx, uint32_t channel, const struct gr_step *step)
{
    struct gr_staged *s = ctx;
    uint32_t k;

    gr_host_backend.commit(s->host, channel, step);
    for (k = 0; k < s->nfull && 0 == s->error; k++) {
        s->error = copy_band(s, &s->out, s->full[k]);
    }
    s->out.done += s->nfull;
    s->nfull = 0;
}

/* All steps are through: what no step called a result is one now. */
static void copy_rest(struct gr_staged *s)
{
    uint32_t k;

    for (k = 0; k < s->out.nbands && s->out.done < s->out.nbands && 0 == s->error; k++) {
        if (s->left[k] > 0) {
            s->error = copy_band(s, &s->out, k);
            s->left[k] = 0;
            s->out.done++;
        }
    }
}

static int staged_finished(void *ctx)
{
    struct gr_staged *s = ctx;
    int rc;

    look(s, s->in.nbands);
    copy_rest(s);
    if (0 == s->error && NULL != s->out.copy.stream && s->in.done == s->in.nbands) {
        rc = gr_gpu_stream_done(s->out.copy.stream);
        s->error = rc < 0 ? rc : 0;
        if (0 == rc) {
            return 0;
        }
    }
    return s->error < 0 || (s->in.done == s->in.nbands && gr_host_backend.finished(s->host));
}

const struct gr_backend gr_staged_backend = {staged_ready, staged_move, staged_commit,
                                             staged_finished, NULL};

int gr_staged_waits(const struct gr_staged *s, uint32_t channel)
{
    const struct gr_step *step = gr_stepper_waits(s->stepper, channel);

    return NULL == step ? s->stepper->running == 0 : bands_needed(s, channel, step) > s->in.done;
}
