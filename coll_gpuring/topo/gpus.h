/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances between the devices of a node, as classes: one hop of a higher class costs more than
 * any number of hops of lower classes. Three sources fill the matrix in turn: NVML,
 * hwloc's PCI tree, bus numbers. Each fills only what the earlier ones left unknown. But for
 * addresses, internal to topo/ and its tests.
 */
#ifndef GR_TOPO_GPUS_H
#define GR_TOPO_GPUS_H

#include <stdint.h>

/* A device's PCI address. All zero: the address is unknown, or there is no device. */
struct gr_pci_address {
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
};

/* Whether the address is known. No GPU has 0000:00:00: it is the first host bridge's address. */
static inline int gr_pci_known(const struct gr_pci_address *gpu)
{
    return 0 != (gpu->domain | gpu->bus | gpu->device);
}

static inline int gr_pci_same(const struct gr_pci_address *a, const struct gr_pci_address *b)
{
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* ---- distances ---- */

/* Most NVLinks that a device can have. */
#define GR_MOST_LINKS 18

/* Distance classes, nearest first. */
enum gr_distance {
    GR_DISTANCE_NONE = 0,             /* a device to itself; otherwise: not known yet */
    GR_DISTANCE_LINK = GR_MOST_LINKS, /* one NVLink; for n links see GR_DISTANCE_LINKS(n) */
    GR_DISTANCE_BOARD,                /* PCIe: both on one board */
    GR_DISTANCE_SWITCH,               /* PCIe: below one switch */
    GR_DISTANCE_SWITCHES,             /* PCIe: several switches, no host bridge */
    GR_DISTANCE_BRIDGE,               /* PCIe: below one host bridge */
    GR_DISTANCE_NODE,                 /* in one NUMA node */
    GR_DISTANCE_PACKAGE,              /* in one processor package */
    GR_DISTANCE_SYSTEM,               /* in different packages */
    /* Only addresses are known. Add the highest differing bit of the bus numbers, 0..8. */
    GR_DISTANCE_ADDRESS,
    GR_DISTANCE_DOMAIN = GR_DISTANCE_ADDRESS + 9, /* only addresses are known: domains differ */
    GR_DISTANCE_UNKNOWN,                          /* an address is unknown */
    GR_DISTANCES                                  /* number of classes */
};

/* The class of two devices that n NVLinks connect, 1 <= n <= GR_MOST_LINKS. */
#define GR_DISTANCE_LINKS(n) (GR_MOST_LINKS + 1 - (n))

/* The distance matrix of a node's devices. */
struct gr_distances {
    int n;                             /* number of devices */
    const struct gr_pci_address *gpus; /* n addresses, all different */
    unsigned char *between;            /* n x n of enum gr_distance, symmetric */
};

/* Set the distance of devices a and b, unless it is already known. */
static inline void gr_distances_note(struct gr_distances *d, int a, int b, int distance)
{
    unsigned char *entry = &d->between[a * d->n + b];

    if (a != b && GR_DISTANCE_NONE == *entry) {
        *entry = (unsigned char) distance;
        d->between[b * d->n + a] = *entry;
    }
}

/* ---- sources of distances ---- */

/*
 * Fill in unknown distances from NVML. library: its file name; NULL: libnvidia-ml.so.1. It is loaded
 * and started, and stopped before this returns. Returns 0, also without NVML; -1: out of memory.
 */
int gr_distances_from_nvml(struct gr_distances *d, const char *library);

/* Fill in unknown distances from hwloc's tree. Does nothing in a build without hwloc. */
void gr_distances_from_tree(struct gr_distances *d);

/* Fill in all distances that are still unknown, from bus numbers. */
void gr_distances_from_bus(struct gr_distances *d);

/*
 * ---- ring orders: gpus.c ----
 *
 * Ring orders of ranks by the distance of their devices. Ranks that share a device are adjacent,
 * then devices that NVLink connects, then devices below one PCIe bridge, then devices of one NUMA
 * node.
 */

/*
 * Order p >= 1 ranks for a ring: order[position] = rank, and position 0 is rank 0. gpus[rank]:
 * the address of the rank's device. Distances come from NVML, else from hwloc's PCI tree, else from
 * PCI addresses. library: file name of NVML's library; NULL: its usual name. Among equal orders the
 * lower rank comes first. Ranks whose device is unknown are adjacent. With four devices or more
 * this starts and stops NVML, which takes tens of milliseconds. Returns 0, or -1: out of memory.
 */
int gr_order_gpus(const char *library, const struct gr_pci_address *gpus, int p, int *order);

/*
 * Whether NVLink connects all pairs of p >= 2 ranks, which use different devices, according to
 * NVML. library: as above. Starts and stops NVML. Returns 0 without NVML or out of memory.
 */
int gr_gpus_linked(const char *library, const struct gr_pci_address *gpus, int p);

/* Up to this many devices the best round trip is found by exhaustive search. */
#define GR_RING_ORDER_EXACT 9

/*
 * Order n devices for a ring: trip[position] = device, and position 0 is device 0. between: n x n
 * classes (enum gr_distance). The trip has the fewest hops of the worst class, then of the second
 * worst, and so on; the closing hop counts. Up to GR_RING_ORDER_EXACT devices it is the best trip,
 * and among equals the one with lower numbers first. Above, it goes on to the nearest device each
 * time, which is a best trip where distances are those of a tree.
 */
void gr_ring_order(const unsigned char *between, int n, int *trip);

#endif
