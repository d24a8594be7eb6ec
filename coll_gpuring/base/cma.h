/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cross-memory attach (CMA): reading another process's memory with one copy (process_vm_readv), or
 * writing it (process_vm_writev). The kernel permits it between processes of one user, unless a
 * security module or a container forbids it. So processes test it with a probe first.
 */
#ifndef GR_BASE_CMA_H
#define GR_BASE_CMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A word in a process's memory that other processes try to read. Sent as bytes, so it has no
 * padding.
 */
struct gr_probe {
    uint64_t addr;  /* address of the word in its process */
    uint64_t value; /* the word */
    int32_t pid;    /* process that owns it */
    int32_t unused; /* 0 */
};

/* The probe of this process; the same at every call. */
struct gr_probe gr_probe_make(void);

/* Whether this process can read the memory of the probe's process. */
int gr_probe_test(const struct gr_probe *probe);

/*
 * Whether this process can read the byte at an address of its own. Returns 1 if the kernel forbids
 * the test.
 */
int gr_cma_readable(const void *at);

/*
 * Copy `bytes` bytes at address `from` of process pid to `to`. Returns 0, or GR_ERR_SYS with errno:
 * then any part of `to` may have been written.
 */
int gr_cma_read(int pid, void *to, uint64_t from, size_t bytes);

/* Copy `bytes` bytes at `from` to address `to` of process pid, with the same results. */
int gr_cma_write(int pid, uint64_t to, const void *from, size_t bytes);

/*
 * Whether that errno of a copy means that the kernel refuses the whole process, and will refuse it
 * again. Otherwise the addresses were refused, or there was no memory for this copy.
 */
bool gr_cma_is_forbidden(int error);

/* Whether there is no process pid any more. */
bool gr_cma_is_gone(int pid);

#endif
