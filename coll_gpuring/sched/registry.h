/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry: the one list of all algorithms. A new algorithm needs its own file (algorithm.h
 * says what that offers), a line here, and a line in Makefile.am.
 *
 *      X(NAME, name)
 *
 *      GR_ALGO_NAME        the algorithm's number (sched.h)
 *      gr_algorithm_name   its descriptor
 *
 * Append: numbers travel between processes. With equal costs the first one is chosen.
 */
#ifndef GR_SCHED_REGISTRY_H
#define GR_SCHED_REGISTRY_H

#define GR_ALGORITHMS(X)    \
    X(RING, ring)           \
    X(CHAIN, chain)         \
    X(TREE, tree)           \
    X(FLAT, flat)           \
    X(ONESHOT, oneshot)     \
    X(TWOSHOT, twoshot)     \
    X(PAIRWISE, pairwise)   \
    X(BUCKET, bucket)       \
    X(SWING, swing)         \
    X(MST, mst)             \
    X(ORDERED, ordered)     \
    X(SUH_SHIN, suh_shin)   \
    X(TWO_LEVEL, two_level) \
    X(NODE_TREE, node_tree) \
    X(DOUBLING, doubling)   \
    X(PAT, pat)             \
    X(DISSEMINATION, dissemination)

#endif
