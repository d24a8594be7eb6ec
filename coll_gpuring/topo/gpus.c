/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of gpus.h. Ranks of one device are one place, numbered by its lowest rank; the
 * distances of places are asked for (distance.h), a round trip over them is made (tour.c), and each
 * place gives its ranks in turn.
 */
#include "topo/distance.h"

#include <stdlib.h>

/* The highest bit, from 1, in which two bus numbers differ; 0: none. */
static int differing_bits(uint32_t a, uint32_t b)
{
    uint32_t differ = (a ^ b) & 0xff;
    int bits = 0;

    for (; differ > 0; differ >>= 1) {
        bits++;
    }
    return bits;
}

/*
 * Firmware numbers buses depth first, so devices below one bridge have near numbers. With the
 * highest bit that differs as distance, the ascending order of addresses is a best trip, as it is
 * in the tree itself.
 */
void gr_distances_ask_addresses(struct gr_distances *d)
{
    const struct gr_gpu_place_in_node *a, *b;
    int k, m, distance;

    for (k = 0; k < d->n; k++) {
        for (m = k + 1; m < d->n; m++) {
            a = &d->places[k];
            b = &d->places[m];
            if (!gr_place_known(a) || !gr_place_known(b)) {
                distance = GR_DISTANCE_UNKNOWN;
            } else if (a->domain != b->domain) {
                distance = GR_DISTANCE_DOMAIN;
            } else {
                distance = GR_DISTANCE_ADDRESS + differing_bits(a->bus, b->bus);
            }
            gr_distances_note(d, k, m, distance);
        }
    }
}

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

/* A trip over the places; asks nobody where there is only one. 0 or -1. */
static int find_tour(const char *library, const struct gr_gpu_place_in_node *places, int n,
                     int *tour)
{
    struct gr_distances d = {.n = n, .places = places};
    int rc = 0;

    if (n > 3) {
        d.between = calloc((size_t) n, (size_t) n);
        rc = NULL == d.between ? -1 : gr_distances_ask_nvml(&d, library);
        if (0 == rc && !all_known(&d)) {
            gr_distances_ask_tree(&d);
            gr_distances_ask_addresses(&d);
        }
    }
    if (0 == rc) {
        rc = gr_tour(d.between, n, tour);
    }
    free(d.between);
    return rc;
}

/*
 * The different ones of p places, in the order of their lowest ranks, and which each rank has.
 * Their number.
 */
static int find_places(const struct gr_gpu_place_in_node *places, int p,
                       struct gr_gpu_place_in_node *different, int *which)
{
    int n = 0, r, k;

    for (r = 0; r < p; r++) {
        for (k = 0; k < n && !gr_place_same(&different[k], &places[r]); k++) {
        }
        if (k == n) {
            different[n++] = places[r];
        }
        which[r] = k;
    }
    return n;
}

int gr_order_gpus_with(const char *library, const struct gr_gpu_place_in_node *places, int p,
                       int *order)
{
    struct gr_gpu_place_in_node *different = malloc((size_t) p * sizeof(*different));
    int *which = malloc((size_t) p * 2 * sizeof(*which)), *tour;
    int rc = -1, n, k, r, position = 0;

    if (NULL != different && NULL != which) {
        tour = &which[p];
        n = find_places(places, p, different, which);
        rc = find_tour(library, different, n, tour);
        for (k = 0; 0 == rc && k < n; k++) {
            for (r = 0; r < p; r++) {
                if (which[r] == tour[k]) {
                    order[position++] = r;
                }
            }
        }
    }
    free(different);
    free(which);
    return rc;
}

int gr_order_gpus(const struct gr_gpu_place_in_node *places, int p, int *order)
{
    return gr_order_gpus_with(NULL, places, p, order);
}

int gr_gpus_linked_with(const char *library, const struct gr_gpu_place_in_node *places, int p)
{
    struct gr_distances d = {.n = p, .places = places, .between = calloc((size_t) p, (size_t) p)};
    int linked = p > 1 && NULL != d.between, k, m;

    for (k = 0; k < p; k++) {
        for (m = k + 1; m < p; m++) {
            linked = linked && gr_place_known(&places[k]) && gr_place_known(&places[m]) &&
                     !gr_place_same(&places[k], &places[m]);
        }
    }
    linked = linked && 0 == gr_distances_ask_nvml(&d, library);
    for (k = 0; k < p; k++) {
        for (m = k + 1; linked && m < p; m++) {
            linked = GR_DISTANCE_NONE != d.between[k * p + m] &&
                     d.between[k * p + m] <= GR_DISTANCE_LINK;
        }
    }
    free(d.between);
    return linked;
}

int gr_gpus_linked(const struct gr_gpu_place_in_node *places, int p)
{
    return gr_gpus_linked_with(NULL, places, p);
}
