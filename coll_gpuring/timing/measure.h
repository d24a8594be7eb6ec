/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurement of the latency model (latency.h): a state machine over a port, run by all ranks.
 *
 *      PINGS   Each rank measures GR_PINGS round trips to each other rank of its rings, and
 *              GR_PADDED_PINGS with padding for the time per byte. The shortest ones count. A rank
 *              answers pings at once, whatever its own state.
 *      ROWS    The ranks of each ring exchange their measurements. Afterwards they have the same
 *              symmetric table.
 *      MODEL   Ring by ring, ranks exchange the largest values that they know. Afterwards all ranks
 *              have the same table of maxima.
 *
 * An echo contains the time of the answering rank's clock. If both ranks share a clock, this time
 * lies between the ping and the echo. If it does not for any pair, no rank assumes a common clock.
 */
#ifndef GR_TIMING_MEASURE_H
#define GR_TIMING_MEASURE_H

#include "timing/latency.h"
#include "timing/port.h"

/* Round trips to each rank without and with padding. */
#define GR_PINGS 60
#define GR_PADDED_PINGS 20

struct gr_measure {
    const struct gr_port *port;
    struct gr_latency *latency;
    uint64_t seq; /* number of measurements begun */
    enum { GR_MEASURE_IDLE, GR_MEASURE_PINGS, GR_MEASURE_ROWS, GR_MEASURE_MODEL } state;
    int dim;              /* current dimension */
    int peer;             /* coordinate of the rank that is pinged or sent values */
    int trip;             /* PINGS: number of the round trip to the peer */
    int ping_sent;        /* PINGS: the round trip's echo is missing */
    int64_t ping_sent_at; /* PINGS: time of the ping, ns */
    int64_t best[2];      /* PINGS: shortest round trip to the peer, empty and padded, ns */
    int64_t clocks;       /* 1: two ranks' clocks differ */
    size_t nsent;         /* ROWS, MODEL: values sent to the peer so far */

    /* [coordinate]: seq of a ping whose echo could not be sent yet; 0: none. Owned. */
    int *owed[GR_MAX_DIMS];

    size_t rows_received[GR_MAX_DIMS];  /* number of notes of kind ROW */
    size_t model_received[GR_MAX_DIMS]; /* number of notes of kind MODEL */
    int64_t *model;                     /* MODEL: largest values known; owned */
    int64_t *model_sent;                /* MODEL: the values sent in this dimension; owned */
    size_t model_len;                   /* length of model and model_sent */
};

/*
 * Initialise. port and latency must live until gr_measure_free(); latency is filled in. Returns 0
 * or GR_ERR_NOMEM.
 */
int gr_measure_init(struct gr_measure *m, const struct gr_port *port, struct gr_latency *latency);
void gr_measure_free(struct gr_measure *m);

/* Begin a measurement, on all ranks, between the same countdowns. */
void gr_measure_begin(struct gr_measure *m);

/*
 * Receive a note of a kind other than GR_NOTE_SYNC. Returns 0, or negative: it is invalid, or the
 * port has failed.
 */
int gr_measure_receive(struct gr_measure *m, const struct gr_note *note, int64_t at);

/*
 * Advance. Returns 1: the model is complete, and no rank needs an echo any more; 0: not yet;
 * negative: the port's error.
 */
int gr_measure_poll(struct gr_measure *m);

#endif
