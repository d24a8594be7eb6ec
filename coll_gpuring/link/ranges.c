/* SPDX-License-Identifier: BSD-3-Clause */
/* Free ranges of shared memory: bins by size, joined with their neighbours. */
#include "link/ranges.h"

#include "base/errors.h"
#include "base/memory.h"

#include <stdlib.h>
#include <unistd.h>

/* Ranges of a bin that are tried; those of higher bins fit at once, but for their alignment. */
#define TRIES 16

int gr_ranges_bin(size_t bytes)
{
    size_t lines = bytes / GR_CACHE_LINE;
    int log = 0;

    while (lines >> log > 7) {
        log++;
    }
    return 4 * log + (int) (lines >> log);
}

void gr_ranges_init(struct gr_ranges *ranges)
{
    int k;

    for (k = 0; k < GR_BINS; k++) {
        TAILQ_INIT(&ranges->bins[k]);
    }
}

/* The last one that was freed comes first: it may still be in the caches. */
static void put(struct gr_ranges *ranges, struct gr_slab *range)
{
    range->state = GR_SLAB_FREE;
    TAILQ_INSERT_HEAD(&ranges->bins[gr_ranges_bin(range->bytes)], range, entry);
}

static void remove_free(struct gr_ranges *ranges, struct gr_slab *range)
{
    TAILQ_REMOVE(&ranges->bins[gr_ranges_bin(range->bytes)], range, entry);
}

/* Add the next range to the one before it. */
static void join(struct gr_slab *range)
{
    struct gr_slab *next = range->after;

    if (range->from_page == range->end_page) {
        range->from_page = next->from_page;
        range->end_page = next->end_page;
    } else if (next->from_page != next->end_page) {
        range->end_page = next->end_page;
    }
    range->bytes += next->bytes;
    range->after = next->after;
    if (NULL != range->after) {
        range->after->before = range;
    }
    free(next);
}

void gr_ranges_free(struct gr_ranges *ranges, struct gr_slab *range)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);

    range->from_page = (uint32_t) (range->offset / page);
    range->end_page = (uint32_t) ((range->offset + range->bytes + page - 1) / page);
    if (NULL != range->after && GR_SLAB_FREE == range->after->state) {
        remove_free(ranges, range->after);
        join(range);
    }
    if (NULL != range->before && GR_SLAB_FREE == range->before->state) {
        range = range->before;
        remove_free(ranges, range);
        join(range);
    }
    put(ranges, range);
}

/* Bytes from the start of a range to the first multiple of align. */
static size_t padding(const struct gr_slab *range, size_t align)
{
    return (align - range->offset % align) % align;
}

static struct gr_slab *find(const struct gr_ranges *ranges, size_t bytes, size_t align)
{
    struct gr_slab *range;
    int bin, tries;

    for (bin = gr_ranges_bin(bytes); bin < GR_BINS; bin++) {
        tries = 0;
        TAILQ_FOREACH(range, &ranges->bins[bin], entry)
        {
            if (range->bytes >= bytes + padding(range, align)) {
                return range;
            }
            if (++tries == TRIES) {
                break;
            }
        }
    }
    return NULL;
}

/* Cut off what lies behind the first `bytes` of a range, as `rest`, which is in no list. */
static void cut(struct gr_slab *range, size_t bytes, struct gr_slab *rest)
{
    *rest = (struct gr_slab) {.before = range,
                              .after = range->after,
                              .segment = range->segment,
                              .offset = range->offset + bytes,
                              .bytes = range->bytes - bytes,
                              .from_page = range->from_page,
                              .end_page = range->end_page};
    if (NULL != rest->after) {
        rest->after->before = rest;
    }
    range->after = rest;
    range->bytes = bytes;
}

int gr_ranges_take(struct gr_ranges *ranges, size_t bytes, size_t align, struct gr_slab **range)
{
    struct gr_slab *found = find(ranges, bytes, align), *taken, *rest;
    size_t skipped;

    *range = NULL;
    if (NULL == found) {
        return 0;
    }
    taken = gr_malloc(sizeof(*taken));
    rest = gr_malloc(sizeof(*rest));
    if (NULL == taken || NULL == rest) {
        free(taken);
        free(rest);
        return GR_ERR_NOMEM;
    }
    remove_free(ranges, found);
    skipped = padding(found, align);
    if (skipped > 0) {
        cut(found, skipped, taken);
        put(ranges, found);
    } else {
        free(taken);
        taken = found;
    }
    taken->state = GR_SLAB_LEASED;
    if (taken->bytes > bytes) {
        cut(taken, bytes, rest);
        put(ranges, rest);
    } else {
        free(rest);
    }
    *range = taken;
    return 0;
}

void gr_ranges_remove(struct gr_ranges *ranges, struct gr_slab *range)
{
    remove_free(ranges, range);
    free(range);
}

void gr_ranges_destroy(struct gr_slab *first)
{
    struct gr_slab *range, *next;

    for (range = first; NULL != range; range = next) {
        next = range->after;
        free(range);
    }
}
