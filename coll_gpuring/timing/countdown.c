/* SPDX-License-Identifier: BSD-3-Clause */
/* Countdowns to a common start instant (countdown.h). */
#include "timing/countdown.h"

#include <assert.h>
#include <string.h>

/*
 * Index of the lateness in a note's values: time from the previous dimension's instant to sending,
 * ns.
 */
enum { LATE = GR_SYNC_VALUES };

void gr_countdown_init(struct gr_countdown *c, const struct gr_port *port,
                       const struct gr_latency *latency)
{
    memset(c, 0, sizeof(*c));
    c->port = port;
    c->latency = latency;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void combine(int64_t *value, const int64_t *other)
{
    int k;

    for (k = 0; k < GR_SYNC_VALUES; k++) {
        value[k] = later(value[k], other[k]);
    }
}

void gr_countdown_begin(struct gr_countdown *c, const int64_t value[GR_SYNC_VALUES])
{
    assert(!c->running);
    c->seq++;
    c->running = 1;
    c->dim = 0;
    c->entered = 0;
    c->instant = INT64_MIN;
    memcpy(c->value, value, sizeof(c->value));
}

/*
 * s_j + F_j of the note's sender, by this rank's clock: when a note sent in time would have reached
 * the whole ring. at: time of arrival. x: the sender's coordinate.
 */
static int64_t instant_of(const struct gr_countdown *c, const struct gr_note *note, int64_t at,
                          int x)
{
    const struct gr_latency *l = c->latency;
    int d = note->dim;
    int64_t sent =
        l->common_clock ? note->sent : at - gr_latency_between(l, d, x, gr_latency_coord(l, d));

    return sent - note->value[LATE] + gr_latency_farthest(l, d, x);
}

int gr_countdown_receive(struct gr_countdown *c, const struct gr_note *note, int64_t at)
{
    const struct gr_torus *t = &c->latency->torus;
    uint64_t ahead = note->seq - c->seq;
    struct gr_sync_box *box;
    int d = note->dim, x, p = gr_torus_size(t);

    /* only notes of the current countdown, or of the next one */
    if (d >= t->ndims || note->from < 0 || note->from >= p || ahead > 1 ||
        (0 == ahead && !c->running) || !gr_note_is_valid(note)) {
        return -1;
    }
    x = gr_torus_coord(t, note->from, d);
    if (gr_latency_rank(c->latency, d, x) != note->from || note->from == c->latency->rank) {
        return -1;
    }
    box = &c->box[note->seq & 1][d];
    if (box->received >= t->dims[d] - 1) {
        return -1;
    }
    if (0 == box->received++) {
        box->instant = INT64_MIN;
        memcpy(box->value, note->value, sizeof(box->value));
    }
    box->instant = later(box->instant, instant_of(c, note, at, x));
    combine(box->value, note->value);
    return 0;
}

/* Enter the current dimension: make the note for the other ranks of the ring. */
static void enter(struct gr_countdown *c)
{
    const struct gr_latency *l = c->latency;
    int64_t now = gr_port_now(c->port);

    c->entered = 1;
    c->next = 0;
    c->note = (struct gr_note) {
        .seq = c->seq, .from = l->rank, .kind = GR_NOTE_SYNC, .dim = (uint8_t) c->dim, .sent = now};
    memcpy(c->note.value, c->value, sizeof(c->value));
    c->note.value[LATE] = INT64_MIN == c->instant ? 0 : now - c->instant;
    /* the own term s_i + F_i, which no other rank's note contains */
    c->instant =
        now - c->note.value[LATE] + gr_latency_farthest(l, c->dim, gr_latency_coord(l, c->dim));
}

/* Send the note to the ring. Returns 1: sent to all; 0: a link was full; negative: an error. */
static int send_all(struct gr_countdown *c)
{
    const struct gr_latency *l = c->latency;
    int rank, rc;

    for (; c->next < l->torus.dims[c->dim]; c->next++) {
        rank = gr_latency_rank(l, c->dim, c->next);
        if (rank == l->rank) {
            continue;
        }
        rc = c->port->send(c->port->ctx, rank, &c->note);
        if (1 != rc) {
            return rc;
        }
    }
    return 1;
}

/* Advance the current dimension. Returns 1 when its instant has passed. */
static int poll_dim(struct gr_countdown *c)
{
    struct gr_sync_box *box = &c->box[c->seq & 1][c->dim];
    int rc;

    if (!c->entered) {
        enter(c);
    }
    rc = send_all(c);
    if (1 != rc) {
        return rc;
    }
    if (box->received < c->latency->torus.dims[c->dim] - 1) {
        return 0;
    }
    if (gr_port_now(c->port) < later(c->instant, box->instant)) {
        return 0;
    }
    c->instant = later(c->instant, box->instant);
    combine(c->value, box->value);
    memset(box, 0, sizeof(*box));
    return 1;
}

int gr_countdown_poll(struct gr_countdown *c)
{
    int rc;

    while (c->running) {
        if (1 == c->latency->torus.dims[c->dim]) {
            c->instant = c->instant == INT64_MIN ? gr_port_now(c->port) : c->instant;
        } else {
            rc = poll_dim(c);
            if (1 != rc) {
                return rc;
            }
        }
        c->entered = 0;
        c->running = ++c->dim < c->latency->torus.ndims;
    }
    return 1;
}

int gr_countdown_missing(const struct gr_countdown *c)
{
    return c->running ? c->latency->torus.dims[c->dim] - 1 - c->box[c->seq & 1][c->dim].received
                      : 0;
}
