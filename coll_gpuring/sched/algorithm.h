/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor of an algorithm: all that gpuring knows of it. Each algorithm's file ends in one,
 * and types.h lists them. And what the files of the algorithms have in common.
 */
#ifndef GR_SCHED_ALGORITHM_H
#define GR_SCHED_ALGORITHM_H

#include "sched/cost.h"
#include "sched/types.h"

#include <math.h>

enum gr_trait {
    /* All links of a rank are used at once: a slice of a GR_PIPE has one chunk. */
    GR_TRAIT_FLAT = 1,
    /*
     * Position = rank: the algorithm takes ranks by their numbers, along a torus or not, and no
     * order of theirs. Channels differ as `channels` says (torus.h).
     */
    GR_TRAIT_BY_RANK = 2,
    /* Each root needs links of its own. */
    GR_TRAIT_ROOTED = 4,
    /* In place or in scratch, it overwrites what it has sent and others may not have taken yet. */
    GR_TRAIT_OVERWRITES_SENT = 8,
    /* A slice of a GR_PIPE has several chunks, which follow each other. */
    GR_TRAIT_PIPELINED = 16
};

struct gr_algorithm {
    const char *name;
    const char *help; /* what it is, for users: one line */
    /* ---- collectives, as sets of GR_BIT(coll) ---- */
    unsigned colls;   /* with a schedule */
    unsigned pipes;   /* with the layout GR_PIPE */
    unsigned scratch; /* with steps that use GR_TMP */
    /* ---- what it suits ---- */
    int most_ranks;  /* ranks at most; 0: any number */
    unsigned traits; /* of enum gr_trait */
    /* Whether it suits a torus (NULL: none is known) of p ranks. NULL: it suits any. */
    int (*fits)(int p, const struct gr_torus *torus);
    /* ---- steps of two ranks and more: gr_sched_len() and gr_sched_step() ---- */
    uint32_t (*len)(const struct gr_sched *s);
    struct gr_step (*step)(const struct gr_sched *s, uint32_t i);
    /* Its links, at most. The torus may be unknown (ndims 0) where it suits that. */
    struct gr_links_count (*links)(int p, const struct gr_torus *torus);
    /* Most chunks of a message of two ranks and more in GR_BLOCKS, on any channel. NULL: one. */
    uint32_t (*message_chunks)(int p, const struct gr_torus *torus);
    /* GR_TRAIT_BY_RANK: channels whose schedules differ. NULL: one. */
    int (*channels)(enum gr_coll coll, const struct gr_torus *torus);
    /* ---- costs ---- */
    /* Microseconds inside a node. NULL: those of `pipe`. */
    double (*cost)(const struct gr_cost_terms *terms);
    /* A pipeline of chunks inside a node, whose length is chosen. NULL: chunks fill a slot. */
    struct gr_cost_pipe (*pipe)(const struct gr_cost_terms *terms);
    /* What it does between nodes. */
    struct gr_internode_cost (*internode_cost)(const struct gr_cost_terms *terms);
    /*
     * Ranks up to which it is chosen where nothing is forced. NULL: any; with GR_TRAIT_BY_RANK
     * none.
     */
    int (*auto_ranks)(const struct gr_cost_terms *terms);
};

#define GR_DECLARE_ALGORITHM(NAME, name) extern const struct gr_algorithm gr_algorithm_##name;
GR_ALGORITHMS(GR_DECLARE_ALGORITHM)
#undef GR_DECLARE_ALGORITHM

/* ---- the words that steps are written in ---- */

/* The rank at a position. */
static inline int gr_rank_at(const struct gr_sched *s, int pos)
{
    return NULL == s->order ? pos : s->order[pos];
}

/* A step that moves one chunk: from the operand in `operand`, to `dest` where bits has GR_STORE. */
static inline struct gr_step gr_step_make(int bits, int operand, int dest, uint32_t chunk,
                                          uint32_t tick)
{
    struct gr_step t = {.bits = (uint8_t) bits,
                        .operand = (uint8_t) operand,
                        .dest = (uint8_t) dest,
                        .first = chunk,
                        .count = 1,
                        .tick = tick};
    int k;

    for (k = 0; k < GR_FAN; k++) {
        t.from[k] = t.to[k] = -1;
    }
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
 * place: p is no power of two. p is 2 or more.
 */
static inline uint32_t gr_halving_message_chunks(int p, const struct gr_torus *torus)
{
    (void) torus;
    return 0 == (p & (p - 1)) ? (uint32_t) p / 2 : (uint32_t) p;
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
