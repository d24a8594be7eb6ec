/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far apart the devices of a node are, in classes: a hop of a lower class is the better one,
 * whatever their number. Three sources are asked in turn, each for the pairs that those before it
 * could say nothing of. Internal to topo/, and for its tests.
 */
#ifndef GR_TOPO_DISTANCE_H
#define GR_TOPO_DISTANCE_H

#include "topo/gpus.h"

/* NVLinks that a device can have. */
#define GR_MOST_LINKS 18

/* Distances; what is nearer comes first. */
enum gr_distance {
    GR_DISTANCE_NONE = 0,             /* of a device to itself; of others: not known yet */
    GR_DISTANCE_LINK = GR_MOST_LINKS, /* one NVLink; n links together: GR_DISTANCE_LINKS(n) */
    GR_DISTANCE_BOARD,                /* PCIe from here on: both on one board */
    GR_DISTANCE_SWITCH,               /* one PCIe switch in between */
    GR_DISTANCE_SWITCHES,             /* several, and no host bridge */
    GR_DISTANCE_BRIDGE,               /* one host bridge */
    GR_DISTANCE_NODE,                 /* one NUMA node */
    GR_DISTANCE_PACKAGE,              /* one processor package */
    GR_DISTANCE_SYSTEM,               /* the link between packages */
    /*
     * only addresses are known: + the highest bit in which the buses differ, 0..8; or the domains
     * do
     */
    GR_DISTANCE_ADDRESS,
    GR_DISTANCE_DOMAIN = GR_DISTANCE_ADDRESS + 9,
    GR_DISTANCE_UNKNOWN, /* not even an address */
    GR_DISTANCES
};

/* Joined by n NVLinks (1..GR_MOST_LINKS). */
#define GR_DISTANCE_LINKS(n) (GR_MOST_LINKS + 1 - (n))

/* The devices of a node, all different, and what is known of their distances so far. */
struct gr_distances {
    int n;
    const struct gr_gpu_place_in_node *places;
    unsigned char *between; /* n x n of enum gr_distance, symmetric */
};

/*
 * Whether the address of a device is known: no device lies at 0000:00:00, where the first host
 * bridge is.
 */
static inline int gr_place_known(const struct gr_gpu_place_in_node *place)
{
    return 0 != (place->domain | place->bus | place->device);
}

static inline int gr_place_same(const struct gr_gpu_place_in_node *a,
                                const struct gr_gpu_place_in_node *b)
{
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* Note the distance of devices a and b, unless one is known already. */
static inline void gr_distances_note(struct gr_distances *d, int a, int b, int distance)
{
    unsigned char *there = &d->between[a * d->n + b];

    if (a != b && GR_DISTANCE_NONE == *there) {
        *there = (unsigned char) distance;
        d->between[b * d->n + a] = *there;
    }
}

/*
 * Fill in what NVML says (nvlink.c). library NULL: libnvidia-ml.so.1; it is loaded and started
 * here, and stopped before this returns. 0, also where there is none; -1: no memory.
 */
int gr_distances_ask_nvml(struct gr_distances *d, const char *library);

/* Fill in what hwloc's tree of PCI devices says (pci_tree.c); nothing in a build without hwloc. */
void gr_distances_ask_tree(struct gr_distances *d);

/* Fill in the rest from addresses (gpus.c). */
void gr_distances_ask_addresses(struct gr_distances *d);

/*
 * A round trip over n places (tour.c): tour[position] = place, position 0 is place 0. Of all hops,
 * the closing one among them, the fewest are of the worst class, then of the second worst and so
 * on. For up to GR_TOUR_EXACT places the best trip, the one with lower numbers first among equals;
 * above, one that exchanging two hops does not better. between: n x n, values below GR_DISTANCES.
 * 0, or -1: no memory.
 */
#define GR_TOUR_EXACT 9
int gr_tour(const unsigned char *between, int n, int *tour);

/* gr_order_gpus() with another name for NVML's library. */
int gr_order_gpus_with(const char *library, const struct gr_gpu_place_in_node *places, int p,
                       int *order);

/* gr_gpus_linked() with another name for NVML's library. */
int gr_gpus_linked_with(const char *library, const struct gr_gpu_place_in_node *places, int p);

#endif
