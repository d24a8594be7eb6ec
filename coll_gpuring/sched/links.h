/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many links an algorithm needs, by formula: known before a set-up sends anything. Which ones
 * they are follows from its steps (gr_sched_peers()).
 */
#ifndef GR_SCHED_LINKS_H
#define GR_SCHED_LINKS_H

#include "sched/sched.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ranks that a rank receives from, and as many that it sends to, in a channel and for one root. */
struct gr_links_count {
    int most; /* of any rank, at most */
    int mean; /* of all ranks together, over their number, rounded up, at most */
};

/* The links of an algorithm on p ranks; none where it does not suit them. */
struct gr_links_count gr_algo_links(enum gr_algo algo, int p, const struct gr_torus *torus);

/* ---- for descriptors: formulas that several algorithms have ---- */

/* One: rings and chains. */
struct gr_links_count gr_links_one(int p, const struct gr_torus *torus);

/* Four: the parents and children of a rank in two binary trees. */
struct gr_links_count gr_links_two_trees(int p, const struct gr_torus *torus);

/* To all others. */
struct gr_links_count gr_links_all(int p, const struct gr_torus *torus);

/* log2 p, rounded up: doubling. */
struct gr_links_count gr_links_doubling(int p, const struct gr_torus *torus);

/* The same along each dimension of a torus. */
struct gr_links_count gr_links_torus_doubling(int p, const struct gr_torus *torus);

/* A leader of `ranks` ranks, whose links to and from the others of its node come to those given. */
struct gr_links_count gr_links_leaders(int ranks, int between);

#ifdef __cplusplus
}
#endif
#endif
