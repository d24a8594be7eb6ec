/* SPDX-License-Identifier: BSD-3-Clause */
/* The stepper: runs the steps of a plan, one slot at a time. */
#include "exec/stepper.h"

#include <assert.h>
#include <string.h>

void gr_stepper_start(struct gr_stepper *m, const struct gr_plan *plan,
                      const struct gr_backend *backend, void *ctx)
{
    uint32_t c;

    m->plan = plan;
    m->backend = backend;
    m->ctx = ctx;
    m->gate = (struct gr_gate) {.finished = NULL};
    m->nchannels = plan->split.nchannels;
    m->running = 0;
    m->burst = 0;
    for (c = 0; c < m->nchannels; c++) {
        memset(&m->at[c], 0, sizeof(m->at[c]));
        gr_step_walk_begin(&m->at[c].walk, &plan->sched[c], plan->split.nslices);
        m->running += !gr_step_walk_over(&m->at[c].walk);
    }
}

void gr_stepper_gate(struct gr_stepper *m, const struct gr_gate *gate, void *ctx)
{
    uint32_t c;

    m->gate = *gate;
    m->gate_ctx = ctx;
    for (c = 0; NULL != gate->ended && c < m->nchannels; c++) {
        if (gr_step_walk_over(&m->at[c].walk)) {
            gate->ended(ctx, c);
        }
    }
}

/*
 * Whether the step has data left to move; skips the empty chunks of its run. If not, the cursor
 * goes to the next step.
 */
static int more_to_move(const struct gr_stepper *m, uint32_t channel, struct gr_cursor *at)
{
    const struct gr_split *split = &m->plan->split;
    const struct gr_step *s = &at->walk.step;

    for (; 0 != s->bits && at->run < s->count; at->run++, at->done = 0) {
        uint32_t chunk = gr_step_chunk(s, at->run);

        if (at->done < gr_split_at(split, GR_OUT, channel, at->walk.slice, chunk).count) {
            return 1;
        }
    }
    at->run = 0;
    at->done = 0;
    at->open = at->begun = 0;
    gr_step_walk_next(&at->walk);
    return 0;
}

/*
 * Move one slot's worth of the step's message: as many pieces of its run as fit. The results of
 * move().
 */
static int move_slot(struct gr_stepper *m, uint32_t channel, struct gr_cursor *at)
{
    const struct gr_split *split = &m->plan->split;
    const struct gr_step *s = &at->walk.step;
    struct gr_move mv = {.step = s, .channel = channel};
    size_t room = m->plan->slot_elems;
    int rc;

    while (room > 0 && at->run < s->count) {
        uint32_t chunk = gr_step_chunk(s, at->run);
        struct gr_range operand =
            gr_split_at(split, (enum gr_space) s->operand, channel, at->walk.slice, chunk);
        size_t left = operand.count - at->done;

        mv.count = left < room ? left : room;
        mv.last = mv.count == room || (mv.count == left && at->run + 1 == s->count);
        if (mv.count > 0) {
            size_t dest = gr_split_at(split, (enum gr_space) s->dest, channel, at->walk.slice,
                                      chunk + (uint32_t) s->shift)
                              .offset;

            mv.operand = operand.offset + at->done;
            mv.dest = dest + at->done;
            rc = m->backend->move(m->ctx, &mv);
            if (GR_DONE != rc) {
                assert(rc < 0 || 0 == mv.piece); /* the cursor stands before this piece */
                return rc;
            }
        }
        mv.slot += mv.count;
        mv.piece += mv.count > 0;
        room -= mv.count;
        at->done += mv.count;
        if (at->done == operand.count) {
            at->run++;
            at->done = 0;
        }
    }
    m->backend->commit(m->ctx, channel, s);
    return GR_DONE;
}

/* Whether the gate lets the step in, and its next slot is ready. 1, 0, or negative. */
static int may_move(struct gr_stepper *m, uint32_t channel, struct gr_cursor *at)
{
    int rc;

    if (NULL != m->gate.may_begin && !at->open) {
        rc = m->gate.may_begin(m->gate_ctx, channel, at->walk.slice, &at->walk.step);
        if (1 != rc) {
            return rc;
        }
        at->open = 1;
    }
    rc = m->backend->ready(m->ctx, channel, &at->walk.step);
    if (1 == rc && NULL != m->gate.begins && !at->begun) {
        at->begun = 1;
        m->gate.begins(m->gate_ctx, channel, at->walk.slice, &at->walk.step);
    }
    return rc;
}

/* Progress one channel as far as possible. */
static int run_channel(struct gr_stepper *m, uint32_t channel, uint64_t *moved)
{
    struct gr_cursor *at = &m->at[channel];
    uint32_t slots = 0;
    int rc;

    while (NULL != gr_step_walk_get(&at->walk, &m->plan->sched[channel])) {
        if (!more_to_move(m, channel, at)) {
            continue;
        }
        if (0 != m->burst && slots++ == m->burst) {
            return GR_AGAIN;
        }
        rc = may_move(m, channel, at);
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        rc = move_slot(m, channel, at);
        if (GR_DONE != rc) {
            return rc;
        }
        ++*moved;
    }
    m->running--;
    if (NULL != m->gate.ended) {
        m->gate.ended(m->gate_ctx, channel);
    }
    return GR_DONE;
}

/* gr_stepper_run(), but for answers. */
static int run_channels(struct gr_stepper *m, uint64_t *moved)
{
    uint32_t c;
    int rc;

    for (c = 0; c < m->nchannels && m->running > 0; c++) {
        if (!gr_step_walk_over(&m->at[c].walk)) {
            rc = run_channel(m, c, moved);
            if (rc < 0) {
                return rc;
            }
        }
    }
    if (m->running > 0) {
        return GR_AGAIN;
    }
    /* The gate first: other ranks may need its messages before they can finish with this memory. */
    rc = NULL != m->gate.finished ? m->gate.finished(m->gate_ctx) : 1;
    if (rc < 0) {
        return rc;
    }
    return 1 == rc && (NULL == m->backend->finished || m->backend->finished(m->ctx)) ? GR_DONE
                                                                                     : GR_AGAIN;
}

int gr_stepper_run(struct gr_stepper *m, uint64_t *moved)
{
    int rc = run_channels(m, moved);

    if (GR_AGAIN == rc && NULL != m->backend->answer) {
        m->backend->answer(m->ctx);
    }
    return rc;
}

const struct gr_step *gr_stepper_waits(const struct gr_stepper *m, uint32_t channel)
{
    const struct gr_cursor *at = &m->at[channel];

    return channel < m->nchannels && !gr_step_walk_over(&at->walk) && at->walk.fetched
               ? &at->walk.step
               : NULL;
}
