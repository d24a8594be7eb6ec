/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data with gaps that are larger than coll_gpuring_pack_mib: results are right, and no rank takes
 * memory for a packed copy of it all. Each call moves BYTES per rank; VmHWM says what a call took
 * at most.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forms.h"
#include "tap.h"

#define BYTES (16 << 20)

enum { BCAST, ALLGATHER, ALLGATHERV, ALLTOALL, NUM_CALLS };

static const char *const names[NUM_CALLS] = {"bcast", "allgather", "allgatherv", "alltoall"};

static MPI_Datatype gaps; /* an integer, and as much again */
static int *in, *out, *counts, *displs, block;

#define EACH_FORM(form, name, Name, request, ...)                 \
    do {                                                          \
        if (FORM_BLOCKING == (form)) {                            \
            MPI_##Name(__VA_ARGS__);                              \
        } else if (FORM_NONBLOCKING == (form)) {                  \
            MPI_I##name(__VA_ARGS__, request);                    \
        } else {                                                  \
            FORM_INIT(Name, __VA_ARGS__, MPI_INFO_NULL, request); \
            MPI_Start(request);                                   \
        }                                                         \
    } while (0)

static void call(int which, enum form form)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm = MPI_COMM_WORLD;

    switch (which) {
    case BCAST:
        EACH_FORM(form, bcast, Bcast, &request, out, block * test_size, gaps, 1, comm);
        break;
    case ALLGATHER:
        EACH_FORM(form, allgather, Allgather, &request, in, block, gaps, out, block, gaps, comm);
        break;
    case ALLGATHERV:
        EACH_FORM(form, allgatherv, Allgatherv, &request, in, block, gaps, out, counts, displs,
                  gaps, comm);
        break;
    default:
        EACH_FORM(form, alltoall, Alltoall, &request, in, block, gaps, out, block, gaps, comm);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (MPI_REQUEST_NULL != request) {
        MPI_Request_free(&request);
    }
}

static int value(int from, int i)
{
    return from * 100000007 + i;
}

static void fill(int which)
{
    for (int i = 0; i < block * test_size; i++) {
        in[2 * i] = value(test_rank, i);
        out[2 * i] = BCAST == which && 1 == test_rank ? value(1, i) : -1;
        out[2 * i + 1] = -2; /* a gap */
    }
}

static bool check(int which)
{
    bool ok = true;

    for (int i = 0; i < block * test_size && ok; i++) {
        int from = BCAST == which ? 1 : i / block, k = i % block;
        int element = BCAST == which ? i : ALLTOALL == which ? test_rank * block + k : k;

        ok = value(from, element) == out[2 * i] && -2 == out[2 * i + 1];
    }
    return ok;
}

/*
 * KiB that the process has at most had resident since the last reset; now, where that cannot be
 * told.
 */
static long most_kib(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[128];
    long kib = 0;

    while (NULL != f && NULL != fgets(line, sizeof line, f)) {
        (void) sscanf(line, "VmHWM: %ld", &kib);
    }
    if (NULL != f) {
        fclose(f);
    }
    return kib;
}

static void reset_most(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    if (NULL != f) {
        fputs("5", f);
        fclose(f);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    block = BYTES / (int) sizeof(int) / test_size;
    in = malloc(2 * (size_t) block * (size_t) test_size * sizeof(int));
    out = malloc(2 * (size_t) block * (size_t) test_size * sizeof(int));
    counts = malloc((size_t) test_size * sizeof(int));
    displs = malloc((size_t) test_size * sizeof(int));
    for (int r = 0; r < test_size; r++) {
        counts[r] = block;
        displs[r] = r * block;
    }
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    for (int which = 0; which < NUM_CALLS; which++) {
        for (int form = 0; form < forms_here; form++) {
            long before;

            fill(which);
            reset_most();
            before = most_kib();
            call(which, (enum form) form);
            before = most_kib() - before;
            tap_check(check(which), "%s, %s: the result", names[which], form_names[form]);
            tap_check(before < BYTES / 2 / 1024, "%s, %s: no copy of it all", names[which],
                      form_names[form]);
            tap_note("%s, %s: %ld KiB", names[which], form_names[form], before);
        }
    }
    MPI_Type_free(&gaps);
    free(in);
    free(out);
    free(counts);
    free(displs);
    return test_end();
}
