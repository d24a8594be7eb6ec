/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory on many ranks: many MIB. Calls that would join all ranks, or make links for each root, if
 * nothing bounded them; then the shared memory of all ranks' links and boards is at most MIB MiB
 * per rank. Results are checked.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpit_counts.h"
#include "tap.h"

#define MOST (64 << 10) /* bytes of the largest call */

static int *in, *out; /* with room for all calls */

/*
 * Bytes of System V segments, which are those of gpuring's pools, that count for this process: of
 * pages that several have mapped its share, so the sum over all ranks is what they hold.
 */
static int64_t pool_bytes(void)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[500];
    bool ours = false;
    int64_t bytes = 0;
    long kib;

    while (NULL != maps && NULL != fgets(line, sizeof(line), maps)) {
        if (NULL != strchr("0123456789abcdef", line[0])) {
            ours = NULL != strstr(line, "/SYSV00000000");
        } else if (ours && 1 == sscanf(line, "Pss: %ld", &kib)) {
            bytes += (int64_t) kib << 10;
        }
    }
    if (NULL != maps) {
        fclose(maps);
    }
    return bytes;
}

static int value(int of, int k)
{
    return 1000 * of + k % 997;
}

static void fill(int n)
{
    for (int k = 0; k < n; k++) {
        in[k] = value(test_rank, k);
        out[k] = -1;
    }
}

static bool alltoall(int count)
{
    bool good = true;

    fill(count * test_size);
    MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    for (int k = 0; k < count * test_size; k++) {
        good = good && out[k] == value(k / count, test_rank * count + k % count);
    }
    return good;
}

static bool allgather(int count)
{
    bool good = true;

    fill(count * test_size);
    MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, MPI_COMM_WORLD);
    for (int k = 0; k < count * test_size; k++) {
        good = good && out[k] == value(k / count, k % count);
    }
    return good;
}

static bool bcast(int count)
{
    bool good = true;

    for (int root = 0; root < test_size; root++) {
        fill(count);
        MPI_Bcast(in, count, MPI_INT, root, MPI_COMM_WORLD);
        for (int k = 0; k < count; k++) {
            good = good && in[k] == value(root, k);
        }
    }
    return good;
}

static bool is_sum(int count)
{
    bool good = true;

    for (int k = 0; k < count; k++) {
        good = good && out[k] == 500 * test_size * (test_size - 1) + test_size * (k % 997);
    }
    return good;
}

static bool reduce(int count)
{
    bool good = true;

    for (int root = 0; root < test_size; root++) {
        fill(count);
        MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        good = good && (test_rank != root || is_sum(count));
    }
    return good;
}

static bool allreduce(int count)
{
    fill(count);
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return is_sum(count);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        bool (*call)(int count);
        int bytes;
    } calls[] = {{"alltoall of 8 bytes", alltoall, 8},
                 {"allgather of 8 bytes", allgather, 8},
                 {"bcast of 64 bytes from each rank", bcast, 64},
                 {"allreduce of 64 KiB", allreduce, 64 << 10},
                 {"alltoall of 1 KiB", alltoall, 1 << 10},
                 {"bcast of 64 KiB from each rank", bcast, 64 << 10},
                 {"reduce of 64 KiB to each rank", reduce, 64 << 10}};
    int64_t bytes = 0;
    size_t room;

    if (0 != test_begin(&argc, &argv, MPI_THREAD_SINGLE) || argc != 2) {
        return 1;
    }
    room = (size_t) test_size << 10; /* of the largest Alltoall */
    room = room > MOST ? room : MOST;
    in = calloc(1, room);
    out = calloc(1, room);
    for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++) {
        bool good = calls[k].call(calls[k].bytes / (int) sizeof(int));

        bytes = tap_sum(pool_bytes());
        tap_note("%s: %lld KiB per rank", calls[k].what, (long long) (bytes / test_size >> 10));
        tap_check(good, "%s", calls[k].what);
    }
    tap_check(bytes > 0 && bytes <= ((int64_t) atoi(argv[1]) << 20) * test_size,
              "at most %s MiB of shared memory per rank", argv[1]);
    if (0 == test_rank) {
        mpit_counts_list(stdout, "count");
    }
    free(in);
    free(out);
    return test_end();
}
