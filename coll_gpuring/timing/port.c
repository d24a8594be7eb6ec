/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes through links (port.h). */
#include "timing/port.h"

#include "base/errors.h"

#include <string.h>
#include <time.h>

#define MAX_RESOLUTION_NS 1000 /* a clock of coarser resolution is refused */

/* Not CLOCK_REALTIME, which can be set. */
static int64_t now(void *ctx)
{
    struct timespec t;

    (void) ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static int send(void *ctx, int to, const struct gr_note *note)
{
    struct gr_sync_port *port = ctx;
    struct gr_link *l = &port->out[to];
    unsigned char *slot;

    if (!gr_link_writable(l)) {
        return 0;
    }
    slot = gr_link_slot(l);
    memcpy(slot, note, sizeof(*note));
    memcpy(slot + sizeof(*note), port->pad, note->pad);
    if (NULL != l->valid_bytes) {
        gr_link_set_slot_info(l, sizeof(*note) + note->pad, NULL);
    }
    gr_link_push(l);
    return 1;
}

/* Receive the next note. Polls the ranks in turn. */
static int poll(void *ctx, struct gr_note *note, int64_t *at)
{
    struct gr_sync_port *port = ctx;
    int k, r;

    for (k = 0; k < port->p; k++) {
        struct gr_link *l;

        r = port->next;
        port->next = r + 1 == port->p ? 0 : r + 1;
        l = &port->in[r];
        if (NULL == l->shared || !gr_link_readable(l)) {
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

int gr_sync_port_init(struct gr_sync_port *port, struct gr_link *in, struct gr_link *out, int p,
                      int one_host)
{
    struct timespec step;

    memset(port, 0, sizeof(*port));
    port->p = p;
    port->in = in;
    port->out = out;
    port->port = (struct gr_port) {now, send, poll, port, GR_NOTE_PAD, one_host};
    return 0 == clock_getres(CLOCK_MONOTONIC, &step) && 0 == step.tv_sec &&
                   step.tv_nsec <= MAX_RESOLUTION_NS
               ? 0
               : GR_ERR_SYS;
}
