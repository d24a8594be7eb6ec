/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of mailboxes. */
#include "link/board.h"

#include "base/errors.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t gr_board_stride(size_t bytes)
{
    return gr_round_up(GR_SET_HEAD + bytes, GR_CACHE_LINE);
}

size_t gr_board_set_offset(int p, uint32_t k, size_t stride)
{
    return (size_t) p * sizeof(struct gr_lease_user) + k * stride;
}

static unsigned char *board_sets(void *base, int p)
{
    return (unsigned char *) base + gr_board_set_offset(p, 0, 0);
}

/*
 * Whether a core is to prefetch for writing what other cores have read. Two ranks, us: on an EPYC
 * (exchange of a line 0.06) without and with, bcast of 8 B 0.07 and 0.08, of 32 KiB 0.60 and 0.97,
 * allreduce of 32 KiB 1.24 and 2.1. On a Xeon (0.12) only which lines are prefetched was compared:
 * between calls and barriers, those that the next call writes instead of another number of lines,
 * bcast of 2 KiB 0.37 and 0.64, of 8 KiB 0.74 and 1.46.
 */
static bool prefetching_pays(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_is("intel");
#else
    return false;
#endif
}

int gr_mailbox_init(struct gr_mailbox *box, int p, int rank, uint32_t nsets, size_t stride,
                    uint64_t first)
{
    assert(nsets >= 2 && nsets <= GR_MAX_SETS && 0 == (nsets & (nsets - 1)));
    memset(box, 0, sizeof(*box));
    box->p = p;
    box->rank = rank;
    box->nsets = nsets;
    box->stride = stride;
    box->prefetches = prefetching_pays();
    gr_mailbox_begin_at(box, first);
    box->boards = gr_calloc((size_t) p, sizeof(*box->boards));
    return NULL == box->boards ? GR_ERR_NOMEM : 0;
}

void gr_mailbox_begin_at(struct gr_mailbox *box, uint64_t first)
{
    box->begun = box->posted = box->taken = first;
    box->full = gr_mailbox_first_full(box, first);
    box->tell = first + box->nsets / 2;
}

void gr_mailbox_free(struct gr_mailbox *box)
{
    free(box->boards);
    box->boards = NULL;
}

void gr_board_clean(void *base, int p, uint32_t nsets, size_t stride, uint64_t first, uint64_t sets)
{
    struct gr_lease_user *users = base;
    unsigned char *set = board_sets(base, p);
    uint32_t k;
    int r;

    for (k = 0; k < nsets; k++, set += stride) {
        if (0 != (sets >> k & 1)) {
            atomic_store_explicit(gr_board_epoch(set), first, memory_order_relaxed);
        }
    }
    for (r = 0; r < p; r++) {
        atomic_store_explicit(&users[r].word, first, memory_order_relaxed);
    }
}

void gr_board_attach(struct gr_mailbox *box, int rank, void *base)
{
    box->boards[rank].users = base;
    box->boards[rank].sets = board_sets(base, box->p);
    box->mine = box->boards[box->rank].sets;
}
