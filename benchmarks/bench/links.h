/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What bounds depend on: which ranks share a node, or a device; and the bandwidths B and I, given
 * by option or measured here.
 */
#ifndef BENCH_LINKS_H
#define BENCH_LINKS_H

#include "common/ideal.h"

struct link {
    double GBs;         /* one way, 1e9 bytes per second; NAN: unknown */
    const char *source; /* "option", "measured" or "n/a" */
    const char *how;    /* the measurement, or why there is none; "" otherwise */
};

/* Memory between which B is measured. */
enum link_copies {
    LINK_HOST,
    LINK_DEVICE, /* device_open() must have been called */
    LINK_MIXED   /* ranks have both: no rate holds for all pairs, B is not known */
};

struct links {
    struct ideal_layout layout;
    struct link B; /* a rank to the others of its node */
    struct link I; /* a node to the others */
    /*
     * Reads and writes of the device that all ranks share, where B is not given: the limit is one
     * pass over its memory, not B. NAN: they share none, or are on several nodes
     */
    struct link memory;
    struct ideal_rates rates; /* by size, where B is measured in host memory; else unknown */
};

/*
 * Fills *links, the same on every rank. Collective over MPI_COMM_WORLD. B, I: the user's, or NAN:
 * to be measured where there is such a link. root: of collectives that have one. Returns 0, or -1
 * on every rank when memory is short on one.
 */
int links_find(struct links *links, double B, double I, enum link_copies copies, int root);

#endif
