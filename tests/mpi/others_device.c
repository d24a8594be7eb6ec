/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests for device buffers only: allocations and copies of repeated calls, from the fake driver's
 * log.
 */
#include <stdio.h>
#include <stdlib.h>

#include "devlog.h"
#include "devmem.h"
#include "others.h"
#include "rng.h"
#include "tap.h"

/* ---- allocations ---- */

#define WARM_UP 10
#define ROUNDS 50

static const struct {
    enum others_coll coll;
    enum form form;
    int scene; /* of others_scenes_open() */
} repeated[] = {
    {OTHERS_GATHER, FORM_BLOCKING, 0},
    {OTHERS_SCATTERV, FORM_BLOCKING, 0},
    {OTHERS_ALLTOALLV, FORM_BLOCKING, 0},
    {OTHERS_EXSCAN, FORM_BLOCKING, 0},
    {OTHERS_GATHERV, FORM_NONBLOCKING, 0},
    {OTHERS_ALLTOALLW, FORM_NONBLOCKING, 0},
    {OTHERS_SCAN, FORM_NONBLOCKING, 0},
    {OTHERS_ALLTOALL, FORM_PERSISTENT, 0},
    {OTHERS_SCAN, FORM_PERSISTENT, 0},
    {OTHERS_REDUCE_LOCAL, FORM_BLOCKING, 2},
    {OTHERS_REDUCE, FORM_BLOCKING, 3},
    {OTHERS_ALLGATHERV, FORM_NONBLOCKING, 3},
    {OTHERS_NEIGHBOR_ALLTOALLV, FORM_BLOCKING, 6},
    {OTHERS_NEIGHBOR_ALLGATHER, FORM_NONBLOCKING, 6},
};

enum { REPEATED = sizeof repeated / sizeof repeated[0] };

static enum form form_of(int i)
{
    return (int) repeated[i].form < forms_here ? repeated[i].form : FORM_NONBLOCKING;
}

/*
 * Of a reduce_local every start changes the result, and so does an in-place call's: the reference
 * is of one start.
 */
static bool is_checked(int i)
{
    return OTHERS_REDUCE_LOCAL != repeated[i].coll;
}

/* Calls first ... last - 1 under way together, again and again. */
static bool repeat(const struct others_call *c, int first, int last)
{
    MPI_Request requests[REPEATED];
    int before = 0, after;

    for (int i = 0; i < REPEATED; i++) {
        requests[i] = MPI_REQUEST_NULL;
    }
    for (int k = 0; k < WARM_UP + ROUNDS; k++) {
        before = WARM_UP == k ? devlog_allocations() : before;
        for (int i = first; i < last; i++) {
            others_start(&c[i], form_of(i), &requests[i]);
        }
        MPI_Waitall(REPEATED, requests, MPI_STATUSES_IGNORE);
    }
    after = devlog_allocations();
    tap_note("%d allocations, %d more in %d rounds", before, after - before, ROUNDS);
    for (int i = first; i < last; i++) {
        if (MPI_REQUEST_NULL != requests[i]) {
            MPI_Request_free(&requests[i]);
        }
    }
    /*
     * of several, it is the machine's business how many pieces are under way at a time, and so when
     * there are the most
     */
    return before > 0 && after - before <= (last - first > 1 ? ROUNDS / 10 : 0);
}

/* A call on row i of the table that has something for some rank. */
static void make(struct others_call *c, const struct others_scene *on, int i, uint64_t *rng)
{
    for (;;) {
        struct others_case what = others_draw(rng, on, repeated[i].coll);
        int64_t elements = 0;

        what.in_place = false;
        others_make(c, on, &what);
        for (int b = 0; b < c->recv.n; b++) {
            elements += c->recv.blocks[b].count;
        }
        if (tap_sum(elements) > 0) {
            return;
        }
        others_free(c);
    }
}

void others_steady(const struct others_scene *scenes)
{
    struct others_call c[REPEATED];
    uint64_t rng = rng_key(test_seed, 220, 0);
    bool ok = true;

    for (int i = 0; i < REPEATED; i++) {
        make(&c[i], &scenes[repeated[i].scene], i, &rng);
        others_fill(&c[i], rng_next(&rng));
        if (is_checked(i)) {
            others_refer(&c[i], form_of(i));
        }
    }
    for (int i = 0; i < REPEATED; i++) {
        tap_check(repeat(c, i, i + 1), "%s, %s, on %s, again and again: nothing is allocated",
                  others_infos[c[i].what.coll].name, form_names[form_of(i)], c[i].on->name);
    }
    tap_check(repeat(c, 0, REPEATED), "all of these under way: nothing is allocated");
    for (int i = 0; i < REPEATED; i++) {
        ok = (!is_checked(i) || others_check(&c[i], form_of(i))) && ok;
        others_free(&c[i]);
    }
    tap_check(ok, "and all are right");
}

/* ---- copies ---- */

#define COUNT 5000 /* integers to or from each rank */
#define ROWS 1000  /* of one integer, every third is used */

/*
 * Whether the copies since then are one of so many bytes each way; none where there are no bytes.
 */
static bool copied(const char *name, const struct devlog_copies *before, long out, long in)
{
    struct devlog_copies now = devlog_copies();
    const long expected[COPY_WAYS] = {out, in, 0};
    bool ok = true;

    for (int way = 0; way < COPY_WAYS; way++) {
        int n = now.n[way] - before->n[way];
        long bytes = now.bytes[way] - before->bytes[way];

        if ((expected[way] > 0) != n || expected[way] != bytes) {
            tap_fault("%s: %d copies of %ld bytes, way %d (0: to the host, 1: to the device); "
                      "expected %ld bytes",
                      name, n, bytes, way, expected[way]);
            ok = false;
        }
    }
    return ok;
}

void others_copies(void)
{
    const long block = COUNT * (long) sizeof(int),
               row_bytes = test_size * ROWS * (long) sizeof(int);
    int *host = calloc((size_t) test_size, (size_t) block);
    int *in = devmem_alloc(DEVMEM_DEVICE, (size_t) (test_size * block));
    int *out = devmem_alloc(DEVMEM_DEVICE, (size_t) (test_size * block));
    struct devlog_copies before = devlog_copies();
    bool gather = true, alltoall = true, rows = true;
    int *counts = calloc(6 * (size_t) test_size, sizeof *counts), *displs = counts + test_size;
    int *few = displs + test_size, *few_displs = few + test_size, *one = few_displs + test_size,
        *one_displs = one + test_size;
    MPI_Datatype vector, resized;

    MPI_Type_vector(ROWS, 1, 3, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 3 * ROWS * (MPI_Aint) sizeof(int), &resized);
    MPI_Type_commit(&resized);
    devmem_put(in, host, (size_t) (test_size * block));
    for (int r = 0; r < test_size; r++) {
        counts[r] = COUNT;
        displs[r] = r * COUNT;
        few[r] = ROWS;
        few_displs[r] = r * ROWS;
        one[r] = 1;
        one_displs[r] = r;
    }
    if (tap_agree(devlog_copies().n[TO_DEVICE] == before.n[TO_DEVICE])) {
        tap_skip("the driver does not log copies", "each byte is copied once");
    } else {
        for (int k = 0; k < 3; k++) {
            before = devlog_copies();
            MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT,
                          MPI_COMM_WORLD);
            alltoall =
                copied("alltoallv", &before, test_size * block, test_size * block) && alltoall;
            before = devlog_copies();
            MPI_Gather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
            gather =
                copied("gather", &before, block, 0 == test_rank ? test_size * block : 0) && gather;
            before = devlog_copies();
            MPI_Alltoallv(in, few, few_displs, MPI_INT, out, one, one_displs, resized,
                          MPI_COMM_WORLD);
            rows = copied("alltoallv to rows", &before, row_bytes, row_bytes) && rows;
        }
        tap_check(alltoall, "alltoallv: one copy to the host, one back");
        tap_check(gather, "gather: one copy to the host, the root's also back");
        tap_check(rows, "alltoallv to integers with gaps between them: one copy back");
    }
    MPI_Type_free(&resized);
    MPI_Type_free(&vector);
    devmem_free(DEVMEM_DEVICE, in);
    devmem_free(DEVMEM_DEVICE, out);
    free(host);
    free(counts);
}
