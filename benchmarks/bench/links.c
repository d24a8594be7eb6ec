/* SPDX-License-Identifier: BSD-3-Clause */
/* The measurements of links.h. */
#include "links.h"
#include "collect.h"
#include "common/available.h"
#include "common/device.h"
#include "common/fit.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Few, for slow networks. */
enum { COPY_BYTES = 32 << 20, COPIES = 11, SEND_BYTES = 4 << 20, SENDS = 8, SEND_ROUNDS = 7 };
enum { FEW_BYTES = 64 << 10, SHORT_COPIES = 50 }; /* a clock is too coarse for one short copy */
enum { EXCHANGES = 100, EXCHANGE_BATCHES = 40 };
#define EXCHANGE_SECONDS 0.02
enum { LINES_BYTES = 1024 }; /* of the shared window, behind the data: lines of an exchange */
enum { NEEDED = 4 };         /* bytes for each byte of a copy, with some to spare */
enum { DEVICE_BATCH = 4, DEVICE_BATCHES = 5 };
enum { PASS_BYTES = 256 << 20 }; /* more than a device's cache holds */

/* From sizes inside a core's cache to sizes beyond: a bound must hold for messages of any size. */
static const size_t copy_sizes[] = {128 << 10, 1 << 20, COPY_BYTES};

static const char copy_how[] =
    "best memcpy of 128 KiB, 1 MiB or 32 MiB from one rank to another of its node, 11 of each";
static const char short_how[] =
    "best memcpy from one rank to another of its node, of the sizes for which there is memory";
static const char device_how[] =
    "best of 5 times 4 copies of 32 MiB from one rank's GPU memory to another's, by CUDA IPC";
static const char memory_how[] =
    "all ranks share a device: best of 5 times 4 copies of 256 MiB in its memory, bytes read and "
    "written";
static const char mixed_how[] =
    "not measured: some ranks' buffers are on devices, some on the host";
static const char send_how[] = "median of 7 times 8 MPI_Isend of 4 MiB from one node to another";

enum { TAG_DATA = 3, TAG_DONE = 4 };

/* The lowest rank of my node. */
static int find_leader(void)
{
    MPI_Comm node;
    MPI_Group world_group, node_group;
    int first = 0, leader;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_group(MPI_COMM_WORLD, &world_group);
    MPI_Comm_group(node, &node_group);
    MPI_Group_translate_ranks(node_group, 1, &first, world_group, &leader);
    MPI_Group_free(&node_group);
    MPI_Group_free(&world_group);
    MPI_Comm_free(&node);
    return leader;
}

/*
 * The best rate of copies to target, in GB/s: B is an upper bound, and noise only ever lowers a
 * rate.
 */
static double best_copy(char *target, char *data, size_t most)
{
    double best = 0, start, GBs;

    for (size_t s = 0; s < sizeof copy_sizes / sizeof copy_sizes[0] && copy_sizes[s] <= most; s++) {
        for (int i = 0; i < COPIES; i++) {
            memset(data, i, copy_sizes[s]);
            start = MPI_Wtime();
            memcpy(target, data, copy_sizes[s]);
            GBs = (double) copy_sizes[s] / (MPI_Wtime() - start) * 1e-9;
            best = GBs > best ? GBs : best;
        }
    }
    return best;
}

/*
 * The best rates of copies from the peer's memory, by size. The peer does not write it in between,
 * as no benchmark does: the best that a cache can give is a limit, too. Above `most` bytes the rate
 * is that of the largest copy.
 */
static void best_reads(const char *from, char *data, size_t most, struct ideal_rates *rates)
{
    double start, GBs;

    for (int k = 0; k < IDEAL_SIZES; k++) {
        int often = ideal_sizes[k] < FEW_BYTES ? SHORT_COPIES : 1;

        if (ideal_sizes[k] > most) {
            rates->GBs[k] = rates->GBs[k - 1];
            continue;
        }
        for (int i = 0; i < COPIES; i++) {
            start = MPI_Wtime();
            for (int n = 0; n < often; n++) {
                memcpy(data, from, ideal_sizes[k]);
                atomic_signal_fence(memory_order_seq_cst); /* all copies are made */
            }
            GBs = (double) ideal_sizes[k] * often / (MPI_Wtime() - start) * 1e-9;
            rates->GBs[k] = 0 == i || GBs > rates->GBs[k] ? GBs : rates->GBs[k];
        }
    }
}

/* A cache line for each of two ranks; each counts up its own. */
struct lines {
    struct {
        alignas(128) atomic_ulong count;
    } of[2];
};

static unsigned long await(const atomic_ulong *count, unsigned long value)
{
    unsigned long seen;
    int polls = 0;

    while ((seen = atomic_load_explicit(count, memory_order_acquire)) < value) {
        if (0 == ++polls % 1000) {
            sched_yield(); /* the other one may wait for this core */
        }
    }
    return seen;
}

/* The least time of an exchange of lines, on rank 0. It ends early where ranks share cores. */
static double exchange_us(struct lines *lines, int me)
{
    atomic_ulong *mine = &lines->of[me].count;
    const atomic_ulong *others = &lines->of[1 - me].count;
    double begin = MPI_Wtime(), best = INFINITY, start = begin, now;
    unsigned long n = 0;

    while (true) {
        atomic_store_explicit(mine, ++n, memory_order_release);
        if (ULONG_MAX == await(others, n)) {
            return NAN; /* rank 1: rank 0 has ended it */
        }
        if (0 != me || 0 != n % EXCHANGES) {
            continue;
        }
        now = MPI_Wtime();
        best = now - start < best ? now - start : best;
        start = now;
        if (n == (unsigned long) EXCHANGES * EXCHANGE_BATCHES || now - begin > EXCHANGE_SECONDS) {
            atomic_store_explicit(mine, ULONG_MAX, memory_order_release);
            return best / EXCHANGES * 1e6;
        }
    }
}

/* The largest copy for which the node of the pair has memory; the same on both. */
static size_t most_copied(MPI_Comm pair, int me)
{
    unsigned long most = COPY_BYTES;

    while (most > available_bytes() / NEEDED) {
        most /= 2;
    }
    if (0 == me) {
        MPI_Send(&most, 1, MPI_UNSIGNED_LONG, 1, TAG_DATA, pair);
    } else {
        MPI_Recv(&most, 1, MPI_UNSIGNED_LONG, 0, TAG_DATA, pair, MPI_STATUS_IGNORE);
    }
    return most >= copy_sizes[0] ? most : 0;
}

/*
 * Bandwidth of copies into the peer's part of a shared window; NAN where there is no room for one.
 * The target's pages are its own: it touches them first. Stores need no epoch to be timed. Rank 0
 * also fills rates. *most: the largest copy.
 */
static double copy_bandwidth(MPI_Comm pair, struct ideal_rates *rates, size_t *most)
{
    double best = NAN, exchange;
    int me, unit;
    MPI_Aint bytes;
    MPI_Win window;
    char *mine, *target, *data;
    struct lines *lines;

    MPI_Comm_rank(pair, &me);
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    *most = most_copied(pair, me);
    if (0 == *most ||
        MPI_SUCCESS != MPI_Win_allocate_shared(1 == me ? (MPI_Aint) *most + LINES_BYTES : 0, 1,
                                               MPI_INFO_NULL, pair, &mine, &window)) {
        return NAN;
    }
    data = malloc(*most);
    MPI_Win_shared_query(window, 1, &bytes, &unit, &target);
    /* a line begins at a multiple of its size, wherever the window does */
    lines = (struct lines *) (void *) (target + *most +
                                       (-(uintptr_t) (target + *most)) % alignof(struct lines));
    if (1 == me) {
        memset(target, 1, *most);
        memset(lines, 0, sizeof *lines);
    }
    MPI_Barrier(pair);
    exchange = exchange_us(lines, me);
    if (0 == me && NULL != data) {
        memset(data, 0, *most);
        best_reads(target, data, *most, rates);
        rates->exchange_us = exchange;
        best = best_copy(target, data, *most);
    }
    MPI_Win_free(&window); /* waits for both */
    free(data);
    return best;
}

/* The best rate of copies between two buffers on devices, in GB/s. NAN: one of them is NULL. */
static double best_device_rate(char *target, const char *data, size_t bytes)
{
    double best = NAN, start, GBs;

    for (int i = 0; NULL != target && NULL != data && i < DEVICE_BATCHES; i++) {
        start = MPI_Wtime();
        device_copy(target, data, bytes, DEVICE_BATCH);
        GBs = (double) bytes * DEVICE_BATCH / (MPI_Wtime() - start) * 1e-9;
        best = isnan(best) || GBs > best ? GBs : best;
    }
    return best;
}

/* The best rate of copies from the first rank's device to memory of the second one's. */
static double best_device_copy(const unsigned char *handle)
{
    char *data = memory_cuda.alloc(COPY_BYTES),
         *target = NULL != data ? device_import(handle) : NULL;
    double best = best_device_rate(target, data, COPY_BYTES);

    if (NULL != target) {
        device_forget(target);
    }
    memory_cuda.release(data);
    return best;
}

/* NAN: no memory, or the devices cannot map each other's. */
static double device_bandwidth(MPI_Comm pair)
{
    unsigned char handle[1 + DEVICE_HANDLE_BYTES] = {0}; /* first byte: is it one? */
    char *target = NULL;
    double best = NAN;
    int me;

    MPI_Comm_rank(pair, &me);
    if (0 == me) {
        MPI_Recv(handle, sizeof handle, MPI_BYTE, 1, TAG_DATA, pair, MPI_STATUS_IGNORE);
        best = 1 == handle[0] ? best_device_copy(handle + 1) : NAN;
        MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_DONE, pair);
        return best;
    }
    target = memory_cuda.alloc(COPY_BYTES);
    handle[0] = NULL != target && 0 == device_export(target, handle + 1);
    MPI_Send(handle, sizeof handle, MPI_BYTE, 0, TAG_DATA, pair);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_DONE, pair, MPI_STATUS_IGNORE);
    memory_cuda.release(target);
    return best;
}

/* Whether all ranks use one device; the same on every rank. */
static bool share_a_device(int ranks)
{
    unsigned char mine[DEVICE_ID_BYTES], (*all)[DEVICE_ID_BYTES] = NULL;
    bool same;

    device_identity(mine);
    all = malloc((size_t) ranks * sizeof *all);
    if (!collect_agree(NULL != all)) {
        free(all);
        return false;
    }
    collect_gather(mine, all, sizeof mine);
    collect_share(all, (size_t) ranks * sizeof *all);
    same = true;
    for (int r = 1; r < ranks; r++) {
        same = same && 0 == memcmp(all[0], all[r], sizeof mine);
    }
    free(all);
    return same;
}

/* Bytes that rank 0's device reads and writes in a second while it copies; NAN: no memory. */
static double memory_bandwidth(int rank)
{
    double best = NAN;

    if (0 == rank) {
        char *data = memory_cuda.alloc(PASS_BYTES), *target = memory_cuda.alloc(PASS_BYTES);

        best = 2 * best_device_rate(target, data, PASS_BYTES);
        memory_cuda.release(target);
        memory_cuda.release(data);
    }
    collect_share(&best, sizeof best);
    return best;
}

/* A window of messages from the sender, and the receiver's acknowledgment. */
static void window_round(char *data, bool sender, int peer)
{
    MPI_Request requests[SENDS];

    for (int i = 0; i < SENDS; i++) {
        char *part = data + (size_t) i * SEND_BYTES;

        if (sender) {
            MPI_Isend(part, SEND_BYTES, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &requests[i]);
        } else {
            MPI_Irecv(part, SEND_BYTES, MPI_BYTE, peer, TAG_DATA, MPI_COMM_WORLD, &requests[i]);
        }
    }
    MPI_Waitall(SENDS, requests, MPI_STATUSES_IGNORE);
    if (sender) {
        MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, peer, TAG_DONE, MPI_COMM_WORLD);
    }
}

/* Median bandwidth of windows of large messages from the first rank to the second. */
static double send_bandwidth(char *data, bool sender, int peer)
{
    double us[SEND_ROUNDS], start;

    memset(data, 1, (size_t) SENDS * SEND_BYTES);
    for (int i = -1; i < SEND_ROUNDS; i++) { /* the first round connects and is not counted */
        start = MPI_Wtime();
        window_round(data, sender, peer);
        us[i < 0 ? 0 : i] = (MPI_Wtime() - start) * 1e6;
    }
    fit_sort(us, SEND_ROUNDS);
    return (double) SENDS * SEND_BYTES / us[SEND_ROUNDS / 2] * 1e-3;
}

/* The first rank behind `first` whose node is the same (or another); ranks: there is none. */
static int find_peer(const int *node_of, int ranks, int first, bool same_node)
{
    for (int r = first + 1; r < ranks; r++) {
        if ((node_of[r] == node_of[first]) == same_node) {
            return r;
        }
    }
    return ranks;
}

/* What two ranks of a node measure. */
struct inside {
    double B;
    struct ideal_rates rates;
    size_t most; /* bytes of the largest copy in host memory */
};

/* Returns the result on every rank; B NAN: there are no two such ranks. */
static struct inside measure_inside(const int *node_of, int ranks, int rank,
                                    enum link_copies copies)
{
    struct inside result = {NAN, {.exchange_us = NAN}, 0};
    int a = 0, b = ranks;
    MPI_Comm pair;

    while (a < ranks && ranks == (b = find_peer(node_of, ranks, a, true))) {
        a++;
    }
    if (a == ranks) {
        return result;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank == a || rank == b ? 0 : MPI_UNDEFINED, rank, &pair);
    if (MPI_COMM_NULL != pair) {
        result.B = LINK_DEVICE == copies ? device_bandwidth(pair)
                                         : copy_bandwidth(pair, &result.rates, &result.most);
        MPI_Comm_free(&pair);
    }
    if (0 != a && rank == a) { /* rank 0 is the one to share it */
        MPI_Send(&result, sizeof result, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD);
    } else if (0 != a && 0 == rank) {
        MPI_Recv(&result, sizeof result, MPI_BYTE, a, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    collect_share(&result, sizeof result);
    return result;
}

static double measure_between(const int *node_of, int ranks, int rank)
{
    double result = NAN;
    int b = find_peer(node_of, ranks, 0, false);
    bool involved = 0 == rank || rank == b;
    char *data = NULL;

    if (b == ranks) {
        return NAN;
    }
    if (involved && available_bytes() / NEEDED >= (size_t) SENDS * SEND_BYTES) {
        data = malloc((size_t) SENDS * SEND_BYTES);
    }
    if (collect_agree(!involved || NULL != data) && involved) {
        result = send_bandwidth(data, 0 == rank, 0 == rank ? b : 0);
    }
    free(data);
    collect_share(&result, sizeof result);
    return result;
}

static struct link from_option(double GBs)
{
    return (struct link) {GBs, "option", ""};
}

static struct link from_measurement(double GBs, const char *how)
{
    return isnan(GBs) ? (struct link) {NAN, "n/a", ""} : (struct link) {GBs, "measured", how};
}

/* B, where the user gave none, and rates. */
static struct link find_inside(const int *node_of, int ranks, int rank, enum link_copies copies,
                               struct ideal_rates *rates)
{
    struct inside inside;

    if (LINK_MIXED == copies) {
        return (struct link) {NAN, "n/a", mixed_how};
    }
    inside = measure_inside(node_of, ranks, rank, copies);
    *rates = inside.rates;
    return from_measurement(inside.B, LINK_DEVICE == copies       ? device_how
                                      : COPY_BYTES == inside.most ? copy_how
                                                                  : short_how);
}

/* The memory of the device that all ranks share, where no bandwidth between ranks was given. */
static struct link find_memory(const struct ideal_layout *layout, double B, int rank,
                               enum link_copies copies)
{
    bool measured = isnan(B) && LINK_DEVICE == copies && 1 == layout->nodes && layout->ranks > 1 &&
                    share_a_device(layout->ranks);

    return from_measurement(measured ? memory_bandwidth(rank) : NAN, memory_how);
}

int links_find(struct links *links, double B, double I, enum link_copies copies, int root)
{
    int rank, ranks, leader = find_leader();
    int *node_of;
    bool ok;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    node_of = malloc((size_t) ranks * sizeof *node_of);
    ok = collect_agree(NULL != node_of);
    if (ok) {
        collect_gather(&leader, node_of, sizeof leader);
        collect_share(node_of, (size_t) ranks * sizeof *node_of);
        ok = collect_agree(0 == ideal_layout_init(&links->layout, node_of, ranks, root));
    }
    if (ok) {
        links->rates.exchange_us = NAN;
        links->B =
            isnan(B) ? find_inside(node_of, ranks, rank, copies, &links->rates) : from_option(B);
        links->memory = find_memory(&links->layout, B, rank, copies);
        links->I = isnan(I) ? from_measurement(measure_between(node_of, ranks, rank), send_how)
                            : from_option(I);
    }
    free(node_of);
    return ok ? 0 : -1;
}
