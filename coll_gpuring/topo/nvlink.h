/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances of devices from NVML. */
#ifndef GR_TOPO_NVLINK_H
#define GR_TOPO_NVLINK_H

#include "topo/distance.h"

/*
 * Fill in unknown distances. library: file name of NVML's library; NULL: libnvidia-ml.so.1. The
 * library is loaded and started, and stopped before this returns. Returns 0, also without NVML; -1:
 * out of memory.
 */
int gr_distances_from_nvml(struct gr_distances *d, const char *library);

#endif
