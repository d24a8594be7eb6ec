/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device's side of kernel_case.h: memory, links and launches of p ranks in one process, as the
 * component makes them for one. A rank whose channels have all reported is launched again until all
 * are through.
 */
#include "kernel_world.h"

#include "rng.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Seconds after which a call is given up. */
static int limit(void)
{
    const char *text = getenv("KERNEL_TEST_LIMIT");

    /* on a loaded machine, with ThreadSanitizer, cases were seen to take more than 60 */
    return NULL == text ? 240 : atoi(text);
}

/* ---- ranks ---- */

/* Where chunks lie, and the steps: as gr_gpu_op_begin() finds them. */
static void put_schedule(const struct world *w, int rank, struct device_rank *r)
{
    const struct kc_case *c = w->call->c;
    const struct kc_rank *from = &w->call->ranks[rank];
    struct gr_plan_spec spec = {
        .coll = c->coll, .algo = c->algo, .root = c->root, .torus = c->torus};
    struct gr_rings rings = {.torus = c->torus};
    struct gr_gpu_table table;
    struct gr_gpu_step *steps;
    size_t bytes;
    int k;

    r->args.split = gr_gpu_split_of(&from->split);
    r->args.p = (uint32_t) c->p;
    if (NULL != from->split.counts || NULL != from->split.displs) {
        struct gr_cells cells[KC_MAX_RANKS];

        gr_split_list(&from->split, cells);
        r->cells = r->args.split.cells = kw_put(cells, (size_t) c->p * sizeof(cells[0]));
    }

    for (k = 0; k < 2; k++) {
        rings.order[k] = (int *) w->call->order[k];
        rings.where[k] = (int *) w->call->where[k];
    }
    table = gr_gpu_steps_shape(&spec, c->p, rank, &rings, from->sched[0].nchunks);
    bytes = gr_gpu_steps_bytes(&table) + sizeof(*steps); /* of one rank there may be none */
    steps = kd_calloc(bytes);
    gr_gpu_steps_write(&spec, c->p, rank, &rings, from->sched[0].nchunks, &table, steps);
    r->steps = r->args.steps = kw_put(steps, bytes);
    r->args.nsteps = table.nsteps;
    r->args.schedules = table.schedules;
    free(steps);
}

static void rank_open(struct world *w, int rank)
{
    const struct kc_case *c = w->call->c;
    const struct kc_rank *from = &w->call->ranks[rank];
    struct device_rank *r = &w->ranks[rank];
    struct gr_gpu_cursor cursors[GR_GPU_CHANNELS];
    size_t ends = (size_t) c->p * c->nchannels;
    int k;

    memset(cursors, KW_POISON, sizeof(cursors)); /* the first launch reads none */
    r->image = kw_put(from->image.bytes, from->image.size);
    r->reports = kd_host_alloc(c->nchannels * sizeof(*r->reports));
    r->in = kd_calloc(ends * sizeof(*r->in));
    r->out = kd_calloc(ends * sizeof(*r->out));
    r->stream = kd_stream();
    for (k = 0; k < 3; k++) {
        r->args.space[k] = r->image + from->image.space[k];
    }
    put_schedule(w, rank, r);
    r->args.cursor = kw_put(cursors, c->nchannels * sizeof(cursors[0]));
    r->args.report = (gr_gpu_ptr) (uintptr_t) r->reports;
    r->args.abort = (gr_gpu_ptr) (uintptr_t) w->abort;
    r->args.protocol = c->protocol;
    r->args.slot_bytes = c->slot_bytes;
    r->args.slot_elems = w->call->slot_elems;
    r->args.nslots = c->nslots;
    r->args.fresh = 1;
}

static void rank_close(struct device_rank *r)
{
    kd_wait(r->stream);
    kd_stream_free(r->stream);
    kd_free(r->image);
    kd_free(r->args.cursor);
    kd_free(r->peers);
    kd_free(r->steps);
    if (0 != r->cells) {
        kd_free(r->cells);
    }
    kd_free(r->args.in);
    kd_free(r->args.out);
    kd_host_free(r->reports);
    free(r->in);
    free(r->out);
}

/* Zero copy: where this rank's device has the others' outputs. Images of all ranks are there. */
static void rank_reach(struct world *w, int rank)
{
    const struct kc_case *c = w->call->c;
    struct device_rank *r = &w->ranks[rank];
    gr_gpu_ptr peers[KC_MAX_RANKS] = {0};
    int k;

    for (k = 0; k < c->p; k++) {
        peers[k] = k != rank && c->mapped >> k & 1 ? w->ranks[k].args.space[GR_OUT] : 0;
    }
    r->peers = kw_put(peers, sizeof(peers));
    if (c->zero_copy) {
        r->args.zero = (uint64_t) c->zero_copy;
        r->args.peers = r->peers;
        r->args.allows = c->allows >> rank & 1;
    }
}

static void rank_launch(struct world *w, struct device_rank *r, struct kc_device *seen)
{
    const struct kc_case *c = w->call->c;

    if (r->args.fresh) { /* until now, its buffers are its own: what others wrote would be gone */
        const struct kc_image *image = &w->call->ranks[r - w->ranks].image;

        kd_put(r->image, image->bytes, image->size);
    }
    r->args.launch++;
    r->args.patience = 0 != c->patience ? c->patience : 1 + (uint64_t) rng_below(&w->seed, 200);
    kd_launch(r->stream, c->kernel, c->nchannels, c->threads, &r->args);
    r->args.fresh = 0;
    r->running = 1;
    seen->launches++;
}

/* Look at the reports of a rank that runs. Negative with why: they are not as they should be. */
static int rank_look(struct world *w, int rank, struct kc_device *seen, char *why, size_t size)
{
    struct device_rank *r = &w->ranks[rank];
    uint32_t n = w->call->c->nchannels, c, done = 0, left = 0, over = 0;

    for (c = 0; c < n; c++) {
        struct gr_gpu_report *report = &r->reports[c];
        uint64_t word =
            atomic_load_explicit((_Atomic uint64_t *) &report->word, memory_order_acquire);

        if (!gr_gpu_report_is_of(word, r->args.launch)) {
            return 0;
        }
        done += GR_GPU_DONE == gr_gpu_report_state(word);
        over |= (uint32_t) (GR_GPU_DONE == gr_gpu_report_state(word)) << c;
        left += GR_GPU_LEFT == gr_gpu_report_state(word);
        if (GR_GPU_LEFT == gr_gpu_report_state(word) && 0 == (report->from | report->to)) {
            snprintf(why, size, "rank %d channel %u left and waits for nobody", rank, c);
            return -1;
        }
    }
    if (done + left != n) {
        snprintf(why, size, "rank %d: %u channels done, %u left, of %u", rank, done, left, n);
        return -1;
    }
    for (c = 0; c < n; c++) {
        seen->moved += gr_gpu_report_moved(r->reports[c].word);
    }
    r->args.over = over;
    seen->left += left;
    r->running = 0;
    r->through = done == n;
    return 0;
}

/* ---- the call ---- */

static struct world *world_open(const struct kc_call *call)
{
    struct world *w = kd_calloc(sizeof(*w));
    size_t bytes = (size_t) call->c->p * call->c->nchannels * sizeof(struct gr_gpu_end);
    int r;

    w->call = call;
    w->seed = call->c->seed + 1;
    w->abort = kd_host_alloc(sizeof(*w->abort));
    for (r = 0; r < call->c->p; r++) {
        rank_open(w, r);
    }
    for (r = 0; r < call->c->p; r++) {
        rank_reach(w, r);
    }
    kw_connect(w);
    for (r = 0; r < call->c->p; r++) {
        w->ranks[r].args.in = kw_put(w->ranks[r].in, bytes);
        w->ranks[r].args.out = kw_put(w->ranks[r].out, bytes);
    }
    return w;
}

static void world_close(struct world *w)
{
    int r;

    for (r = 0; r < w->call->c->p; r++) {
        rank_close(&w->ranks[r]);
    }
    kw_disconnect(w);
    kd_host_free(w->abort);
    free(w);
}

static void explain(const struct world *w, char *why, size_t size)
{
    int r, at = snprintf(why, size, "no end in sight:");
    uint32_t c;

    for (r = 0; r < w->call->c->p; r++) {
        for (c = 0; c < w->call->c->nchannels && at < (int) size - 80; c++) {
            const struct gr_gpu_report *report = &w->ranks[r].reports[c];

            at +=
                snprintf(why + at, size - (size_t) at, " %d.%u: %s%llu at %u/%u waits %x/%x;", r, c,
                         w->ranks[r].running ? "running " : "", (unsigned long long) report->word,
                         report->slice, report->index, report->from, report->to);
        }
    }
}

/* Launch whoever is not running, until all are through. */
static int run(struct world *w, struct kc_device *seen, char *why, size_t size)
{
    time_t end = time(NULL) + limit();
    int p = w->call->c->p, left = p, rc = 0, r;

    while (left > 0 && 0 == rc) {
        for (left = 0, r = 0; r < p && 0 == rc; r++) {
            struct device_rank *rank = &w->ranks[r];

            if (rank->running) {
                rc = rank_look(w, r, seen, why, size);
            } else if (!rank->through) {
                rank_launch(w, rank, seen);
            }
            left += !rank->through;
        }
        if (left > 0 && time(NULL) > end) {
            explain(w, why, size);
            rc = -1;
        }
        usleep(20);
    }
    if (0 != rc) {
        atomic_store((_Atomic uint64_t *) w->abort, 1);
    }
    return rc;
}

/* Whether kernels note what they do; then what they have noted goes to the trace. */
static void take_trace(struct world *w, struct kc_trace *trace)
{
    const char *file = getenv("FAKECUDA_KERNELS");
    void *library = NULL == file ? NULL : dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const struct kt_piece *(*take)(size_t *) = NULL;
    const struct kt_piece *pieces;
    size_t n, k;
    int r;

    if (NULL != library) {
        take = (const struct kt_piece *(*) (size_t *) ) dlsym(library, "kernel_trace_take");
    }
    if (NULL == take) {
        fprintf(stderr, "FAKECUDA_KERNELS does not name kernels that note what they do\n");
        exit(3);
    }
    pieces = take(&n);
    for (k = 0; k < n; k++) {
        struct kt_piece piece = pieces[k];

        for (r = 0; r < w->call->c->p && w->ranks[r].args.report != piece.rank; r++) {
        }
        piece.rank = (uint64_t) r;
        kc_note(trace, &piece);
    }
    dlclose(library);
}

int kc_run_device(struct kc_call *call, unsigned char **images, struct kc_trace *trace,
                  struct kc_device *seen, char *why, size_t size)
{
    struct world *w = world_open(call);
    int rc = run(w, seen, why, size), r;

    for (r = 0; r < call->c->p; r++) {
        kd_wait(w->ranks[r].stream);
        kd_get(images[r], w->ranks[r].image, call->ranks[r].image.size);
    }
    if (kd_is_fake()) {
        take_trace(w, trace);
    }
    if (0 == rc) {
        rc = kw_check_links(w, why, size);
    }
    world_close(w);
    return rc;
}

/* Wait for the reports of a launch; whether all blocks say that they saw the abort word. */
static int all_aborted(const struct world *w, int rank)
{
    const struct device_rank *r = &w->ranks[rank];
    time_t end = time(NULL) + limit();
    uint32_t c = 0;

    while (c < w->call->c->nchannels && time(NULL) <= end) {
        uint64_t word =
            atomic_load_explicit((_Atomic uint64_t *) &r->reports[c].word, memory_order_acquire);

        if (gr_gpu_report_is_of(word, r->args.launch) &&
            GR_GPU_ABORTED != gr_gpu_report_state(word)) {
            return 0;
        }
        if (gr_gpu_report_is_of(word, r->args.launch)) {
            c++;
        } else {
            usleep(100);
        }
    }
    return c == w->call->c->nchannels;
}

int kc_abort_device(struct kc_call *call, int rank, char *why, size_t size)
{
    struct world *w = world_open(call);
    struct kc_device seen = {0};
    int polling, entering = 0;

    rank_launch(w, &w->ranks[rank], &seen);
    usleep(20000); /* it polls by then, most likely; right in any case */
    atomic_store((_Atomic uint64_t *) w->abort, 1);
    polling = all_aborted(w, rank);
    if (polling) { /* a kernel that was about to start when the word was set */
        w->ranks[rank].args.fresh = 1;
        rank_launch(w, &w->ranks[rank], &seen);
        entering = all_aborted(w, rank);
    }
    if (!polling || !entering) {
        snprintf(why, size, "rank %d did not leave when %s", rank,
                 polling ? "the word was set before it began" : "it waited");
    }
    world_close(w);
    return polling && entering ? 0 : -1;
}
