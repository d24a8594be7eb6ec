/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of buffers: inputs from a hash, and expected results. */
#include "task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

#define BEFORE 0x3b /* what outputs hold before a call */

enum devmem_kind task_memory = DEVMEM_HOST;

static enum devmem_kind memory_of(const struct task *t)
{
    return STEP_MESSAGES == t->step->kind ? DEVMEM_HOST : task_memory;
}

void task_send(struct task *t, int n, const int *counts, enum placement placement)
{
    long total = 0;

    side_make(&t->send, n, counts, t->step->basic, t->step->derived, placement, memory_of(t),
              &t->rng);
    for (int k = 0; k < n; k++) {
        total += counts[k];
    }
    t->send_at = 0 != total || 0 != rng_below(&t->rng, 3) ? t->send.at
                 : t->step->nonsense                      ? TASK_WILD_SEND
                                                          : NULL;
    t->send_count = t->send.counts[0];
    t->send_type = t->send.types[0];
    t->send_counts = t->send.counts;
    t->send_displs = NULL != t->send.parts ? (int *) t->send.zeros : t->send.displs;
    t->send_types = t->send.types;
    t->send_offsets = NULL != t->send.parts ? t->send.zeros : t->send.offsets;
}

void task_recv(struct task *t, int n, const int *counts, enum placement placement)
{
    side_make(&t->recv, n, counts, t->step->basic, t->step->derived, placement, memory_of(t),
              &t->rng);
    t->want = calloc((size_t) n, sizeof *t->want);
    if (NULL == t->want) {
        abort();
    }
    t->recv_at = t->recv.at;
    t->recv_count = t->recv.counts[0];
    t->recv_type = t->recv.types[0];
    t->recv_counts = t->recv.counts;
    t->recv_displs = NULL != t->recv.parts ? (int *) t->recv.zeros : t->recv.displs;
    t->recv_types = t->recv.types;
    t->recv_offsets = NULL != t->recv.parts ? t->recv.zeros : t->recv.offsets;
}

int task_elements(const struct task *t, int i, int j, bool alike)
{
    const uint64_t low = (uint64_t) (alike && j < i ? j : i),
                   high = (uint64_t) (alike && j < i ? i : j);
    const uint64_t quarters = rng_key(t->step->key, low, high) % 5;
    const int unit = t->step->derived ? LAYOUT_UNIT : 1;

    return (int) ((uint64_t) t->step->count * quarters / 4) / unit * unit;
}

/* Element e of a block of what this rank of MPI_COMM_WORLD gives, in the current round. */
static struct value input(const struct task *t, int rank, int block, int e)
{
    const uint64_t times = (uint64_t) (t->round + MAX_STEPS * t->step->again),
                   key = t->step->key + times * 0x9e3779b97f4a7c15ull + ((uint64_t) rank << 56) +
                         ((uint64_t) block << 40);

    return value_make(t->step->basic, t->step->op, rng_mix(rng_mix(key) + (uint64_t) e),
                      t->step->signs);
}

static int own(const struct task *t)
{
    return t->comm->world[t->comm->rank];
}

static int name_of(const struct task *t, int block)
{
    return NULL != t->names ? t->names[block] : block;
}

static void fill_block(const struct task *t, struct side *s, int block, int inputs)
{
    for (int e = 0; e < s->elements[block]; e++) {
        value_store(s->basic, s->mem.data + side_place(s, block, e), input(t, own(t), inputs, e));
    }
}

void task_fill(struct task *t)
{
    for (int b = 0; b < t->send.n; b++) {
        fill_block(t, &t->send, b, name_of(t, b));
    }
    if (t->send.n > 0) {
        side_put(&t->send);
    }
    if (0 == t->recv.n) {
        return;
    }
    memset(t->recv.mem.data, BEFORE, t->recv.mem.bytes);
    for (int b = 0; b < t->recv.n; b++) {
        if (b == t->input || ALL_BLOCKS == t->input) {
            fill_block(t, &t->recv, b, ALL_BLOCKS == t->input ? b : 0);
        }
    }
    if (NULL == t->before) {
        t->before = malloc(t->recv.mem.bytes);
    }
    if (NULL == t->before) {
        abort();
    }
    memcpy(t->before, t->recv.mem.data, t->recv.mem.bytes);
    side_put(&t->recv);
}

/* ---- judging ---- */

/* Writes into `before` what this block should be now; what nobody cares for is taken as it is. */
static void expect_block(struct task *t, int b)
{
    const size_t bytes = (size_t) basics[t->recv.basic].bytes;
    const struct want *w = &t->want[b];
    const int *from = t->comm->remote;
    const size_t data = (size_t) basics[t->recv.basic].data;

    for (int e = 0; e < t->recv.elements[b] && MPI_PROC_NULL != w->first; e++) {
        const long place = side_place(&t->recv, b, e);
        char *at = t->before + place;
        const char *got = t->recv.mem.data + place;
        struct value v;

        /* padding, too, but for what would lie behind the buffer */
        memcpy(at, got, place + (long) bytes <= (long) t->recv.mem.bytes ? bytes : data);
        if (w->last < w->first || e >= t->checked) {
            continue;
        }
        v = input(t, from[w->first], w->block, w->start + e);
        for (int r = w->first + 1; r <= w->last; r++) {
            v = value_combine(t->step->basic, t->step->op, v,
                              input(t, from[r], w->block, w->start + e));
        }
        value_store(t->recv.basic, at, v);
    }
}

/* Which block and element of a side lies at this byte. */
static const char *name_place(const struct side *s, long place, char *text, size_t room)
{
    for (int b = 0; b < s->n; b++) {
        for (int e = 0; e < s->elements[b]; e++) {
            const long at = side_place(s, b, e);

            if (place >= at && place < at + basics[s->basic].bytes) {
                snprintf(text, room, "element %d of %d of block %d of %d", e, s->elements[b], b,
                         s->n);
                return text;
            }
        }
    }
    snprintf(text, room, "byte %ld, where no element is,", place - s->origin);
    return text;
}

static const char *check_send(struct task *t, char *text, size_t room)
{
    const struct side *s = &t->send;
    const size_t bytes = (size_t) basics[s->basic].data;
    char one[32];

    if (0 == s->n) {
        return NULL;
    }
    side_get(s);
    if (!side_intact(s)) {
        return "wrote beside the input";
    }
    for (int b = 0; b < s->n; b++) {
        for (int e = 0; e < s->elements[b]; e++) {
            const char *at = s->mem.data + side_place(s, b, e);

            memcpy(one, at, bytes);
            value_store(s->basic, one, input(t, own(t), name_of(t, b), e));
            if (0 != memcmp(one, at, bytes)) {
                snprintf(text, room, "changed the input: element %d of block %d", e, b);
                return text;
            }
        }
    }
    return NULL;
}

const char *task_check(struct task *t)
{
    static _Thread_local char text[300];
    const char *wrong = check_send(t, text, sizeof text);
    const struct side *s = &t->recv;
    char where[120];
    long at;

    if (NULL != wrong || 0 == s->n) {
        return wrong;
    }
    side_get(s);
    for (int b = 0; b < s->n; b++) {
        expect_block(t, b);
    }
    at = first_difference(t->before, s->mem.data, s->mem.bytes);
    if (at >= 0) {
        snprintf(text, sizeof text, "%s is %02x%02x%02x%02x..., should be %02x%02x%02x%02x...",
                 name_place(s, at, where, sizeof where), s->mem.data[at] & 255,
                 s->mem.data[at + 1] & 255, s->mem.data[at + 2] & 255, s->mem.data[at + 3] & 255,
                 t->before[at] & 255, t->before[at + 1] & 255, t->before[at + 2] & 255,
                 t->before[at + 3] & 255);
        return text;
    }
    return side_intact(s) ? NULL : "wrote beside the output";
}

void task_forget_op(struct task *t)
{
    if (op_is_users(t->step->op) && MPI_OP_NULL != t->op) {
        MPI_Op_free(&t->op);
    }
}

void task_free(struct task *t)
{
    side_free(&t->send);
    side_free(&t->recv);
    free(t->want);
    free(t->shares);
    free(t->send_counts_c);
    free(t->recv_counts_c);
    free(t->shares_c);
    free(t->send_displs_c);
    free(t->recv_displs_c);
    task_forget_op(t);
    free(t->names);
    free(t->before);
    free(t);
}
