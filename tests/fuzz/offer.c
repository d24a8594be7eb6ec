/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers of slabs in shared memory (link/pool.h): what is mapped can be touched, whatever a peer
 * has offered. */
#include "fuzz.h"

#include "link/pool.h"

enum { SLABS = 3 };

static const struct gr_peer_id owner = {7, 0}, peer = {7, 1};

/* Offer number k, changed here and there; or all of it from the input. */
static struct gr_slab_handle changed(struct fuzz_input *in, const struct gr_slab_handle *good)
{
    struct gr_slab_handle handle = good[fuzz_below(in, SLABS)];

    switch (fuzz_below(in, 4)) {
    case 0:
        fuzz_patch(in, &handle, sizeof(handle));
        break;
    case 1:
        handle.offset = fuzz_u64(in) >> fuzz_below(in, 64);
        break;
    case 2:
        handle.segment_bytes = fuzz_u64(in) >> fuzz_below(in, 64);
        handle.offset = fuzz_u64(in) >> fuzz_below(in, 64);
        break;
    default:
        break;
    }
    if (handle.segment.id != good[0].segment.id) { /* not the segments of other processes */
        handle.segment.id = -1 - (handle.segment.id & INT32_MAX);
    }
    return handle;
}

static void touch(volatile unsigned char *at)
{
    at[0] = at[0];
    at[sizeof(struct gr_lease_user) - 1] = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct gr_pool *pool = gr_pool_open(owner, (size_t) 1 << 20);
    struct gr_pool *other = gr_pool_open(peer, (size_t) 1 << 20);
    struct gr_slab *slabs[SLABS];
    struct gr_slab_handle good[SLABS];
    int k, error;

    FUZZ_NEED(0 == gr_pool_lease(pool, GR_SLAB_WHOLE, 4096, 1, SLABS - 1, slabs));
    FUZZ_NEED(0 == gr_pool_lease(pool, GR_SLAB_WHOLE, 100000, 1, 1, &slabs[SLABS - 1]));
    for (k = 0; k < SLABS; k++) {
        good[k] = gr_pool_export(pool, slabs[k]);
    }
    while (in.left > 0) {
        struct gr_slab_handle handle = changed(&in, good);
        size_t wanted = (size_t) 64 << fuzz_below(&in, 16);
        unsigned char *at = gr_pool_map(other, &handle, &error);

        FUZZ_NEED((NULL != at) == (0 == error));
        if (NULL != at) {
            FUZZ_NEED(0 == (uintptr_t) at % GR_CACHE_LINE);
            touch(at); /* its door */
        }
        if (NULL != at && wanted <= gr_slab_handle_room(&handle)) {
            touch(at + wanted - sizeof(struct gr_lease_user));
        }
    }
    for (k = 0; k < SLABS; k++) { /* a good one is still taken */
        FUZZ_NEED(NULL != gr_pool_map(other, &good[k], &error));
    }
    gr_pool_close(other);
    gr_pool_close(pool);
    return 0;
}
