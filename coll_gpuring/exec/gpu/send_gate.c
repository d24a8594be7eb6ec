/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gate of a device op, op.h. A kernel asks nobody when its steps may begin; but what it pushes
 * for other nodes waits in its slots until the host lets it go:
 *
 *      kernel --> [slot][slot][slot]     tail        what it has pushed
 *                        until           held back from here on: the network does not look at it
 *
 * So a step that sends to other nodes begins when the gate lets it in and its first slot is there,
 * which is the order in which the stepper asks, too. The steps between two of these are the
 * kernel's own.
 */
#include "exec/gpu/send_gate.h"

#include "exec/gpu/op.h"
#include "exec/gpu/remote.h"

static int is_remote(const struct gr_gpu_team *team, int rank)
{
    return NULL != team->remote && team->remote[rank];
}

static const struct gr_gpu_connection *wire_to(const struct gr_gpu_op *op, uint32_t channel,
                                               int rank)
{
    return &op->team->out[(size_t) channel * (size_t) op->team->p + (size_t) rank];
}

/* Slots of the step's message. */
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
 * Take the channel to its next step that sends to another node, from the present one on. NULL: there
 * is none.
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
        const struct gr_gpu_connection *connection = wire_to(op, channel, s->to[k]);

        if (is_remote(op->team, s->to[k]) &&
            atomic_load_explicit(gr_gpu_remote_fifo(op->team, connection, 1).tail,
                                 memory_order_acquire) <=
                atomic_load_explicit(gr_gpu_remote_until(op->team, connection),
                                     memory_order_relaxed)) {
            return 0;
        }
    }
    return 1;
}

static void let_go(const struct gr_gpu_op *op, uint32_t channel, const struct gr_step *s,
                   size_t slots)
{
    int k;

    for (k = 0; k < s->nto; k++) {
        if (is_remote(op->team, s->to[k])) {
            atomic_fetch_add_explicit(gr_gpu_remote_until(op->team, wire_to(op, channel, s->to[k])),
                                      slots, memory_order_release);
        }
    }
}

/* Hold back what the channel is going to push: nothing is in its slots now; or nothing any more. */
static void hold(const struct gr_gpu_op *op, uint32_t channel, int holds)
{
    int r;

    for (r = 0; r < op->team->p; r++) {
        const struct gr_gpu_connection *connection = wire_to(op, channel, r);

        if (is_remote(op->team, r) && NULL != connection->slab) {
            struct gr_fifo fifo = gr_gpu_remote_fifo(op->team, connection, 1);
            uint64_t until =
                holds ? atomic_load_explicit(fifo.tail, memory_order_acquire) : UINT64_MAX;

            atomic_store_explicit(gr_gpu_remote_until(op->team, connection), until,
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

        /* inside a node nothing is sent to others */
        gr_step_walk_begin(&op->gate.at[c].walk, &sched,
                           NULL == op->team->remote ? 0 : op->split.nslices);
        hold(op, c, 1);
    }
}

/* 1: the channel has let go all that it sends to other nodes; 0: not yet; or negative. */
static int go_on(struct gr_gpu_op *op, uint32_t channel)
{
    const struct gr_gate *gate = op->gate.gate;
    struct gr_cursor *at = &op->gate.at[channel];
    const struct gr_step *step;
    int rc;

    for (;;) {
        /* a step that is there was found before */
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
        let_go(op, channel, step, slots_of(op, channel, at->walk.slice, step));
        at->open = 0;
        gr_step_walk_next(&at->walk);
    }
}

/* All kernels are launched at the start of the call, whenever their first message is due. */
static int poll_start(struct gr_gpu_op *op)
{
    static const struct gr_step first = {.tick = 0};
    int rc = op->gate.started ? 1 : op->gate.gate->may_begin(op->gate.ctx, 0, 0, &first);

    op->gate.started = 1 == rc;
    return rc;
}

int gr_gpu_gate_poll(struct gr_gpu_op *op)
{
    struct gr_gpu_gate *g = &op->gate;
    uint32_t c;
    int rc = poll_start(op);

    for (c = 0; 1 == rc && c < op->nchannels && g->running > 0; c++) {
        struct gr_cursor *at = &g->at[c];
        int done = at->begun ? 0 : go_on(op, c);

        if (done < 0) {
            return done;
        }
        if (done) {
            at->begun = 1; /* and ended */
            g->running--;
            hold(op, c, 0);
            g->gate->ended(g->ctx, c);
        }
    }
    if (1 == rc && 0 == g->running && !g->over) {
        rc = g->gate->finished(g->ctx);
        g->over = 1 == rc;
    }
    return rc < 0 ? rc : 0;
}
