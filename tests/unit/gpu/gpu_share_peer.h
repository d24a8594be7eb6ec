/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes for the tests of link/ipc_cache.h. The owner forks its peer before either has a
 * driver, and sends it orders with handles; the peer maps, looks, stores, drops, and says how it
 * went.
 */
#ifndef GR_TESTS_GPU_SHARE_PEER_H
#define GR_TESTS_GPU_SHARE_PEER_H

#include "device_peer.h"
#include "gpu_share_fixture.h"
#include "usage.h"

#include <dirent.h>

enum { SLOTS = 8, BOUND = 4 };

enum { MAP, DROP, EXPORT, TRIM };

struct order {
    int what, slot;  /* slot: where the peer keeps a mapping; */
    int look, store; /* MAP: what it must see in the buffer, and what it fills it with; */
    size_t bytes;    /* that many bytes */
    struct gr_ipc_handle handle;
};

struct reply {
    /* MAP: the error; EXPORT: whether the mapped buffer can be shared once more */
    int result;
    int descriptors;
    long resident; /* KiB */
    struct ipc_cache_usage usage;
};

static inline int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    CHECK(NULL != dir);
    while (NULL != readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

static inline long resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;

    CHECK(NULL != f && 1 == fscanf(f, "%*d %ld", &pages));
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- the peer ---- */

static inline int obey(struct sharer *s, const struct order *o, struct gr_ipc_mapped *slots)
{
    struct gr_ipc_handle t;
    int rc = 0;

    switch (o->what) {
    case MAP:
        rc = gr_ipc_cache_map(s->share, &o->handle, &slots[o->slot]);
        if (0 == rc) {
            CHECK(holds(s->gpu, slots[o->slot].at, o->look, o->bytes));
            fill(s->gpu, slots[o->slot].at, o->store, o->bytes);
        }
        return rc;
    case DROP:
        gr_ipc_cache_unmap(s->share, &slots[o->slot]);
        return 0;
    case EXPORT:
        t = gr_ipc_cache_export(s->share, (void *) (uintptr_t) slots[o->slot].at, 1);
        return gr_ipc_handle_valid(&t);
    default:
        gr_ipc_cache_trim(s->share);
        return 0;
    }
}

static inline void serve(int in, int out, int ordinal)
{
    struct sharer s = open_sharer(1, ordinal, BOUND, BOUND);
    struct gr_ipc_mapped slots[SLOTS];
    struct order order;
    CUcontext before = app_context(ordinal);
    int n;

    while (sizeof(order) == (n = (int) read(in, &order, sizeof(order)))) {
        struct reply reply = {.result = obey(&s, &order, slots)};

        CHECK(before == app_current());
        reply.descriptors = descriptors();
        reply.resident = resident();
        reply.usage = ipc_cache_usage(s.share);
        tell(out, &reply, sizeof(reply));
    }
    CHECK_INT(n, 0);
    close_sharer(&s);
}

static inline void serve_from_0(int in, int out)
{
    serve(in, out, 0);
}

static inline void serve_from_1(int in, int out)
{
    serve(in, out, 1);
}

static inline void end_peer(struct peer *p)
{
    close(p->out);
    close(p->in);
    CHECK_INT(child_status(p->pid), 0);
}

/* ---- the owner ---- */

static inline struct reply ask(const struct peer *p, const struct order *order)
{
    struct reply reply;

    tell(p->out, order, sizeof(*order));
    hear(p->in, &reply, sizeof(reply));
    return reply;
}

/*
 * Fill a buffer; the peer maps it into a slot, sees that, and fills it anew. Result: of the
 * mapping.
 */
static inline struct reply offer(const struct peer *p, struct sharer *s, int slot, void *buffer,
                                 size_t bytes)
{
    static int byte;
    struct order o = {
        MAP, slot, byte % 100, 100 + byte % 100, bytes, handle_of(s->share, buffer, bytes)};
    struct reply r;

    byte++;
    fill(s->gpu, gr_cuda_ptr(buffer), o.look, bytes);
    r = ask(p, &o);
    CHECK(holds(s->gpu, gr_cuda_ptr(buffer), 0 == r.result ? o.store : o.look, bytes));
    return r;
}

static inline struct reply order(const struct peer *p, int what, int slot)
{
    struct order o = {.what = what, .slot = slot};

    return ask(p, &o);
}

/* The same, and the mapping is dropped at once. */
static inline struct reply lend(const struct peer *p, struct sharer *s, void *buffer, size_t bytes)
{
    struct reply r = offer(p, s, 0, buffer, bytes);

    CHECK_INT(r.result, 0);
    return order(p, DROP, 0);
}

#endif
