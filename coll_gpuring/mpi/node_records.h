/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of a node publish at MPI_Init (mpi/modex.h), once more in a file of the job's
 * session directory. PMIx takes some 40 us of a core for each process that is asked about, and each
 * process of a node asks about all others: 90 ms with 64 of them on two cores. From the file it
 * takes 2 us.
 *
 * The file is a shortcut: what is not found there is asked for by PMIx. Open MPI removes the
 * directory.
 */
#ifndef GR_MPI_NODE_RECORDS_H
#define GR_MPI_NODE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Write this process's record, before Open MPI exchanges connection data. Does nothing where few
 * processes share the node, or where there is no such directory.
 */
void mca_coll_gpuring_node_records_write(const void *record, size_t bytes);

/* Open the file: a descriptor, or -1. */
int mca_coll_gpuring_node_records_open(void);

/* Read the record of a process of this job. False: it is not there, or not whole. fd: may be -1. */
bool mca_coll_gpuring_node_records_read(int fd, uint32_t vpid, void *record, size_t bytes);

#endif
