/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory beside a device: its NUMA node, and allocations that prefer that node. For the executor's
 * pinned memory (cuda/memory.c, link/gpu_pinned.c), which devices read and write over PCIe.
 */
#ifndef GR_TOPO_NUMA_H
#define GR_TOPO_NUMA_H

#include <stdint.h>

/* NUMA nodes that a kernel may have. */
#define GR_NUMA_NODES 1024

/* The memory policy of a thread. */
struct gr_numa_saved {
    int held; /* 1: there is something to restore */
    int mode;
    unsigned long nodes[GR_NUMA_NODES / (8 * sizeof(unsigned long))];
};

/* Where Linux says what it knows of PCI devices. */
#define GR_SYSFS_PCI "/sys/bus/pci/devices"

/*
 * The NUMA node beside a PCI device, as the kernel says below `folder` (GR_SYSFS_PCI but in tests);
 * -1: unknown.
 */
int gr_numa_of_pci(const char *folder, uint32_t domain, uint32_t bus, uint32_t device);

/*
 * From now on the pages that the calling thread touches first come from `node` while it has any;
 * until gr_numa_restore() by the same thread. 0; or -1 with nothing changed: node is -1 or not
 * there, or the system does not let us (some containers). *saved is set in any case.
 */
int gr_numa_prefer(int node, struct gr_numa_saved *saved);

/*
 * The policy as it was before gr_numa_prefer(); does nothing when that returned -1, or a second
 * time.
 */
void gr_numa_restore(struct gr_numa_saved *saved);

#endif
