/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A warm call allocates nothing: nomalloc [CALLS]. The program brings its own malloc and the like,
 * which count what the main thread asks for between two marks, in its own calls as in the
 * libraries'. Without gpuring the numbers are only told.
 */
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>

#include "batch.h"
#include "mpit_counts.h"
#include "rng.h"
#include "tap.h"

#define WARM_UP 50

/* ---- counting; glibc has these under a second name ---- */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

#define EXPORTED __attribute__((visibility("default")))

static __thread bool counting;
static __thread long allocations;

EXPORTED void *malloc(size_t bytes)
{
    allocations += counting;
    return __libc_malloc(bytes);
}

EXPORTED void *calloc(size_t n, size_t bytes)
{
    allocations += counting;
    return __libc_calloc(n, bytes);
}

EXPORTED void *realloc(void *old, size_t bytes)
{
    allocations += counting;
    return __libc_realloc(old, bytes);
}

EXPORTED void *memalign(size_t alignment, size_t bytes)
{
    allocations += counting;
    return __libc_memalign(alignment, bytes);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

EXPORTED int posix_memalign(void **at, size_t alignment, size_t bytes)
{
    *at = memalign(alignment, bytes);
    return NULL == *at ? ENOMEM : 0;
}

/* ---- calls ---- */

static uint64_t calls;

static void call(const struct form_call *c, enum form form, MPI_Request *request)
{
    form_start(c, form, request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Allocations in n calls, after some that do not count. */
static long measure(enum coll coll, enum form form, int bytes, int n, bool *ok)
{
    struct form_shape shape = form_draw_kind(&calls, SIZES_TINY, coll, KIND_FLOAT);
    MPI_Request request = MPI_REQUEST_NULL;
    struct form_call c;

    shape.count = bytes / kinds[KIND_FLOAT].extent;
    shape.in_place = false;
    form_make(&c, MPI_COMM_WORLD, &shape);
    form_fill(&c, rng_next(&calls));
    for (int i = 0; i < WARM_UP; i++) {
        call(&c, form, &request);
    }
    tap_sync(); /* no rank is behind, which would make its peers queue messages */
    allocations = 0;
    counting = true;
    for (int i = 0; i < n; i++) {
        call(&c, form, &request);
    }
    counting = false;
    *ok = form_check(&c) && *ok;
    if (MPI_REQUEST_NULL != request) {
        MPI_Request_free(&request);
    }
    form_free(&c);
    return allocations;
}

/* Interposed at all? Asked in a way that the compiler cannot see through. */
static bool counts(void)
{
    void *(*volatile get)(size_t) = malloc;

    allocations = 0;
    counting = true;
    free(get(1));
    counting = false;
    return 1 == allocations;
}

static void test_form(enum form form, int bytes, int n)
{
    bool ok = true;
    long total = 0;

    for (int coll = 0; coll < NUM_COLLS; coll++) {
        long made = measure((enum coll) coll, form, bytes, n, &ok);

        tap_note("%s %s of %d bytes: %ld allocations in %d calls", form_names[form],
                 coll_infos[coll].name, bytes, made, n);
        total += made;
    }
    tap_check(ok, "%s calls of %d bytes: right results", form_names[form], bytes);
    if (tap_agree(mpit_counts_read().calls > 0)) {
        tap_check(0 == total, "%s calls of %d bytes allocate nothing", form_names[form], bytes);
    } else {
        tap_skip("gpuring is not at work", "%s calls of %d bytes allocate nothing",
                 form_names[form], bytes);
    }
}

int main(int argc, char **argv)
{
    int n;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    n = argc > 1 ? atoi(argv[1]) : 1000;
    calls = rng_key(test_seed, 160, 0);
    kinds_open();
    tap_check(counts(), "allocations are counted");
    for (int form = 0; form < forms_here; form++) {
        test_form((enum form) form, 16, n);
        test_form((enum form) form, 1024, n);
        test_form((enum form) form, 65536, n / 4);
    }
    kinds_close();
    return test_end();
}
