/* SPDX-License-Identifier: BSD-3-Clause */
/* One collective of one size on the devices: buffers, calls, checks and times. */
#ifndef BENCH_GPU_RUN_H
#define BENCH_GPU_RUN_H

#include "nccl.h"
#include "world.h"

#include "common/moves.h"
#include "common/options.h"

/* Options of every run. */
struct run_options {
    struct options bench; /* those of gpuring_bench */
    uint64_t patience;    /* polls after which a block leaves */
    double timeout;       /* seconds after which a call is given up */
    int corrupt;          /* for tests: an element is made wrong before each check */
};

struct run {
    struct world *world;
    const struct run_options *options;
    enum gr_coll coll;
    struct gr_plan_spec spec;
    enum gr_kernel kernel;
    struct nccl *nccl;                        /* makes the calls; NULL: gpuring's kernels do */
    struct shape *shapes;                     /* [crew->n] */
    struct buffers *buffers;                  /* [crew->n] */
    struct gr_ipc_handle handles[CREW_RANKS]; /* zero copy: of all ranks' outputs */
    const struct gr_ipc_handle *handle_of[CREW_RANKS]; /* the same, by rank */
    char *error; /* [CLI_ERROR_CHARS]: "", or why a call failed */
};

struct run_result {
    size_t bytes;    /* S */
    double us;       /* from the first launch until the last rank is done: median */
    double best_us;  /* the least */
    double launches; /* per call and rank: 1, and one more for each time it left; NAN: NCCL's */
    double errors;   /* wrong elements, in both checks; NAN without -c */
};

/*
 * Buffers for a size of at most `bytes`. 0, or -1 on every process with a line in error; run_close
 * is due in both cases.
 */
int run_open(struct run *run, struct world *world, const struct run_options *options,
             enum gr_coll coll, size_t bytes, char *error);
void run_close(struct run *run);

/*
 * Checks, times, checks again, by run->nccl or by kernels; run->nccl may change from one call to
 * the next. 0, or -1 on every process with a line in error.
 */
int run_measure(struct run *run, struct run_result *result);

/* The factor of busbw for the collective. */
double run_busbw(enum gr_coll coll, size_t bytes, double seconds, int ranks);

#endif
