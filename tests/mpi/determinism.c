/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Same inputs, same bits: determinism [RUNS]. Floating-point inputs whose sums depend on the order of
 * addition; every run has other delays. Prints a hash of all results, to be compared between jobs with
 * one GPURING_SEED.
 */
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "quick.h"
#include "rng.h"
#include "tap.h"

struct shape {
    MPI_Datatype type;
    const char *name;
    int count; /* elements; in the scattering ones for each rank */
};

static const struct shape shapes[] = {
    {MPI_FLOAT, "float", 1},       {MPI_FLOAT, "float", 1001},    {MPI_FLOAT, "float", 300000},
    {MPI_DOUBLE, "double", 1},     {MPI_DOUBLE, "double", 257},   {MPI_DOUBLE, "double", 100003},
};

static const enum coll colls[] = {COLL_ALLREDUCE, COLL_REDUCE, COLL_REDUCE_SCATTER, COLL_REDUCE_SCATTER_BLOCK};
static const char *const coll_names[] = {"allreduce", "reduce", "reduce_scatter", "reduce_scatter_block"};

static uint64_t delays;

/* FNV-1a by 64-bit words, the rest by bytes. */
static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t word;

    for (; bytes >= sizeof word; bytes -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = rng_mix(h ^ word);
    }
    for (; bytes > 0; bytes--, p++) {
        h = rng_mix(h ^ *p);
    }
    return h;
}

/* Numbers of very different size: almost every order of addition rounds differently. */
static void fill(const struct shape *s, void *buf, int count, uint64_t key)
{
    for (int i = 0; i < count; i++) {
        double x = ldexp((double) (rng_next(&key) >> 11) / 9007199254740992.0 - 0.5, rng_below(&key, 20));

        if (MPI_FLOAT == s->type) {
            ((float *) buf)[i] = (float) x;
        } else {
            ((double *) buf)[i] = x;
        }
    }
}

static void call(enum coll coll, const struct shape *s, const void *in, void *out, const int *counts)
{
    switch (coll) {
    case COLL_ALLREDUCE: MPI_Allreduce(in, out, s->count, s->type, MPI_SUM, MPI_COMM_WORLD); break;
    case COLL_REDUCE: MPI_Reduce(in, out, s->count, s->type, MPI_SUM, test_size - 1, MPI_COMM_WORLD); break;
    case COLL_REDUCE_SCATTER: MPI_Reduce_scatter(in, out, counts, s->type, MPI_SUM, MPI_COMM_WORLD); break;
    default: MPI_Reduce_scatter_block(in, out, s->count, s->type, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Returns the hash of this rank's result of the first run; *same when all runs gave it. */
static uint64_t repeat(enum coll coll, const struct shape *s, int runs, uint64_t key, bool *same)
{
    bool scatters = COLL_REDUCE_SCATTER == coll || COLL_REDUCE_SCATTER_BLOCK == coll;
    size_t size = MPI_FLOAT == s->type ? sizeof(float) : sizeof(double);
    int total = s->count * (scatters ? test_size : 1);
    int *counts = malloc((size_t) test_size * sizeof *counts);
    char *in = malloc((size_t) total * size), *out = malloc((size_t) total * size);
    uint64_t first = 0;

    for (int r = 0; r < test_size; r++) { /* uneven, the sum as in the even case */
        counts[r] = s->count + (r % 2 ? -1 : r + 1 < test_size ? 1 : 0);
    }
    fill(s, in, total, rng_key(key, (uint64_t) test_rank, 0));
    for (int i = 0; i < runs; i++) {
        size_t got = (size_t) (COLL_REDUCE_SCATTER == coll ? counts[test_rank] : s->count) * size;
        uint64_t h;

        memset(out, 0, (size_t) total * size);
        quick_delay(&delays, 1000);
        call(coll, s, in, out, counts);
        h = COLL_REDUCE == coll && test_rank != test_size - 1 ? 0 : hash(key, out, got);
        first = 0 == i ? h : first;
        *same = *same && h == first;
    }
    free(counts);
    free(in);
    free(out);
    return first;
}

int main(int argc, char **argv)
{
    int runs;
    uint64_t all = 0;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    runs = argc > 1 ? atoi(argv[1]) : 20;
    delays = rng_key((uint64_t) time(NULL), (uint64_t) getpid(), (uint64_t) test_rank); /* not of the seed */
    for (size_t c = 0; c < sizeof colls / sizeof colls[0]; c++) {
        bool same = true, equal = true;

        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            uint64_t h = repeat(colls[c], &shapes[s], shapes[s].count > 10000 ? (runs + 3) / 4 : runs,
                                rng_key(test_seed, c, s), &same);
            bool like_rank0 = h == (uint64_t) tap_share((int64_t) h);

            if (COLL_ALLREDUCE == colls[c] && !like_rank0) {
                tap_fault("other bits than rank 0: %d of %s", shapes[s].count, shapes[s].name);
                equal = false;
            }
            all = rng_mix(all + (uint64_t) tap_sum((int64_t) rng_key(h, (uint64_t) test_rank, 0)));
        }
        tap_check(same, "%s: same bits in every run", coll_names[c]);
        if (COLL_ALLREDUCE == colls[c]) {
            tap_check(equal, "allreduce: same bits on every rank");
        }
    }
    tap_note("hash %016llx", (unsigned long long) all);
    return test_end();
}
