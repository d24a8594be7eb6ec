/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start-time unification: all ranks begin at one instant, though their clocks have nothing in
 * common.
 *
 * Rank i enters at s_i and sends a note to all. L_ij is the latency from i to j, F_i = max_j L_ij
 * that to its farthest. A note of j that arrives at i at arr_ji will have reached everybody in F_j
 * - L_ji from then. So i is through at
 *
 *      C_i = max( s_i + F_i,  max over j of ( arr_ji + F_j - L_ji ) ) = max over j of ( s_j + F_j )    for all i
 *
 *      rank 0   s0 |----------------------------> C      its own note needs F_0: nobody else's tells it to wait
 *      rank 1        s1 |-----------------------> C      note 0 came at arr_01; F_0 - L_01 was left
 *      rank 2                   s2 |------------> C      s2 + F_2 is the last of all
 *
 * The first term is needed: the last to enter hears of nobody for whom it must wait, and would
 * start up to F_i early. Where L_ji is estimated with an error e_ji, instants differ by |C_i - C_k|
 * <= max_j |e_ji - e_jk| <= 2e.
 *
 * On a torus this is done ring by ring, one dimension after the other, the instant of one being the
 * s of the next: the skews add up, and N (sum of extents - D) notes are sent instead of N (N - 1).
 * A rank that notices an instant late sends its next note late, to its next ring only; the others
 * would not hear of it. So the note says by how much, and that is taken off: the instant is one for
 * all, and who is late is late for all. With a clock that all ranks share, the note says s_j, and
 * the instants are the same whatever the estimates.
 *
 * Source: the proposal of docs/torus.md. Cost: sum over dimensions of the largest F after the last
 * one has entered.
 */
#ifndef GR_TIMING_COUNTDOWN_H
#define GR_TIMING_COUNTDOWN_H

#include "timing/latency.h"
#include "timing/port.h"

/* What every rank contributes; all hear the largest of all. */
#define GR_SYNC_VALUES 2

/* What has been heard in one dimension of one countdown. */
struct gr_sync_box {
    int heard;     /* notes, */
    int64_t until; /* the latest of their instants, */
    int64_t value[GR_SYNC_VALUES];
};

struct gr_countdown {
    const struct gr_port *port;
    const struct gr_latency *latency;
    uint64_t seq; /* of the countdown under way, or of the last one */
    int running, dim;
    int entered; /* this dimension's note has been made: */
    int next;    /* coordinate of the ring to which it goes next */
    struct gr_note note;
    int64_t until; /* this rank's instant, as far as it is known */
    int64_t value[GR_SYNC_VALUES];
    /*
     * A rank that is through may begin the next one before this rank is: not the one after that,
     * which needs a note of this rank. So two boxes per dimension, by seq's last bit.
     */
    struct gr_sync_box box[2][GR_MAX_DIMS];
};

/* Port and table must outlive it; the table may change between countdowns, on all ranks alike. */
void gr_countdown_init(struct gr_countdown *c, const struct gr_port *port,
                       const struct gr_latency *latency);

/* Begin the next one; all ranks begin the same. The one before must be over. */
void gr_countdown_begin(struct gr_countdown *c, const int64_t value[GR_SYNC_VALUES]);

/*
 * A note of kind GR_NOTE_SYNC arrived at that time. 0, or -1: it is none that a rank of this torus
 * may send now.
 */
int gr_countdown_take(struct gr_countdown *c, const struct gr_note *note, int64_t at);

/*
 * Go on: send, and see whether the instant is there. 1: it is, c->until says when it was and
 * c->value the largest values; 0: not yet; negative: the port's error. To be called again and again
 * without sleeping.
 */
int gr_countdown_poll(struct gr_countdown *c);

/* Ranks of which the countdown has not heard, for reports: only how many, in which dimension. */
int gr_countdown_missing(const struct gr_countdown *c);

#endif
