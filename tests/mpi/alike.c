/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that differ in one argument only, each often enough in a row that it is cached
 * (mpi/call_cache.h), and each after each other one: none may be done as another, cached one.
 */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "tap.h"

#define MOST 16   /* ranks */
#define INTS 256  /* of a buffer */
#define MIDDLE 64 /* where results begin: displacements may be negative */

/* Whose argument is the other one. */
enum change { NOTHING, ROOT, COUNT, OP, TYPE, IN_PLACE, COUNTS, DISPLS, GAPS, NUM_CHANGES };

static int in[INTS], out[INTS];
static MPI_Datatype pair; /* two ints, freed and made anew with a gap between them */

static int value(int rank, int i)
{
    return 1000 * rank + 7 * i + 1;
}

static void fill(void)
{
    for (int i = 0; i < INTS; i++) {
        in[i] = value(test_rank, i);
        out[i] = -1;
    }
}

/* Of a reduction of element i over all ranks. As floats, the bits of sums would not be these. */
static int reduced(int i, bool max)
{
    int all = max ? value(test_size - 1, i) : 0;

    for (int r = 0; r < test_size && !max; r++) {
        all += value(r, i);
    }
    return all;
}

static bool bcast(enum change c)
{
    const int root = ROOT == c ? 1 : 0, n = COUNT == c ? 5 : 4, step = GAPS == c ? 2 : 1;
    bool good = true;

    if (GAPS == c || TYPE == c) { /* the handle may be that of the type before */
        MPI_Type_vector(2, 1, step, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Bcast(in, 2, pair, root, MPI_COMM_WORLD);
        MPI_Type_free(&pair);
    } else {
        MPI_Bcast(in, n, MPI_INT, root, MPI_COMM_WORLD);
    }
    if (GAPS == c) { /* elements 0, 2, 3, 5: the second begins where the first one ends */
        return in[0] == value(0, 0) && in[1] == value(test_rank, 1) && in[2] == value(0, 2) &&
               in[3] == value(0, 3) && in[5] == value(0, 5);
    }
    for (int i = 0; i < INTS; i++) {
        good = good && in[i] == value(i < n ? root : test_rank, i);
    }
    return good;
}

static bool allreduce(enum change c)
{
    const int n = COUNT == c ? 5 : 4;
    const float mine = 0.5f, *sum = (const float *) (const void *) out;
    bool good = true;

    if (TYPE == c) { /* four of four bytes, too */
        float some[4] = {mine, mine, mine, mine};

        MPI_Allreduce(some, out, 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return sum[0] == mine * (float) test_size && sum[3] == sum[0] && -1 == out[4];
    }
    if (IN_PLACE == c) {
        memcpy(out, in, 4 * sizeof(int));
    }
    MPI_Allreduce(IN_PLACE == c ? MPI_IN_PLACE : in, out, n, MPI_INT, OP == c ? MPI_MAX : MPI_SUM,
                  MPI_COMM_WORLD);
    for (int i = 0; i < INTS; i++) {
        good = good && out[i] == (i < n ? reduced(i, OP == c) : -1);
    }
    return good;
}

static bool reduce(enum change c)
{
    const int root = ROOT == c ? 1 : 0;
    const bool place = IN_PLACE == c && 0 == test_rank;

    if (place) {
        memcpy(out, in, 4 * sizeof(int));
    }
    MPI_Reduce(place ? MPI_IN_PLACE : in, out, 4, MPI_INT, OP == c ? MPI_MAX : MPI_SUM, root,
               MPI_COMM_WORLD);
    return out[3] == (root == test_rank ? reduced(3, OP == c) : -1) && -1 == out[4];
}

/* Two ints of each rank; COUNTS: of rank r, r % 2 + 1 of them; DISPLS: from the last rank on. */
static bool gather(enum change c)
{
    int counts[MOST], displs[MOST], sum = 0;
    bool good = true;

    for (int r = 0; r < test_size; r++) {
        counts[r] = COUNTS == c ? r % 2 + 1 : 2;
        displs[r] = DISPLS == c ? -3 * r : sum;
        sum += counts[r];
    }
    if (IN_PLACE == c) {
        memcpy(out + MIDDLE + displs[test_rank], in, (size_t) counts[test_rank] * sizeof(int));
    }
    MPI_Allgatherv(IN_PLACE == c ? MPI_IN_PLACE : in, counts[test_rank], MPI_INT, out + MIDDLE,
                   counts, displs, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < test_size; r++) {
        for (int i = 0; i < counts[r]; i++) {
            good = good && out[MIDDLE + displs[r] + i] == value(r, i);
        }
    }
    return good && (DISPLS == c || -1 == out[MIDDLE + sum]);
}

static bool scatter(enum change c)
{
    int counts[MOST], before = 0;

    for (int r = 0; r < test_size; r++) {
        counts[r] = COUNTS == c ? r % 2 + 1 : 2;
        before += r < test_rank ? counts[r] : 0;
    }
    MPI_Reduce_scatter(in, out, counts, MPI_INT, OP == c ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    return out[0] == reduced(before, OP == c) && -1 == out[counts[test_rank]];
}

static bool blocks(enum change c)
{
    const int n = COUNT == c ? 3 : 2;

    MPI_Reduce_scatter_block(in, out, n, MPI_INT, OP == c ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    return out[1] == reduced(test_rank * n + 1, OP == c) && -1 == out[n];
}

static const struct {
    const char *name;
    bool (*call)(enum change c);
    const char *changes; /* a letter for each, in the order of enum change */
} calls[] = {
    {"bcast", bcast, "nrc.t...g"},           {"allreduce", allreduce, "n.coti..."},
    {"reduce", reduce, "nr.o.i..."},         {"allgatherv", gather, "n....icd."},
    {"reduce_scatter", scatter, "n..o..c."}, {"reduce_scatter_block", blocks, "n.co....."},
};

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        bool good = true;

        for (int pass = 0; pass < NUM_CHANGES; pass++) {
            for (int c = 0; c < NUM_CHANGES; c++) {
                /* pass 0 fills the cache; later ones take the calls in other orders */
                const int change = (c * (pass + 1)) % NUM_CHANGES;

                if ((size_t) change >= strlen(calls[k].changes) ||
                    '.' == calls[k].changes[change]) {
                    continue;
                }
                for (int again = 0; again < 3; again++) {
                    fill();
                    if (!calls[k].call((enum change) change)) {
                        tap_fault("%s, change %d, pass %d, call %d", calls[k].name, change, pass,
                                  again);
                        good = false;
                    }
                }
            }
        }
        tap_check(good, "%s: each call by what was cached of it", calls[k].name);
    }
    return test_end();
}
