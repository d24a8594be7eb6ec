/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring orders of ranks by the distance of their devices. Ranks that share a device are adjacent,
 * then devices that NVLink connects, then devices below one PCIe bridge, then devices of one NUMA
 * node.
 */
#ifndef GR_TOPO_GPUS_H
#define GR_TOPO_GPUS_H

#include "topo/distance.h"

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
