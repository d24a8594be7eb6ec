/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances of devices from their bus numbers alone. */
#ifndef GR_TOPO_PCI_BUS_H
#define GR_TOPO_PCI_BUS_H

#include "topo/distance.h"

/* Fill in all distances that are still unknown. */
void gr_distances_from_bus(struct gr_distances *d);

#endif
