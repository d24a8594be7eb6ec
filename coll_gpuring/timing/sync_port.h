/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port that sends notes through links (link/fifo.h), in shared memory or over a network.
 * Processes of one host share CLOCK_MONOTONIC, unless they are in different time namespaces.
 */
#ifndef GR_TIMING_SYNC_PORT_H
#define GR_TIMING_SYNC_PORT_H

#include "link/fifo.h"
#include "timing/port.h"

/* Slots of a link. Notes of two countdowns may be in flight between two ranks. */
#define GR_NOTE_SLOTS 4

/* Most padding of a note, in bytes. */
#define GR_NOTE_PAD 1024

/* Bytes of a slot: a note and its padding. */
#define GR_NOTE_BYTES (sizeof(struct gr_note) + GR_NOTE_PAD)

struct gr_sync_port {
    struct gr_port port;            /* for the timer; its ctx is this, which must not move */
    int p;                          /* number of ranks */
    int rank;                       /* this rank */
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
                      int rank, int one_host);

#endif
