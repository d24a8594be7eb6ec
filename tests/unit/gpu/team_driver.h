/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions between component and driver: they replace functions in the table that gr_gpus_open()
 * fills. They count calls, take the size of a block from the test, and fail on spec.
 */
#ifndef GR_TESTS_TEAM_DRIVER_H
#define GR_TESTS_TEAM_DRIVER_H

#include "cuda/context.h"

/* Those that can fail. */
enum td_function {
    TD_LAUNCH,
    TD_QUERY,
    TD_COPY,
    TD_ZERO,
    TD_PIN,
    TD_FLUSH,
    TD_RECORD,
    TD_FUNCTIONS
};

/* Errors in a row after which a launch, a query or a copy fails the call. */
enum { TD_TRIES = 3 };

/* The rank for which this thread calls the driver. */
extern _Thread_local int td_rank;

/* threads: of each block that is launched; 0: as many as the component asks for. */
void td_install(struct gr_gpus *gpus, uint32_t threads);

/*
 * The rank's call of the function after the next `after` fails with the error, and all that follow
 * until `times` have. CUDA_SUCCESS: it does nothing and says that it did. times 0: all work again.
 */
void td_fail(enum td_function function, int rank, unsigned after, unsigned times, CUresult error);

/* Calls of the function that are still to fail. */
unsigned td_left(enum td_function function);

/* Calls of the function for the rank so far, those that failed too. */
unsigned td_calls(enum td_function function, int rank);

/* Allocations, pinned pages, streams and events that the component holds. */
int td_held(void);
/* All of it went with its context, which was reset. */
void td_reset(void);

#endif
