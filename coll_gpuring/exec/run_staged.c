/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executor: host steps on staged buffers that are copied band by band while steps run
 * (exec/staged.h). mpi/ has put pinned memory in the place of buffers on a device, and
 * op->data.staged says where what lies in it belongs.
 */
#include "exec/default_streams.h"
#include "exec/op.h"
#include "exec/run_host.h"

#include <string.h>

static size_t stage_bytes_of(const struct gr_op *op)
{
    return (size_t) op->comm->params.value[GR_PARAM_STAGE_BYTES];
}

/*
 * Not for an Alltoall, whose blocks change places, nor along a torus. Without links there is
 * nothing to overlap with.
 */
bool gr_staged_fits(const struct gr_op *op)
{
    size_t stage_bytes;

    if (!op->comm->gpu || GR_LINKS_THERE != gr_op_host_links(op)) {
        return false;
    }
    stage_bytes = stage_bytes_of(op);
    return GR_COLL_ALLTOALL != op->data.spec.coll &&
           !gr_algo_is_by_rank((enum gr_algo) op->choice.algo) && stage_bytes > 0 &&
           op->data.bytes / 2 >= stage_bytes && op->plain;
}

/* ---- start ---- */

/* A stream for copies between `host` and the device memory that it stands for. */
static struct gr_staged_copy take_stream(struct gr_copy_stream *copies, const struct gr_op *op,
                                         const unsigned char *device, const unsigned char *host)
{
    if (NULL != device) {
        *copies = gr_copy_stream_take(device, op->after);
    }
    return (struct gr_staged_copy) {copies->stream,
                                    (ptrdiff_t) ((uintptr_t) device - (uintptr_t) host)};
}

/* Take streams for the copies, and begin them. 0, or GR_ERR_... */
static int begin_copies(struct gr_op *op)
{
    struct gr_host_run *run = &op->run.host;
    struct gr_data *data = &op->data;
    struct gr_staged_copy in = take_stream(&run->copies[0], op, data->staged.in, data->in),
                          out = take_stream(&run->copies[1], op, data->staged.out, data->out);

    if (NULL != data->staged.in && NULL == in.stream) { /* copied before the first step */
        size_t bytes = GR_COLL_ALLGATHER == data->spec.coll
                           ? gr_plan_block(&data->spec, op->comm->rank) * data->spec.elem_bytes
                           : data->bytes;
        int rc = gr_copy_after(op->after, data->in, data->staged.in, bytes);

        if (0 != rc) {
            return rc;
        }
    }
    data->staged.brought = NULL != out.stream;
    if (0 >
        gr_staged_begin(&op->kept.bands, &run->op, &run->stepper, &in, &out, stage_bytes_of(op))) {
        return GR_ERR_FAILED; /* finish reports it */
    }
    return 0;
}

static int staged_start(struct gr_op *op)
{
    int rc;

    memset(op->run.host.copies, 0, sizeof(op->run.host.copies));
    rc = gr_host_start(op, &gr_staged_backend, &op->kept.bands);
    rc = 0 == rc ? begin_copies(op) : rc;
    return 0 == rc ? gr_host_time(op) : rc;
}

/* ---- progress, and the end ---- */

static int staged_poll(struct gr_op *op, uint64_t *moved)
{
    int rc = gr_host_poll(op, moved), error = op->kept.bands.error;

    if (rc >= 0 && error < 0) {
        gr_op_report_error(op, error);
        return error;
    }
    return rc;
}

/* Also waits for the copies. */
static int staged_finish(struct gr_op *op, int rc)
{
    int error;

    (void) gr_host_finish(op, rc);
    error = gr_staged_end(&op->kept.bands);
    gr_copy_stream_put(&op->run.host.copies[0]);
    gr_copy_stream_put(&op->run.host.copies[1]);
    if (error < 0) {
        gr_print("gpuring: %s on %s: copying between host and device memory failed: %s",
                 gr_calls[op->id].name, gr_comm_name(op->comm), gr_gpu_error());
    }
    return 0 == rc && error < 0 ? GR_ERR_FAILED : rc;
}

/* ---- reports ---- */

static const char *copy_waits(const struct gr_op *op, uint32_t channel)
{
    return gr_staged_waits(&op->kept.bands, channel) ? "a copy from or to the device" : NULL;
}

static void staged_explain(struct gr_op *op, char *text, size_t size)
{
    gr_host_explain(op, gr_use_name(op->choice.algo), copy_waits, text, size);
}

const struct gr_executor gr_run_staged = {
    .runs_steps = true,
    .links = gr_op_host_links,
    .connect = gr_host_connect,
    .start = staged_start,
    .poll = staged_poll,
    .waits_near = gr_host_waits_near,
    .abort = gr_host_abort,
    .finish = staged_finish,
    .explain = staged_explain,
};
