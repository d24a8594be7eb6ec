/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips over devices (distance.h). A ring is as fast as its slowest hop, so hops of the worst
 * class come first when trips are compared: a trip is better when it has fewer hops of the worst
 * class in which the two differ.
 *
 * Few places: all trips are looked at, in the order of their numbers, but those that cannot become
 * better than the best so far. Many: nearest neighbours from several starts, then, while that
 * betters the trip, two of its hops are exchanged (2-opt):
 *
 *      a - b        a   b
 *                     X            the part from b to c runs backwards afterwards
 *      d - c        d   c
 *
 * Cost: O(n!) for n <= GR_TOUR_EXACT, and above O(n^2) for each start and pass.
 */
#include "topo/distance.h"

#include <stdlib.h>
#include <string.h>

/* Starts of nearest neighbours. */
#define STARTS 32

/* Numbers of hops by class. */
struct hops {
    int of[GR_DISTANCES];
};

/* Below 0: a is the better trip. Both have the same number of hops. */
static int compare(const struct hops *a, const struct hops *b)
{
    int c;

    for (c = GR_DISTANCES - 1; c > 0 && a->of[c] == b->of[c]; c--) {
    }
    return a->of[c] - b->of[c];
}

/* ---- few places ---- */

struct search {
    const unsigned char *between;
    int n, least; /* least: the nearest class of all */
    /* of the part of the trip that stands; hops to come count as of the class `least` */
    struct hops hops;
    struct hops fewest; /* of the best trip so far */
    int found;
    int path[GR_TOUR_EXACT], best[GR_TOUR_EXACT];
    int taken[GR_TOUR_EXACT];
};

static void add_hop(struct search *s, int a, int b, int number)
{
    s->hops.of[s->least] -= number;
    s->hops.of[s->between[a * s->n + b]] += number;
}

/*
 * Hops can only get worse from here on, so a part that is no better than the whole best trip is
 * left.
 */
static int hopeful(const struct search *s)
{
    return !s->found || compare(&s->hops, &s->fewest) < 0;
}

static void extend(struct search *s, int length)
{
    int last = s->path[length - 1], next;

    if (length == s->n) {
        add_hop(s, last, s->path[0], 1);
        if (hopeful(s)) {
            s->found = 1;
            s->fewest = s->hops;
            memcpy(s->best, s->path, sizeof(s->best));
        }
        add_hop(s, last, s->path[0], -1);
        return;
    }
    for (next = 1; next < s->n; next++) {
        if (s->taken[next]) {
            continue;
        }
        add_hop(s, last, next, 1);
        if (hopeful(s)) {
            s->taken[next] = 1;
            s->path[length] = next;
            extend(s, length + 1);
            s->taken[next] = 0;
        }
        add_hop(s, last, next, -1);
    }
}

static void best_tour(const unsigned char *between, int n, int *tour)
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
    memcpy(tour, s.best, (size_t) n * sizeof(*tour));
}

/* ---- many places ---- */

static void nearest_neighbours(const unsigned char *between, int n, int start, int *tour)
{
    int length, k, nearest;

    for (k = 0; k < n; k++) {
        tour[k] = k;
    }
    for (length = 0; length < n; length++) {
        /* tour[length..n-1] are those that are left, in ascending order */
        for (k = nearest = length; k < n; k++) {
            if (0 == length ? tour[k] == start
                            : between[tour[length - 1] * n + tour[k]] <
                                  between[tour[length - 1] * n + tour[nearest]]) {
                nearest = k;
            }
        }
        k = tour[nearest];
        memmove(&tour[length + 1], &tour[length], (size_t) (nearest - length) * sizeof(*tour));
        tour[length] = k;
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
    int keep;

    for (; from < to; from++, to--) {
        keep = *from;
        *from = *to;
        *to = keep;
    }
}

/* One pass of exchanges; whether there was any. */
static int exchange(const unsigned char *between, int n, int *tour)
{
    int any = 0, i, j, a, b, c, d;

    for (i = 0; i < n - 2; i++) {
        for (j = i + 2; j < n; j++) {
            a = tour[i];
            b = tour[i + 1];
            c = tour[j];
            d = tour[(j + 1) % n];
            if (a != d && better_pair(between[a * n + c], between[b * n + d], between[a * n + b],
                                      between[c * n + d])) {
                reverse(&tour[i + 1], &tour[j]);
                any = 1;
            }
        }
    }
    return any;
}

/* The same trip from place 0 on, in the direction in which the lower number comes next. */
static void turn(const int *tour, int n, int *turned)
{
    int zero, k;

    for (zero = 0; 0 != tour[zero]; zero++) {
    }
    for (k = 0; k < n; k++) {
        turned[k] = tour[(zero + k) % n];
    }
    if (turned[1] > turned[n - 1]) {
        reverse(&turned[1], &turned[n - 1]);
    }
}

static int good_tour(const unsigned char *between, int n, int *tour)
{
    int *trial = malloc((size_t) n * sizeof(*trial));
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
            turn(trial, n, tour);
        }
    }
    free(trial);
    return 0;
}

int gr_tour(const unsigned char *between, int n, int *tour)
{
    int k;

    if (n > GR_TOUR_EXACT) {
        return good_tour(between, n, tour);
    }
    if (n > 3) {
        best_tour(between, n, tour);
        return 0;
    }
    for (k = 0; k < n; k++) {
        tour[k] = k; /* there is no other */
    }
    return 0;
}
