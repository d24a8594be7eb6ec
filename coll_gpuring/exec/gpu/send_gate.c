/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate of a device op (op.h). A kernel's steps begin without asking, but its messages to
 * other nodes stay in their slots until the host releases them:
 *
 *      kernel --> [slot][slot][slot]     tail: the kernel has pushed the slots before it
 *                        until           the network does not send this slot and later ones
 *
 * So a step that sends to other nodes counts as begun when the gate admits it and the kernel has
 * pushed its first slot. The stepper asks a gate in the same order. The gate does not see other
 * steps.
 */
#include "exec/gpu/op.h"

static int is_remote(const struct gr_gpu_team *team, int rank)
{
    return NULL != team->remote && team->remote[rank];
}

static const struct gr_gpu_connection *connection_to(const struct gr_gpu_op *op, uint32_t channel,
                                                     int rank)
{
    return &op->team->out[(size_t) channel * (size_t) op->team->p + (size_t) rank];
}

/* Number of slots of the step's message. */
static size_t slots_of(const struct gr_gpu_op *op, uint32_t channel, uint32_t slice,
                       const struct gr_step *s)
{
    size_t elems = gr_step_elems(&op->split, channel, slice, s);

    return (elems + op->args.slot_elems - 1) / op->args.slot_elems;
}

static int sends_to_nodes(const struct gr_gpu_op *op, const struct gr_step *s)
{
    int k, n = 0;

    for (k = 0; k < s->nto; k++) {
        n += is_remote(op->team, s->to[k]);
    }
    return n > 0;
}

/*
 * Advance the walk to the next step that sends to another node, from the current one on. Returns
 * NULL: there is none.
 */
static const struct gr_step *find_step(const struct gr_gpu_op *op, uint32_t channel,
                                       struct gr_step_walk *w)
{
    struct gr_sched sched = gr_gpu_op_sched(op, channel);
    const struct gr_step *step;

    while (NULL != (step = gr_step_walk_get(w, &sched)) &&
           (!sends_to_nodes(op, step) || 0 == slots_of(op, channel, w->slice, step))) {
        gr_step_walk_next(w);
    }
    return step;
}

/* Whether the kernel has pushed the first slot of the step to all its readers. */
static int is_pushed(const struct gr_gpu_op *op, uint32_t channel, const struct gr_step *s)
{
    int k;

    for (k = 0; k < s->nto; k++) {
        const struct gr_gpu_connection *connection = connection_to(op, channel, s->to[k]);

        if (is_remote(op->team, s->to[k]) &&
            atomic_load_explicit(gr_gpu_remote_fifo(op->team, connection, 1).tail,
                                 memory_order_acquire) <=
                atomic_load_explicit(gr_gpu_remote_send_limit(op->team, connection),
                                     memory_order_relaxed)) {
            return 0;
        }
    }
    return 1;
}

/* Let the network send this many slots more to the step's readers. */
static void release_slots(const struct gr_gpu_op *op, uint32_t channel, const struct gr_step *s,
                          size_t slots)
{
    int k;

    for (k = 0; k < s->nto; k++) {
        if (is_remote(op->team, s->to[k])) {
            atomic_fetch_add_explicit(
                gr_gpu_remote_send_limit(op->team, connection_to(op, channel, s->to[k])), slots,
                memory_order_release);
        }
    }
}

/* Stop the network at the current tail of the channel's links, or (on 0) let it send all slots. */
static void set_limits(const struct gr_gpu_op *op, uint32_t channel, int on)
{
    int r;

    for (r = 0; r < op->team->p; r++) {
        const struct gr_gpu_connection *connection = connection_to(op, channel, r);

        if (is_remote(op->team, r) && NULL != connection->slab) {
            struct gr_fifo fifo = gr_gpu_remote_fifo(op->team, connection, 1);
            uint64_t until =
                on ? atomic_load_explicit(fifo.tail, memory_order_acquire) : UINT64_MAX;

            atomic_store_explicit(gr_gpu_remote_send_limit(op->team, connection), until,
                                  memory_order_release);
        }
    }
}

void gr_gpu_op_gate(struct gr_gpu_op *op, const struct gr_gate *gate, void *ctx)
{
    uint32_t c;

    op->gate = (struct gr_gpu_gate) {.gate = gate, .ctx = ctx, .running = op->nchannels};
    for (c = 0; c < op->nchannels; c++) {
        struct gr_sched sched = gr_gpu_op_sched(op, c);

        /* without other nodes there is nothing to release */
        gr_step_walk_begin(&op->gate.at[c].walk, &sched,
                           NULL == op->team->remote ? 0 : op->split.nslices);
        set_limits(op, c, 1);
    }
}

/* Advance a channel. Returns 1: all its messages are released; 0: not yet; negative: an error. */
static int poll_channel(struct gr_gpu_op *op, uint32_t channel)
{
    const struct gr_gate *gate = op->gate.gate;
    struct gr_cursor *at = &op->gate.at[channel];
    const struct gr_step *step;
    int rc;

    for (;;) {
        /* a fetched step was found by an earlier call */
        step = at->walk.fetched ? &at->walk.step : find_step(op, channel, &at->walk);
        if (NULL == step) {
            return 1;
        }
        if (!at->open) {
            rc = gate->may_begin(op->gate.ctx, channel, at->walk.slice, step);
            if (1 != rc) {
                return rc;
            }
            at->open = 1;
        }
        if (!is_pushed(op, channel, step)) {
            return 0;
        }
        gate->begins(op->gate.ctx, channel, at->walk.slice, step);
        release_slots(op, channel, step, slots_of(op, channel, at->walk.slice, step));
        at->open = 0;
        gr_step_walk_next(&at->walk);
    }
}

int gr_gpu_gate_poll(struct gr_gpu_op *op)
{
    static const struct gr_step first = {.tick = 0};
    struct gr_gpu_gate *g = &op->gate;
    uint32_t c;
    /* the kernel may be launched at the start of the call, when tick 0 is due */
    int rc = g->started ? 1 : g->gate->may_begin(g->ctx, 0, 0, &first);

    g->started = 1 == rc;
    for (c = 0; 1 == rc && c < op->nchannels && g->running > 0; c++) {
        struct gr_cursor *at = &g->at[c];
        int done = at->begun ? 0 : poll_channel(op, c);

        if (done < 0) {
            return done;
        }
        if (done) {
            at->begun = 1; /* the channel has ended */
            g->running--;
            set_limits(op, c, 0);
            g->gate->ended(g->ctx, c);
        }
    }
    if (1 == rc && 0 == g->running && !g->over) {
        rc = g->gate->finished(g->ctx);
        g->over = 1 == rc;
    }
    return rc < 0 ? rc : 0;
}
