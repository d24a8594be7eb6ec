/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: kernels on a device (exec/gpu/op.h). */
#include "exec/default_streams.h"
#include "exec/op.h"
#include "exec/setup.h"
#include "exec/step_timing.h"

#include "base/text.h"
#include "timing/timer.h"

#include <stdio.h>
#include <string.h>

/* ---- links ---- */

static enum gr_links device_links(const struct gr_op *op)
{
    const struct gr_gpu_team *gpu = op->queue->gpu;

    return NULL == gpu
               ? GR_LINKS_NONE
               : (enum gr_links) * gr_gpu_team_state(gpu, (enum gr_algo) op->choice.algo, op->root);
}

/* ---- start ---- */

/*
 * Let the op be timed, where steps are. Kernels inside a node exchange their messages without the
 * host, so there only the start is timed. 0, or GR_ERR_...
 */
static int begin_timing(struct gr_op *op)
{
    const struct gr_gpu_team *gpu = op->queue->gpu;
    struct gr_gpu_op *run = &op->run.device;
    struct gr_timer_links none = {NULL, NULL, gpu->p};
    struct gr_timing_job job = {.split = &run->split,
                                .elem_bytes = run->elem_bytes,
                                .slot_elems = run->args.slot_elems,
                                .nslots = gpu->nslots,
                                .whole = NULL == gpu->remote};
    struct gr_timer *timer;
    int rc = gr_timing_begin(op, &gpu->rings, job, &none, &timer);

    if (1 == rc) {
        gr_gpu_op_gate(run, &gr_timing_gate, timer);
    }
    return rc < 0 ? rc : 0;
}

/* In a bracket. */
static int start_kernel(struct gr_op *op)
{
    struct gr_plan_spec *r = &op->data.spec;
    struct gr_gpu_team *gpu = op->queue->gpu;
    struct gr_gpu_op *run = &op->run.device;
    int rc;
    /* Buffers that the device knows by another address were staged. */
    gr_gpu_ptr space[3] = {(gr_gpu_ptr) (uintptr_t) op->data.in,
                           (gr_gpu_ptr) (uintptr_t) op->data.out,
                           (gr_gpu_ptr) (uintptr_t) op->data.tmp};

    r->algo = (enum gr_algo) op->choice.algo;
    r->nchannels = op->choice.nchannels < gpu->usable ? op->choice.nchannels : gpu->usable;
    r->chunk_bytes = op->choice.chunk_bytes;
    r->protocol = (enum gr_protocol) op->choice.protocol;
    r->threads = op->choice.threads;
    if (0 != gr_op_follow(op, gpu) || (op->agreed.zero_copy && !gr_op_begin_writing(op))) {
        return GR_ERR_FAILED;
    }
    if (0 > gr_gpu_op_begin(run, gpu, r, (enum gr_kernel) op->kernel, space,
                            op->agreed.zero_copy ? op->agreement.handles : NULL)) {
        gr_op_report_failure(op, "", gr_gpu_error());
        return GR_ERR_FAILED;
    }
    rc = begin_timing(op);
    if (0 == rc) {
        gr_gpu_op_launch(run);
    }
    return rc;
}

static int device_start(struct gr_op *op)
{
    op->leave_by = 0;
    gr_gpu_op_init(&op->run.device, op->queue->gpu);
    return gr_op_start_in_bracket(op, start_kernel);
}

/* ---- progress, and the end ---- */

static int device_poll(struct gr_op *op, uint64_t *moved)
{
    int rc = gr_gpu_op_poll(&op->run.device, moved);

    if (GR_ERR_CUDA == rc || GR_ERR_GPU_SPACE == rc) {
        gr_op_report_failure(op, "a kernel failed: ", gr_gpu_error());
    } else if (rc < 0) {
        gr_op_report_error(op, rc);
    }
    return rc;
}

/* With zero copy, kernels of other ranks may still write to this rank's buffers. */
static bool device_abort(struct gr_op *op, bool here)
{
    if (0 == op->leave_by) {
        gr_gpu_op_abort(&op->run.device);
        gr_op_end_writing(op);
        if (!gr_gpu_op_exposed(&op->run.device)) {
            return true;
        }
    }
    return gr_op_is_left(op, here);
}

static int device_finish(struct gr_op *op, int rc)
{
    struct gr_gpu_op *run = &op->run.device;

    op->count = run->mapped > 0 ? GR_COUNT_ZERO_COPY : GR_COUNT_COPIED;
    if (0 != rc) {
        gr_gpu_op_abort(run);
    }
    gr_op_end_writing(op);
    gr_gpu_op_end(run);
    return rc;
}

/* ---- reports ---- */

static void explain_channels(const struct gr_op *op, const char *algo, char *text, size_t size)
{
    const struct gr_gpu_op *run = &op->run.device;
    struct gr_gpu_report report;
    struct gr_step step;
    int ranks[2 * GR_FAN], n;
    uint32_t c;

    for (c = 0; c < run->nchannels; c++) {
        if (gr_gpu_op_waits(run, c, &step, &report, ranks, &n)) {
            gr_text_add(text, size,
                        "%s%s on devices, channel %u, slice %u, step %u (%s), waits for rank",
                        '\0' != text[0] ? "; " : "", algo, c, report.slice, report.index,
                        gr_step_name(&step));
            gr_text_ranks(text, size, ranks, n);
        }
    }
}

static void device_explain(struct gr_op *op, char *text, size_t size)
{
    const char *algo = gr_use_name(op->choice.algo);
    int ranks[2 * GR_FAN], n;

    if (0 != op->leave_by) {
        snprintf(text, size, "failed, other ranks may still write to its buffers");
        return;
    }
    gr_timing_explain(op->queue, text, size);
    explain_channels(op, algo, text, size);
    n = gr_gpu_op_unsent(&op->run.device, ranks, 2 * GR_FAN);
    if (n > 0) {
        snprintf(text, size, "%s on devices, all steps done, to be sent to rank", algo);
        gr_text_ranks(text, size, ranks, n);
    } else if ('\0' == text[0]) {
        snprintf(text, size,
                 "%s on devices, the kernel is running, or not resident on the device yet", algo);
    }
}

const struct gr_executor gr_run_device = {
    .on_device = true,
    .setup = GR_SETUP_GPU,
    .runs_steps = true,
    .links = device_links,
    .connect = gr_setup_new_gpu,
    .start = device_start,
    .poll = device_poll,
    .abort = device_abort,
    .finish = device_finish,
    .explain = device_explain,
};
