/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The algorithms behind sched.h, one file each, and the few words they are written in.
 * Only the files of this folder include this.
 */
#ifndef GR_SCHED_ALGOS_H
#define GR_SCHED_ALGOS_H

#include "sched/sched.h"

/* What takes too long to find for a kernel is left out there. */
#if defined(__CUDACC__) && !defined(GR_SCHED_FOR_KERNELS)
#define GR_SCHED_FOR_KERNELS
#endif

#ifdef __cplusplus
extern "C" {
#endif

GR_HD uint32_t gr_ring_len(const struct gr_sched *s);
GR_HD struct gr_step gr_ring_step(const struct gr_sched *s, uint32_t i);
GR_HD uint32_t gr_chain_len(const struct gr_sched *s);
GR_HD struct gr_step gr_chain_step(const struct gr_sched *s, uint32_t i);
GR_HD uint32_t gr_tree_len(const struct gr_sched *s);
GR_HD struct gr_step gr_tree_step(const struct gr_sched *s, uint32_t i);
GR_HD uint32_t gr_flat_len(const struct gr_sched *s);
GR_HD struct gr_step gr_flat_step(const struct gr_sched *s, uint32_t i);
GR_HD uint32_t gr_oneshot_len(const struct gr_sched *s);
GR_HD struct gr_step gr_oneshot_step(const struct gr_sched *s, uint32_t i);
GR_HD uint32_t gr_twoshot_len(const struct gr_sched *s);
GR_HD struct gr_step gr_twoshot_step(const struct gr_sched *s, uint32_t i);
GR_HD uint32_t gr_pairwise_len(const struct gr_sched *s);
GR_HD struct gr_step gr_pairwise_step(const struct gr_sched *s, uint32_t i);
GR_HD uint32_t gr_bucket_len(const struct gr_sched *s);
GR_HD struct gr_step gr_bucket_step(const struct gr_sched *s, uint32_t i);
GR_HD uint32_t gr_swing_len(const struct gr_sched *s);
GR_HD struct gr_step gr_swing_step(const struct gr_sched *s, uint32_t i);
GR_HD uint32_t gr_mst_len(const struct gr_sched *s);
GR_HD struct gr_step gr_mst_step(const struct gr_sched *s, uint32_t i);
uint32_t gr_two_level_len(const struct gr_sched *s);
struct gr_step gr_two_level_step(const struct gr_sched *s, uint32_t i);
uint32_t gr_node_tree_len(const struct gr_sched *s);
struct gr_step gr_node_tree_step(const struct gr_sched *s, uint32_t i);

/*
 * Alltoall along a torus (alltoall.h); the most chunks of a step of it, and the way of its message.
 */
uint32_t gr_exchanges_len(const struct gr_sched *s);
struct gr_step gr_exchanges_step(const struct gr_sched *s, uint32_t i);
uint32_t gr_exchanges_most(enum gr_algo algo, int p, const struct gr_torus *torus);
void gr_exchanges_way(const struct gr_sched *s, const struct gr_step *step, int hops[GR_MAX_DIMS]);

/*
 * Positions that are linked to pos in either tree of the double tree with that root: up to 6, each
 * once.
 */
int gr_tree_neighbours(int p, int pos, int root, int *neighbours);

#ifdef __cplusplus
}
#endif

/* a mod p for a >= -p */
GR_HD static inline int gr_mod(int a, int p)
{
    return (a + p) % p;
}

GR_HD static inline int gr_rank_at(const struct gr_sched *s, int pos)
{
    return NULL == s->order ? pos : GR_LOAD(&s->order[pos]);
}

/* A step that moves one chunk: from the operand in `operand`, to `dest` where bits has GR_STORE. */
GR_HD static inline struct gr_step gr_step_make(int bits, int operand, int dest, uint32_t chunk,
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
GR_HD static inline int gr_place_bits(int n)
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
GR_HD static inline int gr_place_of(int n, int bits, int x)
{
    return (int) ((((int64_t) x + 1) * (1 << bits) - 1) / n);
}

GR_HD static inline int gr_place_at(int n, int bits, int place)
{
    return (int) ((int64_t) place * n >> bits);
}

/* Entry n of a short array that device code keeps in registers, where no index can be computed. */
GR_HD static inline void gr_put(int32_t array[GR_FAN], int n, int value)
{
    int k;

    for (k = 0; k < GR_FAN; k++) {
        /* gr_step_make() has set all. NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
        array[k] = k == n ? value : array[k];
    }
}

/* Add the link from, or to, a position. */
GR_HD static inline void gr_step_from(const struct gr_sched *s, struct gr_step *t, int pos)
{
    gr_put(t->from, t->nfrom++, gr_rank_at(s, pos));
}

GR_HD static inline void gr_step_to(const struct gr_sched *s, struct gr_step *t, int pos)
{
    gr_put(t->to, t->nto++, gr_rank_at(s, pos));
}

#endif
