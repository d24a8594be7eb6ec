/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips over devices (ring_order.h). A ring is as fast as its slowest hop. So of two trips,
 * the better one has fewer hops of the worst class in which their counts differ.
 *
 * Few devices: branch and bound over all trips in lexicographic order. Many devices: nearest
 * neighbours from several starts, each improved by exchanging two hops (2-opt) until no exchange
 * helps:
 *
 *      a - b        a   b
 *                     X            afterwards the part from b to c runs backwards
 *      d - c        d   c
 *
 * Cost: O(n!) for n <= GR_RING_ORDER_EXACT; above, O(n^2) for each start and pass.
 */
#include "topo/ring_order.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Most starts of the nearest-neighbour search. */
#define STARTS 32

/* Number of hops of each class. */
struct hops {
    int of[GR_DISTANCES];
};

/* Negative if a is the better trip. Both have the same number of hops. */
static int compare(const struct hops *a, const struct hops *b)
{
    int c;

    for (c = GR_DISTANCES - 1; c > 0 && a->of[c] == b->of[c]; c--) {
    }
    return a->of[c] - b->of[c];
}

/* ---- few devices ---- */

/* The state of the branch and bound. */
struct search {
    const unsigned char *between;     /* n x n distance classes */
    int n;                            /* number of devices */
    int least;                        /* the nearest class of all pairs: a bound for any hop */
    struct hops hops;                 /* of the partial trip; missing hops count as class `least` */
    struct hops fewest;               /* of the best trip so far */
    int found;                        /* a complete trip exists in best[] */
    int path[GR_RING_ORDER_EXACT];    /* the partial trip */
    int best[GR_RING_ORDER_EXACT];    /* the best trip so far */
    int visited[GR_RING_ORDER_EXACT]; /* the device is in path[] */
};

static void add_hop(struct search *s, int a, int b, int number)
{
    s->hops.of[s->least] -= number;
    s->hops.of[s->between[a * s->n + b]] += number;
}

/*
 * Whether the partial trip can still become the best one. Missing hops count as the nearest class,
 * so a partial trip can only get worse.
 */
static int can_improve(const struct search *s)
{
    return !s->found || compare(&s->hops, &s->fewest) < 0;
}

static void extend(struct search *s, int length)
{
    int last = s->path[length - 1], next;

    if (length == s->n) {
        add_hop(s, last, s->path[0], 1);
        if (can_improve(s)) {
            s->found = 1;
            s->fewest = s->hops;
            memcpy(s->best, s->path, sizeof(s->best));
        }
        add_hop(s, last, s->path[0], -1);
        return;
    }
    for (next = 1; next < s->n; next++) {
        if (s->visited[next]) {
            continue;
        }
        add_hop(s, last, next, 1);
        if (can_improve(s)) {
            s->visited[next] = 1;
            s->path[length] = next;
            extend(s, length + 1);
            s->visited[next] = 0;
        }
        add_hop(s, last, next, -1);
    }
}

static void best_trip(const unsigned char *between, int n, int *trip)
{
    struct search s = {.between = between, .n = n, .least = GR_DISTANCES - 1};
    int a, b;

    for (a = 0; a < n; a++) {
        for (b = 0; b < n; b++) {
            if (a != b && between[a * n + b] < s.least) {
                s.least = between[a * n + b];
            }
        }
    }
    s.hops.of[s.least] = n;
    extend(&s, 1);
    memcpy(trip, s.best, (size_t) n * sizeof(*trip));
}

/* ---- many devices ---- */

/* A trip that starts at a device and goes on to the nearest unvisited one each time. */
static void nearest_neighbours(const unsigned char *between, int n, int start, int *trip)
{
    int length, k, nearest;

    for (k = 0; k < n; k++) {
        trip[k] = k;
    }
    for (length = 0; length < n; length++) {
        /* trip[length..n-1]: the unvisited devices, in ascending order */
        for (k = nearest = length; k < n; k++) {
            if (0 == length ? trip[k] == start
                            : between[trip[length - 1] * n + trip[k]] <
                                  between[trip[length - 1] * n + trip[nearest]]) {
                nearest = k;
            }
        }
        k = trip[nearest];
        memmove(&trip[length + 1], &trip[length], (size_t) (nearest - length) * sizeof(*trip));
        trip[length] = k;
    }
}

/* Whether two hops of classes a and b are better than two of c and d. */
static int better_pair(int a, int b, int c, int d)
{
    int worse = a > b ? a : b, other_worse = c > d ? c : d;

    return worse < other_worse || (worse == other_worse && a + b < c + d);
}

static void reverse(int *from, int *to)
{
    int swap;

    for (; from < to; from++, to--) {
        swap = *from;
        *from = *to;
        *to = swap;
    }
}

/* One pass of 2-opt exchanges. Returns whether the trip changed. */
static int exchange(const unsigned char *between, int n, int *trip)
{
    int any = 0, i, j, a, b, c, d;

    for (i = 0; i < n - 2; i++) {
        for (j = i + 2; j < n; j++) {
            a = trip[i];
            b = trip[i + 1];
            c = trip[j];
            d = trip[(j + 1) % n];
            if (a != d && better_pair(between[a * n + c], between[b * n + d], between[a * n + b],
                                      between[c * n + d])) {
                reverse(&trip[i + 1], &trip[j]);
                any = 1;
            }
        }
    }
    return any;
}

/* The same trip from device 0 on, in the direction of its neighbour with the lower number. */
static void normalize(const int *trip, int n, int *normal)
{
    int zero, k;

    for (zero = 0; 0 != trip[zero]; zero++) {
    }
    for (k = 0; k < n; k++) {
        normal[k] = trip[(zero + k) % n];
    }
    if (normal[1] > normal[n - 1]) {
        reverse(&normal[1], &normal[n - 1]);
    }
}

/* The best trip of several starts. Returns 0 or -1. */
static int good_trip(const unsigned char *between, int n, int *trip)
{
    int *trial = gr_malloc((size_t) n * sizeof(*trial));
    struct hops hops, fewest;
    int start, pass, k;

    if (NULL == trial) {
        return -1;
    }
    for (start = 0; start < n && start < STARTS; start++) {
        nearest_neighbours(between, n, start, trial);
        for (pass = 0; pass < n && exchange(between, n, trial); pass++) {
        }
        memset(&hops, 0, sizeof(hops));
        for (k = 0; k < n; k++) {
            hops.of[between[trial[k] * n + trial[(k + 1) % n]]]++;
        }
        if (0 == start || compare(&hops, &fewest) < 0) {
            fewest = hops;
            normalize(trial, n, trip);
        }
    }
    free(trial);
    return 0;
}

int gr_ring_order(const unsigned char *between, int n, int *trip)
{
    int k;

    if (n > GR_RING_ORDER_EXACT) {
        return good_trip(between, n, trip);
    }
    if (n > 3) {
        best_trip(between, n, trip);
        return 0;
    }
    for (k = 0; k < n; k++) {
        trip[k] = k; /* up to three devices there is only one trip */
    }
    return 0;
}
