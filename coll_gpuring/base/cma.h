/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cross-memory attach: reading another process's memory with one copy (process_vm_readv). The
 * kernel allows it between processes of one user, unless a security module or container forbids it:
 * so it is tried first.
 */
#ifndef GR_BASE_CMA_H
#define GR_BASE_CMA_H

#include <stddef.h>
#include <stdint.h>

/*
 * A word in a process's memory, by which others find out whether they can read it. Plain bytes,
 * sent as they are.
 */
struct gr_probe {
    uint64_t addr, value;
    int32_t pid;
    int32_t unused;
};

/* This process's; the same at every call. */
struct gr_probe gr_probe_make(void);

/* Whether this process can read that one's memory. */
int gr_probe_test(const struct gr_probe *probe);

/*
 * Whether this process can read the byte at an address of its own; yes, too, where the kernel does
 * not let it ask.
 */
int gr_cma_readable(const void *at);

/* Read bytes at `from` of process pid. 0, or GR_ERR_SYS. */
int gr_cma_read(int pid, void *to, uint64_t from, size_t bytes);

#endif
