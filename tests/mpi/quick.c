/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of forms.h on buffers in host memory, and a few of other collectives (quick.h). */
#include "quick.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "forms.h"
#include "rng.h"
#include "tap.h"

static bool call(MPI_Comm comm, enum coll coll, enum form form, int count, uint64_t salt)
{
    const struct form_shape shape = {.coll = coll,
                                     .kind = KIND_UINT32,
                                     .on_host = true,
                                     .count = count,
                                     .root = (int) (salt % (1 << 20)),
                                     .key = salt};

    return form_run(comm, &shape, form, salt);
}

bool quick_call(MPI_Comm comm, enum coll coll, int count, uint64_t salt)
{
    return call(comm, coll, FORM_BLOCKING, count, salt);
}

/* One that forms.h does not have: a block of `count` elements, or one for or from each rank. */
static bool other_call(MPI_Comm comm, enum other other, int count, uint64_t salt)
{
    const struct kind *k = &kinds[KIND_UINT32];
    const size_t bytes = (size_t) count * (size_t) k->extent;
    int rank, size, root, blocks, *counts;
    char *in, *out, *expected;
    bool ok;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    root = (int) (salt % (uint64_t) size);
    blocks = OTHER_SCAN == other ? 1 : OTHER_GATHER == other && rank != root ? 0 : size;
    counts = malloc(2 * (size_t) size * sizeof *counts);
    in = malloc(3 * (size_t) size * bytes + 1);
    out = in + (size_t) size * bytes;
    expected = out + (size_t) size * bytes;
    kind_fill(k, in, 0, count * size, salt, rank);
    for (int r = 0; r < size; r++) {
        counts[r] = count;
        counts[size + r] = r * count; /* displacements */
        kind_fill(k, expected + (size_t) r * bytes, OTHER_ALLTOALLV == other ? rank * count : 0,
                  count, salt, r);
    }
    switch (other) {
    case OTHER_ALLTOALLV:
        MPI_Alltoallv(in, counts, counts + size, k->type, out, counts, counts + size, k->type,
                      comm);
        break;
    case OTHER_GATHER:
        MPI_Gather(in, count, k->type, out, count, k->type, root, comm);
        break;
    default:
        MPI_Scan(in, out, count, k->type, k->op, comm);
        kind_reduce(k, expected, 0, count, salt, rank + 1);
        break;
    }
    ok = 0 == memcmp(out, expected, (size_t) blocks * bytes);
    if (!ok) {
        tap_fault("%s of %d elements is wrong, salt %llu, rank %d of %d",
                  OTHER_SCAN == other     ? "scan"
                  : OTHER_GATHER == other ? "gather"
                                          : "alltoallv",
                  count, (unsigned long long) salt, rank, size);
    }
    free(in);
    free(counts);
    return ok;
}

bool quick_other(MPI_Comm comm, enum other other, int count, uint64_t salt)
{
    switch (other) {
    case OTHER_BARRIER:
        return MPI_SUCCESS == MPI_Barrier(comm);
    case OTHER_IBCAST:
        return call(comm, COLL_BCAST, FORM_NONBLOCKING, count, salt);
    case OTHER_IALLREDUCE:
        return call(comm, COLL_ALLREDUCE, FORM_NONBLOCKING, count, salt);
    case OTHER_IALLGATHER:
        return call(comm, COLL_ALLGATHER, FORM_NONBLOCKING, count, salt);
    default:
        return other_call(comm, other, count, salt);
    }
}

void quick_sleep(int us)
{
    struct timespec t = {us / 1000000, 1000l * (us % 1000000)};

    nanosleep(&t, NULL);
}

void quick_delay(uint64_t *rng, int max_us)
{
    if (0 == rng_below(rng, 3)) {
        quick_sleep(rng_below(rng, max_us));
    }
}
