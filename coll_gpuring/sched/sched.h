/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules: what is known of each algorithm, and the one entry to the steps of all. */
#ifndef GR_SCHED_SCHED_H
#define GR_SCHED_SCHED_H

#include "sched/types.h"

struct gr_algorithm;

/* The descriptors (algorithm.h), by enum gr_algo. */
extern const struct gr_algorithm *const gr_algorithms[GR_NALGOS];

/* Name of a collective ("reduce_scatter"), of an algorithm ("ring"), or NULL when out of range. */
const char *gr_coll_name(enum gr_coll coll);
const char *gr_algo_name(enum gr_algo algo);

/*
 * Name of a use of links ("ring", "mailbox", "call records"), or NULL when out of range; for small
 * messages, the algorithm's.
 */
const char *gr_use_name(int use);

/* A hash of all algorithms: their names in the order of their numbers, and their collectives. */
uint64_t gr_algos_hash(void);

/* Whether algo has a schedule for coll. */
int gr_algo_has(enum gr_algo algo, enum gr_coll coll);

/* Whether algo has schedules for p ranks, on the torus that they form (NULL: none is known). */
int gr_algo_fits(enum gr_algo algo, int p, const struct gr_torus *torus);

/* Whether position = rank, as along a torus: the algorithm takes no order of ranks. */
int gr_algo_is_by_rank(enum gr_algo algo);

/* Whether each root needs links of its own. */
int gr_algo_is_rooted(enum gr_algo algo);

/*
 * Whether messages may be fetched from where they lie: a message is one run of memory, and what was
 * sent is overwritten only after all have taken it, be it in place or in scratch.
 */
int gr_algo_may_fetch(enum gr_algo algo);

/*
 * Whether, in place or in scratch, it overwrites what it has sent while others may not have taken
 * it yet.
 */
int gr_algo_overwrites_sent(enum gr_algo algo);

/* Whether some step of coll uses GR_TMP, which then is as long as the vector. */
int gr_algo_has_scratch(enum gr_algo algo, enum gr_coll coll);

/*
 * GR_PIPE: chunks that a slice has at most: 1, or 0: any number, which follow each other through
 * pipelines.
 */
uint32_t gr_algo_slice_chunks(enum gr_algo algo);

/*
 * Channels that differ in their schedules, by the routes that they take or by the order of ranks;
 * channel c takes number c modulo that many.
 */
uint32_t gr_algo_schedules(enum gr_algo algo, enum gr_coll coll, const struct gr_torus *torus);

/* The layout that algo wants for coll. */
enum gr_layout gr_algo_layout(enum gr_algo algo, enum gr_coll coll);

/* 0, or -1 when a field is out of range or algo has no schedule for coll. */
int gr_sched_check(const struct gr_sched *s);

/*
 * Number of steps, and step i of 0..len-1. The schedule must have passed gr_sched_check(). One rank
 * stores its input, or has no steps (bcast), whatever the algorithm.
 */
uint32_t gr_sched_len(const struct gr_sched *s);
struct gr_step gr_sched_step(const struct gr_sched *s, uint32_t i);

/*
 * Most chunks that a step of algo moves for coll, in any channel: one of a GR_PIPE. Where it is
 * above 1, a link must have one slot more than a message of so many chunks takes: ranks send such a
 * message before they receive the like, and with all slots of a ring full no rank could proceed.
 */
uint32_t gr_algo_message_chunks(enum gr_algo algo, enum gr_coll coll, int p,
                                const struct gr_torus *torus);

/*
 * Ranks from which (in) and to which (out) some step of s->algo may receive or send, each once:
 * what links set-up must make. They are those of all collectives, so that links that were made for
 * one serve all; coll is not read. Where the algorithm is rooted they are those of s->root, else
 * those of all roots. Both arrays have room for p entries; the counts are returned through nin and
 * nout.
 */
void gr_sched_peers(const struct gr_sched *s, int *in, int *nin, int *out, int *nout);

/* The links of algo on p ranks; none where it does not suit them, or the torus that they form. */
struct gr_links_count gr_algo_links(enum gr_algo algo, int p, const struct gr_torus *torus);

/* The field's name of what a step does: "send", "recvReduceCopySend", ... (a constant string). */
const char *gr_step_name(const struct gr_step *step);

#endif
