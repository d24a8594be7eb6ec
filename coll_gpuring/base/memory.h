/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for what a rank cannot do without any more: the other ranks have begun the call or the
 * set-up.
 *
 * A process near one of its limits (vm.max_map_count, RLIMIT_AS) has a reserve of mappings and
 * addresses, which takes no memory. It is made in MPI_Init, and again before the ranks agree on
 * links. An allocation that fails gives the reserve back to the system and is made once more.
 */
#ifndef GR_BASE_MEMORY_H
#define GR_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Make the reserve, if it is not there. 0 or GR_ERR_SPACE. Thread-safe, as all of these. */
int gr_reserve_make(void);

/* Give the reserve back to the system. Returns whether there was one. */
bool gr_reserve_release(void);

/* Whether the process can have as much as the reserve, beside it. */
bool gr_reserve_is_spare(void);

/* The functions of libc, with the reserve. */
static inline void *gr_malloc(size_t bytes)
{
    void *at = malloc(bytes);

    if (NULL == at && gr_reserve_release()) {
        at = malloc(bytes);
    }
    return at;
}

static inline void *gr_calloc(size_t n, size_t bytes)
{
    void *at = calloc(n, bytes);

    if (NULL == at && gr_reserve_release()) {
        at = calloc(n, bytes);
    }
    return at;
}

static inline void *gr_realloc(void *before, size_t bytes)
{
    void *at = realloc(before, bytes);

    if (NULL == at && gr_reserve_release()) {
        at = realloc(before, bytes);
    }
    return at;
}

/* ---- singly linked lists through a member `next` ---- */

/* Remove the first element of a list and assign it to `element`. False: the list is empty. */
#define GR_POP(element, list) (NULL != ((element) = (list)) && ((list) = (element)->next, 1))

/* Make an element the first of a list. */
#define GR_PUSH(element, list) ((element)->next = (list), (void) ((list) = (element)))

#endif
