/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Countdown: all ranks start at one instant, although their clocks are independent.
 *
 * Rank i enters at s_i and sends a note to all other ranks. L_ij is the latency from i to j, and
 * F_i = max_j L_ij the latency to the rank farthest from i. A note of j that arrives at i at time
 * arr_ji has reached all ranks F_j - L_ji later. So rank i starts at
 *
 *      C_i = max( s_i + F_i,  max over j of ( arr_ji + F_j - L_ji ) )
 *          = max over all j of ( s_j + F_j ),  the same instant C for all i
 *
 *      rank 0   s0 |----------------------------> C      s0 + F_0 is not the largest
 *      rank 1        s1 |-----------------------> C      note of 0 came at arr_01
 *      rank 2                   s2 |------------> C      s2 + F_2 is the largest: C
 *
 * The term s_i + F_i is needed: the last rank to enter has received all notes already, and would
 * start up to F_i early. If L_ji has an error e_ji, then |C_i - C_k| <= max_j |e_ji - e_jk| <= 2e.
 *
 * On a torus the countdown runs ring by ring, one dimension after the other; C of one dimension is
 * s of the next. Skews add up, but ranks send N (sum of extents - D) notes instead of N (N - 1). A
 * rank that notices C late sends its next note late, and only to its next ring. So the note
 * contains the lateness, and receivers subtract it: C is the same for all ranks, and only the late
 * rank is late. If all ranks share one clock, notes contain s_j, and C does not depend on
 * latencies.
 *
 * Source: the proposal in docs/timing.md. Cost after the last rank has entered: the sum over
 * dimensions of the largest F.
 */
#ifndef GR_TIMING_COUNTDOWN_H
#define GR_TIMING_COUNTDOWN_H

#include "timing/latency.h"
#include "timing/port.h"

/* Values that each rank contributes. Every rank receives their maxima. */
#define GR_SYNC_VALUES 2

/* The notes received in one dimension of one countdown. */
struct gr_sync_box {
    int received;                  /* number of notes */
    int64_t instant;               /* latest s_j + F_j of the senders, by this rank's clock, ns */
    int64_t value[GR_SYNC_VALUES]; /* maxima of the notes' values */
};

struct gr_countdown {
    const struct gr_port *port;
    const struct gr_latency *latency;
    uint64_t seq;                  /* number of the current or last countdown */
    int running;                   /* a countdown is running */
    int dim;                       /* its current dimension */
    int entered;                   /* this rank has entered the dimension: `note` is set */
    int next;                      /* coordinate to which `note` is sent next */
    struct gr_note note;           /* this rank's note for the dimension */
    int64_t instant;               /* the start instant as known so far, ns */
    int64_t value[GR_SYNC_VALUES]; /* maxima of the values received so far */

    /*
     * Received notes, by the last bit of seq. Another rank may begin the next countdown before this
     * rank has finished the current one, but not the next but one, which needs this rank's note.
     */
    struct gr_sync_box box[2][GR_MAX_DIMS];
};

/*
 * Initialise. port and latency must outlive it. Latencies may change between countdowns, on all
 * ranks at the same point.
 */
void gr_countdown_init(struct gr_countdown *c, const struct gr_port *port,
                       const struct gr_latency *latency);

/* Begin the next countdown, on all ranks. The one before must have finished on this rank. */
void gr_countdown_begin(struct gr_countdown *c, const int64_t value[GR_SYNC_VALUES]);

/*
 * Receive a note of kind GR_NOTE_SYNC that arrived at time `at`. Returns 0, or -1: it is invalid.
 */
int gr_countdown_receive(struct gr_countdown *c, const struct gr_note *note, int64_t at);

/*
 * Advance: send notes and test whether the start instant has passed. Returns 1: it has, c->instant
 * is this instant and c->value the maxima; 0: not yet; negative: the port's error. Poll without
 * sleeping.
 */
int gr_countdown_poll(struct gr_countdown *c);

/* Number of ranks of the current dimension whose notes are missing, for messages. */
int gr_countdown_missing(const struct gr_countdown *c);

#endif
