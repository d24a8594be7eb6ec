/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on device memory, in C:
 *
 *     mpicc -o device device.c -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -lcudart
 *     mpirun -np 2 --mca coll gpuring ./device
 *
 * MPI gets device pointers, and writes results to device memory. Rank 0 broadcasts a vector, all
 * ranks sum vectors in place, and all collect a block of each. The host then copies the results
 * back and compares them with what they must be. Rank 0 prints the elements that were compared and
 * those that are wrong, on all ranks; all ranks end with 0 if none is.
 */
#include <cuda_runtime.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100000 };

#define CUDA(call)                                                                          \
    do {                                                                                    \
        cudaError_t error_ = (call);                                                        \
        if (cudaSuccess != error_) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                   \
        }                                                                                   \
    } while (0)

/* Element i of a rank's vector. */
static float element(int rank, int i)
{
    return (float) ((rank + 1) * (i % 1000));
}

/* Copies this rank's vector to the device. */
static void write_vector(float *device, float *host, int rank)
{
    for (int i = 0; i < COUNT; i++) {
        host[i] = element(rank, i);
    }
    CUDA(cudaMemcpy(device, host, COUNT * sizeof(*host), cudaMemcpyHostToDevice));
}

/* How many elements on the device differ from factor x those of rank 0. */
static long count_wrong(const float *device, float *host, int factor)
{
    long wrong = 0;

    CUDA(cudaMemcpy(host, device, COUNT * sizeof(*host), cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++) {
        wrong += host[i] != (float) factor * element(0, i);
    }
    return wrong;
}

/* Each rank of a node takes the next device. */
static void choose_device(void)
{
    MPI_Comm node;
    int rank, devices;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    CUDA(cudaGetDeviceCount(&devices));
    CUDA(cudaSetDevice(rank % devices));
}

int main(int argc, char **argv)
{
    float *host = malloc(COUNT * sizeof(*host)), *vector, *blocks;
    long wrong = 0;
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    choose_device();
    if (NULL == host) {
        fprintf(stderr, "out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    CUDA(cudaMalloc((void **) &vector, COUNT * sizeof(*vector)));
    CUDA(cudaMalloc((void **) &blocks, (size_t) ranks * COUNT * sizeof(*blocks)));

    /* rank 0's vector on all ranks */
    write_vector(vector, host, rank);
    MPI_Bcast(vector, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD);
    wrong += count_wrong(vector, host, 1);

    /* the sum of all vectors */
    write_vector(vector, host, rank);
    MPI_Allreduce(MPI_IN_PLACE, vector, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    wrong += count_wrong(vector, host, ranks * (ranks + 1) / 2);

    /* all vectors, one behind the other */
    write_vector(vector, host, rank);
    MPI_Allgather(vector, COUNT, MPI_FLOAT, blocks, COUNT, MPI_FLOAT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        wrong += count_wrong(blocks + (size_t) r * COUNT, host, r + 1);
    }

    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (0 == rank) {
        printf("%ld elements, %ld wrong: %s\n", (long) ranks * (ranks + 2) * COUNT, wrong,
               0 == wrong ? "right" : "WRONG");
    }
    CUDA(cudaFree(blocks));
    CUDA(cudaFree(vector));
    free(host);
    MPI_Finalize();
    return 0 == wrong ? 0 : 1;
}
