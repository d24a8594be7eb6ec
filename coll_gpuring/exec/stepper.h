/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stepper: runs one rank's part of a collective, one slot at a time, and can stop before any
 * slot.
 *
 * It knows schedules and splits, and nothing of memory: its backend (struct gr_backend) moves the
 * data. Host memory, staged data, the symbolic checker and the simulator differ only there.
 * Blocking, nonblocking and persistent collectives run on the same stepper, to the end or a little
 * at a time.
 *
 *      for each channel, slice, step:                      a channel's whole state is these
 *          for each slot of the step's message:            numbers: it may be left before any
 *              wait until ready(); move(); commit()        slot and continued later
 *
 * A message is all chunks of a step's run, packed without gaps into as many slots as needed.
 */
#ifndef GR_EXEC_STEPPER_H
#define GR_EXEC_STEPPER_H

#include "base/errors.h"
#include "sched/split.h"
#include "sched/walk.h"

#define GR_MAX_CHANNELS 16

/* What to run; immutable once launched, owns nothing. */
struct gr_plan {
    struct gr_split split;
    /* [channel]: ranks may be in another order on each channel */
    struct gr_sched sched[GR_MAX_CHANNELS];
    size_t slot_elems; /* elements that fit one slot, >= 1 */
};

/* One contiguous piece of a slot's work; offsets in elements. */
struct gr_move {
    const struct gr_step *step;
    uint32_t channel;
    size_t operand; /* offset of the operand in its space */
    size_t dest;    /* offset of the destination in its space */
    size_t slot;    /* offset inside the slot, of every link of the step alike */
    size_t count;   /* > 0 */
    uint32_t piece; /* number of the piece in the slot */
    int last;       /* 1: the last piece of the slot; 0 may be, too (commit() is certain) */
};

/* A backend: what moves the data. All functions get the stepper's ctx. */
struct gr_backend {
    /*
     * Whether each from-link has a slot to read and each to-link one to write: 1 or 0, negative on
     * error.
     */
    int (*ready)(void *ctx, uint32_t channel, const struct gr_step *step);
    /*
     * Do the step's work on one piece of the slot; ready() said 1. GR_DONE, or negative on error.
     * GR_AGAIN, where a slot has one piece only: to be called again when ready() says 1 again.
     */
    int (*move)(void *ctx, const struct gr_move *move);
    /* The slot is complete: hand over the written slots, give back the read ones. */
    void (*commit)(void *ctx, uint32_t channel, const struct gr_step *step);
    /*
     * After the last step: whether no other rank uses this rank's memory any more. NULL: none does.
     */
    int (*finished)(void *ctx);
    /*
     * gr_stepper_run() returns GR_AGAIN, whatever it waits for: do what other ranks ask of this one.
     * NULL: they ask for nothing.
     */
    void (*answer)(void *ctx);
};

/*
 * Decides when steps begin (timing/timer.h). All functions get the gate's ctx, and may be NULL:
 * then steps begin as soon as they can, and no rank needs the gate of this one.
 */
struct gr_gate {
    /* Whether a step that has data may begin: 1, 0 (ask again later), or negative on error. */
    int (*may_begin)(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step);
    /* The step begins: its first slot is ready. */
    void (*begins)(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step);
    /* All steps of the channel are done. */
    void (*ended)(void *ctx, uint32_t channel);
    /*
     * All steps are done: whether no other rank needs the gate of this rank any more. 1, 0, or
     * negative on error.
     */
    int (*finished)(void *ctx);
};

/* State of one channel. */
struct gr_cursor {
    struct gr_step_walk walk; /* the present step */
    uint32_t run;             /* chunk of the step's run that comes next */
    size_t done;              /* elements of that chunk that were moved */
    int open;                 /* whether the gate has let the step in */
    int begun;                /* whether the step has begun */
};

struct gr_stepper {
    const struct gr_plan *plan;
    const struct gr_backend *backend;
    void *ctx;           /* of the backend's functions */
    struct gr_gate gate; /* all NULL: there is none */
    void *gate_ctx;      /* for the functions of gate */
    uint32_t nchannels;
    uint32_t running; /* channels with steps left */
    uint32_t burst;   /* most slots per channel of one gr_stepper_run(); 0: as many as there are */
    struct gr_cursor at[GR_MAX_CHANNELS];
};

/* Begin a plan; moves nothing. Plan, backend and ctx must live until the stepper is done. */
void gr_stepper_start(struct gr_stepper *m, const struct gr_plan *plan,
                      const struct gr_backend *backend, void *ctx);

/*
 * Before the first gr_stepper_run(): let the gate decide when steps begin. ctx must live until the
 * stepper is done.
 */
void gr_stepper_gate(struct gr_stepper *m, const struct gr_gate *gate, void *ctx);

/*
 * Go as far as possible without waiting, or as far as m->burst allows. enum gr_status, or the
 * backend's negative error. *moved is increased by the number of slots that were handled. After an
 * error the stepper must not be run again.
 */
int gr_stepper_run(struct gr_stepper *m, uint64_t *moved);

/* The step at which a channel waits; NULL: all its steps are done. For reports. */
const struct gr_step *gr_stepper_waits(const struct gr_stepper *m, uint32_t channel);

#endif
