/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry: the one list of all algorithms. A new algorithm needs its own file (algorithm.h
 * says what that offers), a line here, and a line in Makefile.am.
 *
 *      X(NAME, name, HOW)
 *
 *      GR_ALGO_NAME        the algorithm's number (sched.h)
 *      gr_algorithm_name   its descriptor
 *      HOW                 how kernels get its steps:
 *                          COMPUTED      they compute them. The file offers gr_name_len() and
 *                                        gr_name_step() for the device too, and is named below
 *                          PRECOMPUTED   the host writes them into a table
 *                                        (exec/gpu/step_tables.h)
 *
 * Append: numbers travel between processes. With equal costs the first one is chosen.
 */
#ifndef GR_SCHED_REGISTRY_H
#define GR_SCHED_REGISTRY_H

#define GR_ALGORITHMS(X)                 \
    X(RING, ring, COMPUTED)              \
    X(CHAIN, chain, COMPUTED)            \
    X(TREE, tree, COMPUTED)              \
    X(FLAT, flat, COMPUTED)              \
    X(ONESHOT, oneshot, COMPUTED)        \
    X(TWOSHOT, twoshot, COMPUTED)        \
    X(PAIRWISE, pairwise, COMPUTED)      \
    X(BUCKET, bucket, PRECOMPUTED)       \
    X(SWING, swing, PRECOMPUTED)         \
    X(MST, mst, PRECOMPUTED)             \
    X(ORDERED, ordered, PRECOMPUTED)     \
    X(SUH_SHIN, suh_shin, PRECOMPUTED)   \
    X(TWO_LEVEL, two_level, PRECOMPUTED) \
    X(NODE_TREE, node_tree, PRECOMPUTED) \
    X(DOUBLING, doubling, PRECOMPUTED)   \
    X(PAT, pat, PRECOMPUTED)             \
    X(DISSEMINATION, dissemination, PRECOMPUTED)

#endif

/*
 * Outside of the guard: the files whose steps kernels compute, for the one file that asks for them.
 */
#if defined(GR_REGISTRY_OF_KERNELS)
#include "sched/chain.c"
#include "sched/flat.c"
#include "sched/pairwise.c"
#include "sched/ring.c"
#include "sched/tree.c"
#endif
