/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances between the devices of a node, as classes: one hop of a higher class costs more than
 * any number of hops of lower classes. Three sources fill the matrix in turn: NVML,
 * hwloc's PCI tree, bus numbers. Each fills only what the earlier ones left unknown. But for
 * addresses, internal to topo/ and its tests.
 */
#ifndef GR_TOPO_DISTANCE_H
#define GR_TOPO_DISTANCE_H

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

#endif
