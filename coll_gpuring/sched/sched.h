/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules: which algorithms there are, and the one entry to the steps of each.
 *
 * A schedule is a value (struct gr_sched) that owns nothing; its steps are computed when asked for.
 */
#ifndef GR_SCHED_SCHED_H
#define GR_SCHED_SCHED_H

#include "protocol.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a collective computes. Allgatherv and Reduce_scatter_block are layouts of these (split.h). */
enum gr_coll { GR_COLL_ALLREDUCE, GR_COLL_ALLGATHER, GR_COLL_REDUCE_SCATTER, GR_COLL_BCAST, GR_COLL_REDUCE, GR_NCOLLS };

enum gr_algo {
    GR_ALGO_RING,
    GR_ALGO_CHAIN,
    GR_ALGO_TREE,
    GR_ALGO_FLAT,
    GR_ALGO_ONESHOT,
    GR_ALGO_TWOSHOT,
    GR_NALGOS
};

/*
 * The ways that a call can take: an enum gr_algo, or one that has no schedule. Small messages go through
 * mailboxes (exec/mailbox.h).
 */
enum { GR_WAY_MAILBOX = GR_NALGOS, GR_NWAYS };

/* No way of a call: what a call exchanges before it takes one. It needs boards of its own, made like a way's. */
enum { GR_WAY_ARRIVALS = GR_NWAYS, GR_NWAYS_MADE };

/* How a collective's data is cut into the chunks that the steps of an algorithm name. */
enum gr_layout {
    GR_PIPE,  /* one vector cut into nchunks pieces that follow each other through a pipeline */
    GR_BLOCKS /* one block per rank: chunk number = rank of the block's owner */
};

/* Parameters of the schedule of one channel at one rank. */
struct gr_sched {
    enum gr_coll coll;
    enum gr_algo algo;
    int p;             /* ranks, >= 1 */
    int pos;           /* my position, 0..p-1 */
    int root;          /* the root's position; 0 where the collective has none */
    const int *order;  /* order[position] = rank; NULL: position = rank. Not owned, must outlive the schedule */
    uint32_t nchunks;  /* GR_PIPE: chunks in the pipeline, >= 1. GR_BLOCKS: not read */
};

/* Name of a collective ("reduce_scatter"), of an algorithm ("ring"), or NULL when out of range. */
const char *gr_coll_name(enum gr_coll coll);
const char *gr_algo_name(enum gr_algo algo);

/* Name of a way ("ring", "mailbox", "arrivals"), or NULL when out of range. */
const char *gr_way_name(int way);

/* Whether algo has a schedule for coll; and for so many ranks. */
int gr_algo_has(enum gr_algo algo, enum gr_coll coll);
int gr_algo_fits(enum gr_algo algo, int p);

/* Whether algo needs a link to everybody. */
int gr_algo_is_flat(enum gr_algo algo);

/*
 * Whether algo, in place, overwrites input that it has sent before all have taken it: such messages must not be fetched
 * from where they lie.
 */
int gr_algo_is_hasty(enum gr_algo algo);

/* The layout that algo wants for coll. */
enum gr_layout gr_algo_layout(enum gr_algo algo, enum gr_coll coll);

/* 0, or -1 when a field is out of range or algo has no schedule for coll. */
int gr_sched_check(const struct gr_sched *s);

/* Number of steps, and step i of 0..len-1. The schedule must have passed gr_sched_check(). */
GR_HD uint32_t gr_sched_len(const struct gr_sched *s);
GR_HD struct gr_step gr_sched_step(const struct gr_sched *s, uint32_t i);

/*
 * Ranks from which (in) and to which (out) some step of algo may receive or send, each once. Both arrays
 * have room for p entries; the counts are returned through nin and nout. They depend on no collective:
 * links that were made for one serve all. Only GR_ALGO_TREE looks at root (a position).
 */
void gr_algo_peers(enum gr_algo algo, int p, int pos, int root, const int *order, int *in, int *nin, int *out,
                   int *nout);

/* The field's name of what a step does: "send", "recvReduceCopySend", ... (a constant string). */
const char *gr_step_name(const struct gr_step *step);

#ifdef __cplusplus
}
#endif
#endif
