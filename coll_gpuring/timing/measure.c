/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurement of latencies (measure.h). */
#include "timing/measure.h"

#include "base/errors.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int extent(const struct gr_measure *m, int d)
{
    return m->latency->torus.dims[d];
}

/* This rank's coordinate in dimension d. */
static int coord(const struct gr_measure *m, int d)
{
    return gr_latency_coord(m->latency, d);
}

/*
 * Offset of the tables in the vector of MODEL: time per byte of each dimension, whether clocks
 * differ, and the tables of latencies. A single ring needs no tables: all ranks have the same one.
 */
static size_t tables_offset(const struct gr_measure *m)
{
    return (size_t) m->latency->torus.ndims + 1;
}

static size_t table_len(const struct gr_measure *m, int d)
{
    return m->latency->torus.ndims > 1 ? (size_t) (extent(m, d) * extent(m, d)) : 0;
}

int gr_measure_init(struct gr_measure *m, const struct gr_port *port, struct gr_latency *latency)
{
    int d, complete;

    memset(m, 0, sizeof(*m));
    m->port = port;
    m->latency = latency;
    m->model_len = tables_offset(m);
    for (d = 0; d < latency->torus.ndims; d++) {
        m->model_len += table_len(m, d);
    }
    m->model = gr_calloc(m->model_len, sizeof(int64_t));
    m->model_sent = gr_calloc(m->model_len, sizeof(int64_t));
    complete = NULL != m->model && NULL != m->model_sent;
    for (d = 0; d < latency->torus.ndims; d++) {
        m->owed[d] = gr_calloc((size_t) extent(m, d), sizeof(int));
        complete = complete && NULL != m->owed[d];
    }
    if (!complete) {
        gr_measure_free(m);
        return GR_ERR_NOMEM;
    }
    return 0;
}

void gr_measure_free(struct gr_measure *m)
{
    int d;

    for (d = 0; d < GR_MAX_DIMS; d++) {
        free(m->owed[d]);
        m->owed[d] = NULL;
    }
    free(m->model);
    free(m->model_sent);
    m->model = m->model_sent = NULL;
}

/* ---- round trips ---- */

/* Prepare the first round trip to a peer. */
static void first_trip(struct gr_measure *m)
{
    m->trip = 0;
    m->ping_sent = 0;
    m->best[0] = m->best[1] = INT64_MAX;
}

void gr_measure_begin(struct gr_measure *m)
{
    int d;

    m->seq++;
    m->state = GR_MEASURE_PINGS;
    m->dim = 0;
    m->peer = 0;
    m->clocks = 0;
    first_trip(m);
    for (d = 0; d < m->latency->torus.ndims; d++) {
        m->latency->byte_fs[d] = 0;
    }
}

static struct gr_note note_of(const struct gr_measure *m, enum gr_note_kind kind, int d,
                              uint64_t seq)
{
    return (struct gr_note) {.seq = seq,
                             .from = m->latency->rank,
                             .kind = (uint8_t) kind,
                             .dim = (uint8_t) d,
                             .sent = gr_port_now(m->port)};
}

static int send(const struct gr_measure *m, int d, int x, const struct gr_note *note)
{
    return m->port->send(m->port->ctx, gr_latency_rank(m->latency, d, x), note);
}

/* Send the missing echoes. Returns 0, or the port's error. */
static int send_echoes(struct gr_measure *m)
{
    int d, x, rc;

    for (d = 0; d < m->latency->torus.ndims; d++) {
        for (x = 0; x < extent(m, d); x++) {
            struct gr_note echo = note_of(m, GR_NOTE_ECHO, d, (uint64_t) m->owed[d][x]);

            rc = 0 == m->owed[d][x] ? 0 : send(m, d, x, &echo);
            if (rc < 0) {
                return rc;
            }
            m->owed[d][x] = 1 == rc ? 0 : m->owed[d][x];
        }
    }
    return 0;
}

/* Store the results of the round trips to a peer. */
static void store_trips(struct gr_measure *m)
{
    struct gr_latency *l = m->latency;
    int64_t byte_fs = gr_latency_byte_fs(m->best[0], m->best[1], m->port->max_pad);
    int64_t *to = &l->ring[m->dim][coord(m, m->dim) * extent(m, m->dim) + m->peer];

    *to = m->best[0] / 2;
    l->byte_fs[m->dim] = byte_fs > l->byte_fs[m->dim] ? byte_fs : l->byte_fs[m->dim];
}

/* Advance to the next peer, in this dimension or a later one. Returns 1: there is none. */
static int next_peer(struct gr_measure *m)
{
    for (; m->dim < m->latency->torus.ndims; m->dim++, m->peer = 0) {
        while (m->peer < extent(m, m->dim) && m->peer == coord(m, m->dim)) {
            m->peer++;
        }
        if (m->peer < extent(m, m->dim)) {
            return 0;
        }
    }
    return 1;
}

/* Number of round trips to a peer. */
static int trips(const struct gr_measure *m)
{
    return GR_PINGS + (m->port->max_pad > 0 ? GR_PADDED_PINGS : 0);
}

static int send_ping(struct gr_measure *m)
{
    struct gr_note ping = note_of(m, GR_NOTE_PING, m->dim, (uint64_t) m->trip + 1);
    int rc;

    ping.pad = m->trip < GR_PINGS ? 0 : (uint16_t) m->port->max_pad;
    rc = send(m, m->dim, m->peer, &ping);
    if (1 == rc) {
        m->ping_sent = 1;
        m->ping_sent_at = ping.sent;
    }
    return rc;
}

static int poll_pings(struct gr_measure *m)
{
    int rc;

    while (!next_peer(m)) {
        if (m->ping_sent) {
            return 0;
        }
        if (m->trip == trips(m)) {
            store_trips(m);
            m->peer++;
            first_trip(m);
            continue;
        }
        rc = send_ping(m);
        if (1 != rc) {
            return rc;
        }
    }
    return 1;
}

/* ---- tables ---- */

/*
 * Continue to send n values to the other ranks of the ring of m->dim. Returns 1: all are sent; 0: a
 * link was full; negative: an error.
 */
static int send_values(struct gr_measure *m, enum gr_note_kind kind, const int64_t *values,
                       size_t n)
{
    int rc;

    for (; m->peer < extent(m, m->dim); m->peer++, m->nsent = 0) {
        while (m->peer != coord(m, m->dim) && m->nsent < n) {
            struct gr_note note = note_of(m, kind, m->dim, m->nsent);
            size_t k = n - m->nsent < GR_NOTE_VALUES ? n - m->nsent : GR_NOTE_VALUES;

            memcpy(note.value, values + m->nsent, k * sizeof(int64_t));
            rc = send(m, m->dim, m->peer, &note);
            if (1 != rc) {
                return rc;
            }
            m->nsent += k;
        }
    }
    return 1;
}

/* Number of notes from the other ranks of a ring that send `values` values each. */
static size_t notes_expected(const struct gr_measure *m, int d, size_t values)
{
    return (size_t) (extent(m, d) - 1) * ((values + GR_NOTE_VALUES - 1) / GR_NOTE_VALUES);
}

static int poll_rows(struct gr_measure *m)
{
    int d, n, rc;

    for (; m->dim < m->latency->torus.ndims; m->dim++, m->peer = 0, m->nsent = 0) {
        n = extent(m, m->dim);
        rc = send_values(m, GR_NOTE_ROW, m->latency->ring[m->dim] + coord(m, m->dim) * n,
                         (size_t) n);
        if (1 != rc) {
            return rc;
        }
    }
    for (d = 0; d < m->latency->torus.ndims; d++) {
        if (m->rows_received[d] < notes_expected(m, d, (size_t) extent(m, d))) {
            return 0;
        }
    }
    for (d = 0; d < m->latency->torus.ndims; d++) {
        m->rows_received[d] = 0;
        gr_latency_symmetrise(m->latency, d);
    }
    return 1;
}

static void set_max(int64_t *mine, int64_t other)
{
    *mine = other > *mine ? other : *mine;
}

/* Merge this rank's values into the vector, which may contain other ranks' values already. */
static void begin_model(struct gr_measure *m)
{
    const struct gr_latency *l = m->latency;
    size_t at = tables_offset(m);
    size_t k;
    int d;

    for (d = 0; d < l->torus.ndims; d++) {
        set_max(&m->model[d], l->byte_fs[d]);
        for (k = 0; k < table_len(m, d); k++) {
            set_max(&m->model[at++], l->ring[d][k]);
        }
    }
    set_max(&m->model[l->torus.ndims], m->clocks);
}

/* Copy the vector to the model. */
static void end_model(struct gr_measure *m)
{
    struct gr_latency *l = m->latency;
    size_t at = tables_offset(m), n;
    int d;

    for (d = 0; d < l->torus.ndims; d++) {
        n = (size_t) extent(m, d) * (size_t) extent(m, d);
        l->byte_fs[d] = m->model[d];
        memcpy(l->all[d], table_len(m, d) > 0 ? m->model + at : l->ring[d], n * sizeof(int64_t));
        at += table_len(m, d);
    }
    l->common_clock = m->port->common_clock && 0 == m->model[l->torus.ndims];
    memset(m->model, 0, m->model_len * sizeof(int64_t));
}

/*
 * A dimension sends the maxima of the dimensions before it. A note that arrives early is merged at
 * once, which does not change the final maxima.
 */
static int poll_model(struct gr_measure *m)
{
    int rc;

    for (; m->dim < m->latency->torus.ndims; m->dim++, m->peer = 0, m->nsent = 0) {
        if (0 == m->peer && 0 == m->nsent) {
            memcpy(m->model_sent, m->model, m->model_len * sizeof(int64_t));
        }
        rc = send_values(m, GR_NOTE_MODEL, m->model_sent, m->model_len);
        if (1 != rc || m->model_received[m->dim] < notes_expected(m, m->dim, m->model_len)) {
            return rc < 0 ? rc : 0;
        }
        m->model_received[m->dim] = 0;
    }
    return 1;
}

/* ---- all states ---- */

static int on_ping(struct gr_measure *m, const struct gr_note *note)
{
    int x = gr_torus_coord(&m->latency->torus, note->from, note->dim);

    m->owed[note->dim][x] = (int) note->seq;
    return send_echoes(m);
}

static int on_echo(struct gr_measure *m, const struct gr_note *note, int64_t at)
{
    int64_t trip = at - m->ping_sent_at;
    int64_t *best = &m->best[m->trip >= GR_PINGS];

    if (GR_MEASURE_PINGS != m->state || !m->ping_sent || note->seq != (uint64_t) m->trip + 1) {
        return -1;
    }
    *best = trip < *best ? trip : *best;
    m->clocks |= note->sent < m->ping_sent_at || note->sent > at;
    m->ping_sent = 0;
    m->trip++;
    return 0;
}

/* Store another rank's values, from index seq on. maxima: keep the larger values. */
static int store_values(int64_t *to, size_t len, const struct gr_note *note, int maxima)
{
    size_t k, n;

    if (note->seq >= len) {
        return -1;
    }
    n = len - note->seq < GR_NOTE_VALUES ? len - note->seq : GR_NOTE_VALUES;
    for (k = 0; k < n; k++) {
        if (maxima) {
            set_max(&to[note->seq + k], note->value[k]);
        } else {
            to[note->seq + k] = note->value[k];
        }
    }
    return 0;
}

int gr_measure_receive(struct gr_measure *m, const struct gr_note *note, int64_t at)
{
    const struct gr_latency *l = m->latency;
    int d = note->dim, x;

    if (d >= l->torus.ndims || note->from < 0 || note->from >= gr_torus_size(&l->torus) ||
        !gr_note_is_valid(note)) {
        return -1;
    }
    x = gr_torus_coord(&l->torus, note->from, d);
    if (gr_latency_rank(l, d, x) != note->from || note->from == l->rank) {
        return -1;
    }
    switch (note->kind) {
    case GR_NOTE_PING:
        return on_ping(m, note);
    case GR_NOTE_ECHO:
        return on_echo(m, note, at);
    case GR_NOTE_ROW:
        m->rows_received[d]++;
        return store_values(l->ring[d] + x * extent(m, d), (size_t) extent(m, d), note, 0);
    case GR_NOTE_MODEL:
        m->model_received[d]++;
        return store_values(m->model, m->model_len, note, 1);
    default:
        return -1;
    }
}

static void begin_state(struct gr_measure *m, int state)
{
    m->state = state;
    m->dim = m->peer = 0;
    m->nsent = 0;
}

int gr_measure_poll(struct gr_measure *m)
{
    int rc = send_echoes(m);

    if (rc < 0) {
        return rc;
    }
    rc = 1;
    if (GR_MEASURE_PINGS == m->state && 1 == (rc = poll_pings(m))) {
        begin_state(m, GR_MEASURE_ROWS);
    }
    if (GR_MEASURE_ROWS == m->state && 1 == (rc = poll_rows(m))) {
        begin_model(m);
        begin_state(m, GR_MEASURE_MODEL);
    }
    if (GR_MEASURE_MODEL == m->state && 1 == (rc = poll_model(m))) {
        end_model(m);
        begin_state(m, GR_MEASURE_IDLE);
    }
    return rc;
}
