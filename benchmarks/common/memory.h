/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of memory for message buffers: a row of functions each. device.h has those that need a CUDA
 * driver.
 */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stddef.h>

struct memory {
    const char *name;              /* as in -d */
    void *(*alloc)(size_t bytes);  /* NULL: no memory */
    void (*release)(void *buffer); /* NULL is fine */
    void (*set)(void *buffer, int byte, size_t bytes);
    void (*write)(void *buffer, const void *from, size_t bytes); /* from: ordinary memory */
    /* Returns the bytes where the CPU can read them: in place, or copied to bounce. */
    const void *(*view)(const void *buffer, void *bounce, size_t bytes);
};

extern const struct memory memory_host;

/* For rows of memory that the CPU can access. */
void memory_host_set(void *buffer, int byte, size_t bytes);
void memory_host_write(void *buffer, const void *from, size_t bytes);
const void *memory_host_view(const void *buffer, void *bounce, size_t bytes);

#endif
