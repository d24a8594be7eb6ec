/* SPDX-License-Identifier: BSD-3-Clause */
/* The one entry to the steps of all algorithms: the dispatch to their files. */
#include "sched/algos.h"

/* A switch, not a table of functions: device code calls it too. */
GR_HD uint32_t gr_sched_len(const struct gr_sched *s)
{
    switch (s->algo) {
    case GR_ALGO_RING:
        return gr_ring_len(s);
    case GR_ALGO_CHAIN:
        return gr_chain_len(s);
    case GR_ALGO_TREE:
        return gr_tree_len(s);
    case GR_ALGO_ONESHOT:
        return gr_oneshot_len(s);
    case GR_ALGO_TWOSHOT:
        return gr_twoshot_len(s);
    case GR_ALGO_PAIRWISE:
        return gr_pairwise_len(s);
#if !defined(GR_SCHED_FOR_KERNELS)
    case GR_ALGO_BUCKET:
        return gr_bucket_len(s);
    case GR_ALGO_SWING:
        return gr_swing_len(s);
    case GR_ALGO_MST:
        return gr_mst_len(s);
    case GR_ALGO_TWO_LEVEL:
    case GR_ALGO_DOUBLING:
        return gr_two_level_len(s);
    case GR_ALGO_NODE_TREE:
        return gr_node_tree_len(s);
    case GR_ALGO_ORDERED:
    case GR_ALGO_SUH_SHIN:
        return gr_exchanges_len(s);
#endif
    default:
        return gr_flat_len(s);
    }
}

GR_HD struct gr_step gr_sched_step(const struct gr_sched *s, uint32_t i)
{
    switch (s->algo) {
    case GR_ALGO_RING:
        return gr_ring_step(s, i);
    case GR_ALGO_CHAIN:
        return gr_chain_step(s, i);
    case GR_ALGO_TREE:
        return gr_tree_step(s, i);
    case GR_ALGO_ONESHOT:
        return gr_oneshot_step(s, i);
    case GR_ALGO_TWOSHOT:
        return gr_twoshot_step(s, i);
    case GR_ALGO_PAIRWISE:
        return gr_pairwise_step(s, i);
#if !defined(GR_SCHED_FOR_KERNELS)
    case GR_ALGO_BUCKET:
        return gr_bucket_step(s, i);
    case GR_ALGO_SWING:
        return gr_swing_step(s, i);
    case GR_ALGO_MST:
        return gr_mst_step(s, i);
    case GR_ALGO_TWO_LEVEL:
    case GR_ALGO_DOUBLING:
        return gr_two_level_step(s, i);
    case GR_ALGO_NODE_TREE:
        return gr_node_tree_step(s, i);
    case GR_ALGO_ORDERED:
    case GR_ALGO_SUH_SHIN:
        return gr_exchanges_step(s, i);
#endif
    default:
        return gr_flat_step(s, i);
    }
}
