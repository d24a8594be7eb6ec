/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of ranks by the distance of their devices: ranks that share a device stand side by side,
 * then devices that are joined by NVLink, then those below one PCIe bridge, then those of one NUMA
 * node.
 */
#ifndef GR_TOPO_GPUS_H
#define GR_TOPO_GPUS_H

#include <stdint.h>

/* A device's PCI address; all zero: not known, or no device. */
struct gr_gpu_place_in_node {
    uint32_t domain, bus, device;
};

/*
 * order[position] = rank for a ring over p >= 1 ranks whose devices are given; position 0 is rank
 * 0. Distances come from NVML where the machine has it, else from the PCI tree as hwloc sees it,
 * else from PCI addresses alone; between equals the lower rank comes first. Ranks whose device is
 * not known stand together. From four devices on this loads and starts NVML (tens of milliseconds),
 * and stops it again. 0, or -1: no memory.
 */
int gr_order_gpus(const struct gr_gpu_place_in_node *places, int p, int *order);

/*
 * Whether the p >= 2 ranks have different devices, each two of which NVML says are joined by
 * NVLink. Loads and starts NVML, and stops it again. Without NVML, or without memory: 0.
 */
int gr_gpus_linked(const struct gr_gpu_place_in_node *places, int p);

#endif
