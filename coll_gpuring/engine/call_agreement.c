/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Call agreement. Inside a node records go through boards. Between nodes they are combined over
 * host links, which takes a round trip; so short calls there have no agreement (choose.c). The init
 * of a persistent request is no call of its communicator's queue: its records go by messages, as
 * the agreement of a set-up does.
 */
#include "engine/call_agreement.h"

#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/devices.h"
#include "comm/params.h"
#include "comm/runtime.h"
#include "comm/watchdog.h"
#include "exec/executor.h"
#include "exec/label.h"
#include "exec/mailbox.h"
#include "exec/op.h"
#include "exec/plan.h"
#include "exec/reduce.h"
#include "exec/run_host.h"
#include "exec/setup.h"
#include "exec/stepper.h"

#include "base/errors.h"
#include "base/memory.h"
#include "exec/gpu/op.h"
#include "link/ipc_cache.h"
#include "link/team.h"
#include "sched/sched.h"
#include "tune/select.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Results of these end in more than one rank's buffer. */
static bool distributes(const struct gr_op *op)
{
    enum gr_coll coll = op->data.spec.coll;

    return GR_COLL_ALLREDUCE == coll || GR_COLL_ALLGATHER == coll || GR_COLL_BCAST == coll;
}

/* Whether the call may use zero copy: the same on all ranks. */
static bool may_zero(const struct gr_op *op, const gr_params_t *params)
{
    int64_t least = params->value[GR_PARAM_ZERO_COPY];

    return op->id < GR_NSUPPORTED && least >= 0 && op->data.bytes >= (size_t) least &&
           distributes(op);
}

void gr_agreement_record(struct gr_op *op, const gr_params_t *params, bool device)
{
    struct gr_call_record *record = &op->agreement.record;

    *record = (struct gr_call_record) {
        .seq = op->seq,
        .bytes = op->data.bytes,
        .root = op->root,
        .kernel = (int16_t) op->kernel,
        .call = (uint8_t) op->id,
        .device = device,
    };
    op->agreed.zero_copy = may_zero(op, params);
    if (op->agreed.zero_copy && device && NULL != op->output) {
        record->output = gr_ipc_handle_of(op->output, op->data.bytes);
    }
}

/* Make room for the records of p ranks. 0, or GR_ERR_... */
static int reserve_records(struct gr_call_agreement *a, int p)
{
    size_t each = sizeof(a->records[0]) + sizeof(a->handles[0]) + sizeof(a->spots[0]);
    int r;

    if (NULL != a->records && a->nrecords >= p) {
        return 0;
    }
    free(a->records);
    a->records = gr_calloc((size_t) p, each);
    if (NULL == a->records) {
        return GR_ERR_NOMEM;
    }
    a->nrecords = p;
    a->handles = (const struct gr_ipc_handle **) (a->records + p);
    a->spots = (size_t *) (a->handles + p);
    for (r = 0; r < p; r++) {
        a->handles[r] = &a->records[r].output;
        a->spots[r] = (size_t) r * sizeof(a->records[0]);
    }
    return 0;
}

int gr_agreement_prepare(struct gr_op *op, enum gr_agreement_use use)
{
    struct gr_call_agreement *a = &op->agreement;
    int k;

    if (0 != reserve_records(a, op->comm->size)) {
        return GR_ERR_NOMEM;
    }
    a->use = use;
    a->record.freed = gr_ipc_record(&op->queue->told);
    op->chosen_in_turn = true;
    op->start = gr_stats_now();
    for (k = 0; k < GR_SETUPS_OF_OP; k++) {
        op->setup_number[k] = gr_setup_number(op->queue);
    }
    if (NULL != op->queue->team->remote) {
        return 0;
    }
    a->exchange = (struct gr_mailbox_call) {
        .coll = GR_COLL_ALLGATHER,
        .kind = GR_LABEL_NOT_COMPARED, /* the records are, as a whole */
        .in = (unsigned char *) &a->record,
        .out = (unsigned char *) a->records,
        .count = op->agreed.zero_copy ? sizeof(a->record) : GR_CALL_RECORD_SHORT,
        .displs = a->spots,
        .reducer = {.elem_bytes = 1},
    };
    op->early = (struct gr_early_post) {.call = &a->exchange, .use = GR_USE_AGREEMENT};
    return 0;
}

void gr_agreement_free(struct gr_call_agreement *agreement)
{
    free(agreement->records);
}

/* ---- what the ranks have agreed on ---- */

static bool is_equal(const struct gr_call_record *a, const struct gr_call_record *b)
{
    return a->seq == b->seq && a->bytes == b->bytes && a->root == b->root &&
           a->kernel == b->kernel && a->call == b->call;
}

/* Report an error of the application: this rank's call differs from that of `rank`. */
static void tell_difference(const struct gr_op *op, const struct gr_call_record *other, int rank)
{
    const struct gr_call_record *mine = &op->agreement.record;
    unsigned known = GR_NCALLS - 1;

    gr_warn("calls-differ", op->comm->rank, gr_comm_name(op->comm), gr_calls[mine->call].name,
            (size_t) mine->bytes, mine->root, (size_t) mine->seq, rank,
            gr_calls[other->call < known ? other->call : known].name, (size_t) other->bytes,
            other->root, (size_t) other->seq);
}

/* devices: whether some rank's buffer is on a device. */
static void apply_agreement(struct gr_op *op, bool devices)
{
    op->agreed.devices = devices;
    op->agreed.kernels = devices && op->agreement.record.kernel >= 0;
    op->agreed.fetches = !devices;
}

/* Returns 0; -1 when the calls differ, which the lowest rank unlike rank 0 reports for all. */
static int apply_records(struct gr_op *op, const struct gr_call_record *records)
{
    int p = op->comm->size, rank = op->comm->rank, r;
    bool devices = false;
    uint64_t freed = 0;

    for (r = 0; r < p; r++) {
        if (!is_equal(&records[0], &records[r])) {
            if (r == rank) {
                tell_difference(op, &records[0], 0);
            }
            return -1;
        }
        devices = devices || records[r].device;
        freed |= r == rank ? 0 : records[r].freed;
    }
    gr_ipc_agreed(freed);
    apply_agreement(op, devices);
    return 0;
}

/* This rank's share of the combined records. */
static void combine(struct gr_op *op)
{
    struct gr_combined_records *c = &op->agreement.combined;
    const struct gr_call_record *record = &op->agreement.record;
    size_t k;

    memcpy(c->ones, record, sizeof(c->ones));
    memset(c->first, 0, sizeof(c->first));
    if (0 == op->comm->rank) {
        memcpy(c->first, record, sizeof(c->first));
    }
    for (k = 0; k < GR_CALL_RECORD_WORDS; k++) {
        c->zeros[k] = ~c->ones[k];
    }
}

/* Returns 0; -1 when the calls differ, which each rank unlike rank 0 reports. */
static int apply_combined(struct gr_op *op)
{
    const struct gr_combined_records *c = &op->agreement.combined;
    struct gr_call_record free_bits = {.device = UINT8_MAX, .freed = UINT64_MAX};
    struct gr_call_record any = {.device = 0}, first = any;
    uint64_t may[GR_CALL_RECORD_WORDS], differs = 0;
    size_t k;

    memcpy(may, &free_bits, sizeof(may));
    memcpy(&any, c->ones, sizeof(c->ones));
    memcpy(&first, c->first, sizeof(c->first));
    for (k = 0; k < GR_CALL_RECORD_WORDS; k++) {
        differs |= c->ones[k] & c->zeros[k] & ~may[k];
    }
    if (0 != differs && !is_equal(&first, &op->agreement.record)) {
        tell_difference(op, &first, 0);
    }
    gr_ipc_agreed(any.freed);
    apply_agreement(op, any.device);
    return 0 != differs ? -1 : 0;
}

int gr_agreement_end(struct gr_op *op)
{
    return NULL != op->queue->team->remote ? op->agreement.result
                                           : apply_records(op, op->agreement.records);
}

/* ---- through boards, or links ---- */

/* What they are for: a number of sched.h. */
static int way_of(const struct gr_op_queue *queue)
{
    return NULL == queue->team->remote ? GR_USE_AGREEMENT
                                       : gr_choice_use(&queue->comm->agreement_choice);
}

enum gr_links gr_agreement_links(const struct gr_op_queue *queue)
{
    return gr_team_links(queue->team, way_of(queue), 0, queue->comm->agreement_choice.nchannels);
}

struct gr_setup *gr_agreement_connect(struct gr_op_queue *queue, uint32_t number)
{
    return gr_setup_new(queue, way_of(queue), 0, queue->comm->agreement_choice.nchannels, number);
}

/*
 * All ranks' records, by the same operation: or. Each rank's contribution is its own record, and 0
 * in the place of all others.
 */
static unsigned char *spread(struct gr_op *op)
{
    struct gr_call_agreement *a = &op->agreement;

    memset(a->records, 0, (size_t) op->queue->team->p * sizeof(a->records[0]));
    a->records[op->comm->rank] = a->record;
    return (unsigned char *) a->records;
}

/* Start a round: an Allreduce of words over host links, for which no algorithm needs scratch. */
static void begin_round(struct gr_op *op, enum gr_agreement_round round)
{
    const struct gr_choice *how = &op->queue->comm->agreement_choice;
    struct gr_call_agreement *a = &op->agreement;
    int p = op->queue->team->p;
    size_t bytes = GR_ROUND_SINGLE == round ? (size_t) p * sizeof(a->record) : sizeof(a->combined);
    unsigned char *words = GR_ROUND_SINGLE == round ? spread(op) : (unsigned char *) &a->combined;
    struct gr_plan_spec r = {
        .coll = GR_COLL_ALLREDUCE,
        .algo = (enum gr_algo) how->algo,
        .nchannels = how->nchannels,
        .small = how->small,
        .elem_bytes = sizeof(uint64_t),
        .total = bytes / sizeof(uint64_t),
        .torus = op->queue->comm->torus,
    };
    struct gr_reducer reducer = {.elem_bytes = r.elem_bytes,
                                 .fused = gr_reduce_find(GR_TYPE_U64, GR_OP_BOR)};
    unsigned char *space[3] = {[GR_IN] = words, [GR_OUT] = words, [GR_TMP] = NULL};

    _Static_assert(0 == sizeof(a->record) % sizeof(uint64_t), "records are words");
    assert(0 == gr_plan_scratch(&r, p));
    a->round = round;
    gr_host_start_plan(op, &r, space, reducer);
}

/* On boards the record has been posted since the call was queued. */
void gr_agreement_begin(struct gr_op *op)
{
    if (NULL != op->queue->team->remote) {
        combine(op);
        begin_round(op, GR_ROUND_COMBINED);
    }
}

/* The second round is for kernels that write to the buffers of other ranks. */
static int poll_links(struct gr_op *op, uint64_t *moved)
{
    struct gr_call_agreement *a = &op->agreement;
    int rc = gr_stepper_run(&op->run.host.stepper, moved);

    if (GR_DONE != rc || GR_ROUND_SINGLE == a->round) {
        return rc;
    }
    a->result = apply_combined(op);
    if (a->result < 0 || !op->agreed.kernels || !op->agreed.zero_copy) {
        return GR_DONE;
    }
    begin_round(op, GR_ROUND_SINGLE);
    return GR_AGAIN;
}

int gr_agreement_poll(struct gr_op *op, uint64_t *moved)
{
    struct gr_mailbox *box = &gr_team_boards(op->queue->team, GR_USE_AGREEMENT)->box;
    struct gr_mailbox_call *call = &op->agreement.exchange;

    if (NULL != op->queue->team->remote) {
        return poll_links(op, moved);
    }
    return gr_mailbox_is_posted(box, call) && 1 == gr_mailbox_take(box, call, moved) ? GR_DONE
                                                                                     : GR_AGAIN;
}

void gr_agreement_explain(struct gr_op *op, char *text, size_t size)
{
    struct gr_team *team = op->queue->team;

    if (NULL != team->remote) {
        gr_host_explain(op, "agreement", NULL, text, size);
    } else {
        gr_mailbox_explain(gr_team_boards(team, GR_USE_AGREEMENT), &op->agreement.exchange,
                           "agreement", text, size);
    }
}

/* ---- by messages ---- */

/*
 * A value of the dissemination: the number of words of all records, which this function is not told
 * otherwise, then the words. A record that was not heard of is 0.
 */
static void merge_records(void *mine, const void *heard)
{
    const uint64_t *from = heard;
    uint64_t *to = mine, k;

    for (k = 1; k <= from[0]; k++) {
        to[k] |= from[k];
    }
}

static int exchange_poll(void *ctx, uint64_t *moved)
{
    return gr_dissemination_poll(ctx, moved);
}

static void exchange_explain(void *ctx, char *text, size_t size)
{
    snprintf(text, size, "agreement of the init, waits for rank %d", gr_dissemination_awaits(ctx));
}

int gr_agreement_exchange(struct gr_op *op, struct gr_op_queue *queue)
{
    struct gr_comm *comm = op->comm;
    struct gr_call_agreement *a = &op->agreement;
    size_t all = (size_t) comm->size * sizeof(a->record), words = all / sizeof(uint64_t);
    uint64_t *values = gr_calloc(3 * (1 + words), sizeof(*values));
    struct gr_dissemination rounds = {.comm = comm,
                                      .tag = gr_setup_tag(gr_setup_number(queue)),
                                      .bytes = (1 + words) * sizeof(*values),
                                      .combine = merge_records};
    struct gr_waiting waiting = {comm,    gr_calls[op->id].name, op->seq, exchange_explain,
                                 &rounds, queue->shown};
    int rc;

    if (NULL == values || 0 != reserve_records(a, comm->size)) {
        free(values);
        return GR_ERR_NOMEM;
    }
    a->record.freed = gr_ipc_record(&queue->told);
    values[0] = words;
    memcpy((struct gr_call_record *) (values + 1) + comm->rank, &a->record, sizeof(a->record));
    rounds.mine = values;
    rounds.sent = values + 1 + words;
    rounds.heard = values + 2 * (1 + words);
    rc = gr_dissemination_begin(&rounds);
    rc = 0 == rc ? gr_poll_to_end(exchange_poll, &waiting) : rc;
    if (0 != rc) {
        /* Messages may be in flight from and into the values, which stay. */
        return rc; /* NOLINT(clang-analyzer-unix.Malloc) */
    }
    memcpy(a->records, values + 1, all);
    free(values);
    return apply_records(op, a->records) < 0 ? GR_ERR_DIFFER : 0;
}
