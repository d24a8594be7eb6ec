/* SPDX-License-Identifier: BSD-3-Clause */
/* The measurements of links.h. */
#include "links.h"
#include "collect.h"
#include "common/device.h"
#include "common/fit.h"

#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Few, for slow networks. */
enum { COPY_BYTES = 32 << 20, COPIES = 11, SEND_BYTES = 4 << 20, SENDS = 8, SEND_ROUNDS = 7 };
enum { DEVICE_BATCH = 4, DEVICE_BATCHES = 5 };

/* From sizes inside a core's cache to sizes beyond: a bound must hold for messages of any size. */
static const size_t copy_sizes[] = {128 << 10, 1 << 20, COPY_BYTES};

static const char copy_how[] =
    "best memcpy of 128 KiB, 1 MiB or 32 MiB from one rank to another of its node, 11 of each";
static const char device_how[] =
    "best of 5 times 4 copies of 32 MiB from one rank's GPU memory to another's, by CUDA IPC";
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
static double best_copy(char *target, char *data)
{
    double best = 0, start, GBs;

    for (size_t s = 0; s < sizeof copy_sizes / sizeof copy_sizes[0]; s++) {
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
 * Bandwidth of copies into the peer's part of a shared window; NAN where there is no room for one.
 * The target's pages are its own: it touches them first. Stores need no epoch to be timed.
 */
static double copy_bandwidth(MPI_Comm pair)
{
    double best = NAN;
    int me, unit;
    MPI_Aint bytes;
    MPI_Win window;
    char *mine, *target, *data = malloc(COPY_BYTES);

    MPI_Comm_rank(pair, &me);
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    if (MPI_SUCCESS !=
        MPI_Win_allocate_shared(1 == me ? COPY_BYTES : 0, 1, MPI_INFO_NULL, pair, &mine, &window)) {
        free(data);
        return NAN;
    }
    MPI_Win_shared_query(window, 1, &bytes, &unit, &target);
    if (1 == me) {
        memset(target, 1, COPY_BYTES);
    }
    MPI_Barrier(pair);
    if (0 == me && NULL != data) {
        best = best_copy(target, data);
    }
    MPI_Win_free(&window); /* waits for both */
    free(data);
    return best;
}

/* The best rate of copies from the first rank's device to memory of the second one's. */
static double best_device_copy(const unsigned char *handle)
{
    char *data = memory_cuda.alloc(COPY_BYTES),
         *target = NULL != data ? device_import(handle) : NULL;
    double best = NAN, start, GBs;

    for (int i = 0; NULL != target && i < DEVICE_BATCHES; i++) {
        start = MPI_Wtime();
        device_copy(target, data, COPY_BYTES, DEVICE_BATCH);
        GBs = (double) COPY_BYTES * DEVICE_BATCH / (MPI_Wtime() - start) * 1e-9;
        best = isnan(best) || GBs > best ? GBs : best;
    }
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

/* Returns the result on every rank; NAN: there are no two such ranks. */
static double measure_inside(const int *node_of, int ranks, int rank, enum link_copies copies)
{
    double result = NAN;
    int a = 0, b = ranks;
    MPI_Comm pair;

    while (a < ranks && ranks == (b = find_peer(node_of, ranks, a, true))) {
        a++;
    }
    if (a == ranks) {
        return NAN;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank == a || rank == b ? 0 : MPI_UNDEFINED, rank, &pair);
    if (MPI_COMM_NULL != pair) {
        result = LINK_DEVICE == copies ? device_bandwidth(pair) : copy_bandwidth(pair);
        MPI_Comm_free(&pair);
    }
    if (0 != a && rank == a) { /* rank 0 is the one to share it */
        MPI_Send(&result, 1, MPI_DOUBLE, 0, TAG_DONE, MPI_COMM_WORLD);
    } else if (0 != a && 0 == rank) {
        MPI_Recv(&result, 1, MPI_DOUBLE, a, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
    if (involved) {
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

/* B, where the user gave none. */
static struct link find_inside(const int *node_of, int ranks, int rank, enum link_copies copies)
{
    if (LINK_MIXED == copies) {
        return (struct link) {NAN, "n/a", mixed_how};
    }
    return from_measurement(measure_inside(node_of, ranks, rank, copies),
                            LINK_DEVICE == copies ? device_how : copy_how);
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
        links->B = isnan(B) ? find_inside(node_of, ranks, rank, copies) : from_option(B);
        links->I = isnan(I) ? from_measurement(measure_between(node_of, ranks, rank), send_how)
                            : from_option(I);
    }
    free(node_of);
    return ok ? 0 : -1;
}
