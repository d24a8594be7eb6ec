/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reference: every collective by MPI_Send, MPI_Recv and MPI_Reduce_local alone, in rank order,
 * as the definition in the MPI standard reads. Arguments as in MPI's own functions; comm is a
 * duplicate that nothing else uses.
 */
#ifndef TEST_REFCOLL_H
#define TEST_REFCOLL_H

#include <mpi.h>

void ref_bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm);
void ref_reduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm);
void ref_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm);
void ref_reduce_scatter(const void *in, void *out, const int *counts, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm);
void ref_reduce_scatter_block(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm);
void ref_allgather(const void *in, int in_count, MPI_Datatype in_type, void *out, int count,
                   MPI_Datatype type, MPI_Comm comm);
void ref_allgatherv(const void *in, int in_count, MPI_Datatype in_type, void *out,
                    const int *counts, const int *displs, MPI_Datatype type, MPI_Comm comm);
void ref_alltoall(const void *in, int in_count, MPI_Datatype in_type, void *out, int count,
                  MPI_Datatype type, MPI_Comm comm);

#endif
