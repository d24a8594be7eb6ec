/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of a call. Which way it goes depends only on what is equal on all ranks: the collective, its form,
 * the signature's bytes and type, the operation, the root, the team's verdicts and parameters.
 *
 *      taken? --> op --> way, set-up if it is the first --> buffers --> lane: blocking     wait for its end
 *         |                                                             lane: nonblocking  request
 *         '----> saved collective                                       init: own lane, its set-up, request
 */
#include "coll_gpuring_op.h"

/* What all ranks know alike is said by rank 0 only. */
static bool speaks(struct ompi_communicator_t *comm, int level)
{
    return mca_coll_gpuring_component.verbose >= level && 0 == ompi_comm_rank(comm);
}

static int hand_over(mca_coll_gpuring_module_t *module, const struct gr_call *call, const struct gr_form *form,
                     int reason)
{
    mca_coll_gpuring_stats_handover((enum gr_handover) reason);
    if (speaks(call->comm, 2)) {
        opal_output(0, "gpuring: %s on %s handed on: %s", gr_calls[call->id].name, gr_comm_name(call->comm),
                    mca_coll_gpuring_handover_name(reason));
    }
    return mca_coll_gpuring_call_saved(module, call, form);
}

static size_t mailbox_bytes(const mca_coll_gpuring_module_t *module)
{
    return (size_t) module->params.value[GR_PARAM_MAILBOX_BYTES];
}

/* Once per communicator: is it taken? */
static int decide(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm)
{
    int rc = mca_coll_gpuring_peers_decide(module, comm);

    if (OMPI_SUCCESS == rc && 0 > module->refused) {
        module->lane = mca_coll_gpuring_lane_new(module, comm, GR_SETS, mailbox_bytes(module));
        rc = NULL == module->lane ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    module->decided = true;
    if (speaks(comm, 1)) {
        opal_output(0, "gpuring: %s, %d ranks: %s", gr_comm_name(comm), ompi_comm_size(comm),
                    0 > module->refused ? "taken" : mca_coll_gpuring_handover_name(module->refused));
    }
    return OMPI_SUCCESS;
}

/* Whether the call is one that gpuring does: -1, or why not. Nothing here is known to one rank only. */
static int refusal(const mca_coll_gpuring_module_t *module, const struct gr_call *call)
{
    if (module->refused >= 0 || !gr_calls[call->id].reduces) {
        return module->refused;
    }
    /* MPI's own operations are for predefined types only, so neither gaps nor bounds can differ, and any
     * element fits a slot */
    if (!ompi_op_is_intrinsic(call->op) || !ompi_op_is_commute(call->op) ||
        !ompi_datatype_is_predefined(call->rtype)) {
        return GR_HANDOVER_OP;
    }
    return -1;
}

static struct gr_choice select_way(const mca_coll_gpuring_module_t *module, const struct gr_data *data)
{
    const struct gr_team *team = module->lane->team;
    struct gr_question q = {
        .coll = data->request.coll,
        .p = team->p,
        .bytes = data->bytes,
        .forced = (int) module->params.value[GR_PARAM_ALGORITHM + data->request.coll],
        .nchannels = team->nchannels,
        .slot_bytes = team->slot_bytes,
        .post_bytes = data->post_bytes,
        .box_bytes = mailbox_bytes(module),
        .direct = 0 != module->params.value[GR_PARAM_SINGLE_COPY],
    };

    return gr_select(&gr_costs_host, &q);
}

static void choose(mca_coll_gpuring_module_t *module, struct gr_op *op)
{
    const struct gr_data *data = &op->data;
    enum gr_coll coll = data->request.coll;
    struct gr_choice *last = &module->last[coll].choice;

    if (module->last[coll].bytes != data->bytes || module->last[coll].post_bytes != data->post_bytes) {
        *last = select_way(module, data);
        module->last[coll].bytes = data->bytes;
        module->last[coll].post_bytes = data->post_bytes;
    }
    op->choice = *last;
    if (speaks(op->call.comm, 2)) {
        opal_output(0, "gpuring: %s on %s, sequence %llu, %zu bytes: %s%s, %u channels, chunks of %zu bytes%s, "
                    "%.1f us expected", gr_calls[op->call.id].name, gr_comm_name(op->call.comm),
                    (unsigned long long) op->seq, data->bytes, gr_way_name(last->way),
                    module->params.value[GR_PARAM_ALGORITHM + coll] == last->way ? " (forced)" : "", last->nchannels,
                    last->direct ? last->direct_chunk_bytes : last->chunk_bytes,
                    last->direct ? " fetched directly where possible" : "", last->us);
    }
}

/* The op's call, sizes and way. OMPI error code. */
static int describe(mca_coll_gpuring_module_t *module, struct gr_op *op, const struct gr_call *call)
{
    int rc;

    op->call = *call;
    op->planned = false;
    rc = mca_coll_gpuring_data_size(op);
    if (OMPI_SUCCESS == rc && op->data.bytes > 0) {
        op->seq = ++module->seq;
        choose(module, op);
    }
    return rc;
}

/* The first call that takes a way sets it up. OMPI error code. */
static int ask(mca_coll_gpuring_module_t *module, struct gr_lane *lane, struct gr_op *op)
{
    if (GR_LINKS_NONE != gr_team_links(lane->team, op->choice.way, op->call.root)) {
        return OMPI_SUCCESS;
    }
    op->setup = mca_coll_gpuring_setup_new(module, op->call.comm, lane->team, op->choice.way, op->call.root);
    return NULL == op->setup ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}

static int do_blocking(mca_coll_gpuring_module_t *module, const struct gr_call *call, const struct gr_form *form)
{
    struct gr_lane *lane = module->lane;
    struct gr_op *op = &lane->own;
    int rc = describe(module, op, call);

    if (OMPI_SUCCESS != rc || 0 == op->data.bytes) {
        return rc;
    }
    op->lane = lane;
    rc = ask(module, lane, op);
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_op_begin(op);
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_lane_do(lane, op);
    }
    return OMPI_ERR_NOT_AVAILABLE == rc ? hand_over(module, call, form, GR_HANDOVER_SETUP) : rc;
}

static int do_nonblocking(mca_coll_gpuring_module_t *module, const struct gr_call *call, const struct gr_form *form)
{
    mca_coll_gpuring_request_t *request = mca_coll_gpuring_request_get(call->comm, false);
    struct gr_op *op;
    int rc;

    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    op = &request->op;
    rc = describe(module, op, call);
    if (OMPI_SUCCESS == rc && op->data.bytes > 0) {
        op->lane = module->lane;
        rc = ask(module, module->lane, op);
        if (OMPI_SUCCESS == rc) {
            rc = mca_coll_gpuring_op_begin(op);
        }
        if (OMPI_SUCCESS == rc) {
            mca_coll_gpuring_lane_start(&op, 1);
            *form->request = &request->super.super;
            return OMPI_SUCCESS;
        }
    }
    mca_coll_gpuring_request_put(request);
    *form->request = &ompi_request_empty;
    return rc;
}

/* Requests of all sizes share frames of few sizes: a set with its head is a power of two. */
static size_t persistent_box_bytes(size_t post_bytes)
{
    size_t set = GR_CACHE_LINE;

    while (set - GR_SET_HEAD < post_bytes) {
        set *= 2;
    }
    return set - GR_SET_HEAD;
}

/* The lane of a persistent request, with all that its way needs; all ranks come here together. OMPI error code. */
static int make_lane(mca_coll_gpuring_module_t *module, struct gr_op *op, struct gr_lane **lane)
{
    struct gr_waiting waiting = {op->call.comm, gr_calls[op->call.id].name, op->seq, mca_coll_gpuring_setup_explain,
                                 NULL};
    int rc;

    *lane = mca_coll_gpuring_lane_new(module, op->call.comm, GR_SETS_PERSISTENT,
                                      persistent_box_bytes(op->data.post_bytes));
    if (NULL == *lane) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = ask(module, *lane, op);
    if (OMPI_SUCCESS == rc) {
        waiting.ctx = op->setup;
        rc = mca_coll_gpuring_wait(mca_coll_gpuring_setup_poll, &waiting);
        if (OMPI_SUCCESS != rc) {
            return rc; /* messages may be under way into the set-up: what it has stays with it */
        }
        mca_coll_gpuring_setup_end(op->setup);
        op->setup = NULL;
        if (GR_LINKS_THERE == gr_team_links((*lane)->team, op->choice.way, op->call.root)) {
            op->lane = *lane;
            mca_coll_gpuring_op_plan(op);
            return OMPI_SUCCESS;
        }
        rc = OMPI_ERR_NOT_AVAILABLE;
    }
    mca_coll_gpuring_lane_free(*lane);
    return rc;
}

static int do_persistent(mca_coll_gpuring_module_t *module, const struct gr_call *call, const struct gr_form *form)
{
    mca_coll_gpuring_request_t *request = mca_coll_gpuring_request_get(call->comm, true);
    struct gr_lane *lane = NULL;
    int rc;

    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = describe(module, &request->op, call);
    if (OMPI_SUCCESS == rc && request->op.data.bytes > 0) {
        rc = make_lane(module, &request->op, &lane);
    }
    if (OMPI_SUCCESS == rc) {
        mca_coll_gpuring_request_persist(request, lane);
        *form->request = &request->super.super;
        return OMPI_SUCCESS;
    }
    mca_coll_gpuring_request_put(request);
    return OMPI_ERR_NOT_AVAILABLE == rc ? hand_over(module, call, form, GR_HANDOVER_SETUP) : rc;
}

int mca_coll_gpuring_enter(mca_coll_gpuring_module_t *module, const struct gr_call *call, const struct gr_form *form)
{
    int reason, rc;

    if (!module->decided) {
        rc = decide(module, call->comm);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    reason = refusal(module, call);
    if (reason >= 0) {
        return hand_over(module, call, form, reason);
    }
    if (0 != module->lane->team->poisoned) {
        return mca_coll_gpuring_poison_code(module->lane->team);
    }
    switch (form->kind) {
    case GR_BLOCKING:
        return do_blocking(module, call, form);
    case GR_NONBLOCKING:
        return do_nonblocking(module, call, form);
    default:
        return do_persistent(module, call, form);
    }
}
