/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules: which algorithms there are, and the one entry to the steps of each.
 *
 * A schedule is a value (struct gr_sched) that owns nothing; its steps are computed when asked for.
 */
#ifndef GR_SCHED_SCHED_H
#define GR_SCHED_SCHED_H

#include "sched/protocol.h"
#include "sched/registry.h"
#include "sched/step.h"
#include "topo/torus.h"

#define GR_NUMBER_ALGORITHM(NAME, name) GR_ALGO_##NAME,
enum gr_algo { GR_ALGORITHMS(GR_NUMBER_ALGORITHM) GR_NALGOS };
#undef GR_NUMBER_ALGORITHM

/*
 * The ways that a call can take: an enum gr_algo, or one that has no schedule. Small messages go
 * through mailboxes (exec/mailbox.h); one kernel does the call of ranks that share a device
 * (exec/gpu/leader.h).
 */
enum { GR_WAY_MAILBOX = GR_NALGOS, GR_WAY_LEADER, GR_NWAYS };

/*
 * Not ways of a call, but links are made for them alike: call records, the mailboxes of an Alltoall
 * among many ranks (sched/groups.h), notes of step timing, and (GR_WAY_SMALL + an algorithm) an
 * algorithm's small messages.
 */
enum {
    GR_WAY_AGREEMENT = GR_NWAYS,
    GR_WAY_GRID,
    GR_WAY_NOTES,
    GR_WAY_SMALL,
    GR_NWAYS_MADE = GR_WAY_SMALL + (int) GR_NALGOS
};

/* The algorithm of a way that is one, be it for small messages. */
static inline enum gr_algo gr_way_algo(int way)
{
    return (enum gr_algo)(way < GR_WAY_SMALL ? way : way - GR_WAY_SMALL);
}

/* How a collective's data is cut into the chunks that the steps of an algorithm name. */
enum gr_layout {
    GR_PIPE, /* one vector cut into nchunks chunks that follow each other through a pipeline */
    /*
     * One block per rank: chunk number = rank of the block's owner. In an Alltoall: in the input
     * the rank that the block is for; in the output the rank that it comes from; in scratch as the
     * algorithm says.
     */
    GR_BLOCKS
};

/* Parameters of the schedule of one channel at one rank. */
struct gr_sched {
    enum gr_coll coll; /* what is computed */
    enum gr_algo algo; /* the algorithm, which has a schedule for coll */
    int p;             /* ranks, >= 1 */
    int pos;           /* my position, 0..p-1 */
    int root;          /* the root's position; 0 where the collective has none */
    /* order[position] = rank; NULL: position = rank. Not owned, must outlive the schedule */
    const int *order;
    uint32_t nchunks; /* GR_PIPE: chunks in the pipeline, >= 1. GR_BLOCKS: not read */
    /*
     * Algorithms along a torus: position = number on the torus = rank, order is NULL. Others do not
     * read these
     */
    struct gr_torus torus;
    int channel; /* >= 0: which of the routes through the torus (torus.h) */
};

/* Name of a collective ("reduce_scatter"), of an algorithm ("ring"), or NULL when out of range. */
const char *gr_coll_name(enum gr_coll coll);
const char *gr_algo_name(enum gr_algo algo);

/*
 * Name of a way ("ring", "mailbox", "call records"), or NULL when out of range; for small messages,
 * the algorithm's.
 */
const char *gr_way_name(int way);

/* A hash of all algorithms: their names in the order of their numbers, and their collectives. */
uint64_t gr_algos_hash(void);

/* What the algorithm is, for users: one line. */
const char *gr_algo_help(enum gr_algo algo);

/* Whether algo has a schedule for coll. */
int gr_algo_has(enum gr_algo algo, enum gr_coll coll);

/* Whether algo has schedules for p ranks, on the torus that they form (NULL: none is known). */
int gr_algo_fits(enum gr_algo algo, int p, const struct gr_torus *torus);

/* Whether a slice of a GR_PIPE has one chunk, because all links of a rank are used at once. */
int gr_algo_is_flat(enum gr_algo algo);

/* Whether it takes ranks by their numbers, along a torus where it needs one. */
int gr_algo_is_torus(enum gr_algo algo);

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

/* Number of steps, and step i of 0..len-1. The schedule must have passed gr_sched_check(). */
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

/*
 * How many links an algorithm needs, by formula, so that it is known before a set-up sends anything:
 * ranks that a rank receives from, and as many that it sends to, in a channel and for one root.
 */
struct gr_links_count {
    int most; /* of any rank, at most */
    int mean; /* of all ranks together, over their number, rounded up, at most */
};

/* The links of algo on p ranks; none where it does not suit them, or the torus that they form. */
struct gr_links_count gr_algo_links(enum gr_algo algo, int p, const struct gr_torus *torus);

/*
 * Along a torus: the route of the message of a step of s to rank to[0]: hops[d] links in dimension
 * d, upwards where positive.
 */
void gr_sched_route(const struct gr_sched *s, const struct gr_step *step, int hops[GR_MAX_DIMS]);

/* The field's name of what a step does: "send", "recvReduceCopySend", ... (a constant string). */
const char *gr_step_name(const struct gr_step *step);

#endif
