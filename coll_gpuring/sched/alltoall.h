/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall on a torus, with message combining: a pure function from (schedule, lane, tick) to one
 * exchange. Of the schedule it reads algo, p, pos and torus. Two algorithms: GR_ALGO_SUH_SHIN, all
 * dimensions at once, with one exchange per rank and tick, for extents 1, 2 and multiples of 4; and
 * GR_ALGO_ORDERED, one dimension after the other, both ways around, for any torus, rings and lines.
 *
 * Blocks are pairs (origin, destination), p of them at each rank all the time. They lie in an array
 * of p slots:
 *
 *      at first      slot v holds the block for rank v
 *      an exchange   sends the blocks of some slots, in a stated order, and puts those that it
 *                    receives into the same slots in the same order
 *      at the end    slot v holds the block that came from rank gr_alltoall_origin(v)
 *
 * So an exchange needs no list of blocks and no second array, at any size: its slots are a nest of
 * two runs (struct gr_slots), as of a vector datatype, and the array is the output or scratch. The
 * array is filled from the input first and copied to its final order last, as in Bruck's algorithm;
 * both are local.
 *
 * Why the slots are the same: in a ring of R ranks, where every rank sends to the next, let slot j
 * hold what must travel j hops yet, from me. Round k sends slots k+1..R-1. The rank before does the
 * same: what it had in slot k+1 arrives here for good, and the rest lies in the slots from which it
 * must be sent on.
 *
 *      round 0   send slots  1 2 3     after it, slot 1 holds the block from 1 rank behind
 *      round 1   send slots    2 3     after it, slot 2 holds the block from 2 ranks behind
 *      round 2   send slots      3     after it, slot 3 holds the block from 3 ranks behind
 *
 * Within a tick no two exchanges of the whole collective use the same link.
 */
#ifndef GR_SCHED_ALLTOALL_H
#define GR_SCHED_ALLTOALL_H

#include "sched/types.h"

/*
 * Slots: seen as a mixed-radix number, a slot has a digit of value 0..radix-1 with a weight.
 * Here are those slots whose digit is first, then those where it is first + step, ...
 * modulo radix, `count` values in all; where fold is set, these values are positions on a folded
 * line, see gr_fold(). So slots come in groups of `weight` consecutive ones.
 */
struct gr_slots {
    int32_t weight, radix;
    int32_t first, step, count;
    int32_t fold;
};

/* What one lane of a rank does in one tick. The message goes over |hops| links of dimension dim. */
struct gr_exchange {
    int32_t to;   /* rank that it sends to; -1: nothing is done in this tick */
    int32_t from; /* rank that it receives from; -1: nothing is done in this tick */
    int32_t dim;  /* dimension of the links */
    int32_t hops; /* number of links; upwards where positive */
    /* of the ring: from 1 on, all that is sent was received in the round before */
    uint32_t round;
    struct gr_slots slots; /* whose blocks are sent, and replaced by those received */
    uint32_t tick;         /* when it is done */
};

/*
 * Ticks of the schedule, alike at all ranks, and how many exchanges a rank may do in one (lanes 0,
 * 1, ...).
 */
uint32_t gr_alltoall_ticks(const struct gr_sched *s);
int gr_alltoall_lanes(const struct gr_sched *s);

/* The exchange of lane 0..lanes-1 in tick 0..ticks-1. The algorithm must suit the torus. */
struct gr_exchange gr_alltoall_step(const struct gr_sched *s, int lane, uint32_t tick);

/* Number of the slots of an exchange. */
static inline int gr_slots_count(const struct gr_sched *s, const struct gr_slots *slots)
{
    return slots->count * (s->p / slots->radix);
}

/*
 * The rank from which the block came that lies in the slot at the end. A permutation, and its own
 * inverse.
 */
int gr_alltoall_origin(const struct gr_sched *s, int slot);

#endif
