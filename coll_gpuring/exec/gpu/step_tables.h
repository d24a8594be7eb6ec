/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules as tables, for kernels: those that are too large to be compiled into each of them
 * (gr_algo_is_precomputed()).
 *
 *      [way 0: step 0 step 1 ... step nsteps-1] [way 1: ...] ...          args.h
 *
 * A table depends on the collective, the algorithm, the torus, the rank, where the algorithm is
 * rooted on the root, and on how many chunks a slice has (gr_algo_chunks()), with one for each
 * number that it can be; not on the call's data. So it is written when the links of (algorithm,
 * root) are made, lies in device memory beside them, and is there as long as the team is: for every
 * call, however long its kernel runs and whoever started it.
 */
#ifndef GR_EXEC_GPU_STEP_TABLES_H
#define GR_EXEC_GPU_STEP_TABLES_H

#include "exec/gpu/args.h"
#include "exec/plan.h"
#include "link/rings.h"

struct gr_gpu_table {
    gr_gpu_ptr at; /* struct gr_gpu_step [ways][nsteps]; 0: none */
    uint32_t nsteps, ways;
};

/*
 * Tables of an algorithm and collective at most: number k is for 2^k chunks. How many there are;
 * the one for nchunks.
 */
#define GR_GPU_TABLES 5
uint32_t gr_gpu_steps_tables(enum gr_algo algo, enum gr_coll coll);
uint32_t gr_gpu_steps_table(uint32_t nchunks);

/* How large table number k of (collective, algorithm, root, torus) is for this rank; at is 0. */
struct gr_gpu_table gr_gpu_steps_shape(const struct gr_request *request, int p, int rank,
                                       const struct gr_rings *rings, uint32_t k);

/* Write it. Schedules that are shorter than the longest end with steps that do nothing. */
void gr_gpu_steps_write(const struct gr_request *request, int p, int rank,
                        const struct gr_rings *rings, uint32_t k, const struct gr_gpu_table *table,
                        struct gr_gpu_step *steps);

#endif
