/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers for reports that are put together in a buffer. */
#ifndef GR_BASE_TEXT_H
#define GR_BASE_TEXT_H

#include <stddef.h>
#include <stdio.h>

/*
 * Append " r" for each of n ranks to text, a buffer of `size` bytes of which `used` are used.
 * Returns how many are used then; `size` or more where the text was cut.
 */
static inline size_t gr_text_ranks(char *text, size_t size, size_t used, const int *ranks, int n)
{
    int k;

    for (k = 0; k < n && used < size; k++) {
        used += (size_t) snprintf(text + used, size - used, " %d", ranks[k]);
    }
    return used;
}

#endif
