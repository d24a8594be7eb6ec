/* SPDX-License-Identifier: BSD-3-Clause */
/* Random cases for kernel_test (kernel_draw.h). */
#include "kernel_draw.h"

#include "blocks.h"

#include "rng.h"

#include <stdlib.h>
#include <string.h>

uint64_t kc_seed;

size_t kc_any(const size_t *values, size_t n)
{
    return values[rng_below(&kc_seed, n)];
}

/* One of the kernels in a list of names. */
static enum gr_kernel any_named(const char *list)
{
    enum gr_kernel found[GR_NKERNELS];
    size_t n = 0, bytes;
    const char *at;
    int k;

    for (at = list; '\0' != *at; at += bytes + (',' == at[bytes])) {
        bytes = strcspn(at, ",");
        for (k = 0; k < GR_NKERNELS; k++) {
            const char *name = kd_kernel_name((enum gr_kernel) k);

            if (bytes == strlen(name) && 0 == strncmp(at, name, bytes)) {
                found[n++] = (enum gr_kernel) k;
            }
        }
    }
    if (0 == n) {
        abort();
    }
    return found[rng_below(&kc_seed, n)];
}

/* Whether it combines nothing. */
static int moves(enum gr_coll coll)
{
    return GR_COLL_BCAST == coll || GR_COLL_ALLGATHER == coll || GR_COLL_ALLTOALL == coll;
}

enum gr_kernel kc_any_kernel(enum gr_coll coll)
{
    const char *few = getenv("KERNEL_TEST_FEW");

    if (NULL != few) {
        return moves(coll) ? GR_KERNEL_copy : any_named(few);
    }
    if (moves(coll)) {
        return (enum gr_kernel) ANY(GR_KERNEL_copy, GR_KERNEL_copy, GR_KERNEL_f64_sum,
                                    GR_KERNEL_i16_max);
    }
    return (enum gr_kernel) ANY(GR_KERNEL_f32_sum, GR_KERNEL_f32_sum, GR_KERNEL_i8_sum,
                                GR_KERNEL_f16_sum, GR_KERNEL_f64_max, GR_KERNEL_u16_min,
                                GR_KERNEL_bits_bxor, GR_KERNEL_c64_prod, GR_KERNEL_f64_i32_minloc);
}

struct kc_case any_case(enum gr_coll coll, enum gr_algo algo, int p)
{
    struct kc_case c = {.coll = coll, .algo = algo, .kernel = kc_any_kernel(coll), .p = p};
    size_t elem = kd_elem_bytes(c.kernel), slots;

    c.root = rng_below(&kc_seed, p);
    c.nchannels = (uint32_t) ANY(1, 1, 2, 3);
    c.nslots = (uint32_t) ANY(2, 2, 3, 4);
    c.slot_bytes = ANY(48, 256, 256, 2048);
    /* a message takes two slots: twice as many as that are needed */
    if (0 == rng_below(&kc_seed, 4)) {
        c.slot_elems = (c.slot_bytes / elem + 1) / 2;
        c.nslots = 4;
    }
    c.chunk_bytes = 0 == rng_below(&kc_seed, 4) ? c.slot_bytes / 3 : 0;
    slots = ANY(0, 0, 1, 2, 5);
    c.count = slots * c.slot_bytes / elem /
                  (ex_has_blocks(coll) && GR_COLL_REDUCE_SCATTER != coll ? (size_t) p : 1) +
              ANY(0, 1, 7, 37);
    c.in_place = 0 == rng_below(&kc_seed, 3);
    c.reversed = 0 == rng_below(&kc_seed, 3);
    c.first = ANY(0, 0xfffffffe, 0x7fffffffffffffff, 12345, 0x3ffffffe);
    c.protocol = (enum gr_protocol) ANY(GR_PROTOCOL_SIMPLE, GR_PROTOCOL_SIMPLE, GR_PROTOCOL_LL,
                                        GR_PROTOCOL_LL128);
    c.patience = ANY(0, 0, 1, 3, 1000);
    c.threads = kd_is_fake() ? (uint32_t) ANY(64, 64, 96, 160) : GR_GPU_THREADS;
    c.seed = rng_next(&kc_seed);
    return c;
}
