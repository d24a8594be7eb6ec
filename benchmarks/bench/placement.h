/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns where each rank's buffers live: what -d asks for, and the driver where that needs one. No
 * MPI in here.
 */
#ifndef BENCH_PLACEMENT_H
#define BENCH_PLACEMENT_H

#include "links.h"
#include "common/memory.h"
#include "common/options.h"

/*
 * Call it before MPI_Init: some libraries look for a driver and a device then. Opens the driver if
 * this rank's buffers need one; which rank it is, the launcher says. Leaves "" or what is missing
 * in error[OPTIONS_ERROR_CHARS].
 */
void placement_open(const struct options *options, char *error);

/*
 * After MPI_Init: complains in error, unless there is a complaint already, if the launcher did not
 * say the rank.
 */
void placement_check(const struct options *options, int rank, char *error);

void placement_close(void);

/* A rank's kind of memory. */
const struct memory *placement_memory(const struct options *options, int rank);

/* Are the buffers of any of these ranks in memory that only a device reaches? */
bool placement_on_device(const struct options *options, int ranks);

/* Which copies say how fast data can get from one rank to another. */
enum link_copies placement_copies(const struct options *options, int ranks);

#endif
