/* SPDX-License-Identifier: BSD-3-Clause */
/* The device executor of gpu_op.h. */
#include "gpu_op.h"

#include "team.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/*
 * Polls of a counter after which a block leaves: some milliseconds where the device is this rank's alone. Another rank
 * of the same device may be the one that is waited for, and have no place; then soon.
 */
#define PATIENCE 20000
#define PATIENCE_SHARED 500

/* Polls between two launches that are likely to be in vain: at most that many, for a rank that is late by far. */
#define PAUSE_MOST 4096

/* Polls between two questions to the driver whether the stream has failed. */
#define LOOKS_DRIVER 1024

int gr_gpu_kernel(enum gr_type type, enum gr_redop op)
{
    static const struct {
        enum gr_type type;
        enum gr_redop op;
        enum gr_kernel kernel;
    } rows[] = {
#define ROW(t, T, o, O) {GR_TYPE_##T, GR_OP_##O, GR_KERNEL_##t##_##o},
#define ALL_OF(t, T) ROW(t, T, sum, SUM) ROW(t, T, prod, PROD) ROW(t, T, min, MIN) ROW(t, T, max, MAX)
#define UNSIGNED(t, T, s) \
    {GR_TYPE_##T, GR_OP_SUM, GR_KERNEL_##s##_sum}, {GR_TYPE_##T, GR_OP_PROD, GR_KERNEL_##s##_prod}, \
    ROW(t, T, min, MIN) ROW(t, T, max, MAX)
        ALL_OF(f16, F16) ALL_OF(bf16, BF16) ALL_OF(f32, F32) ALL_OF(f64, F64)
        ALL_OF(i8, I8) ALL_OF(i16, I16) ALL_OF(i32, I32) ALL_OF(i64, I64)
        UNSIGNED(u8, U8, i8) UNSIGNED(u16, U16, i16) UNSIGNED(u32, U32, i32) UNSIGNED(u64, U64, i64)
#undef UNSIGNED
#undef ALL_OF
#undef ROW
    };
    size_t k;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        if (rows[k].type == type && rows[k].op == op) {
            return (int) rows[k].kernel;
        }
    }
    return -1;
}

/* The arrays of a v-call follow the kernel's stream, from pinned memory that the op before has no use for any more. */
static int send_counts(struct gr_gpu_op *op, const struct gr_request *r)
{
    struct gr_gpu_team *team = op->team;
    size_t p = (size_t) team->p, *pinned = gr_gpu_team_counts_host(team);
    gr_gpu_ptr at = gr_gpu_team_counts(team);

    if (NULL != op->args.split.counts) {
        memcpy(pinned, r->counts, p * sizeof(size_t));
        op->args.split.counts = (const size_t *) at;
    }
    if (NULL != op->args.split.displs) {
        memcpy(pinned + p, r->displs, p * sizeof(size_t));
        op->args.split.displs = (const size_t *) at + p;
    }
    if (NULL == op->args.split.counts && NULL == op->args.split.displs) {
        return 0;
    }
    return gr_gpu_stream_copy(team->stream, at, (gr_gpu_ptr) (uintptr_t) pinned, 2 * p * sizeof(size_t));
}

int gr_gpu_op_begin(struct gr_gpu_op *op, struct gr_gpu_team *team, const struct gr_request *r, enum gr_kernel kernel,
                    const gr_gpu_ptr space[3])
{
    struct gr_gpu_args *a = &op->args;
    int k, rc;

    assert(r->nchannels >= 1 && r->nchannels <= team->usable);
    memset(op, 0, sizeof(*op));
    op->team = team;
    op->kernel = kernel;
    op->nchannels = r->nchannels;
    a->split = gr_plan_split(r, team->p, team->slot_bytes, GR_GPU_LINE);
    for (k = 0; k < 2; k++) {
        op->sched[k] = gr_plan_sched(r, team->p, team->rank, team->rings.order[k], team->rings.where[k],
                                     a->split.nchunks);
        a->sched[k] = op->sched[k];
        a->sched[k].order = (const int *) gr_gpu_team_order(team, k);
    }
    memcpy(a->space, space, sizeof(a->space));
    a->in = gr_gpu_team_in(team);
    a->out = gr_gpu_team_out(team);
    a->place = gr_gpu_team_places(team);
    a->report = (gr_gpu_ptr) (uintptr_t) gr_gpu_team_reports(team);
    a->abort = (gr_gpu_ptr) (uintptr_t) gr_gpu_team_abort(team);
    a->patience = team->shared ? PATIENCE_SHARED : PATIENCE;
    a->slot_bytes = team->slot_bytes;
    a->slot_elems = team->slot_bytes / r->elem_bytes;
    a->nslots = team->nslots;
    a->fresh = 1;
    rc = gr_gpu_stream_follow(team->stream);
    return 0 == rc ? send_counts(op, r) : rc;
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
    op->args.fresh = 0;
    return rc;
}

/* Whether all blocks of the last launch have left. */
static int all_reported(const struct gr_gpu_op *op)
{
    const struct gr_gpu_report *reports = gr_gpu_team_reports(op->team);
    uint32_t c;

    for (c = 0; c < op->nchannels; c++) {
        const _Atomic uint64_t *word = (const _Atomic uint64_t *) &reports[c].word;

        if (op->args.launch != atomic_load_explicit(word, memory_order_acquire) / 4) {
            return 0;
        }
    }
    return 1;
}

/* All have left: is it over, or when is the next launch? */
static int count_reports(struct gr_gpu_op *op, uint64_t *moved)
{
    const struct gr_gpu_report *reports = gr_gpu_team_reports(op->team);
    uint64_t slots = 0;
    uint32_t c, done = 0;

    for (c = 0; c < op->nchannels; c++) {
        slots += reports[c].moved;
        done += GR_GPU_DONE == reports[c].word % 4;
    }
    *moved += slots;
    op->launched = 0;
    op->vain = 0 == slots ? op->vain + 1 : 0;
    op->pause = op->vain < 2 ? 0 : op->vain * 16 < PAUSE_MOST ? op->vain * 16 : PAUSE_MOST;
    return done == op->nchannels ? GR_DONE : GR_AGAIN;
}

int gr_gpu_op_poll(struct gr_gpu_op *op, uint64_t *moved)
{
    int rc;

    if (!op->launched) {
        rc = launch(op);
        return rc < 0 ? rc : GR_AGAIN;
    }
    if (!all_reported(op)) {
        /* a kernel that failed reports nothing */
        if (0 == ++op->looks % LOOKS_DRIVER && 0 > gr_gpu_stream_done(op->team->stream)) {
            return GR_ERR_CUDA;
        }
        return GR_AGAIN;
    }
    /* the blocks are about to end; only then is all that they stored there for whoever comes next */
    rc = gr_gpu_stream_done(op->team->stream);
    if (1 != rc) {
        return 0 == rc ? GR_AGAIN : rc;
    }
    return count_reports(op, moved);
}

void gr_gpu_op_abort(struct gr_gpu_op *op)
{
    atomic_store_explicit(gr_gpu_team_abort(op->team), 1, memory_order_release);
    while (op->launched && 0 == gr_gpu_stream_done(op->team->stream)) {
        sched_yield();
    }
    op->launched = 0;
}

int gr_gpu_op_waits(const struct gr_gpu_op *op, uint32_t channel, struct gr_step *step, struct gr_gpu_report *report,
                    int *ranks, int *n)
{
    int k;

    *n = 0;
    *report = gr_gpu_team_reports(op->team)[channel];
    if (GR_GPU_LEFT != report->word % 4) {
        return 0;
    }
    *step = gr_sched_step(&op->sched[channel % 2], report->index);
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
