/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a machine is like: how long two processes of a node take for the parts of a call. Measured
 * when a job starts (tune/measure.h), and turned into constants of the cost model.
 */
#ifndef GR_TUNE_MACHINE_H
#define GR_TUNE_MACHINE_H

#include "tune/select.h"

#include <stddef.h>

/* Sizes at which copies are measured, in bytes; between them times are interpolated. */
#define GR_MACHINE_SIZES 4
extern const size_t gr_machine_bytes[GR_MACHINE_SIZES];

/*
 * Times in microseconds. Processes send this to each other as bytes: no padding, no pointers. All
 * zero: nothing was measured. Arrays are indexed by size. Times of single copy
 * (process_vm_readv) are 0 where the kernel refused it.
 */
struct gr_machine {
    float exchange; /* both processes write a cache line and wait for the other's */
    float reduce;   /* combine the smallest size with another vector in the cache */
    float call;     /* single copy of a byte */
    float one_way[GR_MACHINE_SIZES];   /* moved through slots, from one process to the other */
    float two_way[GR_MACHINE_SIZES];   /* the same in both directions at once, in long chunks */
    float fetch[GR_MACHINE_SIZES];     /* single copy of what was copied before */
    float fetch_new[GR_MACHINE_SIZES]; /* single copy of what its owner has just written; two-way */
};

/* Whether it was measured, and each time is one that a computer can have. */
int gr_machine_good(const struct gr_machine *m);

/*
 * Constants of the model for a question: those of base, where times of moving bytes between two
 * processes are replaced by measured ones. Those of base, if the machine is not good.
 */
struct gr_costs gr_machine_costs(const struct gr_machine *m, const struct gr_costs *base,
                                 const struct gr_select_args *q);

/* What was measured, as text for messages. Returns buf. */
const char *gr_machine_text(const struct gr_machine *m, char *buf, size_t size);

#endif
