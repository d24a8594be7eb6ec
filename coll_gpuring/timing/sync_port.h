/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes between ranks through links (link/fifo.h) of slots that hold a note and its pad: in shared
 * memory, or with a network between their ends. All processes of a host have one CLOCK_MONOTONIC,
 * unless they are in different time namespaces; those of different hosts do not.
 */
#ifndef GR_TIMING_SYNC_PORT_H
#define GR_TIMING_SYNC_PORT_H

#include "link/fifo.h"
#include "timing/clock.h"
#include "timing/port.h"

/* Slots of a link: two countdowns' notes of a pair may be under way. */
#define GR_NOTE_SLOTS 4
#define GR_NOTE_PAD 1024
#define GR_NOTE_BYTES (sizeof(struct gr_note) + GR_NOTE_PAD)

struct gr_link_port {
    /* to be given to the timer; its ctx is this structure, which must stay where it is */
    struct gr_port port;
    struct gr_clock clock;
    int p, rank, next;        /* next: whose link is looked at first */
    struct gr_link *in, *out; /* [rank] */
    unsigned char pad[GR_NOTE_PAD];
};

/*
 * A port over those links, which must live as long and may lead to some ranks only: no others are
 * sent notes. one_host: all ranks may have one clock. 0, or GR_ERR_SYS where there is no clock.
 */
int gr_link_port_init(struct gr_link_port *port, struct gr_link *in, struct gr_link *out, int p,
                      int rank, int one_host);

#endif
