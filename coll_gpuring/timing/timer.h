/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step timer: says of each step of a collective whether it may begin now. It is one rank's,
 * lives as long as its communicator, and is asked by the stepper (exec/stepper.h, struct gr_gate).
 *
 *      none      at once
 *      start     when all ranks have entered the call, at one instant (countdown.h)
 *      barrier   when all ranks are through with what comes before: a countdown before each group of ticks (timeline.h)
 *      timed     at its predicted time after the start: no message is sent for it
 *
 * Before the first call latencies are measured (measure.h). Where ranks are late under `timed`:
 *
 *   - a step begins when it is due and what it needs is there. A rank that is late by more than a tolerance is due
 *     later from then on: by its lag. It says so beside its messages (GR_WORD_LAG of link/fifo.h), and whoever reads them adds
 *     the largest lag that it has heard of: ranks that depend on each other stay together;
 *   - where the lag passes a threshold, a rank asks for a countdown before a slice to come. It must be the next but one:
 *     in an Allreduce, and only there, what a rank says in one slice has reached all by the end of it, along with
 *     its data. So all know of it in time, and nobody waits for a rank that does not. Only with one channel;
 *   - the countdown at the begin of a call tells all whether a step of the last call was late somewhere. After
 *     GR_LATE_CALLS such calls in a row timing switches itself off, on all ranks alike, for GR_PAUSE_CALLS calls; then
 *     latencies are measured again. The GR_MAX_PAUSES-th time it stays off.
 *
 * Results never depend on it: a step that is due still waits for its data.
 */
#ifndef GR_TIMING_TIMER_H
#define GR_TIMING_TIMER_H

#include "link/fifo.h"
#include "timing/countdown.h"
#include "timing/measure.h"
#include "timing/timeline.h"

enum gr_step_sync { GR_SYNC_NONE, GR_SYNC_START, GR_SYNC_BARRIER, GR_SYNC_TIMED, GR_NSYNCS };

#define GR_TIMER_CHANNELS 32
#define GR_LATE_CALLS 8
#define GR_PAUSE_CALLS 256
#define GR_MAX_PAUSES 3

/* What is known at the end. Times in ns. */
struct gr_timing_report {
    uint64_t calls;    /* that were started together */
    uint64_t measures; /* of latencies */
    uint64_t syncs;    /* countdowns; */
    int64_t sync_ns;   /* the time from entering to their instant */
    /* calls of which the start skew is known: how late the latest rank noticed the instant; */
    uint64_t skews;
    int64_t skew_ns, skew_max;   /* sum, largest */
    uint64_t steps;              /* that were due at a predicted time; */
    int64_t error_ns, error_max; /* by how much they began later: sum, largest */
    uint64_t misses;             /* by more than the tolerance */
    uint64_t waits;              /* steps that were ready too early; */
    int64_t wait_ns;             /* the time that they waited */
    uint64_t resyncs;            /* countdowns inside a call */
    uint64_t pauses;             /* how often timing switched itself off */
};

/* Add what another timer has seen. */
void gr_timing_report_add(struct gr_timing_report *sum, const struct gr_timing_report *other);

/* Where it stands, for messages. */
enum gr_timer_state {
    GR_TIMER_IDLE,
    GR_TIMER_MEASURES,
    GR_TIMER_STARTS,
    GR_TIMER_RUNS,
    GR_TIMER_OFF
};

/*
 * Links of the call, [channel * p + rank], for what ranks say beside their messages; only `timed`
 * looks at them. NULL: they say nothing there.
 */
struct gr_timer_links {
    struct gr_link *in, *out;
    int p;
};

struct gr_timer {
    enum gr_step_sync mode;
    const struct gr_port *port;
    struct gr_latency latency;
    struct gr_measure measure;
    struct gr_countdown countdown;
    struct gr_timing_report report;
    int64_t tolerance; /* ns; set from the latencies when they are measured */
    enum gr_timer_state state;
    int measured, late_calls, pause, npauses;
    int64_t last_skew, entered;
    /* of the last call's kind, and whether it is that of this call */
    struct gr_timeline line;
    int lined;
    /* of the call: */
    struct gr_timing_job job;
    struct gr_timer_links links;
    int may_resync, missed;
    int64_t start, shift;           /* slice 0, tick 0 was due at start; shift: this rank's lag */
    uint64_t at[GR_TIMER_CHANNELS]; /* the group in which each channel is; UINT64_MAX: through */
    uint64_t synced;                /* barrier: the group that may run */
    int syncing;                    /* a countdown inside the call is under way */
    /* timed: slices before which there will be one, by their last bit; 0: none */
    uint32_t pending[2];
    int64_t asked[GR_TIMER_CHANNELS]; /* when a step first asked; 0: it has not */
};

/* Name of a mode ("timed"), or NULL when out of range. */
const char *gr_sync_name(int mode);

/* A timer for a rank of a torus (ndims 0: of a ring of p). 0, or GR_ERR_NOMEM. */
int gr_timer_init(struct gr_timer *t, enum gr_step_sync mode, const struct gr_port *port,
                  const struct gr_torus *torus, int p, int rank);
void gr_timer_free(struct gr_timer *t);

/*
 * A call begins, the next of all ranks. The job is copied, what it points to must live until the
 * call is over; its latencies are left to the timer. again: it is as the last one, so that the time
 * line need not be made again. may_resync: it is an Allreduce.
 */
void gr_timer_begin(struct gr_timer *t, const struct gr_timing_job *job,
                    const struct gr_timer_links *links, int again, int may_resync);

/*
 * For the stepper; ctx is a struct gr_timer. May this step, which has data, begin? 1 or 0, negative
 * on error.
 */
int gr_timer_may_begin(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step);

/* Its data are there: it begins. Its messages have not been handed over yet. */
void gr_timer_begins(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step);

/* The channel is through. */
void gr_timer_ended(void *ctx, uint32_t channel);

/* All channels are through: need the others this rank no more? 1 or 0, negative on error. */
int gr_timer_finished(void *ctx);

/*
 * What it waits for, as text: "the start: 3 ranks of dimension 0 are missing"; "" when it keeps
 * nothing waiting.
 */
void gr_timer_explain(const struct gr_timer *t, char *text, size_t size);

#endif
