/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranges that the segments of a pool are cut into: slabs, and free memory between them.
 *
 *      segment    [head][slab][slab][   free   ][slab][      free      ]
 *
 * A slab that is freed is joined with free neighbours, so its memory serves slabs of any size. Free
 * ranges are kept by size in bins, four from one power of two to the next. So taking and freeing
 * memory costs the same whatever the number of ranges. Only the owner's process knows ranges;
 * nothing of them is in the shared memory. The pool's lock is held in all functions.
 */
#ifndef GR_LINK_RANGES_H
#define GR_LINK_RANGES_H

#include "link/lease.h"
#include "link/shm.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* What is known of a page. */
enum gr_page {
    GR_PAGE_NONE,  /* it is not there */
    GR_PAGE_MAYBE, /* it was in a sparse slab, whose user may have touched it */
    GR_PAGE_THERE  /* it was populated */
};

/* Shared memory that peers map as a whole. */
struct gr_segment {
    struct gr_segment *next; /* of the pool */
    struct gr_slab *first;   /* its first range: the one that is joined with none before it */
    struct gr_shm_id id;     /* what peers attach it by */
    unsigned char *base;     /* where it is attached */
    size_t bytes;            /* its size */
    unsigned char pages[];   /* [page]: an enum gr_page */
};

struct gr_slab {
    TAILQ_ENTRY(gr_slab) entry;     /* in one list: a bin, or one of the pool's */
    struct gr_slab *before, *after; /* neighbours in the segment; NULL: none */
    struct gr_segment *segment;     /* that it lies in */
    size_t offset;                  /* in the segment, a multiple of GR_CACHE_LINE */
    size_t bytes;                   /* a multiple of GR_CACHE_LINE */
    enum gr_slab_state state;       /* GR_SLAB_FREE: the range is in a bin */
    int nusers;                     /* records of users at its start */
    enum gr_slab_kind kind;
    size_t in_use;  /* bytes that are populated for sure */
    uint64_t lease; /* number of the present lease */
    /* free: its pages outside of this part were given back; numbers in the segment */
    uint32_t from_page, end_page;
};
TAILQ_HEAD(gr_slab_list, gr_slab);

#define GR_BINS 256

/* Free ranges by size. */
struct gr_ranges {
    struct gr_slab_list bins[GR_BINS];
};

/* Number of the bin of ranges of that size. */
int gr_ranges_bin(size_t bytes);

void gr_ranges_init(struct gr_ranges *ranges);

/*
 * Make a range free, which is in no list; it may be joined with others, and freed itself. All its
 * pages may be there.
 */
void gr_ranges_free(struct gr_ranges *ranges, struct gr_slab *range);

/*
 * Take a range of `bytes`, at a multiple of `align` in its segment; both multiples of
 * GR_CACHE_LINE. Returns 0 or GR_ERR_NOMEM; *range is NULL if no free range is large enough.
 */
int gr_ranges_take(struct gr_ranges *ranges, size_t bytes, size_t align, struct gr_slab **range);

/* Remove a free range that is all of a segment. */
void gr_ranges_remove(struct gr_ranges *ranges, struct gr_slab *range);

/* Destroy all ranges of a segment. The lists that they are in are not used any more. */
void gr_ranges_destroy(struct gr_slab *first);

#endif
