/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fault injection for the component's variant that is linked with ld's --wrap (faults.am): calls
 * that its own objects make are counted by kind, and the k-th one of a kind fails. Calls that Open
 * MPI makes are not touched.
 *
 *     GPURING_FAULT=KIND:K        the K-th call of this kind fails, K from 1; KIND:K+: and all after it
 *     GPURING_FAULT_RANK=R        on this rank of MPI_COMM_WORLD only; default: on every rank
 *     GPURING_FAULT_COUNTS=FILE   FILE.R: "KIND CALLS" lines of rank R, written at exit
 *     GPURING_FAULT_CLOCK=N       the engine's clock is N times as fast, for what waits for seconds
 *     GPURING_FAULT_TRACE=FILE    FILE.R: a line "KIND NUMBER OFFSET" for each call; where it was made, in the module
 */
#ifndef FAULTS_INJECT_H
#define FAULTS_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>

/* One kind of call; a static object in the function that stands in for it. */
struct fault_kind {
    const char *name;
    atomic_long calls;       /* made so far */
    struct fault_kind *next; /* kind that was first called before this one; written once */
};

/*
 * Count a call made from the given code address. True when it must fail; a line on stderr then says
 * so.
 */
bool fault_due(struct fault_kind *kind, const void *caller);

/* At the head of a function that stands in for another: whether this call must fail. */
#define FAULT_DUE(label)                                  \
    ({                                                    \
        static struct fault_kind kind_ = {.name = label}; \
        fault_due(&kind_, __builtin_return_address(0));   \
    })

#endif
