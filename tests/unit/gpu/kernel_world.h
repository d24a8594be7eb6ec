/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of kernel_case.h on the device, and the links between them. */
#ifndef GR_TESTS_KERNEL_WORLD_H
#define GR_TESTS_KERNEL_WORLD_H

#include "kernel_case.h"

#include "exec/gpu/step_tables.h"

enum { KW_POISON = 0xff };

/* What lies beside the counters of a link. */
enum {
    KW_TAIL_WORDS = GR_GPU_ZERO_COPY_AT / sizeof(uint64_t) + 1,
    KW_HEAD_WORDS = GR_GPU_OPEN_AT / sizeof(uint64_t) + 1
};

struct wire {
    gr_gpu_ptr tail, head, slots; /* each an allocation: what is written beyond it is noticed */
    uint32_t channel;
    int from, to;
};

struct device_rank {
    struct gr_gpu_args args;
    struct gr_gpu_report *reports;
    gr_gpu_ptr image, peers, cells, steps;
    struct gr_gpu_end *in, *out; /* copies of args.in, args.out */
    void *stream;
    int running, through;
};

struct world {
    const struct kc_call *call;
    struct device_rank ranks[KC_MAX_RANKS];
    struct wire *wires;
    size_t nwires;
    uint64_t *abort;
    uint64_t seed;
};

/* Device memory with these bytes in it. */
gr_gpu_ptr kw_put(const void *from, size_t bytes);

/* Make the links that the algorithm may use, and no others: both ends in the ranks' copies. */
void kw_connect(struct world *w);

void kw_disconnect(struct world *w);

/*
 * All that was written was read, and all four counters of each link say so; results went past the
 * slots where both ends agreed to that, and nowhere else. 0, or -1 with why.
 */
int kw_check_links(struct world *w, char *why, size_t size);

#endif
