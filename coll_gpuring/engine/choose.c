/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm a call takes: the questions to the cost model (tune/select.h). What is asked is
 * equal on all ranks, and so are the answers.
 */
#include "engine/choose.h"

#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/params.h"
#include "comm/runtime.h"
#include "engine/network_probe.h"
#include "exec/executor.h"
#include "exec/op.h"
#include "exec/run_host.h"
#include "exec/setup.h"

#include "base/errors.h"
#include "exec/gpu/args.h"
#include "exec/gpu/team.h"
#include "link/team.h"
#include "sched/groups.h"
#include "sched/protocol.h"
#include "sched/sched.h"
#include "tune/constants.h"
#include "tune/machine.h"
#include "tune/network.h"
#include "tune/select.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The path between the op's devices. Inside a node it is not known before the links: PCIe then. */
static enum gr_path path_of(const struct gr_comm *comm, const struct gr_op *op)
{
    if (NULL != comm->remote) {
        return GR_PATH_NET;
    }
    return NULL == op->queue || NULL == op->queue->gpu ? GR_PATH_PCIE : op->queue->gpu->path;
}

/*
 * Set what is known of the links between the op's devices, and whether the tuning file's constants
 * hold for these. Returns whether something of it is new.
 */
static bool update_path(const struct gr_comm *comm, struct gr_op *op)
{
    enum gr_path path = op->agreed.kernels ? path_of(comm, op) : GR_PATH_NONE;
    bool tuned = op->agreed.kernels && NULL != op->queue && op->queue->tuned,
         is_new = path != op->path || tuned != op->tuned;

    op->path = path;
    op->tuned = tuned;
    return is_new;
}

/* The constants that the op's choice among devices follows: the tuning file's, or none. */
static enum gr_constant_source least_source(const struct gr_op *op)
{
    return op->tuned ? GR_FROM_FILE : GR_CONSTANT_SOURCES;
}

static struct gr_costs costs_of_devices(const struct gr_comm *comm, const struct gr_op *op)
{
    struct gr_machine m;

    if (NULL == comm->constants) {
        return gr_costs_device[op->path];
    }
    m = gr_constants_at(comm->constants, gr_relation_of_path(op->path), least_source(op), NULL);
    return gr_machine_device_costs(&m, &gr_costs_device[op->path]);
}

/*
 * For choices that must not depend on measurements, which some ranks may not know yet: a network of
 * which nothing was measured.
 */
static const struct gr_network unmeasured;

/* The network as the op's order of calls knows it. Persistent inits are among blocking calls. */
static const struct gr_network *network_of(const struct gr_comm *comm, const struct gr_op *op)
{
    return &comm->network[op->persistent ? GR_ORDER_BLOCKING : op->queue->order].network;
}

/* Rank 0 reports, once in each process, that the path does not allow the protocol LL128. */
static void tell_protocol(const struct gr_comm *comm, const struct gr_op *op)
{
    static atomic_bool warned;

    if (GR_PROTOCOL_LL128 == comm->params.value[GR_PARAM_PROTOCOL] && NULL != op->queue &&
        NULL != op->queue->gpu && GR_PATH_NVLINK != op->path && 0 == op->comm->rank &&
        !atomic_exchange(&warned, true)) {
        gr_warn("protocol-not-whole", gr_comm_name(op->comm), gr_path_name(op->path));
    }
}

/* Between devices there are no mailboxes: the model chooses where they are forced. */
static struct gr_choice select_on_devices(const struct gr_comm *comm, const struct gr_op *op,
                                          int forced)
{
    const int64_t *value = comm->params.value;
    const struct gr_data *data = &op->data;
    struct gr_select_args q = {
        .coll = data->spec.coll,
        .p = op->comm->size,
        .torus = comm->torus,
        .bytes = data->bytes,
        .forced = forced,
        .nchannels = gr_device_channels(comm),
        .slot_bytes = (size_t) value[GR_PARAM_DEVICE_SLOT_BYTES],
        .nslots = (uint32_t) value[GR_PARAM_DEVICE_SLOTS],
        .post_bytes = 1,
        .protocol = (int) value[GR_PARAM_PROTOCOL],
        .threads = GR_LINE_UNITS,
        .internode = gr_network_terms(comm, network_of(comm, op)),
    };
    struct gr_costs costs;

    if (GR_PATH_NET != op->path) { /* a network would not know where a message in lines ends */
        q.line_bytes[GR_PROTOCOL_LL] = gr_line_bytes(GR_PROTOCOL_LL, GR_LINE_UNITS, 1);
    }
    if (GR_PATH_NVLINK == op->path) {
        q.line_bytes[GR_PROTOCOL_LL128] = gr_line_bytes(GR_PROTOCOL_LL128, GR_LINE_UNITS, 1);
    }
    tell_protocol(comm, op);
    costs = costs_of_devices(comm, op);
    return gr_select(&costs, &q);
}

/* A struct gr_machine is nothing but times of more than 0, or 0: equal values are equal bytes. */
_Static_assert(sizeof(struct gr_machine) ==
                   (4 + 4 * GR_MACHINE_SIZES + 2 * GR_NPROTOCOLS) * sizeof(float),
               "padding, or a new member, in what is compared as bytes");

/* By what is known of the node; what was measured in this job decides no order of reduction. */
static struct gr_choice select_on_hosts(const struct gr_comm *comm, const struct gr_select_args *q)
{
    struct gr_costs fixed = gr_machine_costs(&comm->fixed, &gr_costs_host, q), measured;

    if (0 == memcmp(&comm->fixed, &comm->machine, sizeof(comm->fixed))) {
        return gr_select(&fixed, q);
    }
    measured = gr_machine_costs(&comm->machine, &gr_costs_host, q);
    return gr_select_measured(&fixed, &measured, q);
}

static struct gr_select_args question_on_hosts(const struct gr_comm *comm,
                                               const struct gr_data *data, int forced, bool fetches,
                                               const struct gr_network *network)
{
    /* All queues have the same numbers of channels and slots; this one is always there. */
    const struct gr_team *team = comm->queues[GR_ORDER_BLOCKING]->team;

    return (struct gr_select_args) {
        .coll = data->spec.coll,
        .p = team->p,
        .torus = comm->torus,
        .bytes = data->bytes,
        .forced = forced,
        .nchannels = team->data.nchannels,
        .slot_bytes = team->data.slot_bytes,
        .nslots = team->data.nslots,
        .post_bytes = data->post_bytes,
        /* both need memory that all ranks see */
        .mailbox_bytes =
            NULL != comm->remote ? 0 : (size_t) comm->params.value[GR_PARAM_MAILBOX_BYTES],
        .direct = fetches && 0 != comm->params.value[GR_PARAM_SINGLE_COPY] && NULL == comm->remote,
        .offers = !comm->oversubscribed,
        .internode = gr_network_terms(comm, network),
    };
}

static struct gr_choice select_algo(const struct gr_comm *comm, const struct gr_select_args *q)
{
    const struct gr_team *team = comm->queues[GR_ORDER_BLOCKING]->team;
    struct gr_choice choice = select_on_hosts(comm, q);

    choice.small = NULL != comm->remote && choice.algo < GR_NALGOS && team->small.nchannels > 0 &&
                   q->bytes <= team->small.slot_bytes;
    return choice;
}

struct gr_choice gr_choose_agreement(const struct gr_comm *comm)
{
    struct gr_data data = {.spec.coll = GR_COLL_ALLREDUCE,
                           .bytes = sizeof(struct gr_combined_records),
                           .post_bytes = sizeof(struct gr_combined_records)};
    struct gr_select_args q = question_on_hosts(comm, &data, -1, false, &unmeasured);

    return select_algo(comm, &q);
}

/* Which mailboxes a call takes among many ranks. */
static void describe_mailboxes(enum gr_coll coll, int p, char *text, size_t size)
{
    int columns = gr_grid_columns(p);

    if (!gr_is_grouped(p)) {
        return;
    }
    if (GR_COLL_ALLTOALL == coll) {
        snprintf(text, size, " in %d rows of %d", p / columns, columns);
    } else {
        snprintf(text, size, " in groups on %d levels", gr_group_levels(p));
    }
}

static void speak_choice(const struct gr_comm *comm, const struct gr_op *op)
{
    const struct gr_choice *c = &op->choice;
    enum gr_coll coll = op->data.spec.coll;
    char where[48] = "", nodes[48] = "", how[96] = "", chunks[96] = "", expected[32] = "";

    if (!gr_should_log(op->comm->rank, 2)) {
        return;
    }
    if (op->agreed.kernels) {
        snprintf(where, sizeof(where), " on devices (%s)", gr_path_name(op->path));
    }
    if (op->agreed.kernels && GR_ALGO_LEADER != c->algo) {
        snprintf(how, sizeof(how), ", %s, %u threads%s", gr_protocol_name(c->protocol), c->threads,
                 op->agreed.zero_copy && GR_PROTOCOL_SIMPLE == c->protocol ? ", zero copy" : "");
    }
    if (NULL != comm->remote) {
        snprintf(nodes, sizeof(nodes), " on %d nodes of %s%d", comm->nodes,
                 comm->cluster.ndims > 0 ? "" : "up to ", comm->node_ranks);
    }
    if (GR_ALGO_MAILBOX == c->algo) {
        describe_mailboxes(coll, op->comm->size, how, sizeof(how));
    } else if (GR_ALGO_LEADER != c->algo) { /* these have neither channels nor chunks */
        snprintf(chunks, sizeof(chunks), ", %u channels, chunks of %zu bytes%s", c->nchannels,
                 c->direct ? c->direct_chunk_bytes : c->chunk_bytes,
                 c->direct ? ", single copy where possible" : "");
    }
    if (GR_ALGO_LEADER != c->algo) { /* there is no model of it, since nothing is to be chosen */
        snprintf(expected, sizeof(expected), ", %.1f us expected", c->us);
    }
    gr_print("gpuring: %s on %s, sequence %llu, %zu bytes%s%s: %s%s%s%s%s", gr_calls[op->id].name,
             gr_comm_name(op->comm), (unsigned long long) op->seq, op->data.bytes, where, nodes,
             gr_use_name(c->algo),
             comm->params.value[GR_PARAM_ALGORITHM + coll] == c->algo ? " (forced)" : "", how,
             chunks, expected);
}

static struct gr_chosen select_now(const struct gr_comm *comm, const struct gr_op *op,
                                   enum gr_chosen_when when)
{
    const struct gr_data *data = &op->data;
    struct gr_chosen now = {data->bytes, data->post_bytes,   op->path,
                            op->tuned,   op->agreed.fetches, .bounded = true};
    struct gr_select_args q;

    if (op->agreed.kernels) {
        now.choice = select_on_devices(comm, op, gr_forced_scheduled(comm, op));
        return now;
    }
    q = question_on_hosts(comm, data, gr_forced_scheduled(comm, op), op->agreed.fetches,
                          GR_CHOSEN_TO_ASK == when ? &unmeasured : network_of(comm, op));
    now.choice = select_algo(comm, &q);
    now.bounded = gr_setup_always(comm, &now.choice, data->bytes);
    return now;
}

static enum gr_chosen_when chosen_when(const struct gr_op *op)
{
    if (!gr_op_has_agreement(op)) {
        return op->chosen_in_turn ? GR_CHOSEN_IN_TURN : GR_CHOSEN_AT_CALL;
    }
    return op->agreed.kernels ? GR_CHOSEN_AGREED_KERNELS : GR_CHOSEN_AGREED_HOST;
}

/*
 * Where the queue keeps its last choices, which are made room for at the first one: many
 * communicators have one call. NULL: no memory, or a persistent request, which has no queue yet.
 */
static struct gr_chosen *last_of(const struct gr_op *op, enum gr_chosen_when when)
{
    struct gr_chosen **last;

    if (op->persistent) {
        return NULL;
    }
    last = &op->queue->last[when];
    if (NULL == *last) {
        *last = calloc(GR_NCOLLS, sizeof(**last));
    }
    return NULL == *last ? NULL : *last + op->data.spec.coll;
}

static struct gr_chosen select_as_last(struct gr_comm *comm, const struct gr_op *op,
                                       enum gr_chosen_when when)
{
    const struct gr_data *data = &op->data;
    struct gr_chosen *last = last_of(op, when);

    if (NULL == last) {
        return select_now(comm, op, when);
    }
    if (last->bytes != data->bytes || last->post_bytes != data->post_bytes ||
        last->path != op->path || last->tuned != op->tuned || last->fetches != op->agreed.fetches) {
        *last = select_now(comm, op, when);
    }
    return *last;
}

/*
 * With fewer links a call may take so many times as long as the model expects of the best
 * algorithm; else the saved collective is likely to be faster. Which of both a reduction takes must
 * not depend on what was measured in this job.
 */
#define MOST_SLOWER 2.0

/* Rank 0 reports, once in each process, that what is forced needs more memory than is allowed. */
static void tell_bound(const struct gr_comm *comm, const struct gr_op *op)
{
    static atomic_bool warned;

    if (op->choice.algo == gr_forced_algo(comm, op) && 0 == comm->rank &&
        !atomic_exchange(&warned, true)) {
        gr_warn("setup-bound", gr_use_name(op->choice.algo), gr_calls[op->id].name,
                gr_comm_name(comm), gr_setup_need(comm, &op->choice) >> 10,
                (int) comm->params.value[GR_PARAM_SETUP_MIB]);
    }
}

/* The same, once for each collective, of an algorithm that cannot do a call. */
static void tell_not_taken(const struct gr_comm *comm, const struct gr_op *op)
{
    static atomic_bool warned[GR_NCOLLS];
    int forced = gr_forced_algo(comm, op);

    if (forced >= 0 && op->choice.algo != forced && 0 == comm->rank &&
        !atomic_exchange(&warned[op->data.spec.coll], true)) {
        gr_warn("algorithm-not-taken", gr_use_name(forced), gr_calls[op->id].name, op->data.bytes,
                comm->size, gr_comm_name(comm), gr_use_name(op->choice.algo));
    }
}

/*
 * A nonblocking call that has waited for an agreement, or may have waited for what is measured of
 * the network, is never left to the saved collective: each rank would do that at a different point
 * of its sequence of calls.
 */
static bool may_leave(const struct gr_op *op)
{
    return !op->nonblocking || op->persistent ||
           (!gr_op_has_agreement(op) && !op->comm->measures_network);
}

/*
 * Let op->choice have links with small slots, where there are such, inside a node, and they may be
 * made. Not where each root would need links of its own. limit: what a call that is not forced may
 * take, in us.
 */
static bool choose_compact(const struct gr_comm *comm, struct gr_op *op,
                           const struct gr_costs *fixed, double limit)
{
    const struct gr_channel_set *small = &comm->queues[GR_ORDER_BLOCKING]->team->small;
    struct gr_select_args q = question_on_hosts(comm, &op->data, op->choice.algo,
                                                op->agreed.fetches, network_of(comm, op));
    struct gr_choice choice = op->choice;

    choice.small = 1;
    if (NULL != comm->remote || 0 == small->nchannels ||
        gr_algo_is_rooted((enum gr_algo) choice.algo) || !gr_setup_allowed(comm, op, &choice)) {
        return false;
    }
    q.slot_bytes = small->slot_bytes;
    choice = gr_select(fixed, &q);
    if (choice.algo != op->choice.algo ||
        (choice.us > limit && choice.algo != gr_forced_algo(comm, op) && may_leave(op))) {
        return false;
    }
    op->choice = select_algo(comm, &q);
    op->choice.small = 1;
    return true;
}

/*
 * The links of op->choice may not be made: choose smaller ones, or among algorithms whose links
 * may. Returns as gr_op_choose().
 */
static int choose_bounded(struct gr_comm *comm, struct gr_op *op)
{
    struct gr_select_args q =
        question_on_hosts(comm, &op->data, -1, op->agreed.fetches, network_of(comm, op));
    struct gr_costs fixed = gr_machine_costs(&comm->fixed, &gr_costs_host, &q);
    double limit = MOST_SLOWER * gr_select(&fixed, &q).us, us;

    if (choose_compact(comm, op, &fixed, limit)) {
        return 0;
    }
    tell_bound(comm, op);
    q.denied = gr_setup_denied(comm, op, &op->choice);
    us = gr_select(&fixed, &q).us;
    if (us >= 0 && (us <= limit || !may_leave(op))) {
        op->choice = select_algo(comm, &q);
        return 0;
    }
    op->fallback = GR_FALLBACK_MEMORY;
    op->without_links = !may_leave(op);
    return op->without_links ? 0 : GR_ERR_FALLBACK;
}

/*
 * All ranks pick the same one, except that each rank decides alone whether its host steps overlap
 * with copies of its staged buffers: the messages are the same.
 */
const struct gr_executor *gr_pick(const struct gr_op *op)
{
    if (op->agreed.kernels) {
        return GR_ALGO_LEADER == op->choice.algo ? &gr_run_leader : &gr_run_device;
    }
    if (op->without_links) {
        return &gr_run_messages;
    }
    /*
     * A nonblocking call cannot fall back: it is completed here without links. Not before its
     * start, since a rank may learn earlier than others that links are refused.
     */
    if (op->nonblocking && GR_OP_START == op->phase && GR_LINKS_REFUSED == gr_op_host_links(op)) {
        return &gr_run_messages;
    }
    if (GR_ALGO_MAILBOX == op->choice.algo) {
        return &gr_run_mailbox;
    }
    return gr_staged_fits(op) ? &gr_run_staged : &gr_run_host;
}

static int choose(struct gr_comm *comm, struct gr_op *op)
{
    enum gr_device_use use = op->agreed.kernels ? gr_device_use_of(comm, op) : GR_KERNELS_OF_ALL;
    struct gr_chosen chosen = {.choice = {.algo = GR_ALGO_LEADER, .nchannels = 1}, .bounded = true};
    int rc;

    op->agreed.kernels = op->agreed.kernels && GR_KERNELS_NONE != use;
    (void) update_path(comm, op);
    if (GR_KERNELS_LEADER != use) {
        chosen = select_as_last(comm, op, chosen_when(op));
    }
    op->choice = chosen.choice;
    if (!chosen.bounded && !gr_setup_allowed(comm, op, &op->choice)) {
        rc = choose_bounded(comm, op);
        if (0 != rc) {
            return rc;
        }
    } else {
        tell_not_taken(comm, op);
    }
    op->exec = gr_pick(op);
    if (gr_settings.verbose >= 2) {
        speak_choice(comm, op);
    }
    return 0;
}

/*
 * Depends only on what all ranks know alike, so not on whether this rank has to pack. A
 * nonblocking call that has waited for an agreement is never left: each rank would do that at a
 * different point of its sequence of calls. One without an agreement on a communicator with GPUs
 * is short.
 */
bool gr_op_left(const struct gr_comm *comm, struct gr_op *op)
{
    bool is_possible =
        !comm->gpu || op->persistent || (gr_op_has_agreement(op) && !op->nonblocking);
    size_t most = (size_t) comm->params.value[GR_PARAM_PACK_MIB] << 20;

    if (!is_possible || op->agreed.devices) {
        return false;
    }
    if (0 == comm->params.value[GR_PARAM_HOST]) {
        op->fallback = GR_FALLBACK_HOST;
        return true;
    }
    if (!gr_calls[op->id].reduces && op->data.bytes > most) {
        op->fallback = GR_FALLBACK_LARGE;
        return true;
    }
    return false;
}

int gr_op_choose(struct gr_comm *comm, struct gr_op *op)
{
    return gr_op_left(comm, op) ? GR_ERR_FALLBACK : choose(comm, op);
}

int gr_op_choose_host(struct gr_comm *comm, struct gr_op *op)
{
    op->agreed.kernels = false;
    return choose(comm, op);
}

bool gr_needs_agreement(struct gr_comm *comm, struct gr_op *op)
{
    int64_t times = comm->params.value[GR_PARAM_NODES_ASK];

    if (NULL == comm->remote || 0 == times) {
        return true;
    }
    op->path = GR_PATH_NONE;
    op->tuned = false;
    return select_as_last(comm, op, GR_CHOSEN_TO_ASK).choice.us >=
           (double) times * comm->agreement_choice.us;
}

void gr_op_reselect(struct gr_comm *comm, struct gr_op *op)
{
    static atomic_bool told;
    bool is_new;

    if (!op->agreed.kernels || GR_ALGO_LEADER == op->choice.algo) {
        return;
    }
    is_new = update_path(comm, op);
    if (!atomic_load_explicit(&told, memory_order_relaxed) && !atomic_exchange(&told, true)) {
        gr_stats_constants(comm, op->path, least_source(op));
    }
    if (is_new) {
        op->choice = select_on_devices(comm, op, op->choice.algo);
        speak_choice(comm, op);
    }
}
