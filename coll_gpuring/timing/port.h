/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface through which step timing reads a clock and exchanges small messages, called notes,
 * with other ranks.
 *
 * No function waits. Notes between two ranks arrive in order. gpuring sends notes through links
 * (struct gr_sync_port); tests use a virtual clock and network.
 */
#ifndef GR_TIMING_PORT_H
#define GR_TIMING_PORT_H

#include "link/fifo.h"

#include <stddef.h>
#include <stdint.h>

enum gr_note_kind {
    GR_NOTE_SYNC, /* countdown.h: a rank has entered */
    GR_NOTE_PING, /* measure.h: first note of a round trip, answered at once */
    GR_NOTE_ECHO, /* measure.h: answer to a ping */
    GR_NOTE_ROW,  /* measure.h: latencies that the sender has measured */
    GR_NOTE_MODEL /* measure.h: largest values that the sender knows */
};

/* Values of a note. */
#define GR_NOTE_VALUES 5

/* A note. All hosts have the same byte order. */
struct gr_note {
    uint64_t seq;                  /* meaning depends on the kind */
    int32_t from;                  /* rank of the sender */
    uint8_t kind;                  /* enum gr_note_kind */
    uint8_t dim;                   /* dimension of the torus along which it is sent */
    uint16_t pad;                  /* bytes of padding sent with it, to measure bandwidth */
    int64_t sent;                  /* time of sending by the sender's clock, ns */
    int64_t value[GR_NOTE_VALUES]; /* meaning depends on the kind */
};

/* Limits of a note's numbers, so that sums do not overflow. */
#define GR_NOTE_CLOCK_MAX ((int64_t) 1 << 61) /* a clock's time: 73 years */
#define GR_NOTE_VALUE_MAX ((int64_t) 1 << 50) /* a value: 13 days */

/* Whether a note's numbers are within the limits. */
static inline int gr_note_is_valid(const struct gr_note *note)
{
    int k, valid = note->sent > -GR_NOTE_CLOCK_MAX && note->sent < GR_NOTE_CLOCK_MAX;

    for (k = 0; k < GR_NOTE_VALUES; k++) {
        valid = valid && note->value[k] > -GR_NOTE_VALUE_MAX && note->value[k] < GR_NOTE_VALUE_MAX;
    }
    return valid;
}

/* A port. Times are in ns. */
struct gr_port {
    /* The time of a monotonic clock. */
    int64_t (*now)(void *ctx);

    /* Send a note. Returns 1: sent; 0: no free slot, try again; negative: an error. */
    int (*send)(void *ctx, int to, const struct gr_note *note);

    /*
     * Receive a note. *at: time of its arrival by now()'s clock. Returns 1: received; 0: there is
     * none; negative: an error.
     */
    int (*poll)(void *ctx, struct gr_note *note, int64_t *at);

    void *ctx;        /* first argument of all functions */
    size_t max_pad;   /* most padding of a note, in bytes */
    int common_clock; /* all ranks may share now()'s clock; checked when latencies are measured */
};

static inline int64_t gr_port_now(const struct gr_port *port)
{
    return port->now(port->ctx);
}

/*
 * A port that sends notes through links (link/fifo.h), in shared memory or over a network.
 * Processes of one host share CLOCK_MONOTONIC, unless they are in different time namespaces.
 */

/* Slots of a link. Notes of two countdowns may be in flight between two ranks. */
#define GR_NOTE_SLOTS 4

/* Most padding of a note, in bytes. */
#define GR_NOTE_PAD 1024

/* Bytes of a slot: a note and its padding. */
#define GR_NOTE_BYTES (sizeof(struct gr_note) + GR_NOTE_PAD)

struct gr_sync_port {
    struct gr_port port;            /* for the timer; its ctx is this, which must not move */
    int p;                          /* number of ranks */
    int next;                       /* rank to poll first */
    struct gr_link *in;             /* [rank]: links from other ranks; borrowed */
    struct gr_link *out;            /* [rank]: links to other ranks; borrowed */
    unsigned char pad[GR_NOTE_PAD]; /* the padding that is sent or received */
};

/*
 * Initialise a port over links, which must outlive it. Ranks without a link are not sent notes.
 * one_host: all ranks may share one clock. Returns 0, or GR_ERR_SYS: no usable clock.
 */
int gr_sync_port_init(struct gr_sync_port *port, struct gr_link *in, struct gr_link *out, int p,
                      int one_host);

#endif
