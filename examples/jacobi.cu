/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Laplace's equation on a square, by Jacobi's iteration, with all data in device memory:
 *
 *     nvcc -ccbin mpicxx -cudart shared -o jacobi jacobi.cu
 *     mpirun -np 2 --mca coll gpuring ./jacobi
 *
 * Arguments: POINTS TOLERANCE (256 1e-6). The ranks share the rows of a grid of POINTS x POINTS
 * inner points. In each iteration neighbours exchange the rows at their border
 * (MPI_Neighbor_alltoallv), and after every 10 all ranks learn the largest change of a point
 * (MPI_Allreduce). MPI gets device pointers.
 *
 * On the border the solution is x^2 - y^2, which solves the discrete equation as well: so the
 * program knows how far it is off. It prints, on rank 0, the iterations and the largest error, and
 * ends with 0 if that is small.
 */
#include <cuda_runtime.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 128, BLOCKS = 32, LOOK = 10, MOST = 1000000 };

#define CUDA(call)                                                                          \
    do {                                                                                    \
        cudaError_t error_ = (call);                                                        \
        if (cudaSuccess != error_) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                   \
        }                                                                                   \
    } while (0)

/* This rank's rows, first to first + rows - 1 of 1 to n; columns 1 to n; the border all around. */
struct part {
    int n, first, rows;
};

__host__ __device__ static double solution(struct part p, int row, int column)
{
    const double x = (double) column / (p.n + 1), y = (double) (p.first + row - 1) / (p.n + 1);

    return x * x - y * y;
}

/* The largest value of a block's threads, in thread 0. */
__device__ static double largest(double mine)
{
    __shared__ double all[THREADS];

    all[threadIdx.x] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int) threadIdx.x < half) {
            all[threadIdx.x] = fmax(all[threadIdx.x], all[threadIdx.x + half]);
        }
    }
    return all[0];
}

/* Zero inside, the solution on the border. */
__global__ void begin(struct part p, double *u)
{
    const int columns = p.n + 2, points = (p.rows + 2) * columns;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < points; i += gridDim.x * blockDim.x) {
        const int row = i / columns, column = i % columns, at = p.first + row - 1;
        const bool border = 0 == at || p.n + 1 == at || 0 == column || p.n + 1 == column;

        u[i] = border ? solution(p, row, column) : 0;
    }
}

/* One iteration from u to next; changes[block]: the largest change of the block's points. */
__global__ void relax(struct part p, const double *u, double *next, double *changes)
{
    const int columns = p.n + 2, points = p.rows * p.n;
    double change = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < points; i += gridDim.x * blockDim.x) {
        const int at = (i / p.n + 1) * columns + i % p.n + 1;
        const double value = 0.25 * (u[at - columns] + u[at - 1] + u[at + 1] + u[at + columns]);

        change = fmax(change, fabs(value - u[at]));
        next[at] = value;
    }
    change = largest(change);
    if (0 == threadIdx.x) {
        changes[blockIdx.x] = change;
    }
}

/* changes[block]: how far the block's points are off. */
__global__ void compare(struct part p, const double *u, double *changes)
{
    const int columns = p.n + 2, points = p.rows * p.n;
    double error = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < points; i += gridDim.x * blockDim.x) {
        const int row = i / p.n + 1, column = i % p.n + 1;

        error = fmax(error, fabs(u[row * columns + column] - solution(p, row, column)));
    }
    error = largest(error);
    if (0 == threadIdx.x) {
        changes[blockIdx.x] = error;
    }
}

/* Of all blocks: one block. */
__global__ void combine(const double *changes, double *out)
{
    const double all = largest(threadIdx.x < BLOCKS ? changes[threadIdx.x] : 0);

    if (0 == threadIdx.x) {
        *out = all;
    }
}

/* Of all ranks. The result is on the device; then the host reads it. */
static double over_all_ranks(const double *changes, double *word, MPI_Comm comm)
{
    double value;

    combine<<<1, THREADS>>>(changes, word);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    MPI_Allreduce(MPI_IN_PLACE, word, 1, MPI_DOUBLE, MPI_MAX, comm);
    CUDA(cudaMemcpy(&value, word, sizeof(value), cudaMemcpyDeviceToHost));
    return value;
}

/* The rows next to the border go to the neighbours, theirs to the border. */
static void exchange_rows(struct part p, double *u, MPI_Comm line)
{
    const int columns = p.n + 2, counts[2] = {columns, columns};
    const int from[2] = {columns, p.rows * columns}, to[2] = {0, (p.rows + 1) * columns};

    CUDA(cudaDeviceSynchronize());
    MPI_Neighbor_alltoallv(u, counts, from, MPI_DOUBLE, u, counts, to, MPI_DOUBLE, line);
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
    const int n = argc > 1 ? atoi(argv[1]) : 256;
    const double tolerance = argc > 2 ? atof(argv[2]) : 1e-6;
    double *u, *next, *changes, *word, change = 1, error;
    int rank, ranks, never = 0, iterations = 0;
    MPI_Comm line;
    struct part p;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    choose_device();
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &never, 0, &line);
    MPI_Comm_rank(line, &rank);
    if (n < ranks) {
        fprintf(stderr, "fewer rows than ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    p.n = n;
    p.first = 1 + (int) ((long) n * rank / ranks);
    p.rows = 1 + (int) ((long) n * (rank + 1) / ranks) - p.first;

    const size_t bytes = (size_t) (p.rows + 2) * (n + 2) * sizeof(double);
    CUDA(cudaMalloc((void **) &u, bytes));
    CUDA(cudaMalloc((void **) &next, bytes));
    CUDA(cudaMalloc((void **) &changes, BLOCKS * sizeof(double)));
    CUDA(cudaMalloc((void **) &word, sizeof(double)));
    begin<<<BLOCKS, THREADS>>>(p, u);
    begin<<<BLOCKS, THREADS>>>(p, next);
    CUDA(cudaGetLastError());

    while (change > tolerance && iterations < MOST) {
        exchange_rows(p, u, line);
        relax<<<BLOCKS, THREADS>>>(p, u, next, changes);
        CUDA(cudaGetLastError());
        double *old = u;
        u = next;
        next = old;
        if (0 == ++iterations % LOOK) {
            change = over_all_ranks(changes, word, line);
        }
    }
    compare<<<BLOCKS, THREADS>>>(p, u, changes);
    CUDA(cudaGetLastError());
    error = over_all_ranks(changes, word, line);

    /* near the solution each iteration leaves about 1 - 5 / n^2 of the error */
    const bool good = error <= tolerance * n * n;
    if (0 == rank) {
        printf("%d iterations, largest error %.10e: %s\n", iterations, error,
               good ? "right" : "WRONG");
    }
    CUDA(cudaFree(word));
    CUDA(cudaFree(changes));
    CUDA(cudaFree(next));
    CUDA(cudaFree(u));
    MPI_Comm_free(&line);
    MPI_Finalize();
    return good ? 0 : 1;
}
