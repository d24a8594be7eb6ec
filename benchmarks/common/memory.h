/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns where message buffers live. One row of functions per kind of memory (device.h has others);
 * everything else goes through them. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <stddef.h>

struct memory {
    const char *name; /* as in -d */
    /* of pages, or of a device; NULL: none left */
    void *(*alloc)(size_t bytes);
    void (*release)(void *buffer); /* NULL is fine */
    void (*set)(void *buffer, int byte, size_t bytes);
    void (*write)(void *buffer, const void *from, size_t bytes); /* from ordinary memory */
    /* The same bytes where the CPU can read them: in place, or copied to bounce. */
    const void *(*view)(const void *buffer, void *bounce, size_t bytes);
};

extern const struct memory memory_host;

/* What the CPU does in any memory that it reaches, for other rows. */
void memory_host_set(void *buffer, int byte, size_t bytes);
void memory_host_write(void *buffer, const void *from, size_t bytes);
const void *memory_host_view(const void *buffer, void *bounce, size_t bytes);

#endif
