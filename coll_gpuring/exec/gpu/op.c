/* SPDX-License-Identifier: BSD-3-Clause */
/* The device executor (op.h). */
#include "exec/gpu/op.h"

#include "cuda/stream.h"

#include <assert.h>
#include <sched.h>
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

/* ---- the kernel of each type and operation ---- */

/* Entries of the table are enum gr_kernel + 1, so that 0 stands for no kernel. */
#define AT(OP, kernel) [GR_OP_##OP] = 1 + GR_KERNEL_##kernel
#define SUMS(t) AT(SUM, t##_sum), AT(PROD, t##_prod)
#define ORDER(t) AT(MIN, t##_min), AT(MAX, t##_max)
#define BITS AT(BAND, bits_band), AT(BOR, bits_bor), AT(BXOR, bits_bxor)
#define LOGICAL(t) AT(LAND, t##_land), AT(LOR, t##_lor), AT(LXOR, t##_lxor)
#define LOCATED(t)                                     \
    {                                                  \
        AT(MINLOC, t##_minloc), AT(MAXLOC, t##_maxloc) \
    }
#define FLOAT(t)          \
    {                     \
        SUMS(t), ORDER(t) \
    }
/* order: the type of min and max; s, u: the signed and unsigned type of the same width */
#define INTEGER(order, s, u)                    \
    {                                           \
        SUMS(s), ORDER(order), BITS, LOGICAL(u) \
    }

static const int16_t kernels[GR_TYPE_OTHER][GR_OP_OTHER] = {
    [GR_TYPE_I8] = INTEGER(i8, i8, u8),
    [GR_TYPE_U8] = INTEGER(u8, i8, u8),
    [GR_TYPE_I16] = INTEGER(i16, i16, u16),
    [GR_TYPE_U16] = INTEGER(u16, i16, u16),
    [GR_TYPE_I32] = INTEGER(i32, i32, u32),
    [GR_TYPE_U32] = INTEGER(u32, i32, u32),
    [GR_TYPE_I64] = INTEGER(i64, i64, u64),
    [GR_TYPE_U64] = INTEGER(u64, i64, u64),
    [GR_TYPE_F16] = FLOAT(f16),
    [GR_TYPE_BF16] = FLOAT(bf16),
    [GR_TYPE_F32] = FLOAT(f32),
    [GR_TYPE_F64] = FLOAT(f64),
    [GR_TYPE_C64] = {SUMS(c64)},
    [GR_TYPE_C128] = {SUMS(c128)},
    [GR_TYPE_F32_I32] = LOCATED(f32_i32),
    [GR_TYPE_F64_I32] = LOCATED(f64_i32),
    [GR_TYPE_I64_I32] = LOCATED(i64_i32),
    [GR_TYPE_I32_I32] = LOCATED(i32_i32),
    [GR_TYPE_I16_I32] = LOCATED(i16_i32),
    [GR_TYPE_F32_F32] = LOCATED(f32_f32),
    [GR_TYPE_F64_F64] = LOCATED(f64_f64),
};

int gr_gpu_kernel(enum gr_type type, enum gr_redop redop)
{
    return (unsigned) type < GR_TYPE_OTHER && (unsigned) redop < GR_OP_OTHER
               ? kernels[type][redop] - 1
               : -1;
}

/*
 * ---- zero copy ----
 *
 * Results are stored in the output of the rank that they are for. Each rank exports a handle of its
 * output, and the senders of its results map it. The rank's kernel allows stores when its call has
 * begun (args.h). It does not allow them if the handle is out of date, or if the output's blocks
 * are not contiguous: senders compute block offsets from their own arguments.
 */

/* Bytes of the output. *plain: its blocks are in the order of ranks and contiguous. */
static size_t output_bytes(const struct gr_plan_spec *r, int p, int *plain)
{
    size_t sum = 0;
    int k;

    *plain = 1;
    if (NULL == r->counts) {
        return (0 != r->block ? r->block * (size_t) p : r->total) * r->elem_bytes;
    }
    for (k = 0; k < p; k++) {
        if (NULL != r->displs && r->counts[k] > 0 && r->displs[k] != sum) {
            *plain = 0;
        }
        sum += r->counts[k];
    }
    return sum * r->elem_bytes;
}

/* Whether the handle is up to date. A persistent request exports its handle at its init. */
static int is_current(const struct gr_gpu_op *op, const struct gr_ipc_handle *handle, size_t bytes)
{
    struct gr_ipc_handle now;

    if (!gr_ipc_handle_valid(handle)) {
        return 0;
    }
    now = gr_ipc_cache_export(op->team->ipc_cache,
                              (const void *) (uintptr_t) op->args.space[GR_OUT], bytes);
    return 0 == memcmp(&now.of, &handle->of, sizeof(now.of)) && now.offset == handle->offset;
}

/* Map the outputs of all ranks that the schedule sends to. */
static void find_outputs(struct gr_gpu_op *op, const struct gr_ipc_handle *const *handles,
                         gr_gpu_ptr *peers)
{
    struct gr_gpu_team *team = op->team;
    uint32_t c;
    int r;

    for (r = 0; r < team->p; r++) {
        struct gr_ipc_mapped *output = &team->mappings[r];

        /* on a torus each channel has different links */
        for (c = 0; c < op->nchannels && 0 == peers[r]; c++) {
            const struct gr_gpu_connection *w =
                &team->out[(size_t) c * (size_t) team->p + (size_t) r];

            if (0 == w->ends[0].slots || 0 == w->mapped.at) {
                continue; /* not connected, or a device whose memory this one cannot map */
            }
            if (0 != output->at || 0 <= gr_ipc_cache_map(team->ipc_cache, handles[r], output)) {
                peers[r] = output->at;
            }
        }
        op->mapped += 0 != peers[r];
    }
}

/*
 * Map the outputs of the ranks to which this rank sends results, and put the copy of their
 * addresses on the stream. handles: [rank] of the outputs. Results for ranks whose output cannot be
 * mapped go through slots. Returns 0 or GR_ERR_CUDA.
 */
static int zero_begin(struct gr_gpu_op *op, const struct gr_plan_spec *spec,
                      const struct gr_ipc_handle *const *handles)
{
    struct gr_gpu_team *team = op->team;
    size_t bytes = (size_t) team->p * sizeof(gr_gpu_ptr), out;
    gr_gpu_ptr *pinned = gr_gpu_team_pinned(team, GR_PINNED_PEERS);
    int plain;

    out = output_bytes(spec, team->p, &plain);
    memset(pinned, 0, bytes);
    if (plain && NULL != team->ipc_cache) {
        op->args.allows = (uint32_t) is_current(op, handles[team->rank], out);
        find_outputs(op, handles, pinned);
    }
    op->args.zero = ++team->zeros;
    op->args.peers = gr_gpu_team_region(team, GR_REGION_PEERS);
    return gr_gpu_stream_copy(team->stream, op->args.peers, (gr_gpu_ptr) (uintptr_t) pinned, bytes);
}

static void zero_end(struct gr_gpu_op *op)
{
    struct gr_gpu_team *team = op->team;
    int r;

    for (r = 0; r < team->p; r++) {
        if (0 != team->mappings[r].at) {
            gr_ipc_cache_unmap(team->ipc_cache, &team->mappings[r]);
        }
    }
}

/* ---- ops ---- */

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
        op->sched[k] =
            gr_plan_sched(r, team->p, team->rank, &team->rings, (uint32_t) k, op->split.nchunks);
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
    return rc < 0 || !simple || NULL == handles ? rc : zero_begin(op, spec, handles);
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

void gr_gpu_op_launch(struct gr_gpu_op *op)
{
    if (NULL == op->gate.gate && 0 > launch(op)) {
        op->errors++; /* the first poll makes it again */
    }
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
        return rc < 0 && ++op->errors > TRANSIENT_ERRORS ? rc : GR_AGAIN;
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
        zero_end(op);
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
