/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an application does to its own process between two calls, or had done to it, harms neither
 * its data nor the job. Results are checked.
 *
 *      limits descriptors    closes all descriptors of files, and has them name a file of its own
 *      limits files          allows itself files of 0 bytes
 *      limits addresses      rank 1 allows itself no more address space
 *      limits mappings LEFT  rank 1 makes mappings until that many are left, before its first call
 *      limits alive N        N communicators at a time
 */
#include <mpi.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "forms.h"
#include "mpit_counts.h"
#include "quick.h"
#include "tap.h"

#define COMMS 24
#define BYTES (1 << 20)

static bool sum_is_right(MPI_Comm comm, int n)
{
    int mine = test_rank + n, sum = -1;

    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum == test_size * (test_size - 1) / 2 + test_size * n;
}

/* Communicators with links of several algorithms, all alive. */
static void use_communicators(void)
{
    MPI_Comm comms[COMMS];
    bool good = true;
    int k;

    for (k = 0; k < COMMS; k++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
        good = sum_is_right(comms[k], k) && good;
        good = quick_call(comms[k], (enum coll)(k % NUM_COLLS), 20000, (uint64_t) k) && good;
    }
    for (k = 0; k < COMMS; k++) {
        MPI_Comm_free(&comms[k]);
    }
    tap_check(good, "%d communicators: right results", COMMS);
}

/* Descriptors of files that something has opened name the application's own one from then on. */
static void test_descriptors(void)
{
    static char data[BYTES], back[BYTES];
    char name[] = "/tmp/gpuring-test-XXXXXX";
    struct stat st;
    int fd, made;

    (void) sum_is_right(MPI_COMM_WORLD, 0);
    made = mkstemp(name);
    unlink(name);
    memset(data, 'x', BYTES);
    for (fd = 3; fd < 256; fd++) {
        if (fd != made && 0 == fstat(fd, &st) && S_ISREG(st.st_mode)) {
            (void) dup2(made, fd);
        }
    }
    (void) !pwrite(made, data, BYTES, 0);
    use_communicators();
    (void) !pread(made, back, BYTES, 0);
    tap_check(0 == memcmp(data, back, BYTES) && BYTES == lseek(made, 0, SEEK_END),
              "the application's file is what it was");
}

static void test_files(void)
{
    struct rlimit none = {0, RLIM_INFINITY}, before;

    getrlimit(RLIMIT_FSIZE, &before);
    MPI_Barrier(MPI_COMM_WORLD); /* Open MPI's files are there */
    setrlimit(RLIMIT_FSIZE, &none);
    use_communicators();
    setrlimit(RLIMIT_FSIZE, &before);
}

/* Of malloc there is enough, so what does not suffice is what is mapped. */
static void test_addresses(void)
{
    struct rlimit tight = {64 << 20, RLIM_INFINITY}, before;
    volatile char *heap;

    getrlimit(RLIMIT_AS, &before);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    heap = malloc(32 << 20);
    heap[0] = 0; /* else the compiler leaves both out */
    free((void *) heap);
    if (1 == test_rank) {
        setrlimit(RLIMIT_AS, &tight);
    }
    use_communicators();
    setrlimit(RLIMIT_AS, &before);
    use_communicators();
}

/* Pages of a region with one right and another by turns: each is a mapping. */
static void use_mappings(char *region, size_t pages, long left)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE), k = 1;

    for (; k < pages && 0 == mprotect(region + k * page, page, PROT_READ); k += 2) {
    }
    for (; left > 0 && k > 1; left -= 2) {
        k -= 2;
        mprotect(region + k * page, page, PROT_NONE);
    }
}

/* The buffers are there before, and results are looked at afterwards: both take memory. */
static void test_mappings(long left)
{
    static struct form_call calls[3 * NUM_COLLS];
    size_t pages = 1 << 20, bytes = pages * (size_t) sysconf(_SC_PAGESIZE);
    char *region = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t rng = test_seed;
    bool good = true;
    int k;

    kinds_open();
    for (k = 0; k < 3 * NUM_COLLS; k++) {
        enum coll coll = (enum coll)(k % NUM_COLLS);
        struct form_shape shape = form_draw_kind(
            &rng, (enum form_sizes[]) {SIZES_TINY, SIZES_MIDDLE, SIZES_LARGE}[k / NUM_COLLS], coll,
            form_takes(coll, KIND_GAPS) ? KIND_GAPS : KIND_UINT32);

        form_make(&calls[k], MPI_COMM_WORLD, &shape);
        form_fill(&calls[k], (uint64_t) k);
    }
    if (1 == test_rank) {
        use_mappings(region, pages, left);
    }
    for (k = 0; k < 3 * NUM_COLLS; k++) {
        MPI_Request request = MPI_REQUEST_NULL;

        form_start(&calls[k], (enum form)(k % forms_here), &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (MPI_REQUEST_NULL != request) {
            MPI_Request_free(&request);
        }
    }
    mprotect(region, bytes, PROT_NONE);
    munmap(region, bytes);
    for (k = 0; k < 3 * NUM_COLLS; k++) {
        good = form_check(&calls[k]) && good;
        form_free(&calls[k]);
    }
    kinds_close();
    tap_check(good, "%ld mappings left: right results", left);
}

/* Less than an op, which all of them share. */
#define MOST_HEAP 8192.0

static void test_alive(int n)
{
    size_t heap;
    double each;
    MPI_Comm *comms = calloc((size_t) n, sizeof(*comms));
    bool good = true;
    double seconds;
    int k;

    MPI_Barrier(MPI_COMM_WORLD);
    seconds = MPI_Wtime();
    for (k = 0; k < n; k++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
    }
    heap = mallinfo2().uordblks;
    for (k = 0; k < n; k++) {
        good = sum_is_right(comms[k], k) && good;
    }
    each = (double) (mallinfo2().uordblks - heap) / n;
    for (k = 0; k < n; k++) {
        MPI_Comm_free(&comms[k]);
    }
    seconds = MPI_Wtime() - seconds;
    tap_check(each < MOST_HEAP, "the first call takes little heap (%.0f bytes)", each);
    tap_check(good, "%d communicators at a time: right results", n);
    tap_note("%d communicators made and freed in %.3f s", n, seconds);
    free(comms);
}

int main(int argc, char **argv)
{
    if (0 != test_begin(&argc, &argv, MPI_THREAD_SINGLE) || argc < 2) {
        return 1;
    }
    if (0 == strcmp(argv[1], "descriptors")) {
        test_descriptors();
    } else if (0 == strcmp(argv[1], "files")) {
        test_files();
    } else if (0 == strcmp(argv[1], "addresses")) {
        test_addresses();
    } else if (0 == strcmp(argv[1], "mappings") && argc > 2) {
        test_mappings(atol(argv[2]));
    } else {
        test_alive(argc > 2 ? atoi(argv[2]) : 100);
    }
    if (0 == test_rank) {
        mpit_counts_list(stdout, "count");
    }
    return test_end();
}
