/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring orders of ranks (gpus.h). Ranks that share a device count as one device, numbered by its
 * lowest rank. A round trip over the devices is found (gr_ring_order()), then each device gives its
 * ranks in ascending order.
 */
#include "topo/gpus.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int all_known(const struct gr_distances *d)
{
    int k, m;

    for (k = 0; k < d->n; k++) {
        for (m = k + 1; m < d->n; m++) {
            if (GR_DISTANCE_NONE == d->between[k * d->n + m]) {
                return 0;
            }
        }
    }
    return 1;
}

/*
 * A round trip over n devices. Up to three devices there is only one, so distances are not needed.
 * Returns 0 or -1.
 */
static int find_trip(const char *library, const struct gr_pci_address *gpus, int n, int *trip)
{
    struct gr_distances d = {.n = n, .gpus = gpus};
    int rc = 0;

    if (n > 3) {
        d.between = gr_calloc((size_t) n, (size_t) n);
        rc = NULL == d.between ? -1 : gr_distances_from_nvml(&d, library);
        if (0 == rc && !all_known(&d)) {
            gr_distances_from_tree(&d);
            gr_distances_from_bus(&d);
        }
    }
    if (0 == rc) {
        gr_ring_order(d.between, n, trip);
    }
    free(d.between);
    return rc;
}

/*
 * Find the different devices of p ranks, in the order of their lowest ranks. which[rank]: index of
 * the rank's device in different[]. Returns the number of different devices.
 */
static int find_devices(const struct gr_pci_address *gpus, int p, struct gr_pci_address *different,
                        int *which)
{
    int n = 0, r, k;

    for (r = 0; r < p; r++) {
        for (k = 0; k < n && !gr_pci_same(&different[k], &gpus[r]); k++) {
        }
        if (k == n) {
            different[n++] = gpus[r];
        }
        which[r] = k;
    }
    return n;
}

int gr_order_gpus(const char *library, const struct gr_pci_address *gpus, int p, int *order)
{
    struct gr_pci_address *different = gr_malloc((size_t) p * sizeof(*different));
    int *which = gr_malloc((size_t) p * 2 * sizeof(*which)), *trip;
    int rc = -1, n, k, r, position = 0;

    if (NULL != different && NULL != which) {
        trip = &which[p];
        n = find_devices(gpus, p, different, which);
        rc = find_trip(library, different, n, trip);
        for (k = 0; 0 == rc && k < n; k++) {
            for (r = 0; r < p; r++) {
                if (which[r] == trip[k]) {
                    order[position++] = r;
                }
            }
        }
    }
    free(different);
    free(which);
    return rc;
}

int gr_gpus_linked(const char *library, const struct gr_pci_address *gpus, int p)
{
    struct gr_distances d = {.n = p, .gpus = gpus, .between = gr_calloc((size_t) p, (size_t) p)};
    int linked = p > 1 && NULL != d.between, k, m;

    for (k = 0; k < p; k++) {
        for (m = k + 1; m < p; m++) {
            linked = linked && gr_pci_known(&gpus[k]) && gr_pci_known(&gpus[m]) &&
                     !gr_pci_same(&gpus[k], &gpus[m]);
        }
    }
    linked = linked && 0 == gr_distances_from_nvml(&d, library);
    for (k = 0; k < p; k++) {
        for (m = k + 1; linked && m < p; m++) {
            linked = GR_DISTANCE_NONE != d.between[k * p + m] &&
                     d.between[k * p + m] <= GR_DISTANCE_LINK;
        }
    }
    free(d.between);
    return linked;
}

/*
 * ---- round trips over devices ----
 *
 * A ring is as fast as its slowest hop. So of two trips,
 * the better one has fewer hops of the worst class in which their counts differ.
 *
 * Few devices: branch and bound over all trips in lexicographic order, O(n!). Many devices: nearest
 * neighbours, O(n^2). In a tree, as that of PCI, these are a best trip: each branch is left once.
 */

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
