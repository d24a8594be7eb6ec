/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of one algorithm on devices: a team (exec/gpu/team.h) for each rank of this process,
 * with the algorithm's links, as the component makes them. The crew carries the offers and answers
 * that the component sends as messages.
 */
#ifndef BENCH_GPU_WORLD_H
#define BENCH_GPU_WORLD_H

#include "crew.h"

#include "exec/gpu/op.h"

#include <stdbool.h>

struct world_shape {
    enum gr_algo algo;
    enum gr_protocol protocol; /* of calls */
    int root;
    uint32_t channels;
    uint32_t slots;    /* of each link */
    size_t slot_bytes; /* of Simple's slots */
    bool zero_copy;    /* calls write results to other ranks' buffers */
};

/* One rank that this process runs. */
struct seat {
    int rank;
    struct gr_gpu_team *team;
    struct gr_gpu_op op; /* the call that runs */
    int over;            /* whether that call is */
};

struct world {
    struct crew *crew;
    struct gr_gpu *gpu;
    struct world_shape shape;
    struct gr_pool *doors;
    struct gr_gpu_pool *pool;
    struct gr_ipc_cache *share; /* of buffers, for zero copy */
    struct seat *seats;         /* [crew->n] */
};

/* Bytes of the crew's board that the links of so many ranks need. */
size_t world_board_bytes(int ranks, uint32_t channels);

/* Collective over the crew. 0, or a negative enum gr_error; world_close is due in both cases. */
int world_open(struct world *world, struct crew *crew, struct gr_gpu *gpu,
               const struct world_shape *shape);
void world_close(struct world *world);

/*
 * Begins a call of a rank, which the first poll of the seat's op launches; space: by enum gr_space.
 * patience: polls without success after which a block leaves. handles: of all ranks' outputs, for
 * zero copy; NULL: none. 0, or a negative enum gr_error.
 */
int world_begin(struct seat *seat, const struct gr_plan_spec *spec, enum gr_kernel kernel,
                const gr_gpu_ptr space[3], uint64_t patience,
                const struct gr_ipc_handle *const *handles);

#endif
