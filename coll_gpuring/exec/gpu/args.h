/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the host and the kernels share: the argument of a launch, and what it points to.
 *
 * A kernel runs the steps of one rank's part of a collective: one block per channel, the stepper of
 * stepper.h over links in device memory. A channel's whole state is where it is (struct
 * gr_gpu_place) and how far its links are (gr_gpu_end.count): a block that sees no progress for a
 * while stores both and leaves, before the first store of the slot that it waits for, and goes on
 * there in the next launch.
 *
 * libc only; compiles as C11, C++ and CUDA.
 */
#ifndef GR_EXEC_GPU_ARGS_H
#define GR_EXEC_GPU_ARGS_H

#include "sched/split.h"

#include "exec/gpu/kernels.h"

/*
 * An address that is for a device: in its memory, a peer's, or pinned host memory. The host never
 * follows it.
 */
typedef uint64_t gr_gpu_ptr;

/* Channels, and so blocks of a launch, at most. */
#define GR_GPU_CHANNELS 32

/*
 * Lines. A unit is what one thread moves of a message: 16 bytes of LL's slots hold 8 of data, so it
 * takes 32 there; 16 of LL128's, of whose 8 one holds half of it, the flag being the other half.
 */
#define GR_LL_UNIT 32
#define GR_LL128_UNIT 16
#define GR_LINE_UNITS (GR_GPU_THREADS - 32) /* of a slot */

/* Bytes from one slot of lines to the next. */
static inline uint64_t gr_line_slot_bytes(enum gr_protocol protocol)
{
    return GR_LINE_UNITS * (GR_PROTOCOL_LL == protocol ? GR_LL_UNIT : GR_LL128_UNIT);
}

/* Bytes of data that a slot takes from n threads (whole warps), for elements of so many bytes. */
static inline uint64_t gr_line_bytes(enum gr_protocol protocol, uint32_t n, uint64_t elem_bytes)
{
    return GR_PROTOCOL_LL == protocol ? 16 * (uint64_t) n : n / 8 * (16 == elem_bytes ? 112 : 120);
}

/* Counters lie that far apart from each other and from slots. */
#define GR_GPU_LINE 128

/*
 * One end of a link (fifo.h) on one channel. Each counter lies with the end that polls it, so
 * nobody polls over a bus:
 *
 *      writer's device                       reader's device
 *      [head]  <------ stores ------------   reader        reads slots and tail
 *      writer  ------- stores ------------>  [tail][slot][slot] ...
 *      polls head
 *
 * For each protocol (sched/protocol.h) a link has slots and a head of its own. In LL and LL128 the
 * slots are lines with flags in them, and there is no tail: a message's flag is its number in the
 * life of the link, from 1 on. All flags are zero at the begin of a link.
 */
struct gr_gpu_end {
    gr_gpu_ptr slots; /* the first slot; 0: not connected */
    /* the counter that this end writes: tail of the writer (0: none), head of the reader */
    gr_gpu_ptr mine;
    gr_gpu_ptr other; /* the counter that the other end writes; 0: none, for readers of lines */
    uint64_t count;   /* value of mine; the kernel keeps it here from launch to launch */
    /*
     * writer's: uint32_t [slot]: where it says how many bytes of a slot are in use, before the tail
     * does: what lies between the ends is a network. 0: nobody asks
     */
    gr_gpu_ptr fill;
};

/*
 * Zero copy: a message that is a result (GR_FINAL) is stored into the reader's GR_OUT, where it
 * belongs, instead of a slot, if the reader allows it and the writer can. Its slot stays empty, and
 * is counted like any other. Two words tell the ends of a Simple link of each other, by number of
 * the call; each lies beside the counter that its reader polls:
 *
 *      writer's line  [head][head][head][open]      2 * call + 1: the reader allows it, 2 * call: it does not
 *      reader's line  [tail][direct]                the last call of which the writer stores results past the slots
 *
 * The reader's GR_OUT is its own until its kernel has written `open`, and `direct` is never ahead
 * of the reader's call, since it is written after `open` was seen.
 */
#define GR_GPU_OPEN_AT (GR_NPROTOCOLS * sizeof(uint64_t)) /* from Simple's head */
#define GR_GPU_DIRECT_AT sizeof(uint64_t)                 /* from the tail */

/* Where a channel is: a gr_cursor (stepper.h) that is about to wait for a slot. */
struct gr_gpu_place {
    uint32_t slice, index, run, over; /* over: 1 when the channel is through */
    uint64_t done;
};

/*
 * A step as the host has written it down, for algorithms that kernels do not compute
 * (step_tables.h): of each way that channels take (gr_algo_ways()), nsteps of them. They are those
 * of one slice, so there are as many for any number of bytes.
 */
struct gr_gpu_step {
    struct gr_step step;
    uint32_t pad; /* whole accesses of 16 bytes */
};

/* How a block left. */
enum gr_gpu_state {
    GR_GPU_DONE = 1,   /* the channel is through */
    GR_GPU_LEFT = 2,   /* it waited in vain; launch again */
    GR_GPU_ABORTED = 3 /* it saw the abort word */
};

/*
 * What a block tells the host when it leaves, in pinned host memory. word is written last, with
 * release.
 */
struct gr_gpu_report {
    uint64_t word;         /* launch * 4 + enum gr_gpu_state */
    uint64_t moved;        /* slots handled in this launch */
    uint32_t slice, index; /* GR_GPU_LEFT: where; */
    /* bit k: from[k] of that step has no full slot, to[k] no free one. In lines maybe none */
    uint32_t from, to;
    uint64_t pad[4];
};

/* The argument of every kernel, by value. */
struct gr_gpu_args {
    struct gr_split split; /* counts and displs: arrays in device (or pinned) memory */
    /* channel c takes number c % 2, as its own; order: in device (or pinned) memory, or NULL */
    struct gr_sched sched[2];
    gr_gpu_ptr space[3]; /* by enum gr_space: where element 0 lies */
    /* struct gr_gpu_step [channel % ways * nsteps + number]; 0: kernels compute them */
    gr_gpu_ptr steps;
    uint32_t nsteps, ways;
    /* struct gr_gpu_end [channel * sched.p + rank]: the links from, to that rank, */
    gr_gpu_ptr in, out;
    uint32_t protocol; /* in this enum gr_protocol */
    gr_gpu_ptr place;  /* struct gr_gpu_place [channel], device memory */
    gr_gpu_ptr report; /* struct gr_gpu_report [channel], pinned host memory */
    /* a uint64_t in pinned host memory: not 0 when all must leave and none comes back */
    gr_gpu_ptr abort;
    uint64_t launch;     /* number of this launch, grows */
    uint64_t patience;   /* polls without success after which a block leaves; >= 1 */
    uint64_t slot_bytes; /* from slot to slot, a multiple of 16 */
    uint64_t slot_elems; /* elements that fit a slot */
    uint32_t nslots;
    /* 1: the call's first launch; places are not read, all channels begin */
    uint32_t fresh;
    uint32_t threads; /* of a block; 0: GR_GPU_THREADS, which Simple takes always */
    /* Zero copy, Simple only: */
    /* number of the call among those that may use it, from 1 on; 0: this one may not */
    uint64_t zero;
    /* gr_gpu_ptr [rank]: where that rank's GR_OUT lies for this device; 0: nowhere */
    gr_gpu_ptr peers;
    uint32_t allows; /* 1: others may store to this rank's GR_OUT */
};

#endif
