/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The path of a call. Which way it goes depends only on what is equal on all ranks: the collective, the
 * signature's bytes and type, the operation, the root, the team's verdicts and parameters. Until the first
 * slot moves a call may be handed to the saved collective; after that it finishes or fails.
 *
 *      taken? --> team? --> algorithm --> links? --> buffers --> run --> finish
 *         '---------'----------------------'----> saved collective
 */
#include "coll_gpuring.h"

#include <stdio.h>
#include <stdlib.h>

/* What all ranks know alike is said by rank 0 only. */
static bool speaks(struct ompi_communicator_t *comm, int level)
{
    return mca_coll_gpuring_component.verbose >= level && 0 == ompi_comm_rank(comm);
}

static int hand_over(mca_coll_gpuring_module_t *module, const struct gr_call *call, int reason)
{
    mca_coll_gpuring_stats_handover((enum gr_handover) reason);
    if (speaks(call->comm, 2)) {
        opal_output(0, "gpuring: %s on %s handed on: %s", gr_calls[call->id].name, gr_comm_name(call->comm),
                    mca_coll_gpuring_handover_name(reason));
    }
    return mca_coll_gpuring_call_saved(module, call);
}

/* The team and what goes with it, for a communicator that is taken. */
static int make_team(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm)
{
    const int64_t *value = module->params.value;
    size_t p = (size_t) ompi_comm_size(comm);
    struct gr_team_params params = {
        .p = (int) p,
        .rank = ompi_comm_rank(comm),
        .nchannels = (uint32_t) value[GR_PARAM_CHANNELS],
        .nslots = (uint32_t) value[GR_PARAM_SLOTS],
        .slot_bytes = (size_t) value[GR_PARAM_SLOT_BYTES],
        .torus = mca_coll_gpuring_param_torus(value[GR_PARAM_TORUS]),
    };

    /* what a failed attempt left is used by the next, or freed with the module */
    if (NULL == module->counts) {
        module->counts = calloc(2 * p, sizeof(size_t));
    }
    if (NULL == module->counts) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    module->displs = module->counts + p;
    module->team = gr_team_create(&params);
    return NULL == module->team ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}

/* Once per communicator: is it taken? */
static int decide(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm)
{
    int rc = mca_coll_gpuring_peers_decide(comm, &module->params, &module->refused);

    if (OMPI_SUCCESS == rc && 0 > module->refused) {
        rc = make_team(module, comm);
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

/* Links for the request: OMPI_SUCCESS, OMPI_ERR_NOT_AVAILABLE (on all ranks), or an error. */
static int need_links(mca_coll_gpuring_module_t *module, const struct gr_call *call, const struct gr_request *request)
{
    switch (gr_team_links(module->team, request->algo, request->root)) {
    case GR_LINKS_THERE:
        return OMPI_SUCCESS;
    case GR_LINKS_REFUSED:
        return OMPI_ERR_NOT_AVAILABLE;
    default:
        return mca_coll_gpuring_setup(module, call->comm, request->algo, request->root, gr_calls[call->id].name);
    }
}

static void choose(mca_coll_gpuring_module_t *module, const struct gr_call *call, struct gr_data *data)
{
    enum gr_coll coll = data->request.coll;
    struct gr_question q = {
        .coll = coll,
        .p = module->team->p,
        .bytes = data->bytes,
        .forced = (int) module->params.value[GR_PARAM_ALGORITHM + coll],
        .nchannels = module->team->nchannels,
        .slot_bytes = module->team->slot_bytes,
    };
    struct gr_choice choice;

    if (module->last[coll].bytes != data->bytes) {
        module->last[coll].choice = gr_select(&gr_costs_host, &q);
        module->last[coll].bytes = data->bytes;
    }
    choice = module->last[coll].choice;
    data->request.algo = choice.algo;
    data->request.nchannels = choice.nchannels;
    data->request.chunk_bytes = choice.chunk_bytes;
    if (speaks(call->comm, 2)) {
        opal_output(0, "gpuring: %s on %s, sequence %llu, %zu bytes: %s%s, %u channels, chunks of %zu bytes, "
                    "%.1f us expected", gr_calls[call->id].name, gr_comm_name(call->comm),
                    (unsigned long long) module->seq, data->bytes, gr_algo_name(choice.algo),
                    q.forced >= 0 ? " (forced)" : "", choice.nchannels, choice.chunk_bytes, choice.us);
    }
}

/* One call that is running. */
struct running {
    struct gr_plan plan;
    struct gr_machine machine;
    struct gr_host_op op;
};

static int running_poll(void *ctx, uint64_t *moved)
{
    return gr_machine_run(&((struct running *) ctx)->machine, moved);
}

static void running_explain(void *ctx, char *text, size_t size)
{
    struct running *run = ctx;
    int ranks[2 * GR_FAN], n, k;
    size_t used = 0;
    uint32_t c;

    for (c = 0; c < run->machine.nchannels && used < size; c++) {
        const struct gr_step *step = gr_machine_waits(&run->machine, c);

        if (NULL == step) {
            continue;
        }
        n = gr_host_waits_for(&run->op, c, step, ranks);
        used += (size_t) snprintf(text + used, size - used, "%s%s, channel %u, slice %u, step %u (%s), waits for rank",
                                  used > 0 ? "; " : "", gr_algo_name(run->plan.sched[c].algo), c,
                                  run->machine.at[c].slice, run->machine.at[c].index, gr_step_name(step));
        for (k = 0; k < n && used < size; k++) {
            used += (size_t) snprintf(text + used, size - used, " %d", ranks[k]);
        }
    }
}

static int run(mca_coll_gpuring_module_t *module, const struct gr_call *call, struct gr_data *data)
{
    struct running run;
    struct gr_wait wait = {call->comm, gr_calls[call->id].name, module->seq, running_poll, running_explain, &run};

    run.op.in = module->team->in;
    run.op.out = module->team->out;
    run.op.p = module->team->p;
    run.op.space[GR_IN] = data->in;
    run.op.space[GR_OUT] = data->out;
    run.op.space[GR_TMP] = NULL; /* no schedule of host memory has scratch */
    run.op.reducer = data->reducer;
    gr_plan_build(&run.plan, module->team, &data->request);
    gr_machine_start(&run.machine, &run.plan, &gr_host_mover, &run.op);
    return mca_coll_gpuring_wait(&wait);
}

/* The call is gpuring's, and its links are there. */
static int perform(mca_coll_gpuring_module_t *module, const struct gr_call *call, struct gr_data *data)
{
    bool timed = mca_coll_gpuring_stats_timed();
    double start = timed ? mca_coll_gpuring_now() : 0;
    int rc;

    rc = mca_coll_gpuring_data_begin(module, call, data);
    if (OMPI_SUCCESS == rc) {
        rc = run(module, call, data);
        if (OMPI_SUCCESS != rc) {
            module->team->poisoned = rc;
            return rc;
        }
        rc = mca_coll_gpuring_data_end(module, call, data);
    }
    mca_coll_gpuring_stats_call(call->id, data->request.algo, module->team->p, data->bytes,
                                timed ? 1e6 * (mca_coll_gpuring_now() - start) : 0);
    return rc;
}

int mca_coll_gpuring_enter(mca_coll_gpuring_module_t *module, const struct gr_call *call)
{
    struct gr_data data;
    int reason, rc;

    if (!module->decided) {
        rc = decide(module, call->comm);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    reason = refusal(module, call);
    if (reason >= 0) {
        return hand_over(module, call, reason);
    }
    if (0 != module->team->poisoned) {
        return OMPI_ERROR;
    }
    mca_coll_gpuring_data_size(module, call, &data);
    if (0 == data.bytes) {
        return OMPI_SUCCESS;
    }
    module->seq++;
    choose(module, call, &data);
    rc = need_links(module, call, &data.request);
    if (OMPI_ERR_NOT_AVAILABLE == rc) {
        return hand_over(module, call, GR_HANDOVER_SETUP);
    }
    return OMPI_SUCCESS == rc ? perform(module, call, &data) : rc;
}
