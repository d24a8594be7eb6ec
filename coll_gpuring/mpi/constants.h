/* SPDX-License-Identifier: BSD-3-Clause */
/* The constants of the cost model: where the job's first rank gets them from. */
#ifndef GR_MPI_CONSTANTS_H
#define GR_MPI_CONSTANTS_H

#include "mpi/ompi.h"

#include "comm/comm.h"

#include "tune/constants.h"

#include <stdbool.h>

/*
 * What the job's first rank publishes at MPI_Init for all: by a tuning file, and, where that does
 * not say it, a measurement. cores: ranks of this node have cores of their own, so
 * constants of processes are wanted from file and measurement, too. devices: constants of devices
 * are wanted from a file, too.
 */
void mca_coll_gpuring_constants_find(struct gr_constants *c, bool cores, bool devices);

/* Let a communicator inside a node, whose ranks are at most at that distance, use the constants. */
void mca_coll_gpuring_constants_use(struct gr_comm *comm, const struct gr_constants *c,
                                    int distance);

/*
 * What the first such communicator of this process uses, as text; device: the first one with links
 * between devices. Empty: there was none.
 */
const char *mca_coll_gpuring_constants_text(bool device);

/* The sources of that, as one word: built-in, measured, file, or file+measured. */
const char *mca_coll_gpuring_constants_sources(bool device);

#endif
