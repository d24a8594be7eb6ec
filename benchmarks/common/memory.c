/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory, the first row of memory.h. */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

static void *host_alloc(size_t bytes)
{
    return aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
}

void memory_host_set(void *buffer, int byte, size_t bytes)
{
    memset(buffer, byte, bytes);
}

void memory_host_write(void *buffer, const void *from, size_t bytes)
{
    memcpy(buffer, from, bytes);
}

const void *memory_host_view(const void *buffer, void *bounce, size_t bytes)
{
    (void) bounce;
    (void) bytes;
    return buffer;
}

const struct memory memory_host = {"host",          host_alloc,        free,
                                   memory_host_set, memory_host_write, memory_host_view};
