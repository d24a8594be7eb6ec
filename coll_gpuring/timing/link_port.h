/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes between the ranks of one host, through links (exec/link.h) of slots that hold a note and its pad. All processes
 * of a host have one CLOCK_MONOTONIC, unless they are in different time namespaces.
 *
 * A rank has one frame, which holds its incoming links, from all ranks in their order; behind the doors that every
 * frame begins with (exec/pool.h).
 */
#ifndef GR_TIMING_LINK_PORT_H
#define GR_TIMING_LINK_PORT_H

#include "../exec/link.h"
#include "clock.h"
#include "port.h"

/* Two countdowns' notes of a pair may be under way. */
#define GR_NOTE_SLOTS 4
#define GR_NOTE_PAD 1024

struct gr_link_port {
    struct gr_port port;      /* to be given to the timer; its ctx is this structure, which must stay where it is */
    struct gr_clock clock;
    int p, rank, next;        /* next: whose link is looked at first */
    struct gr_link *in, *out; /* [rank]: owned */
    unsigned char pad[GR_NOTE_PAD];
};

/* Bytes of a rank's frame, whose doors are followed by zeros at first; and where the link from that rank lies in it. */
size_t gr_link_port_bytes(int p);
struct gr_link_shared *gr_link_port_link(void *frame, int p, int writer);

/* A port without links. 0; GR_ERR_NOMEM, or GR_ERR_SYS where there is no clock. */
int gr_link_port_init(struct gr_link_port *port, int p, int rank);
void gr_link_port_free(struct gr_link_port *port);

/* Use that rank's frame, which lies there in this process: this rank's own, or one that it writes to. */
void gr_link_port_attach(struct gr_link_port *port, int rank, void *frame);

#endif
