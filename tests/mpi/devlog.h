/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fake CUDA driver logs of all ranks: FAKECUDA_LOG names the file, with a line for each
 * allocation and copy.
 */
#ifndef TEST_DEVLOG_H
#define TEST_DEVLOG_H

#include <stdio.h>

/* The log so far, to be closed; NULL where there is none. */
FILE *devlog_open(void);

/*
 * Collective: allocations so far, of all ranks together. Those may wait for all kernels of a
 * device.
 */
int devlog_allocations(void);

enum { TO_HOST, TO_DEVICE, ELSEWHERE, COPY_WAYS };

struct devlog_copies {
    int n[COPY_WAYS];
    long bytes[COPY_WAYS];
};

/* This process's copies so far. */
struct devlog_copies devlog_copies(void);

#endif
