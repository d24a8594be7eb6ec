/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Precomputed schedules, as tables that kernels read: for algorithms that are too large to be
 * compiled into each kernel (gr_algo_is_precomputed()).
 *
 *      [schedule 0: step 0 step 1 ... step nsteps-1] [schedule 1: ...] ...
 *
 * A table depends on the collective, the algorithm, the torus, the rank, the root of a rooted
 * algorithm, and the number of chunks of a slice (gr_algo_slice_chunks()). There is one for each
 * possible number. It does not depend on the call's data. So it is written when the links of
 * (algorithm, root) are made, and stays in device memory as long as the team exists.
 */
#ifndef GR_EXEC_GPU_STEP_TABLES_H
#define GR_EXEC_GPU_STEP_TABLES_H

#include "exec/gpu/args.h"
#include "exec/plan.h"
#include "link/rings.h"

/* A table. */
struct gr_gpu_table {
    gr_gpu_ptr at;      /* struct gr_gpu_step [schedules][nsteps]; 0: none */
    uint32_t nsteps;    /* steps of a schedule */
    uint32_t schedules; /* number of schedules: gr_algo_schedules() */
};

/* Most tables of an algorithm and collective. Table k is for 2^k chunks. */
#define GR_GPU_TABLES 5

/* Number of tables of an algorithm and collective. */
uint32_t gr_gpu_steps_tables(enum gr_algo algo, enum gr_coll coll);

/* The number of the table for nchunks. */
uint32_t gr_gpu_steps_table(uint32_t nchunks);

/* The size of table k of (collective, algorithm, root, torus) for this rank. Its `at` is 0. */
struct gr_gpu_table gr_gpu_steps_shape(const struct gr_plan_spec *spec, int p, int rank,
                                       const struct gr_rings *rings, uint32_t k);

/* Write a table. Schedules shorter than the longest one end with empty steps. */
void gr_gpu_steps_write(const struct gr_plan_spec *spec, int p, int rank,
                        const struct gr_rings *rings, uint32_t k, const struct gr_gpu_table *table,
                        struct gr_gpu_step *steps);

#endif
