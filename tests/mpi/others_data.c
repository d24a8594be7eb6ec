/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contents of the buffers of others.h: new bytes for each start, and their comparison after it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "others.h"
#include "rng.h"
#include "tap.h"

void others_make(struct others_call *c, const struct others_scene *on,
                 const struct others_case *what)
{
    *c = (struct others_call) {.what = *what, .on = on, .op = {MPI_OP_NULL, MPI_OP_NULL}};
    others_plan(c);
    others_side_make(c, &c->send);
    others_side_make(c, &c->recv);
    for (int copy = 0; copy < COPIES && others_infos[what->coll].reduces; copy++) {
        c->op[copy] = others_op_make(what->op);
    }
}

void others_drop_handles(struct others_call *c, int copy)
{
    if (c->dropped[copy]) {
        return;
    }
    c->dropped[copy] = true;
    others_side_drop(&c->send, copy);
    others_side_drop(&c->recv, copy);
    if (others_infos[c->what.coll].reduces) {
        others_op_drop(c->what.op, &c->op[copy]);
    }
}

void others_free(struct others_call *c)
{
    for (int copy = 0; copy < COPIES; copy++) {
        others_drop_handles(c, copy);
    }
    others_side_free(&c->send);
    others_side_free(&c->recv);
    free(c->shares);
    free(c->shares_c);
    c->shares = NULL;
    c->shares_c = NULL;
}

/* ---- before ---- */

static void scribble(char *to, size_t bytes, uint64_t rng)
{
    uint64_t bits;

    for (size_t i = 0; i < bytes; i += sizeof bits) {
        bits = rng_next(&rng);
        memcpy(to + i, &bits, bytes - i < sizeof bits ? bytes - i : sizeof bits);
    }
}

/* The elements of a reduction: one block. */
static void put_elements(const struct others_call *c, const struct others_side *s, char *to,
                         uint64_t rng)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(s->end[PLAIN].types[0], &lb, &extent);
    for (int i = 0; i < s->blocks[0].count; i++) {
        others_op_put(c->what.op, to + i * extent, rng_next(&rng));
    }
}

static void fill_side(const struct others_call *c, const struct others_side *s)
{
    for (int i = 0; i < s->buffers; i++) {
        struct others_buffer *b = &s->buffer[i];
        uint64_t key =
            rng_key(c->salt, s == &c->send ? 1 : 2, (uint64_t) test_rank << 32 | (uint64_t) i);

        scribble(b->before, b->copy[PLAIN].bytes, key);
        if (others_infos[c->what.coll].reduces && s->blocks[0].count > 0) {
            put_elements(c, s, b->before + b->slack - b->low, key);
        }
        for (int copy = 0; copy < COPIES; copy++) {
            memcpy(b->copy[copy].data, b->before, b->copy[copy].bytes);
            guarded_put(&b->copy[copy]);
        }
    }
}

void others_fill(struct others_call *c, uint64_t salt)
{
    c->salt = salt;
    fill_side(c, &c->send);
    fill_side(c, &c->recv);
}

/* ---- after ---- */

/* What is wrong with a buffer, or NULL; and the byte. */
static const char *judge(const struct others_call *c, const struct others_buffer *b, bool written,
                         long *at)
{
    const char *borrowed = b->copy[LENT].data, *plain = b->copy[PLAIN].data;
    size_t bytes = b->copy[PLAIN].bytes;
    /* left alone, or what the reference says */
    bool undefined = OTHERS_EXSCAN == c->what.coll && 0 == c->on->rank;

    *at = -1;
    if (!guarded_intact(&b->copy[PLAIN]) || !guarded_intact(&b->copy[LENT])) {
        return guarded_intact(&b->copy[PLAIN]) ? "written beside" : "the reference wrote beside";
    }
    if (!written) {
        *at = first_difference(plain, b->before, bytes);
        if (*at >= 0) {
            return "the reference changed";
        }
    }
    *at = first_difference(borrowed, plain, bytes);
    if (*at >= 0 && undefined && first_difference(borrowed, b->before, bytes) < 0) {
        *at = -1;
    }
    return *at < 0 ? NULL : written ? "wrong bytes in" : "changed";
}

/* Which block the byte belongs to, where there is one for it. */
static const struct others_block *block_at(const struct others_side *s, int buffer, long byte)
{
    const struct others_buffer *b = &s->buffer[buffer];
    MPI_Aint at = byte - b->slack + b->low;

    for (int i = 0; i < s->n; i++) {
        const struct others_block *k = &s->blocks[i];

        if ((!s->absolute || i == buffer) && k->low <= at && at < k->high) {
            return k;
        }
    }
    return NULL;
}

static void blame(const struct others_call *c, enum form form, const struct others_side *s,
                  int buffer, const char *what, long at)
{
    const struct others_block *b = at < 0 ? NULL : block_at(s, buffer, at);
    char where[100] = "outside the blocks";

    if (NULL != b && others_infos[c->what.coll].reduces) {
        snprintf(where, sizeof where, "in %d elements of operation %d", b->count, c->what.op);
    } else if (NULL != b) {
        snprintf(where, sizeof where, "in block %d: %d of type %s, base %d", (int) (b - s->blocks),
                 b->count, others_layout_names[b->layout], b->base);
    }
    tap_fault("%s the %s buffer: %s, %s, on %s, case %d, seed %llu, root %d, in place %d, absolute "
              "%d, rank %d of %d, buffer %d, byte %ld of %zu, %s",
              what, s == &c->send ? "send" : "receive", others_infos[c->what.coll].name,
              form_names[form], c->on->name, c->what.number, (unsigned long long) test_seed,
              c->root, c->what.in_place, c->what.absolute, c->on->rank, c->on->size, buffer, at,
              s->buffer[buffer].copy[PLAIN].bytes, where);
}

bool others_check(struct others_call *c, enum form form)
{
    struct others_side *sides[] = {&c->send, &c->recv};
    bool ok = true;
    long at;

    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < sides[k]->buffers; i++) {
            struct others_buffer *b = &sides[k]->buffer[i];
            const char *what;

            guarded_get(&b->copy[LENT]);
            what = judge(c, b, k > 0 && !sides[k]->unread, &at);
            if (NULL != what) {
                blame(c, form, sides[k], i, what, at);
                ok = false;
            }
        }
    }
    return ok;
}
