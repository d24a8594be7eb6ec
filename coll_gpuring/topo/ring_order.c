/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips over devices (ring_order.h). A ring is as fast as its slowest hop. So of two trips,
 * the better one has fewer hops of the worst class in which their counts differ.
 *
 * Few devices: branch and bound over all trips in lexicographic order, O(n!). Many devices: nearest
 * neighbours, O(n^2). In a tree, as that of PCI, these are a best trip: each branch is left once.
 */
#include "topo/ring_order.h"

#include <string.h>

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

/* A trip from device 0 on to the nearest unvisited one each time, of the lowest number. */
static void nearest_neighbours(const unsigned char *between, int n, int *trip)
{
    int length, k, nearest;

    for (length = 1; length < n; length++) {
        const unsigned char *from = &between[trip[length - 1] * n];

        /* trip[length..n-1]: the unvisited devices, in ascending order */
        for (k = nearest = length; k < n; k++) {
            nearest = from[trip[k]] < from[trip[nearest]] ? k : nearest;
        }
        k = trip[nearest];
        memmove(&trip[length + 1], &trip[length], (size_t) (nearest - length) * sizeof(*trip));
        trip[length] = k;
    }
}

void gr_ring_order(const unsigned char *between, int n, int *trip)
{
    int k;

    for (k = 0; k < n; k++) {
        trip[k] = k; /* up to three devices there is only one trip */
    }
    if (n > GR_RING_ORDER_EXACT) {
        nearest_neighbours(between, n, trip);
    } else if (n > 3) {
        best_trip(between, n, trip);
    }
}
