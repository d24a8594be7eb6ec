/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the host and the kernels share: the argument of a launch, and what it points to.
 *
 * A kernel runs the steps of one rank's part of a collective: one block per channel, the step machine of
 * machine.h over links in device memory. A channel's whole state is where it is (struct gr_gpu_place) and how far
 * its links are (gr_gpu_end.count): a block that sees no progress for a while stores both and leaves, before the
 * first store of the slot that it waits for, and goes on there in the next launch.
 *
 * libc only; compiles as C11, C++ and CUDA.
 */
#ifndef GR_EXEC_GPU_ARGS_H
#define GR_EXEC_GPU_ARGS_H

#include "../sched/split.h"

/* An address that is for a device: in its memory, a peer's, or pinned host memory. The host never follows it. */
typedef uint64_t gr_gpu_ptr;

/* Channels, and so blocks of a launch, at most. */
#define GR_GPU_CHANNELS 32

/* Counters lie that far apart from each other and from slots. */
#define GR_GPU_LINE 128

/*
 * One end of a link (link.h) on one channel. Each counter lies with the end that polls it, so nobody polls over a
 * bus:
 *
 *      writer's device                       reader's device
 *      [head]  <------ stores ------------   reader        reads slots and tail
 *      writer  ------- stores ------------>  [tail][slot][slot] ...
 *      polls head
 */
struct gr_gpu_end {
    gr_gpu_ptr slots; /* the first slot; 0: not connected */
    gr_gpu_ptr mine;  /* the counter that this end writes: tail of the writer, head of the reader */
    gr_gpu_ptr other; /* the counter that the other end writes */
    uint64_t count;   /* value of mine; the kernel keeps it here from launch to launch */
};

/* Where a channel is: a gr_cursor (machine.h) that is about to wait for a slot. */
struct gr_gpu_place {
    uint32_t slice, index, run, over; /* over: 1 when the channel is through */
    uint64_t done;
};

/* How a block left. */
enum gr_gpu_state {
    GR_GPU_DONE = 1,    /* the channel is through */
    GR_GPU_LEFT = 2,    /* it waited in vain; launch again */
    GR_GPU_ABORTED = 3  /* it saw the abort word */
};

/* What a block tells the host when it leaves, in pinned host memory. word is written last, with release. */
struct gr_gpu_report {
    uint64_t word;         /* launch * 4 + enum gr_gpu_state */
    uint64_t moved;        /* slots handled in this launch */
    uint32_t slice, index; /* GR_GPU_LEFT: where; */
    uint32_t from, to;     /* bit k: from[k] of that step has no full slot, to[k] no free one */
    uint64_t pad[4];
};

/* The argument of every kernel, by value. */
struct gr_gpu_args {
    struct gr_split split;    /* counts and displs: arrays in device (or pinned) memory */
    struct gr_sched sched[2]; /* channel c takes number c % 2; order: in device (or pinned) memory, or NULL */
    gr_gpu_ptr space[3];      /* by enum gr_space: where element 0 lies */
    gr_gpu_ptr in, out;       /* struct gr_gpu_end [channel * sched.p + rank]: the links from, to that rank */
    gr_gpu_ptr place;         /* struct gr_gpu_place [channel], device memory */
    gr_gpu_ptr report;        /* struct gr_gpu_report [channel], pinned host memory */
    gr_gpu_ptr abort;         /* a uint64_t in pinned host memory: not 0 when all must leave and none comes back */
    uint64_t launch;          /* number of this launch, grows */
    uint64_t patience;        /* polls without success after which a block leaves; >= 1 */
    uint64_t slot_bytes;      /* a multiple of 16 */
    uint64_t slot_elems;      /* elements that fit a slot */
    uint32_t nslots;
    uint32_t fresh;           /* 1: the call's first launch; places are not read, all channels begin */
};

#endif
