/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring the table of latency.h: a state machine over a port, the same at all ranks.
 *
 *      PINGS   each rank has GR_PINGS round trips with each other rank of its rings, one after the other, and some with
 *              a pad for the cost of a byte; the shortest count. Who is asked answers at once, whatever it does itself
 *      ROWS    ring by ring, all tell all what they measured: now all of a ring have one symmetric table
 *      MODEL   ring by ring, all tell all the largest that they know: now all ranks have one table of the largest
 *
 * An echo says what the clock of the one that was asked shows: with a common clock that lies
 * between the two ends of the round trip. Where it does not for some pair, the clocks are not one,
 * and no rank takes them for one.
 */
#ifndef GR_TIMING_MEASURE_H
#define GR_TIMING_MEASURE_H

#include "timing/latency.h"
#include "timing/port.h"

#define GR_PINGS 60
#define GR_PADDED_PINGS 20

struct gr_measure {
    const struct gr_port *port;
    struct gr_latency *latency;
    uint64_t seq; /* how often it was measured */
    enum { GR_MEASURE_IDLE, GR_MEASURE_PINGS, GR_MEASURE_ROWS, GR_MEASURE_MODEL } state;
    int dim, peer; /* coordinate of the one that is asked, */
    int trip;      /* number of the round trip, */
    int asked;     /* whether it is under way, */
    int64_t asked_at;
    int64_t best[2];        /* the shortest: empty, padded */
    int64_t clocks;         /* 1: two clocks cannot be one */
    size_t at;              /* ROWS, MODEL: values that were sent to the peer */
    int *owed[GR_MAX_DIMS]; /* [coordinate]: echoes for which there was no room; owned */
    size_t heard_rows[GR_MAX_DIMS], heard_model[GR_MAX_DIMS]; /* notes */
    /* the vector of MODEL: what is known, and what this dimension's peers are told; owned */
    int64_t *model, *said;
    size_t model_len;
};

/* The table is filled in; both must live until gr_measure_free(). 0, or GR_ERR_NOMEM. */
int gr_measure_init(struct gr_measure *m, const struct gr_port *port, struct gr_latency *latency);
void gr_measure_free(struct gr_measure *m);

/* Begin; all ranks do, between the same countdowns. */
void gr_measure_begin(struct gr_measure *m);

/* A note of the other kinds arrived. 0, or negative: not one of ours, or the port's error. */
int gr_measure_take(struct gr_measure *m, const struct gr_note *note, int64_t at);

/*
 * Go on. 1: the table is there and no other rank needs an answer any more; 0: not yet; negative:
 * the port's error.
 */
int gr_measure_poll(struct gr_measure *m);

#endif
