/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What step timing needs of the world: a clock, and a way to send small notes to ranks and to poll
 * for theirs.
 *
 * Nothing here waits. Inside a host notes go through links in shared memory (link_port.h), between
 * hosts through a network; tests have a virtual clock. Notes from one rank to another arrive in the
 * order in which they were sent.
 */
#ifndef GR_TIMING_PORT_H
#define GR_TIMING_PORT_H

#include <stddef.h>
#include <stdint.h>

enum gr_note_kind {
    GR_NOTE_SYNC, /* the countdown of countdown.h */
    GR_NOTE_PING, /* of measure.h: to be answered at once, */
    GR_NOTE_ECHO, /* the answer, */
    GR_NOTE_ROW,  /* and measured latencies */
    GR_NOTE_MODEL
};

#define GR_NOTE_VALUES 5

/* A note, as it travels between hosts of one byte order. */
struct gr_note {
    uint64_t seq;
    int32_t from; /* rank of the sender */
    uint8_t kind; /* enum gr_note_kind */
    uint8_t dim;  /* dimension of the torus along which it goes */
    uint16_t pad; /* bytes behind it that only take time */
    int64_t sent; /* the sender's clock */
    int64_t value[GR_NOTE_VALUES];
};

/* Bounds of a note's numbers, so that sums of some do not overflow. */
#define GR_NOTE_CLOCK_MAX ((int64_t) 1 << 61) /* of a clock: 73 years */
#define GR_NOTE_VALUE_MAX ((int64_t) 1 << 50) /* of a value: 13 days */

/* Whether a note's numbers are within them: others come from no clock. */
static inline int gr_note_counts(const struct gr_note *note)
{
    int k, good = note->sent > -GR_NOTE_CLOCK_MAX && note->sent < GR_NOTE_CLOCK_MAX;

    for (k = 0; k < GR_NOTE_VALUES; k++) {
        good = good && note->value[k] > -GR_NOTE_VALUE_MAX && note->value[k] < GR_NOTE_VALUE_MAX;
    }
    return good;
}

/* All functions get ctx. Times are in ns. */
struct gr_port {
    /* Monotonic, never set. */
    int64_t (*now)(void *ctx);
    /*
     * 1: sent, or on its way; 0: there is no room, try again; or negative. At most max_pad bytes of
     * pad.
     */
    int (*send)(void *ctx, int to, const struct gr_note *note);
    /* 1: a note, and when it arrived by now()'s clock; 0: there is none; or negative. */
    int (*poll)(void *ctx, struct gr_note *note, int64_t *at);
    void *ctx;
    size_t max_pad;
    /* whether now() is one clock for all ranks; it is checked when latencies are measured */
    int common_clock;
};

static inline int64_t gr_port_now(const struct gr_port *port)
{
    return port->now(port->ctx);
}

#endif
