/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fake CUDA driver logs of all ranks: FAKECUDA_LOG names the file, with a line for each allocation and copy. */
#ifndef TEST_DEVLOG_H
#define TEST_DEVLOG_H

#include <stdio.h>

/* The log so far, to be closed; NULL where there is none. */
FILE *devlog_open(void);

/* Collective: allocations so far, of all ranks together. Those may wait for all kernels of a device. */
int devlog_allocations(void);

#endif
