/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the algorithms have in common: the words that steps are written in. Only the
 * files of this folder include this.
 */
#ifndef GR_SCHED_ALGOS_H
#define GR_SCHED_ALGOS_H

#include "sched/algorithm.h"

#include <math.h>

/* a mod p for a >= -p */
static inline int gr_mod(int a, int p)
{
    return (a + p) % p;
}

/* The rank at a position. */
static inline int gr_rank_at(const struct gr_sched *s, int pos)
{
    return NULL == s->order ? pos : s->order[pos];
}

/* A step that moves one chunk: from the operand in `operand`, to `dest` where bits has GR_STORE. */
static inline struct gr_step gr_step_make(int bits, int operand, int dest, uint32_t chunk,
                                          uint32_t tick)
{
    struct gr_step t;
    int k;

    t.bits = (uint8_t) bits;
    t.operand = (uint8_t) operand;
    t.dest = (uint8_t) dest;
    t.nfrom = t.nto = 0;
    t.before = 0;
    t.phase = 0;
    for (k = 0; k < GR_FAN; k++) {
        t.from[k] = t.to[k] = -1;
    }
    t.first = chunk;
    t.stride = 0;
    t.count = 1;
    t.shift = 0;
    t.tick = tick;
    return t;
}

/*
 * Algorithms that double, where n is no power of two: 2^bits of n, as many as possible, have a
 * place; place i is number i n / 2^bits, rounded down, so that at most one without a place comes
 * after each. It folds what it has into that place, and is given the result at the end.
 */
static inline int gr_place_bits(int n)
{
    int bits = 0;

    while (n >> bits > 1) {
        bits++;
    }
    return bits;
}

/* Rounds in which n can be reached, doubling: log2 n, rounded up. */
static inline int gr_doubling_rounds(int n)
{
    int rounds = 0;

    while (1 << rounds < n) {
        rounds++;
    }
    return rounds;
}

/*
 * The place of number x, or of the one that it folds into; the number at a place, n for the place
 * behind the last.
 */
static inline int gr_place_of(int n, int bits, int x)
{
    return (int) ((((int64_t) x + 1) * (1 << bits) - 1) / n);
}

static inline int gr_place_at(int n, int bits, int place)
{
    return (int) ((int64_t) place * n >> bits);
}

/*
 * Most chunks of a message that holds half of all blocks, or all of them where some ranks have no
 * place: p is no power of two.
 */
static inline uint32_t gr_halving_message_chunks(int p, const struct gr_torus *torus)
{
    (void) torus;
    return 1 == p ? 1 : 0 == (p & (p - 1)) ? (uint32_t) p / 2 : (uint32_t) p;
}

/* Add the link from, or to, a position. */
static inline void gr_step_from(const struct gr_sched *s, struct gr_step *t, int pos)
{
    t->from[t->nfrom++] = gr_rank_at(s, pos);
}

static inline void gr_step_to(const struct gr_sched *s, struct gr_step *t, int pos)
{
    t->to[t->nto++] = gr_rank_at(s, pos);
}

#endif
