/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that buffers lie in, and that changes as soon as the call has returned on this rank, while
 * other ranks may still be inside it: all collectives in all forms, on each kind of memory. Ranks
 * are late by chance.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* memfd_create */
#endif
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "forms.h"
#include "rng.h"
#include "tap.h"

#define PAGE ((size_t) 4096)
#define WINDOW ((size_t) 4 << 20) /* bytes of each of a rank's two buffers */

static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */

/* ---- kinds of memory: get returns memory with these bytes in it, drop takes it back ---- */

static size_t pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static char *heap_get(const char *from, size_t bytes)
{
    return memcpy(malloc(bytes + 1), from, bytes);
}

static void heap_drop(char *at, size_t bytes)
{
    memset(at, 0xee, bytes);
    free(at);
}

/* A page that cannot be read follows the last byte. */
static char *mapped_get(const char *from, size_t bytes)
{
    char *base =
        mmap(NULL, pages(bytes) + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mprotect(base + pages(bytes), PAGE, PROT_NONE);
    return memcpy(base + pages(bytes) - bytes, from, bytes);
}

static void mapped_drop(char *at, size_t bytes)
{
    munmap(at + bytes - pages(bytes), pages(bytes) + PAGE);
}

/* Other pages, with other contents, at the same address. */
static void replaced_drop(char *at, size_t bytes)
{
    char *base = at + bytes - pages(bytes);

    mmap(base, pages(bytes) + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
         -1, 0);
    memset(base, 0xee, pages(bytes));
    mapped_drop(at, bytes);
}

static char *file_map(const char *from, size_t bytes, int rights)
{
    int file = memfd_create("buffer", 0);
    bool ok = file >= 0 && (ssize_t) bytes == write(file, from, bytes);
    char *at = mmap(NULL, pages(bytes) + PAGE, rights, MAP_SHARED, file, 0);

    close(file);
    return ok ? at : NULL;
}

static char *file_get(const char *from, size_t bytes)
{
    return file_map(from, bytes, PROT_READ | PROT_WRITE);
}

static char *read_only_get(const char *from, size_t bytes)
{
    return file_map(from, bytes, PROT_READ);
}

static void file_drop(char *at, size_t bytes)
{
    munmap(at, pages(bytes) + PAGE);
}

static char *mpi_get(const char *from, size_t bytes)
{
    void *at;

    MPI_Alloc_mem((MPI_Aint) bytes + 1, MPI_INFO_NULL, &at);
    return memcpy(at, from, bytes);
}

static void mpi_drop(char *at, size_t bytes)
{
    memset(at, 0xee, bytes);
    MPI_Free_mem(at);
}

/* The next rank's part of a shared window, one half after the other. */
static char *window;
static int window_half;

static char *window_get(const char *from, size_t bytes)
{
    window_half = 1 - window_half;
    return memcpy(window + (size_t) window_half * WINDOW, from, bytes);
}

static void window_drop(char *at, size_t bytes)
{
    memset(at, 0xee, bytes);
}

static const struct memory {
    const char *name;
    char *(*get)(const char *from, size_t bytes);
    void (*drop)(char *at, size_t bytes);
    bool read_only; /* for inputs only */
} memories[] = {
    {"heap, overwritten", heap_get, heap_drop, false},
    {"a mapping that ends where nothing can be read, unmapped", mapped_get, mapped_drop, false},
    {"a mapping, replaced by another", mapped_get, replaced_drop, false},
    {"a shared file, unmapped", file_get, file_drop, false},
    {"a file that can only be read", read_only_get, file_drop, true},
    {"MPI_Alloc_mem, freed", mpi_get, mpi_drop, false},
    {"another rank's part of a shared window, overwritten", window_get, window_drop, false},
};

/* ---- calls ---- */

static bool run(const struct memory *m, enum coll coll, enum form form, enum form_sizes sizes)
{
    const struct memory *to = m->read_only ? &memories[0] : m;
    struct form_shape shape = form_draw_coll(&calls, sizes, coll);
    MPI_Request request = MPI_REQUEST_NULL;
    struct form_call c;
    char *in, *out;
    bool ok;

    shape.in_place = shape.in_place && !m->read_only;
    form_make(&c, MPI_COMM_WORLD, &shape);
    form_fill(&c, rng_next(&calls));
    in = m->get(c.in.data, c.in.bytes);
    out = to->get(c.out.data, c.out.bytes);
    c.send = MPI_IN_PLACE == c.send ? MPI_IN_PLACE : in;
    c.recv = out;
    form_delay(&mine);
    form_start(&c, form, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (MPI_REQUEST_NULL != request) {
        MPI_Request_free(&request);
    }
    ok = 0 == memcmp(in, c.in.data, c.in.bytes);
    memcpy(c.out.data, out, c.out.bytes);
    m->drop(in, c.in.bytes);
    to->drop(out, c.out.bytes);
    ok = form_check(&c) && ok;
    form_free(&c);
    return ok;
}

static bool run_all(const struct memory *m)
{
    bool ok = true;

    for (int coll = 0; coll < NUM_COLLS; coll++) {
        for (int form = 0; form < forms_here; form++) {
            for (int sizes = SIZES_TINY; sizes <= SIZES_LARGE; sizes++) {
                ok = run(m, (enum coll) coll, (enum form) form, (enum form_sizes) sizes) && ok;
            }
        }
    }
    return ok;
}

int main(int argc, char **argv)
{
    MPI_Aint bytes;
    MPI_Win win;
    int unit;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    calls = rng_key(test_seed, 150, 0);
    mine = rng_key(test_seed, 151, (uint64_t) test_rank);
    kinds_open();
    MPI_Win_allocate_shared((MPI_Aint) (2 * WINDOW), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window,
                            &win);
    MPI_Win_shared_query(win, (test_rank + 1) % test_size, &bytes, &unit, &window);
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        tap_check(run_all(&memories[i]), "buffers in %s", memories[i].name);
    }
    MPI_Win_free(&win);
    kinds_close();
    return test_end();
}
