/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of descriptors. */
#include "sched/algorithm.h"

#define GR_DESCRIPTOR(NAME, name) [GR_ALGO_##NAME] = &gr_algorithm_##name,

const struct gr_algorithm *const gr_algorithms[GR_NALGOS] = {GR_ALGORITHMS(GR_DESCRIPTOR)};
