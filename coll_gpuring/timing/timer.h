/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step timer decides when each step of a collective may begin. Each rank of a communicator has
 * one; the stepper asks it (exec/stepper.h, struct gr_gate). Modes:
 *
 *      none      at once
 *      start     at one instant after all ranks have entered the call (countdown.h)
 *      barrier   after a countdown before each group of ticks (timeline.h): all ranks have finished
 *                the group before
 *      timed     at a predicted time after the start, without messages
 *
 * Latencies are measured before the first call (measure.h). Late ranks in mode `timed`:
 *
 *   - A step begins when it is due and its data have arrived. A rank that is late by more than a
 *     tolerance adds this time to its lag, which delays its later steps. It publishes its lag with
 *     its messages (GR_SIDEBAND_LAG of link/fifo.h), and their readers adopt the largest lag. So
 *     ranks that depend on each other stay together.
 *   - If its lag exceeds a threshold, a rank asks for a countdown before the next slice but one. In
 *     an Allreduce, what is published during one slice reaches all ranks with the slice's data,
 *     so all ranks learn of it in time. Other collectives and several channels have no such
 *     countdowns.
 *   - The countdown at the start of a call tells all ranks whether any step of the last call was
 *     late. After GR_LATE_CALLS such calls in a row, timing is switched off on all ranks for
 *     GR_PAUSE_CALLS calls, then latencies are measured again. The GR_MAX_PAUSES-th time it stays
 *     off.
 *
 * Timing never changes results: a step that is due still waits for its data.
 */
#ifndef GR_TIMING_TIMER_H
#define GR_TIMING_TIMER_H

#include "link/fifo.h"
#include "timing/countdown.h"
#include "timing/measure.h"
#include "timing/timeline.h"

enum gr_step_sync { GR_SYNC_NONE, GR_SYNC_START, GR_SYNC_BARRIER, GR_SYNC_TIMED, GR_NSYNCS };

/* Most channels of a call. */
#define GR_TIMER_CHANNELS 32

/* Late calls in a row after which timing is switched off. */
#define GR_LATE_CALLS 8

/* Calls for which timing is then off. */
#define GR_PAUSE_CALLS 256

/* Number of pauses after which timing stays off. */
#define GR_MAX_PAUSES 3

/*
 * Statistics of a timer. The start skew of a call is the time from the start instant until the last
 * rank noticed it. The error of a step is the time from its due time to its begin.
 */
struct gr_timing_report {
    uint64_t calls;    /* calls that began with a countdown */
    uint64_t measures; /* measurements of latencies */
    uint64_t syncs;    /* countdowns */
    int64_t sync_ns;   /* sum of the times from entering a countdown to its instant, ns */
    uint64_t skews;    /* calls whose start skew is known */
    int64_t skew_ns;   /* sum of start skews, ns */
    int64_t skew_max;  /* largest start skew, ns */
    uint64_t steps;    /* steps with a due time */
    int64_t error_ns;  /* sum of errors, ns */
    int64_t error_max; /* largest error, ns */
    uint64_t misses;   /* steps with an error above the tolerance */
    uint64_t waits;    /* steps that waited for their due time */
    int64_t wait_ns;   /* sum of these waits, ns */
    uint64_t resyncs;  /* countdowns inside a call, in mode `timed` */
    uint64_t pauses;   /* times that timing was switched off */
};

/* The state of a call. */
enum gr_timer_state {
    GR_TIMER_IDLE,      /* the call has begun */
    GR_TIMER_MEASURING, /* latencies are measured */
    GR_TIMER_STARTING,  /* the first countdown is running */
    GR_TIMER_RUNNING,   /* steps run */
    GR_TIMER_OFF        /* no timing: steps begin at once */
};

/* The links of a call, by which ranks publish lags and ask for countdowns; in mode `timed` only. */
struct gr_timer_links {
    struct gr_link *in;  /* [channel * p + rank]: from other ranks; NULL: not used */
    struct gr_link *out; /* [channel * p + rank]: to other ranks; NULL: not used */
    int p;               /* number of ranks */
};

struct gr_timer {
    enum gr_step_sync mode;
    const struct gr_port *port;
    struct gr_latency latency;
    struct gr_measure measure;
    struct gr_countdown countdown;
    struct gr_timing_report report;
    int64_t tolerance; /* error above which a step counts as late, ns; from the latencies */
    enum gr_timer_state state;
    int measured;                /* latencies are known */
    int late_calls;              /* late calls in a row */
    int pause;                   /* remaining calls of a pause */
    int npauses;                 /* pauses so far */
    int64_t last_skew;           /* when this rank noticed the last start, ns after its instant */
    int64_t entered;             /* when this rank entered the countdown, ns */
    struct gr_timeline timeline; /* due times of the steps */
    int timeline_valid;          /* `timeline` is this call's */

    /* The fields below belong to the current call. */
    struct gr_timing_job job;
    struct gr_timer_links links;
    int may_resync;                    /* countdowns inside the call are possible */
    int missed;                        /* a step was late */
    int64_t start;                     /* due time of slice 0, tick 0, ns */
    int64_t lag;                       /* added to all due times, ns */
    uint64_t group[GR_TIMER_CHANNELS]; /* current group of each channel; UINT64_MAX: it is done */
    uint64_t synced;                   /* barrier: the group whose steps may run */
    int syncing;                       /* a countdown inside the call is running */

    /* timed: slices before which a countdown was requested, by the slice's last bit; 0: none */
    uint32_t pending[2];

    /* Since when each channel's step waits for its due time, ns; 0: no step waits. */
    int64_t waiting_since[GR_TIMER_CHANNELS];
};

/*
 * Initialise the timer of a rank. torus: ndims 0 stands for a ring of p ranks. Returns 0 or
 * GR_ERR_NOMEM.
 */
int gr_timer_init(struct gr_timer *t, enum gr_step_sync mode, const struct gr_port *port,
                  const struct gr_torus *torus, int p, int rank);
void gr_timer_free(struct gr_timer *t);

/*
 * Begin the next call, on all ranks. job is copied without job->latency; its pointers must stay
 * valid during the call. again: the job equals the last one, so the time line is reused.
 * may_resync: the call is an Allreduce.
 */
void gr_timer_begin(struct gr_timer *t, const struct gr_timing_job *job,
                    const struct gr_timer_links *links, int again, int may_resync);

/*
 * The functions of the stepper's gate; ctx is a struct gr_timer. Whether a step may begin: 1, 0, or
 * negative on error.
 */
int gr_timer_may_begin(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step);

/* The step begins: its data have arrived, and its messages have not been sent yet. */
void gr_timer_begins(void *ctx, uint32_t channel, uint32_t slice, const struct gr_step *step);

/* The channel has no more steps. */
void gr_timer_ended(void *ctx, uint32_t channel);

/*
 * Whether no other rank waits for this rank, whose channels are done: 1, 0, or negative on error.
 */
int gr_timer_finished(void *ctx);

/* Name of a mode, as "timed"; NULL: out of range. */
const char *gr_sync_name(int mode);

/* Describe what the timer waits for, for messages; "": it does not wait. */
void gr_timer_explain(const struct gr_timer *t, char *text, size_t size);

/* Add another timer's statistics. */
void gr_timing_report_add(struct gr_timing_report *sum, const struct gr_timing_report *other);

#endif
