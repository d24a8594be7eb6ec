/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vocabulary of gpuring: collectives, and one step of one channel of one rank.
 *
 * Every algorithm is a pure function from (parameters, position, step number) to a gr_step, and
 * every executor (host, GPU kernel, network proxy, simulator, symbolic checker) runs the same
 * steps. A step names chunk numbers and ranks, never bytes or pointers; split.h says where a chunk
 * lies.
 *
 *      from[0] ---.                         .---> to[0]
 *      from[1] ---+-- RECV --> REDUCE --+---+---> to[1]      SEND
 *      ...     ---'              ^      |   '---> ...
 *                             operand   '-------> dest       STORE
 *
 * libc only; kernels include it, so it compiles as C++, too.
 */
#ifndef GR_SCHED_STEP_H
#define GR_SCHED_STEP_H

#include <stddef.h>
#include <stdint.h>

/*
 * What a collective computes. Allgatherv and Reduce_scatter_block are layouts of these (split.h).
 */
enum gr_coll {
    GR_COLL_ALLREDUCE,
    GR_COLL_ALLGATHER,
    GR_COLL_REDUCE_SCATTER,
    GR_COLL_BCAST,
    GR_COLL_REDUCE,
    GR_COLL_ALLTOALL,
    GR_COLL_BARRIER, /* a vector of one element, a token, whose value nobody reads */
    GR_NCOLLS
};

/* Sets of collectives. Rooted: one rank has the input, or gets the result. */
#define GR_BIT(coll) (1u << (coll))
#define GR_ROOTED_COLLS (GR_BIT(GR_COLL_BCAST) | GR_BIT(GR_COLL_REDUCE))
#define GR_BLOCK_COLLS \
    (GR_BIT(GR_COLL_ALLREDUCE) | GR_BIT(GR_COLL_ALLGATHER) | GR_BIT(GR_COLL_REDUCE_SCATTER))

static inline int gr_coll_is_rooted(enum gr_coll coll)
{
    return 0 != (GR_ROOTED_COLLS & GR_BIT(coll));
}

/*
 * What a step does, in the order in which it is done. A step without bits does nothing and is
 * skipped.
 */
enum gr_step_bits {
    GR_RECV = 1, /* take the next message of each link from[0..nfrom) */
    /*
     * Combine the operand and the messages from the left: ((operand op from[0]) op from[1]) ...
     * The first `before` messages come before the operand: ((from[0] op operand) op from[1]) ...
     * where `before` is 1.
     */
    GR_REDUCE = 2,
    GR_STORE = 4, /* write the value to dest */
    GR_SEND = 8,  /* put the value into each link to[0..nto) */
    /*
     * The value is a result. What is stored is not touched again. The receiver of the message
     * stores it as it is, to the same elements of GR_OUT, which it neither reads nor writes before.
     */
    GR_FINAL = 16
};
/* Without RECV the value is the operand. RECV without REDUCE takes one message as it is. */

/* Where an operand is read and a destination written. */
enum gr_space {
    GR_IN,  /* the caller's input; may be the same memory as GR_OUT (in place) */
    GR_OUT, /* the caller's output */
    GR_TMP  /* scratch of the plan: partial sums, and blocks that are only passed on */
};

/* Links that one step reads or writes at most: the others of a node of nine. Trees need three. */
#define GR_FAN 8

struct gr_step {
    uint8_t bits;                     /* of enum gr_step_bits */
    uint8_t operand;                  /* enum gr_space */
    uint8_t dest;                     /* enum gr_space */
    uint8_t nfrom;                    /* links that it receives from: entries of from[] */
    uint8_t nto;                      /* links that it sends to: entries of to[] */
    uint8_t before;                   /* REDUCE: messages that come before the operand, 0..nfrom */
    int32_t from[GR_FAN], to[GR_FAN]; /* ranks of the communicator */
    uint32_t first, stride, count;    /* the chunks first, first + stride, ... of the message */
    /*
     * added to the number of a chunk where it is written to dest, here or by who receives a result
     */
    int32_t shift;
    /*
     * Time in units of messages: those sent in one tick share no link (of one tree, where there are
     * two).
     */
    uint32_t tick;
};

#endif
