/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of other kinds than malloc's, for the buffers that MPI calls get. The environment says
 * which, so that every program that uses guarded buffers tests all of them:
 *
 *     GPURING_MEMORY=host      malloc (default)
 *     GPURING_MEMORY=device    cudaMalloc
 *     GPURING_MEMORY=managed   cudaMallocManaged
 *     GPURING_MEMORY=pinned    cudaMallocHost
 *     GPURING_MEMORY=pool      cudaMallocAsync
 *     GPURING_MEMORY=other     cudaMalloc on the device after this rank's
 *     GPURING_MEMORY=vmm       addresses and memory apart (cuMemCreate, cuMemMap)
 *     GPURING_MEMORY=other_pool, other_vmm  pool and vmm on the device after this rank's, with
 *                              access for this rank's where the devices reach each other
 *     GPURING_MEMORY=registered  malloc and cudaHostRegister
 *     GPURING_MEMORY=mixed     each buffer of each rank another of these
 *     GPURING_MEMORY=secret    host memory that the kernel copies for no other process (memfd_secret)
 */
#ifndef TEST_DEVMEM_H
#define TEST_DEVMEM_H

#include <stdbool.h>
#include <stddef.h>

enum devmem_kind {
    DEVMEM_HOST,
    DEVMEM_DEVICE,
    DEVMEM_MANAGED,
    DEVMEM_PINNED,
    DEVMEM_POOL,
    DEVMEM_OTHER,
    DEVMEM_VMM,
    DEVMEM_OTHER_POOL,
    DEVMEM_OTHER_VMM,
    DEVMEM_REGISTERED,
    DEVMEM_MIXED,
    DEVMEM_SECRET
};

/* What the environment says. Loads the driver where it must; before MPI_Init. */
enum devmem_kind devmem_open(void);

/*
 * A function of the driver, which devmem_open() has loaded; ends the program where there is none of
 * that name.
 */
void *devmem_driver(const char *name);

/* The kind of the next buffer: for DEVMEM_MIXED any of those before it. */
enum devmem_kind devmem_next(void);

/* bytes of that kind, not DEVMEM_HOST; aborts when there are none. Any thread. */
void *devmem_alloc(enum devmem_kind kind, size_t bytes);
void devmem_free(enum devmem_kind kind, void *at);

/*
 * Gives this rank's device access to memory of kind OTHER_POOL or OTHER_VMM, or takes it back; of a
 * pool to all of it.
 */
void devmem_grant(enum devmem_kind kind, void *at, bool yes);

/* Copies between that kind and host memory; done when they return. */
void devmem_put(void *to, const void *host, size_t bytes);
void devmem_get(void *host, const void *from, size_t bytes);

/* Sets bytes on the legacy default stream, and does not wait for it. */
void devmem_set_later(void *at, unsigned char value, size_t bytes);

#endif
