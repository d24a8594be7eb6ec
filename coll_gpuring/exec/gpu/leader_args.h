/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The argument of a leader's kernel: one kernel that does a whole call, on the buffers of all ranks
 * that share its device (leader.h).
 *
 * Compiles as C11, C++ and CUDA.
 */
#ifndef GR_EXEC_GPU_LEADER_ARGS_H
#define GR_EXEC_GPU_LEADER_ARGS_H

#include "exec/gpu/args.h"

/* Most ranks of such a call. */
#define GR_LEADER_RANKS 64

/*
 * A rank's input or output, as the leader's device sees it. Block b begins at
 *
 *      the buffer itself       at + (displacement of b + args.first) * elem_bytes
 *      a copy of the piece     at + b * cell
 */
struct gr_leader_side {
    gr_gpu_ptr at;
    uint64_t cell; /* bytes from block to block of a copy; 0: it is the buffer itself */
};

/*
 * A launch does one piece: elements [first, first + most) of each block. An Allreduce, Bcast or
 * Reduce has one block, the vector.
 */
struct gr_leader_args {
    struct gr_leader_side in[GR_LEADER_RANKS];  /* [rank]; not of ranks without input */
    struct gr_leader_side out[GR_LEADER_RANKS]; /* [rank]; not of ranks without output */
    uint64_t block;                             /* elements of a block, where counts is 0 */
    uint64_t first;                             /* first element of the piece in each block */
    uint64_t most;                              /* elements of the piece in a block, at most */
    gr_gpu_ptr counts; /* size_t [rank]: elements of its block, in pinned host memory; 0: `block` */
    gr_gpu_ptr displs; /* size_t [rank]: first element of its block; 0: rank * block */
    /* allgather: size_t [rank * ranks + block]: where blocks lie in that rank's output; 0: as displs */
    gr_gpu_ptr places;
    gr_gpu_ptr
        counter;     /* a uint64_t in device memory: blocks that have ended; 0 between launches */
    gr_gpu_ptr done; /* a uint64_t in pinned host memory: gets `value` when all is stored */
    uint64_t value;
    uint32_t coll;  /* enum gr_coll */
    uint32_t ranks; /* 2..GR_LEADER_RANKS */
    uint32_t root;
    uint32_t pad;
};

/* What a driver takes for the arguments of a kernel. */
#define GR_LEADER_ARGS_MOST 4096

#endif
