/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of schedules as tables, which the host writes and kernels read:
 *
 *      [schedule 0: step 0 step 1 ... step nsteps-1] [schedule 1: ...] ...
 *
 * Channel c runs schedule c modulo their number. A table has the steps of one slice. It depends on
 * the collective, the algorithm, the torus, the ranks' orders, the rank, the root and the number of
 * chunks of a slice, and not on the call's data.
 *
 * Tables are written when a call first needs them, and kept (struct gr_gpu_tables). The host's own
 * executors compute steps as they go: that takes less time than to read them from memory.
 */
#ifndef GR_EXEC_GPU_STEP_TABLES_H
#define GR_EXEC_GPU_STEP_TABLES_H

#include "exec/gpu/args.h"
#include "exec/plan.h"

struct gr_gpu_table {
    gr_gpu_ptr at;      /* struct gr_gpu_step [schedules][nsteps] */
    uint32_t nsteps;    /* steps of the longest schedule */
    uint32_t schedules; /* number of schedules: gr_algo_schedules() */
};

/*
 * Most chunks of a slice: so many that a pipeline is seldom empty, and so few that tables are short.
 */
#define GR_GPU_SLICE_CHUNKS 64

/* The size of the table of (collective, algorithm, root, torus) for this rank. Its `at` is 0. */
struct gr_gpu_table gr_gpu_steps_shape(const struct gr_plan_spec *spec, int p, int rank,
                                       const struct gr_rings *rings, uint32_t nchunks);

static inline size_t gr_gpu_steps_bytes(const struct gr_gpu_table *table)
{
    return (size_t) table->schedules * table->nsteps * sizeof(struct gr_gpu_step);
}

/* Write a table. Schedules shorter than the longest one end with empty steps. */
void gr_gpu_steps_write(const struct gr_plan_spec *spec, int p, int rank,
                        const struct gr_rings *rings, uint32_t nchunks,
                        const struct gr_gpu_table *table, struct gr_gpu_step *steps);

/* Bytes of the longest table that any call of this rank may need. */
size_t gr_gpu_steps_most(int p, int rank, const struct gr_rings *rings);

/* Where chunks lie, but for `cells`: the caller puts those of gr_split_list() to the device. */
struct gr_gpu_split gr_gpu_split_of(const struct gr_split *split);

/* ---- tables that are kept ---- */

#define GR_GPU_TABLES 64

/* At most GR_GPU_TABLES tables in a range of device memory, one after the other. */
struct gr_gpu_tables {
    size_t room;                              /* bytes of the range; the longest table fits */
    size_t used;                              /* bytes in use */
    uint32_t n;                               /* number of tables */
    uint64_t key[GR_GPU_TABLES];              /* collective, algorithm, root and chunks in one */
    struct gr_gpu_table table[GR_GPU_TABLES]; /* at: offset in the range */
};

/*
 * The number of a table. *fresh: whether it is new, and must be written to its place. If there is
 * no room for it, all others are forgotten; so no kernel may be running.
 */
uint32_t gr_gpu_tables_find(struct gr_gpu_tables *tables, const struct gr_plan_spec *spec, int p,
                            int rank, const struct gr_rings *rings, uint32_t nchunks, int *fresh);

#endif
