/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A linear least-squares fit by gradient descent, with buffers in host memory:
 *
 *     mpicc -O2 -o fit fit.c -lm
 *     mpirun -np 2 --mca coll gpuring ./fit
 *
 * The ranks share the samples; each knows all parameters. In each iteration a rank computes the
 * gradient of its samples, and MPI_Allreduce sums the ranks' gradients in place. The sum of the
 * squared residuals follows by MPI_Iallreduce, while the parameters are updated.
 *
 * The samples follow known parameters exactly, so the program knows how far it is off. Rank 0
 * prints the iterations and the largest error; all ranks end with 0 if that is small.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 2048, PARAMETERS = 256, MOST = 1000 };
static const double rate = 0.5 / SAMPLES, tolerance = 1e-8;

/* A number between -1.5 and 1.5 of variance 3/4, the same for the same arguments. */
static double number(uint64_t sample, uint64_t parameter)
{
    uint64_t bits = (sample * PARAMETERS + parameter + 1) * 0x9e3779b97f4a7c15u;

    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return 3 * ((double) (bits >> 11) / 9007199254740992.0 - 0.5);
}

static double wanted(int parameter)
{
    return sin(parameter);
}

/* gradient: of half the squared residuals of these samples, whose sum is returned. */
static double differentiate(int samples, const double *x, const double *y, const double *w,
                            double *gradient)
{
    double squares = 0;

    for (int k = 0; k < PARAMETERS; k++) {
        gradient[k] = 0;
    }
    for (int i = 0; i < samples; i++) {
        const double *row = x + (size_t) i * PARAMETERS;
        double residual = -y[i];

        for (int k = 0; k < PARAMETERS; k++) {
            residual += row[k] * w[k];
        }
        for (int k = 0; k < PARAMETERS; k++) {
            gradient[k] += residual * row[k];
        }
        squares += residual * residual;
    }
    return squares;
}

int main(int argc, char **argv)
{
    double w[PARAMETERS] = {0}, gradient[PARAMETERS], error = 0, sum = 1;
    int rank, ranks, iterations = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    /* this rank's samples */
    const int first = (int) ((long) SAMPLES * rank / ranks);
    const int samples = (int) ((long) SAMPLES * (rank + 1) / ranks) - first;
    double *x = malloc(sizeof(*x) * (samples + 1) * PARAMETERS);
    double *y = calloc(samples + 1, sizeof(*y));
    if (NULL == x || NULL == y) {
        fprintf(stderr, "out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < samples; i++) {
        for (int k = 0; k < PARAMETERS; k++) {
            x[(size_t) i * PARAMETERS + k] = number(first + i, k);
            y[i] += x[(size_t) i * PARAMETERS + k] * wanted(k);
        }
    }

    while (sum > tolerance * tolerance && iterations < MOST) {
        const double squares = differentiate(samples, x, y, w, gradient);
        MPI_Request request;

        MPI_Allreduce(MPI_IN_PLACE, gradient, PARAMETERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Iallreduce(&squares, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        for (int k = 0; k < PARAMETERS; k++) {
            w[k] -= rate * gradient[k];
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        iterations++;
    }
    for (int k = 0; k < PARAMETERS; k++) {
        error = fmax(error, fabs(w[k] - wanted(k)));
    }
    MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (0 == rank) {
        printf("%d iterations, largest error %.3g: %s\n", iterations, error,
               error < 1e-6 ? "right" : "WRONG");
    }
    free(x);
    free(y);
    MPI_Finalize();
    return error < 1e-6 ? 0 : 1;
}
