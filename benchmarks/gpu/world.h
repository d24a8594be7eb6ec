/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns the ranks of one algorithm on devices: their links in device memory, what a kernel needs
 * besides, a stream each.
 *
 * A rank's arena holds what the others write, and nobody polls over a bus (gpu_args.h):
 *
 *      for each channel and rank it receives from    [tail][slot][slot]...
 *      for each channel and rank it sends to         [head]
 *
 * In one process all arenas are plain allocations; between processes each is mapped by CUDA IPC.
 */
#ifndef BENCH_GPU_WORLD_H
#define BENCH_GPU_WORLD_H

#include "crew.h"

#include "cuda/stream.h"
#include "exec/plan.h"

struct world_shape {
    enum gr_algo algo;
    enum gr_protocol protocol;
    int root;
    uint32_t channels, slots;
    size_t slot_bytes;
    int zero_copy; /* results go straight into others' buffers; all ranks are in this process */
};

/* One rank that this process runs. */
struct seat {
    int rank;
    struct gr_gpu_stream *stream;
    gr_gpu_ptr tables;             /* ends in and out, orders, places, others' outputs */
    struct gr_gpu_report *reports; /* pinned; the abort word behind them */
    struct gr_gpu_args args;       /* of the call that runs */
    int over;                      /* is that call? */
    uint64_t launches;             /* ever, */
    uint64_t calls;                /* and calls */
};

struct world {
    struct crew *crew;
    struct gr_gpu *gpu;
    struct world_shape shape;
    int *order[2], *where[2];     /* of even channels, of odd ones */
    gr_gpu_ptr arena[CREW_RANKS]; /* as this process sees them */
    struct seat *seats;           /* [crew->n] */
};

/* Collective over the crew. 0, or a negative enum gr_error; world_close is due in both cases. */
int world_open(struct world *world, struct crew *crew, struct gr_gpu *gpu,
               const struct world_shape *shape);
void world_close(struct world *world);

/* Most bytes of a message of such a call. */
size_t world_message_bytes(const struct world *world, const struct gr_request *request);

/* Bytes of device memory that a rank's arena takes. */
size_t world_arena_bytes(const struct world *world, int rank);

/* The call of a rank as the next launch needs it; space: by enum gr_space. */
void world_prepare(struct world *world, struct seat *seat, const struct gr_request *request,
                   const gr_gpu_ptr space[3], uint64_t patience);

/*
 * Zero copy: where every rank's output lies, [rank]; again when they lie elsewhere. 0, or a
 * negative enum gr_error.
 */
int world_outputs(struct world *world, const gr_gpu_ptr *outputs);

/* Launches the seat's call, for the first time or once more. 0, or a negative enum gr_error. */
int world_launch(struct seat *seat, enum gr_kernel kernel);

/*
 * After a launch is done: did some channel leave without being through? Adds the slots that were
 * handled.
 */
int world_left(const struct seat *seat, uint64_t *slots);

/* Tells the seat's kernel to leave for good. */
void world_abort(struct seat *seat);

#endif
