/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetching (fetch.h). */
#include "exec/fetch.h"

#include "base/cma.h"

#include <errno.h>
#include <string.h>

/* The half of a message that is not offered ends at a page. */
#define PAGE_BYTES ((size_t) 4096)

/* Looks at an offer that was taken, until it is asked whether the process is still there. */
#define LOOKS_TO_ASK (1 << 20)

/* The same where polls lie between the looks, which take longer. */
#define POLLS_TO_ASK (1 << 10)

static struct gr_offer *offer_of(const struct gr_link *l)
{
    return &gr_fetch_head(gr_link_slot(l))->offer;
}

/* ---- the reader ---- */

/* The part that was offered, once this rank has copied the rest: it is taken back, or awaited. */
static int settle_offer(struct gr_offer *offer, int pid)
{
    uint64_t state = GR_OFFER_OPEN;
    unsigned looks;

    /* acquire: the sender may be done, and has read the offer, which the next message overwrites */
    if (atomic_compare_exchange_strong_explicit(&offer->state, &state, GR_OFFER_NONE,
                                                memory_order_acquire, memory_order_acquire)) {
        return gr_cma_read(pid, (void *) (uintptr_t) offer->to, offer->from, offer->bytes);
    }
    /* the sender is copying: it may not write into the application's buffer after the call */
    for (looks = 1; GR_OFFER_TAKEN == state; looks++) {
        if (0 == looks % LOOKS_TO_ASK && gr_cma_is_gone(pid)) {
            errno = ESRCH;
            return GR_ERR_SYS;
        }
        state = atomic_load_explicit(&offer->state, memory_order_acquire);
    }
    atomic_store_explicit(&offer->state, GR_OFFER_NONE, memory_order_relaxed);
    return GR_OFFER_DONE == state
               ? 0
               : gr_cma_read(pid, (void *) (uintptr_t) offer->to, offer->from, offer->bytes);
}

/* Copy a message of which the writer is offered a half. 0, or errno. */
static int read_with_offer(const struct gr_link *l, int pid, void *to, uint64_t from, size_t bytes)
{
    struct gr_offer *offer = offer_of(l);
    size_t mine = bytes / 2 / PAGE_BYTES * PAGE_BYTES;
    int error;

    offer->from = from + mine;
    offer->to = (uint64_t) (uintptr_t) to + mine;
    offer->bytes = bytes - mine;
    atomic_store_explicit(&offer->state, GR_OFFER_OPEN, memory_order_release);
    error = 0 == gr_cma_read(pid, to, from, mine) ? 0 : errno;
    if (0 != settle_offer(offer, pid) && 0 == error) {
        error = errno;
    }
    return error;
}

int gr_fetch_read(struct gr_link *l, int pid, void *to, uint64_t from, size_t bytes, size_t offered,
                  int *error)
{
    *error = 0;
    if (gr_link_is_refused(l)) {
        return GR_AGAIN;
    }
    if (0 != offered && bytes >= offered) {
        *error = read_with_offer(l, pid, to, from, bytes);
    } else if (0 != gr_cma_read(pid, to, from, bytes)) {
        *error = errno;
    }
    if (0 == *error) {
        return gr_link_withdrawn(l) ? GR_ERR_SYS : GR_DONE;
    }
    if (ESRCH == *error && gr_cma_is_gone(pid)) {
        return GR_ERR_SYS;
    }
    if (gr_cma_is_forbidden(*error)) {
        gr_link_refuse(l);
    }
    return GR_AGAIN;
}

/* For the next part that fits the slot. */
void gr_fetch_ask(struct gr_fetch *f)
{
    struct gr_offer *offer = offer_of(f->link);
    size_t left = f->bytes - f->copied;

    offer->from = f->from + f->copied;
    offer->to = f->room_at;
    offer->bytes = left < f->room ? left : f->room;
    f->looks = 0;
    atomic_store_explicit(&offer->state, GR_OFFER_ASKED, memory_order_release);
}

int gr_fetch_poll(struct gr_fetch *f)
{
    struct gr_offer *offer = offer_of(f->link);

    if (gr_link_withdrawn(f->link)) {
        return GR_ERR_SYS;
    }
    if (GR_OFFER_COPIED != atomic_load_explicit(&offer->state, memory_order_acquire)) {
        return 0 == ++f->looks % POLLS_TO_ASK && gr_cma_is_gone(f->pid) ? GR_ERR_SYS : GR_AGAIN;
    }
    memcpy(f->to + f->copied, (unsigned char *) gr_link_slot(f->link) + f->room_at, offer->bytes);
    f->copied += offer->bytes;
    if (f->copied < f->bytes) {
        gr_fetch_ask(f);
        return GR_AGAIN;
    }
    atomic_store_explicit(&offer->state, GR_OFFER_NONE, memory_order_relaxed);
    return GR_DONE;
}

/* ---- the writer ---- */

/* Write what the reader offers into its memory. */
static void take_offer(struct gr_link *l, struct gr_offer *offer, int pid)
{
    uint64_t open = GR_OFFER_OPEN;
    int rc;

    if (l->may_not_write ||
        !atomic_compare_exchange_strong_explicit(&offer->state, &open, GR_OFFER_TAKEN,
                                                 memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    rc = gr_cma_write(pid, offer->to, (const void *) (uintptr_t) offer->from, offer->bytes);
    if (0 != rc && gr_cma_is_forbidden(errno)) {
        l->may_not_write = true;
    }
    atomic_store_explicit(&offer->state, 0 == rc ? GR_OFFER_DONE : GR_OFFER_REFUSED,
                          memory_order_release);
}

void gr_fetch_answer(struct gr_link *l, int pid)
{
    unsigned char *slot = gr_link_oldest_unread(l);
    struct gr_offer *offer = &gr_fetch_head(slot)->offer;

    switch (atomic_load_explicit(&offer->state, memory_order_acquire)) {
    case GR_OFFER_OPEN:
        take_offer(l, offer, pid);
        break;
    case GR_OFFER_ASKED:
        memcpy(slot + offer->to, (const void *) (uintptr_t) offer->from, offer->bytes);
        atomic_store_explicit(&offer->state, GR_OFFER_COPIED, memory_order_release);
        break;
    default:
        break;
    }
}
