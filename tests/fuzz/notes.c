/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notes of step timing (timing/port.h), as they lie in the slots of links: this rank measures, and
 * starts calls, while the others say whatever the input says. Time is the input's, too. The others
 * may answer as they should but for some bytes, so that the input need not hold hundreds of notes
 * to get to a call's start.
 */
#include "fuzz.h"

#include "timing/port.h"
#include "timing/timer.h"

enum { RANKS = 12, CALLS = 3 };

static struct gr_sync_port lines; /* over the links below */
static struct gr_port port;       /* the same with another clock */
static int64_t clock_ns;
static struct gr_link in[RANKS], out[RANKS];
static struct gr_link_shared *slabs[2 * RANKS];
static uint64_t sent_to_me[RANKS]; /* notes */
static struct fuzz_input input;
static int answers; /* the others answer */

static int64_t now(void *ctx)
{
    (void) ctx;
    return clock_ns;
}

/* Into the link from that rank, if there is one with a free slot. */
static void put(int from, const struct gr_note *note)
{
    struct gr_link_shared *shared = in[from].shared;
    uint64_t at = sent_to_me[from];

    if (NULL != shared && at - atomic_load(&shared->head) < GR_NOTE_SLOTS) {
        memcpy(shared->slots + at % GR_NOTE_SLOTS * GR_NOTE_BYTES, note, sizeof(*note));
        atomic_store(&shared->tail, at + 1);
        sent_to_me[from]++;
    }
}

/* Another number in it, or other bytes. */
static void change(struct gr_note *note)
{
    unsigned what = fuzz_below(&input, 8);

    if (what < GR_NOTE_VALUES) {
        note->value[what] = (int64_t) fuzz_u64(&input);
    } else if (GR_NOTE_VALUES == what) {
        note->sent = (int64_t) fuzz_u64(&input);
    } else {
        fuzz_patch(&input, note, sizeof(*note));
    }
}

/* What a rank would say that is in the same state as this one. */
static void answer(int from, struct gr_note note)
{
    note.from = from;
    note.pad = 0;
    note.kind = GR_NOTE_PING == note.kind ? GR_NOTE_ECHO : note.kind;
    if (0 != answers && GR_NOTE_ECHO != note.kind && 1 == fuzz_below(&input, 16)) {
        change(&note);
    }
    put(from, &note);
}

static int send(void *ctx, int to, const struct gr_note *note)
{
    int rc;

    (void) ctx;
    FUZZ_NEED(to >= 0 && to < RANKS && note->pad <= GR_NOTE_PAD);
    FUZZ_NEED(NULL != out[to].shared);
    /* whoever reads them reads at once */
    atomic_store(&out[to].shared->head, atomic_load(&out[to].shared->tail));
    rc = lines.port.send(lines.port.ctx, to, note);
    if (1 == rc && 0 != answers && GR_NOTE_ECHO != note->kind) {
        answer(to, *note);
    }
    return rc;
}

static int poll(void *ctx, struct gr_note *note, int64_t *at)
{
    int rc = lines.port.poll(lines.port.ctx, note, at);

    (void) ctx;
    *at = clock_ns;
    return rc;
}

static void make_link(struct gr_link *l, int k)
{
    size_t bytes = gr_link_bytes(GR_NOTE_SLOTS, GR_NOTE_BYTES);

    bytes = (bytes + GR_CACHE_LINE - 1) / GR_CACHE_LINE * GR_CACHE_LINE;
    if (NULL == slabs[k]) {
        slabs[k] = aligned_alloc(GR_CACHE_LINE, bytes);
        FUZZ_NEED(NULL != slabs[k]);
    }
    memset(slabs[k], 0, bytes);
    gr_link_attach(l, slabs[k], 0, GR_NOTE_SLOTS, GR_NOTE_BYTES);
}

/* A rank says something: mostly what could be a note of the present state, with some of it changed.
 */
static void say(const struct gr_timer *t, int p)
{
    int from = (int) fuzz_below(&input, (unsigned) p);
    struct gr_note note = {.from = from, .sent = clock_ns};

    note.kind = (uint8_t) fuzz_below(&input, 6);
    note.dim = (uint8_t) fuzz_below(&input, 5);
    note.seq = GR_NOTE_SYNC == note.kind   ? t->countdown.seq + fuzz_below(&input, 3)
               : GR_NOTE_ECHO == note.kind ? (uint64_t) t->measure.trip + 1
                                           : fuzz_below(&input, 64);
    note.value[0] = fuzz_below(&input, 200);
    if (0 == fuzz_below(&input, 8)) {
        change(&note);
    }
    put(from, &note);
}

static struct gr_torus some_torus(void)
{
    static const struct gr_torus some[] = {{.ndims = 0},
                                           {.ndims = 1, .dims = {5}},
                                           {.ndims = 2, .dims = {2, 3}},
                                           {.ndims = 3, .dims = {2, 1, 4}},
                                           {.ndims = 2, .dims = {4, 3}, .mesh = 1},
                                           {.ndims = 4, .dims = {2, 2, 1, 2}}};

    return some[fuzz_below(&input, sizeof(some) / sizeof(some[0]))];
}

/* One call. Whether it has started; otherwise there was an error, after which the lane makes no
 * more, or the input ended. */
static int call(struct gr_timer *t, int p)
{
    static const struct gr_split split = {.nchannels = 1};
    const struct gr_timing_job job = {
        .p = p, .split = &split, .elem_bytes = 4, .slot_elems = 1, .nslots = 4, .whole = 1};
    const struct gr_timer_links links = {NULL, NULL, p};
    const struct gr_step step = {.tick = 0};
    char text[200];
    int rc = 0;

    gr_timer_begin(t, &job, &links, 0, 0);
    while (0 == rc && input.left > 0) {
        if (0 == answers || 0 == fuzz_below(&input, 8)) {
            say(t, p);
        }
        clock_ns += fuzz_below(&input, 100);
        rc = gr_timer_may_begin(t, 0, 0, &step);
        FUZZ_NEED(rc <= 1);
        gr_timer_explain(t, text, sizeof(text));
    }
    if (1 == rc) {
        gr_timer_begins(t, 0, 0, &step);
        gr_timer_ended(t, 0);
        (void) gr_timer_finished(t);
    }
    return 1 == rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gr_torus torus;
    int p, rank, k;
    struct gr_timer timer;
    struct gr_timing_report sum = {.calls = 0};

    input = (struct fuzz_input) {data, size};
    torus = some_torus();
    p = 0 == torus.ndims ? 3 : gr_torus_size(&torus);
    rank = (int) fuzz_below(&input, (unsigned) p);
    answers = (int) fuzz_below(&input, 4);
    memset(in, 0, sizeof(in));
    memset(out, 0, sizeof(out));
    memset(sent_to_me, 0, sizeof(sent_to_me));
    for (k = 0; k < p; k++) {
        if (k != rank) {
            make_link(&in[k], 2 * k);
            make_link(&out[k], 2 * k + 1);
        }
    }
    clock_ns = 1000000;
    FUZZ_NEED(0 == gr_sync_port_init(&lines, in, out, p, (int) fuzz_below(&input, 2)));
    port = (struct gr_port) {now, send, poll, NULL, lines.port.max_pad, lines.port.common_clock};
    FUZZ_NEED(0 == gr_timer_init(&timer, GR_SYNC_START, &port, &torus, p, rank));
    for (k = 0; k < CALLS && call(&timer, p); k++) {
    }
    gr_timing_report_add(&sum, &timer.report);
    gr_timer_free(&timer);
    return 0;
}
