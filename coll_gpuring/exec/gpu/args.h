/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data that host and kernels share: the argument of a launch, and the structures that it points
 * to.
 *
 * A kernel runs the steps of one rank, with one block per channel, over links in device memory. The
 * state of a channel is its cursor (struct gr_gpu_cursor) and the counters of its links
 * (gr_gpu_end.count). A block that makes no progress for a while stores both and exits, before it
 * touches the slot that it waits for. The next launch continues there.
 *
 * Compiles as C11, C++ and CUDA.
 */
#ifndef GR_EXEC_GPU_ARGS_H
#define GR_EXEC_GPU_ARGS_H

#include "sched/protocol.h"
#include "sched/step.h"

#include "exec/gpu/kernels.h"

/*
 * An address for a device: of its memory, a peer's memory or pinned host memory. The host never
 * dereferences it.
 */
typedef uint64_t gr_gpu_ptr;

/* Most channels of a call, which are the blocks of a launch. */
#define GR_GPU_CHANNELS 32

/*
 * Slots of LL and LL128 consist of units, one for each thread that moves data. A unit of LL is 32
 * bytes with 16 bytes of data. A unit of LL128 is 16 bytes; every eighth one has 8 bytes of data
 * and the flag.
 */
#define GR_LL_UNIT 32
#define GR_LL128_UNIT 16
#define GR_LINE_UNITS (GR_GPU_THREADS - 32) /* units of a slot */

/* Bytes of a slot of LL or LL128. */
static inline uint64_t gr_line_slot_bytes(enum gr_protocol protocol)
{
    return GR_LINE_UNITS * (GR_PROTOCOL_LL == protocol ? GR_LL_UNIT : GR_LL128_UNIT);
}

/* Bytes of data of a slot, with n threads (whole warps) and elements of elem_bytes. */
static inline uint64_t gr_line_bytes(enum gr_protocol protocol, uint32_t n, uint64_t elem_bytes)
{
    return GR_PROTOCOL_LL == protocol ? 16 * (uint64_t) n : n / 8 * (16 == elem_bytes ? 112 : 120);
}

/* Alignment of counters and slots, in bytes, so that they share no cache line. */
#define GR_GPU_ALIGN 128

/*
 * A link (fifo.h) as kernels at one end use it. Each counter is in the memory of the end that polls
 * it, so polls do not cross a bus:
 *
 *      writer's device                       reader's device
 *      [head]  <------ stores ------------   reader        reads slots and tail
 *      writer  ------- stores ------------>  [tail][slot][slot] ...
 *      polls head
 *
 * A link has separate slots and a separate head for each protocol (sched/protocol.h). In LL and
 * LL128 the slots contain flags, and there is no tail. The flag of a message is its number on the
 * link, from 1 on. All flags are zero when a link is created.
 */
struct gr_gpu_end {
    gr_gpu_ptr slots; /* the first slot; 0: not connected */
    gr_gpu_ptr
        mine; /* counter that this end writes: the writer's tail (0: none), or reader's head */
    gr_gpu_ptr other; /* counter that the other end writes; 0: none, for readers of LL and LL128 */

    /*
     * uint32_t [slot]: bytes in use of each slot, which a writer stores before the tail. The
     * network reads it: valid_bytes of struct gr_fifo (link/fifo.h). 0: inside a node
     */
    gr_gpu_ptr valid_bytes;

    /* Kernels write these: */
    uint64_t count;    /* value of the counter `mine` */
    uint64_t position; /* its slot: count modulo the link's number of slots */
};

/*
 * Zero copy: the writer stores a final result (GR_FINAL) in the reader's GR_OUT instead of a slot,
 * if the reader allows it and the writer can access this memory. The slot stays unused, but counts
 * as usual. Two words synchronise the ends of a Simple link, next to the counters that they poll:
 *
 *      written by   next to              value
 *      reader       the writer's heads   open: 2 * call + 1: allowed, 2 * call: not allowed
 *      writer       the reader's tail    zero_copy: the last call whose results bypass the slots
 *
 * No rank writes to the reader's GR_OUT before its kernel has stored `open`. The writer stores
 * `zero_copy` after it has read `open`, so `zero_copy` is never ahead of the reader's call.
 */
#define GR_GPU_OPEN_AT (GR_NPROTOCOLS * sizeof(uint64_t)) /* offset of `open` from Simple's head */
#define GR_GPU_ZERO_COPY_AT sizeof(uint64_t)              /* offset of `zero_copy` from the tail */

/* Where a channel is before it waits for a slot, as in struct gr_cursor (stepper.h). */
struct gr_gpu_cursor {
    uint32_t slice; /* current slice */
    uint32_t index; /* number of the current step */
    uint32_t run;   /* chunk of the step's run */
    uint32_t over;  /* 1: the channel has finished; of a launch, from its argument */
    uint64_t done;  /* elements of the chunk that are done */
};

/*
 * A step as kernels read it (step_tables.h): struct gr_step, with numbers modulo 2^16. All threads
 * of a scheduler load the head, and each one the end of its own link.
 */
struct gr_gpu_step_head {
    uint8_t bits, operand, dest, nfrom, nto, before;
    uint16_t first, stride, count, shift, pad;
};
struct gr_gpu_step {
    struct gr_gpu_step_head head;
    uint16_t end[2 * GR_FAN]; /* ranks: from[], then to[] */
};

/* Most ranks: what a step can name. */
#define GR_GPU_RANKS UINT16_MAX

/*
 * Where chunks lie: the numbers of struct gr_split from which a kernel finds one without a division.
 * Cell number n of a block is at begin + n * cell, up to begin + count.
 */
struct gr_gpu_split {
    gr_gpu_ptr cells; /* struct gr_cells of each block; 0: blocks are as long as each other */
    uint64_t block;   /* elements of a block, and where cells is 0 the distance of blocks */
    uint64_t end;     /* elements of all blocks: the last ones may be shorter or empty */
    uint64_t cell;    /* elements of a cell */
    uint32_t blocks;  /* 1: chunks are blocks; 0: of one block, the vector */
    uint32_t own;     /* bit s: space s has this rank's own block only, at 0 */
    uint32_t nslices; /* slices of a channel */
    uint32_t nchunks; /* cells of a slice in a block */
};

/* Why a block has exited. */
enum gr_gpu_state {
    GR_GPU_DONE = 1,   /* the channel has finished */
    GR_GPU_LEFT = 2,   /* a slot was not ready in time: launch again */
    GR_GPU_ABORTED = 3 /* a block that waited found the abort word set */
};

/*
 * The report of a block that exits, in pinned host memory. `word` is stored last, with release: all
 * that the block has stored is visible to whoever has seen it. The other members are of a block that
 * left.
 */
struct gr_gpu_report {
    uint64_t word;  /* gr_gpu_report_word() */
    uint32_t slice; /* GR_GPU_LEFT: current slice */
    uint32_t index; /* GR_GPU_LEFT: number of the step that waits */
    uint32_t from;  /* GR_GPU_LEFT: bit k: no full slot from from[k]; may be 0 in LL and LL128 */
    uint32_t to;    /* GR_GPU_LEFT: bit k: no free slot to to[k] */
    uint64_t pad[5];
};

/* One word, so that one store says all: state, number of the launch, slots handled in it. */
#define GR_GPU_REPORT_LAUNCHES ((uint64_t) 1 << 30) /* launches are numbered modulo this */

#if defined(__CUDACC__)
#define GR_HOST_DEVICE __host__ __device__
#else
#define GR_HOST_DEVICE
#endif
GR_HOST_DEVICE static inline uint64_t gr_gpu_report_word(uint64_t launch, uint32_t state,
                                                         uint64_t moved)
{
    return moved << 32 | launch % GR_GPU_REPORT_LAUNCHES << 2 | state;
}

/* Whether the word is the report of that launch. */
static inline int gr_gpu_report_is_of(uint64_t word, uint64_t launch)
{
    return 0 != word % 4 && (word >> 2) % GR_GPU_REPORT_LAUNCHES == launch % GR_GPU_REPORT_LAUNCHES;
}

static inline enum gr_gpu_state gr_gpu_report_state(uint64_t word)
{
    return (enum gr_gpu_state)(word % 4);
}

static inline uint64_t gr_gpu_report_moved(uint64_t word)
{
    return word >> 32;
}

/* The argument of every kernel, by value. */
struct gr_gpu_args {
    struct gr_gpu_split split;
    gr_gpu_ptr space[3]; /* address of element 0, by enum gr_space */
    gr_gpu_ptr steps;    /* struct gr_gpu_step [channel % schedules * nsteps + number] */
    uint32_t nsteps;     /* steps of a channel in one slice */
    uint32_t schedules;  /* number of different schedules of channels: gr_algo_schedules() */
    uint32_t p;          /* number of ranks */
    gr_gpu_ptr in;       /* struct gr_gpu_end [channel * p + rank]: links from ranks */
    gr_gpu_ptr out;      /* struct gr_gpu_end [channel * p + rank]: links to ranks */
    uint32_t protocol;   /* enum gr_protocol */
    gr_gpu_ptr cursor;   /* struct gr_gpu_cursor [channel], in device memory */
    gr_gpu_ptr report;   /* struct gr_gpu_report [channel], in pinned host memory */
    gr_gpu_ptr abort;  /* a uint64_t in pinned host memory; not 0: blocks that wait exit for good */
    uint64_t launch;   /* number of this launch, increasing */
    uint64_t patience; /* polls after which a block exits, >= 1 */
    uint64_t slot_bytes; /* size of a slot, a multiple of 16 */
    uint64_t slot_elems; /* elements of a slot */
    uint32_t nslots;     /* slots of a link */
    uint32_t fresh;      /* 1: the call's first launch, so `cursor` is not read */
    uint32_t over;       /* bit c: channel c was done in an earlier launch of the call */
    uint32_t threads;    /* threads of a block; 0: GR_GPU_THREADS, as always in Simple */
    uint64_t zero;       /* zero copy: number of the call among those with it, >= 1; 0: none */
    gr_gpu_ptr peers;    /* zero copy: gr_gpu_ptr [rank]: the rank's GR_OUT; 0: no access */
    uint32_t allows;     /* zero copy: 1: other ranks may store to this rank's GR_OUT */
};

#endif
