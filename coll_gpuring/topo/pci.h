/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances of devices by where they are on PCI. */
#ifndef GR_TOPO_PCI_H
#define GR_TOPO_PCI_H

#include "topo/distance.h"

/* Fill in unknown distances from hwloc's tree. Does nothing in a build without hwloc. */
void gr_distances_from_tree(struct gr_distances *d);

/* Fill in all distances that are still unknown, from bus numbers. */
void gr_distances_from_bus(struct gr_distances *d);

#endif
