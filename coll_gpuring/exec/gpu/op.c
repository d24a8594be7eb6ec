/* SPDX-License-Identifier: BSD-3-Clause */
/* The device executor (op.h). */
#include "exec/gpu/op.h"

#include "base/status.h"
#include "cuda/stream.h"
#include "exec/gpu/remote.h"
#include "exec/gpu/send_gate.h"
#include "exec/gpu/zero_copy.h"
#include "link/team.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* Most polls between two launches, when launches make no progress. */
#define MAX_PAUSE 4096

/* Polls between two queries whether the stream has failed. */
#define POLLS_PER_QUERY 1024

/*
 * Launches of an op that may fail, and are made again: other ranks may have completed the call by
 * then. The driver repeats an error that is not transient.
 */
#define TRANSIENT_ERRORS 2

/* Errors of the driver in a row after which its context counts as broken: nothing runs in it. */
#define MAX_ERRORS 100

/* Copy a scaled array to pinned memory, which the last op no longer uses. array may be NULL. */
static const size_t *copy_pinned(size_t *pinned, const size_t *array, int p, size_t scale)
{
    int k;

    for (k = 0; k < p && NULL != array; k++) {
        pinned[k] = array[k] * scale;
    }
    return NULL == array ? NULL : pinned;
}

/* The spec in the kernel's elements, with its arrays in pinned memory. */
static struct gr_plan_spec translate(const struct gr_plan_spec *spec, struct gr_gpu_team *team,
                                     enum gr_kernel kernel)
{
    struct gr_plan_spec r = *spec;
    size_t scale = gr_kernel_counts_bytes(kernel) ? r.elem_bytes : 1,
           *pinned = gr_gpu_team_pinned(team, GR_PINNED_COUNTS);

    r.slice_chunks = GR_GPU_SLICE_CHUNKS;
    r.elem_bytes /= scale;
    r.total *= scale;
    r.block *= scale;
    r.counts = copy_pinned(pinned, r.counts, team->p, scale);
    r.displs = copy_pinned(pinned + team->p, r.displs, team->p, scale);
    return r;
}

/* Set where chunks lie. Cells that differ from block to block are put on the stream, as a copy. */
static int set_split(struct gr_gpu_op *op)
{
    struct gr_gpu_team *team = op->team;
    const struct gr_split *s = &op->split;
    struct gr_gpu_split *to = &op->args.split;
    struct gr_cells *cells = gr_gpu_team_pinned(team, GR_PINNED_CELLS);

    *to = gr_gpu_split_of(s);
    if (NULL == s->counts && NULL == s->displs) {
        return 0;
    }
    gr_split_list(s, cells);
    to->cells = gr_gpu_team_region(team, GR_REGION_CELLS);
    return gr_gpu_stream_copy(team->stream, to->cells, (gr_gpu_ptr) (uintptr_t) cells,
                              (size_t) team->p * sizeof(*cells));
}

/* Set the schedules of the call, and the table of their steps. */
static int set_schedules(struct gr_gpu_op *op, const struct gr_plan_spec *r)
{
    struct gr_gpu_team *team = op->team;
    struct gr_gpu_table table;
    int rc = gr_gpu_team_steps(team, r, op->split.nchunks, &table), k;

    for (k = 0; k < 2; k++) {
        op->sched[k] = gr_plan_sched(r, team->p, team->rank, team->rings.order[k],
                                     team->rings.where[k], (uint32_t) k, op->split.nchunks);
    }
    op->args.steps = table.at;
    op->args.nsteps = table.nsteps;
    op->args.schedules = table.schedules;
    op->args.p = (uint32_t) team->p;
    return rc;
}

int gr_gpu_op_begin(struct gr_gpu_op *op, struct gr_gpu_team *team, const struct gr_plan_spec *spec,
                    enum gr_kernel kernel, const gr_gpu_ptr space[3],
                    const struct gr_ipc_handle *const *handles)
{
    struct gr_gpu_args *a = &op->args;
    int simple = GR_PROTOCOL_SIMPLE == spec->protocol, rc;
    struct gr_plan_spec r;
    size_t most;

    assert(spec->nchannels >= 1 && spec->nchannels <= team->usable);
    assert(simple || NULL == team->remote);
    assert(simple ||
           (spec->threads >= 32 && spec->threads <= GR_LINE_UNITS && 0 == spec->threads % 32));
    memset(op, 0, sizeof(*op));
    op->team = team;
    op->kernel = kernel;
    op->nchannels = spec->nchannels;
    op->holds = 1;
    gr_gpu_remote_hold(team, 1);
    r = translate(spec, team, kernel);
    most = simple ? team->slot_bytes : gr_line_bytes(r.protocol, r.threads, r.elem_bytes);
    op->split = gr_plan_split(&r, team->p, most, team->nslots, simple ? GR_GPU_ALIGN : 16);
    op->elem_bytes = r.elem_bytes;
    memcpy(a->space, space, sizeof(a->space));
    a->protocol = r.protocol;
    a->in = gr_gpu_team_ends(team, GR_REGION_IN, r.protocol);
    a->out = gr_gpu_team_ends(team, GR_REGION_OUT, r.protocol);
    a->cursor = gr_gpu_team_region(team, GR_REGION_CURSORS);
    a->report = (gr_gpu_ptr) (uintptr_t) gr_gpu_team_pinned(team, GR_PINNED_REPORTS);
    a->abort = (gr_gpu_ptr) (uintptr_t) gr_gpu_team_pinned(team, GR_PINNED_ABORT);
    a->patience = GR_GPU_PATIENCE;
    a->slot_bytes = simple ? team->slot_bytes : gr_line_slot_bytes(r.protocol);
    a->slot_elems = most / r.elem_bytes;
    a->threads = simple ? GR_GPU_THREADS : r.threads + 32;
    a->nslots = team->nslots;
    a->fresh = 1;
    rc = set_split(op);
    rc = rc < 0 ? rc : set_schedules(op, &r);
    return rc < 0 || !simple || NULL == handles ? rc : gr_gpu_zero_begin(op, spec, handles);
}

static int launch(struct gr_gpu_op *op)
{
    struct gr_gpu_team *team = op->team;
    int rc;

    if (op->pause > 0) {
        op->pause--;
        return 0;
    }
    op->args.launch = ++team->launches;
    rc = gr_gpu_launch(team->stream, op->kernel, op->nchannels, &op->args);
    op->launched = 0 == rc;
    op->args.fresh = op->args.fresh && 0 != rc;
    return rc;
}

/* GR_AGAIN for the first errors of an op, then the error. */
static int count_error(struct gr_gpu_op *op, int rc)
{
    return ++op->errors <= TRANSIENT_ERRORS ? GR_AGAIN : rc;
}

/* Whether all blocks of the last launch have exited. */
static int all_reported(const struct gr_gpu_op *op)
{
    const struct gr_gpu_report *reports = gr_gpu_team_pinned(op->team, GR_PINNED_REPORTS);
    uint32_t c;

    for (c = 0; c < op->nchannels; c++) {
        const _Atomic uint64_t *word = (const _Atomic uint64_t *) &reports[c].word;

        if (!gr_gpu_report_is_of(atomic_load_explicit(word, memory_order_acquire),
                                 op->args.launch)) {
            return 0;
        }
    }
    return 1;
}

/* All blocks have exited: read their reports, and choose the pause before the next launch. */
static void read_reports(struct gr_gpu_op *op, uint64_t *moved)
{
    const struct gr_gpu_report *reports = gr_gpu_team_pinned(op->team, GR_PINNED_REPORTS);
    uint64_t slots = 0;
    uint32_t c, done = 0;

    for (c = 0; c < op->nchannels; c++) {
        uint32_t is_done = GR_GPU_DONE == gr_gpu_report_state(reports[c].word);

        slots += gr_gpu_report_moved(reports[c].word);
        op->args.over |= is_done << c;
        done += is_done;
    }
    *moved += slots;
    op->launched = 0;
    op->idle_launches = 0 == slots ? op->idle_launches + 1 : 0;
    op->pause = op->idle_launches < 2                ? 0
                : op->idle_launches * 16 < MAX_PAUSE ? op->idle_launches * 16
                                                     : MAX_PAUSE;
    op->kernel_done = done == op->nchannels;
}

int gr_gpu_op_unsent(const struct gr_gpu_op *op, int *ranks, int most)
{
    return op->kernel_done ? gr_gpu_remote_unsent(op->team, op->nchannels, ranks, most) : 0;
}

static int is_done(const struct gr_gpu_op *op)
{
    int rank;

    return op->kernel_done && (NULL == op->gate.gate || op->gate.over) &&
           0 == gr_gpu_op_unsent(op, &rank, 1);
}

int gr_gpu_op_poll(struct gr_gpu_op *op, uint64_t *moved)
{
    int rc = NULL == op->gate.gate ? 0 : gr_gpu_gate_poll(op);

    if (rc < 0) {
        return rc;
    }
    if (NULL != op->gate.gate && !op->gate.started) {
        return GR_AGAIN;
    }
    if (op->kernel_done) {
        return is_done(op) ? GR_DONE : GR_AGAIN;
    }
    if (!op->launched) {
        rc = launch(op);
        return rc < 0 ? count_error(op, rc) : GR_AGAIN;
    }
    if (!all_reported(op)) {
        /* a failed kernel does not report */
        rc = 0 == ++op->polls % POLLS_PER_QUERY ? gr_gpu_stream_done(op->team->stream) : 0;
        return rc < 0 ? rc : GR_AGAIN;
    }
    /*
     * What the blocks have stored is visible to all, since each report is stored with release at
     * the system's scope. They are about to end; later work on the stream comes behind them, and
     * waiting until they have left the device would take 2 us.
     */
    read_reports(op, moved);
    return is_done(op) ? GR_DONE : GR_AGAIN;
}

void gr_gpu_op_abort(struct gr_gpu_op *op)
{
    _Atomic uint64_t *abort = gr_gpu_team_pinned(op->team, GR_PINNED_ABORT);
    int rc, errors = 0;

    if (!op->launched) { /* the word may be gone, too: with its context, if that was reset */
        return;
    }
    atomic_store_explicit(abort, 1, memory_order_release);
    while (op->launched && errors < MAX_ERRORS) {
        rc = gr_gpu_stream_done(op->team->stream);
        errors = rc < 0 ? errors + 1 : 0;
        op->launched = 1 != rc;
        sched_yield();
    }
    op->launched = 0;
}

void gr_gpu_op_end(struct gr_gpu_op *op)
{
    if (op->holds) {
        gr_gpu_remote_hold(op->team, 0);
        op->holds = 0;
    }
    if (0 != op->args.zero) {
        gr_gpu_zero_end(op);
        op->args.zero = 0;
    }
}

int gr_gpu_op_waits(const struct gr_gpu_op *op, uint32_t channel, struct gr_step *step,
                    struct gr_gpu_report *report, int *ranks, int *n)
{
    const struct gr_gpu_report *reports = gr_gpu_team_pinned(op->team, GR_PINNED_REPORTS);
    struct gr_sched sched = gr_gpu_op_sched(op, channel);
    int k;

    *n = 0;
    *report = reports[channel];
    if (GR_GPU_LEFT != gr_gpu_report_state(report->word)) {
        return 0;
    }
    *step = gr_sched_step(&sched, report->index);
    for (k = 0; k < step->nfrom; k++) {
        if (report->from & 1u << k) {
            ranks[(*n)++] = step->from[k];
        }
    }
    for (k = 0; k < step->nto; k++) {
        if (report->to & 1u << k) {
            ranks[(*n)++] = step->to[k];
        }
    }
    return 1;
}
