/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For descriptors (sched/algorithm.h): formulas of gr_algo_links() that several algorithms have.
 */
#ifndef GR_SCHED_LINKS_H
#define GR_SCHED_LINKS_H

#include "sched/sched.h"

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

#endif
