/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances of devices from hwloc's tree of PCI devices. */
#ifndef GR_TOPO_PCI_TREE_H
#define GR_TOPO_PCI_TREE_H

#include "topo/distance.h"

/* Fill in unknown distances. Does nothing in a build without hwloc. */
void gr_distances_from_tree(struct gr_distances *d);

#endif
