/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where each rank's buffers live: the memory that -d asks for, and the driver where that needs one.
 * No MPI.
 */
#ifndef BENCH_PLACEMENT_H
#define BENCH_PLACEMENT_H

#include "links.h"
#include "common/memory.h"
#include "common/options.h"

/*
 * Opens the driver if this rank's buffers need one. Call it before MPI_Init: some libraries look
 * for a driver and a device then. The rank is read from the launcher's environment. Writes "" or
 * what is missing to error[CLI_ERROR_CHARS].
 */
void placement_open(const struct options *options, char *error);

/* After MPI_Init: writes a line to error, if it is empty, where the launcher set no rank. */
void placement_check(const struct options *options, int rank, char *error);

void placement_close(void);

/* The memory of a rank's buffers. */
const struct memory *placement_memory(const struct options *options, int rank);

/* Whether some rank's buffers are in memory that only a device accesses. */
bool placement_on_device(const struct options *options, int ranks);

/* The memory between which B is measured. */
enum link_copies placement_copies(const struct options *options, int ranks);

#endif
