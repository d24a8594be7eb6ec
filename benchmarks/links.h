/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns what is known about the machine: which ranks share a node, and the bandwidths B and I that
 * ideals are computed from, given by option or measured here. */
#ifndef BENCH_LINKS_H
#define BENCH_LINKS_H

#include "ideal.h"

#include <stdbool.h>

struct link {
    double GBs;         /* one way, 1e9 bytes per second; NAN: unknown */
    const char *source; /* "option", "measured" or "n/a" */
    const char *how;    /* what was measured; "" otherwise */
};

struct links {
    struct ideal_layout layout;
    struct link B; /* a rank to the others of its node */
    struct link I; /* a node to the others */
};

/* Finds all of it, the same on every rank. Collective over MPI_COMM_WORLD. B and I are the user's,
 * or NAN: then they are measured where there is such a link; B between devices if device says that
 * buffers are there (device.h must be open).
 * Returns 0, or -1 on every rank when memory is short on one. */
int links_find(struct links *links, double B, double I, bool device);

#endif
