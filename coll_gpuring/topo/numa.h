/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory near a device: the NUMA node of a device, and allocations that prefer this node. Used for
 * pinned memory (cuda/memory.c, link/gpu_slab.c), which devices access over PCIe.
 */
#ifndef GR_TOPO_NUMA_H
#define GR_TOPO_NUMA_H

#include <stdint.h>

/* Most NUMA nodes that a Linux kernel supports. */
#define GR_NUMA_NODES 1024

/* The saved memory policy of a thread. */
struct gr_numa_saved {
    int held; /* 1: gr_numa_restore() has a policy to restore */
    int mode; /* MPOL_... */
    /* mask of the policy's nodes */
    unsigned long nodes[GR_NUMA_NODES / (8 * sizeof(unsigned long))];
};

/* Attributes of PCI devices in sysfs. */
#define GR_SYSFS_PCI "/sys/bus/pci/devices"

/*
 * The NUMA node of a PCI device; -1: unknown. folder: GR_SYSFS_PCI, or a folder of the same layout
 * in tests.
 */
int gr_numa_of_pci(const char *folder, uint32_t domain, uint32_t bus, uint32_t device);

/*
 * Let the calling thread allocate pages from `node` first, until it calls gr_numa_restore().
 * Returns 0, or -1 without any change: node is -1 or does not exist, or the system call is not
 * permitted (some containers). *saved is set in both cases.
 */
int gr_numa_prefer(int node, struct gr_numa_saved *saved);

/*
 * Restore the policy that gr_numa_prefer() replaced. Does nothing if gr_numa_prefer() returned -1,
 * or if called again.
 */
void gr_numa_restore(struct gr_numa_saved *saved);

#endif
