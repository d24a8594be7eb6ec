/* SPDX-License-Identifier: BSD-3-Clause */
/* The port of link_port.h. */
#include "link_port.h"

#include "../exec/errors.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_BYTES (sizeof(struct gr_note) + GR_NOTE_PAD)

static size_t link_bytes(void)
{
    size_t bytes = gr_link_bytes(GR_NOTE_SLOTS, SLOT_BYTES);

    return (bytes + GR_CACHE_LINE - 1) / GR_CACHE_LINE * GR_CACHE_LINE;
}

size_t gr_link_port_bytes(int p)
{
    return (size_t) p * (sizeof(struct gr_door) + link_bytes());
}

struct gr_link_shared *gr_link_port_link(void *frame, int p, int writer)
{
    unsigned char *links = (unsigned char *) frame + (size_t) p * sizeof(struct gr_door);

    return (struct gr_link_shared *) (links + (size_t) writer * link_bytes());
}

static int64_t now(void *ctx)
{
    return gr_clock_now(&((struct gr_link_port *) ctx)->clock);
}

static int send(void *ctx, int to, const struct gr_note *note)
{
    struct gr_link_port *port = ctx;
    struct gr_link *l = &port->out[to];
    unsigned char *slot;

    if (!gr_link_writable(l)) {
        return 0;
    }
    slot = gr_link_slot(l);
    memcpy(slot, note, sizeof(*note));
    memcpy(slot + sizeof(*note), port->pad, note->pad);
    gr_link_push(l);
    return 1;
}

/* The next rank's note: no rank is looked at twice before all others. */
static int poll(void *ctx, struct gr_note *note, int64_t *at)
{
    struct gr_link_port *port = ctx;
    int k, r;

    for (k = 0; k < port->p; k++) {
        struct gr_link *l;

        r = port->next;
        port->next = r + 1 == port->p ? 0 : r + 1;
        l = &port->in[r];
        if (r == port->rank || !gr_link_readable(l)) {
            continue;
        }
        memcpy(note, gr_link_slot(l), sizeof(*note));
        if (note->pad > GR_NOTE_PAD || note->from != r) {
            return GR_ERR_SYS;
        }
        memcpy(port->pad, (unsigned char *) gr_link_slot(l) + sizeof(*note), note->pad);
        gr_link_pop(l);
        *at = now(port);
        return 1;
    }
    return 0;
}

int gr_link_port_init(struct gr_link_port *port, int p, int rank)
{
    memset(port, 0, sizeof(*port));
    port->p = p;
    port->rank = rank;
    port->port = (struct gr_port) {now, send, poll, port, GR_NOTE_PAD, 1};
    if (0 != gr_clock_open(&port->clock, GR_CLOCK_MONOTONIC)) {
        return GR_ERR_SYS;
    }
    port->in = calloc((size_t) p, sizeof(*port->in));
    port->out = calloc((size_t) p, sizeof(*port->out));
    if (NULL == port->in || NULL == port->out) {
        gr_link_port_free(port);
        return GR_ERR_NOMEM;
    }
    return 0;
}

void gr_link_port_free(struct gr_link_port *port)
{
    free(port->in);
    free(port->out);
    port->in = port->out = NULL;
}

void gr_link_port_attach(struct gr_link_port *port, int rank, void *frame)
{
    int r;

    if (rank != port->rank) {
        gr_link_attach(&port->out[rank], gr_link_port_link(frame, port->p, port->rank), 0, GR_NOTE_SLOTS, SLOT_BYTES);
        return;
    }
    for (r = 0; r < port->p; r++) {
        gr_link_attach(&port->in[r], gr_link_port_link(frame, port->p, r), 0, GR_NOTE_SLOTS, SLOT_BYTES);
    }
}
