/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor of an algorithm: all that gpuring knows of it. Each algorithm's file ends in one,
 * and registry.h lists them.
 */
#ifndef GR_SCHED_ALGORITHM_H
#define GR_SCHED_ALGORITHM_H

#include "sched/cost.h"
#include "sched/links.h"
#include "sched/sched.h"

enum gr_trait {
    /* All links of a rank are used at once: a slice of a GR_PIPE has one chunk. */
    GR_TRAIT_FLAT = 1,
    /* Position = rank, without an order; channels differ as `channels` says (torus.h). */
    GR_TRAIT_TORUS = 2,
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
    /* ---- steps, gr_sched_len() and gr_sched_step() ---- */
    uint32_t (*len)(const struct gr_sched *s);
    struct gr_step (*step)(const struct gr_sched *s, uint32_t i);
    /* Its links, at most. The torus may be unknown (ndims 0) where it suits that. */
    struct gr_links_count (*links)(int p, const struct gr_torus *torus);
    /* Most chunks of a message with the layout GR_BLOCKS, on any channel. NULL: one. */
    uint32_t (*message_chunks)(int p, const struct gr_torus *torus);
    /* GR_TRAIT_TORUS: channels whose schedules differ. NULL: one. */
    int (*channels)(enum gr_coll coll, const struct gr_torus *torus);
    /* GR_TRAIT_TORUS: gr_sched_route(). NULL: that of a channel that goes one way around. */
    void (*route)(const struct gr_sched *s, const struct gr_step *step, int hops[GR_MAX_DIMS]);
    /* ---- costs ---- */
    /* Microseconds inside a node. NULL: those of `pipe`. */
    double (*cost)(const struct gr_cost_terms *terms);
    /* A pipeline of chunks inside a node, whose length is chosen. NULL: chunks fill a slot. */
    struct gr_cost_pipe (*pipe)(const struct gr_cost_terms *terms);
    /* What it does between nodes. */
    struct gr_internode_cost (*internode_cost)(const struct gr_cost_terms *terms);
    /*
     * Ranks up to which it is chosen where nothing is forced. NULL: any; with GR_TRAIT_TORUS none.
     */
    int (*auto_ranks)(const struct gr_cost_terms *terms);
};

/* The descriptors, by enum gr_algo. */
extern const struct gr_algorithm *const gr_algorithms[GR_NALGOS];

#define GR_DECLARE_ALGORITHM(NAME, name) extern const struct gr_algorithm gr_algorithm_##name;
GR_ALGORITHMS(GR_DECLARE_ALGORITHM)
#undef GR_DECLARE_ALGORITHM

#endif
