/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators and device buffers that come and go: churn ROUNDS. Each round makes a communicator
 * and the buffers of its calls, and frees both at once; nothing grows: not the device's memory, not
 * the host's, pinned or not, not the descriptors. With GPURING_MEMORY set.
 */
#include <mpi.h>
#include <stdlib.h>

#include "devmem.h"
#include "forms.h"
#include "growth.h"
#include "rng.h"
#include "tap.h"

#define BLOCK 500         /* integers of an alltoall */
#define SLACK (512 << 10) /* slabs that a late rank keeps a little longer */

static uint64_t calls; /* random numbers, the same on all ranks */
static int rounds;
static size_t idle[2]; /* bytes that the device had left after the last window and the one before */

static size_t idle_bytes(void)
{
    int (*info)(size_t *, size_t *) =
        (int (*)(size_t *, size_t *)) devmem_driver("cuMemGetInfo_v2");
    size_t left = 0, total;

    return 0 == info(&left, &total) ? left : 0;
}

/* A collective that is staged; rank r sends r + salt to all. */
static bool exchange(MPI_Comm comm, int salt)
{
    size_t n = (size_t) test_size * BLOCK;
    struct guarded in = guarded_alloc(n * sizeof(int), 0), out = guarded_alloc(n * sizeof(int), 0);
    const int *got = (const int *) out.data;
    int *sent = (int *) in.data;
    char *send = guarded_lend(&in), *recv = guarded_lend(&out);
    bool ok;

    for (size_t i = 0; i < n; i++) {
        sent[i] = test_rank + salt;
    }
    guarded_put(&in);
    guarded_put(&out);
    MPI_Alltoall(send, BLOCK, MPI_INT, recv, BLOCK, MPI_INT, comm);
    guarded_get(&out);
    ok = guarded_intact(&out);
    for (size_t i = 0; i < n && ok; i++) {
        ok = got[i] == (int) (i / BLOCK) + salt;
    }
    guarded_free(&in);
    guarded_free(&out);
    return ok;
}

static bool one_round(int round)
{
    enum form form = (enum form) rng_below(&calls, forms_here);
    struct form_shape shape;
    MPI_Comm comm;
    bool ok;

    do { /* calls that fall back go to other components, whose nonblocking calls take ever more memory */
        shape = form_draw(&calls, SIZES_MIDDLE);
    } while (NULL != kinds[shape.kind].function);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    ok = form_run(comm, &shape, form, rng_next(&calls));
    ok = (0 != round % 8 || exchange(comm, round)) && ok;
    MPI_Comm_free(&comm);
    if (rounds - 1 == round) {
        idle[1] = idle[0];
        idle[0] = idle_bytes();
    }
    return ok;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    kinds_open();
    rounds = argc > 1 ? atoi(argv[1]) : 100;
    calls = rng_key(test_seed, 70, 0);
    growth_check(one_round, rounds, &calls);
    tap_note("rank 0: the device has %zu bytes left, a window before %zu", idle[0], idle[1]);
    tap_check(0 != idle[0] && idle[0] + SLACK >= idle[1], "device memory stays, within %d KiB",
              SLACK >> 10);
    kinds_close();
    return test_end();
}
