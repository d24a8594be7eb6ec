/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns what is known about the machine: which ranks share a node, and the bandwidths B and I that
 * ideals are computed from, given by option or measured here. */
#ifndef BENCH_LINKS_H
#define BENCH_LINKS_H

#include "common/ideal.h"

struct link {
    double GBs;         /* one way, 1e9 bytes per second; NAN: unknown */
    const char *source; /* "option", "measured" or "n/a" */
    const char *how;    /* what was measured, or why nothing could be; "" otherwise */
};

/* What is copied where B is measured. */
enum link_copies {
    LINK_HOST,   /* host memory */
    LINK_DEVICE, /* memory of devices; device.h must be open */
    LINK_MIXED   /* ranks have both: no rate holds for all pairs, and B is unknown */
};

struct links {
    struct ideal_layout layout;
    struct link B; /* a rank to the others of its node */
    struct link I; /* a node to the others */
};

/*
 * Finds all of it, the same on every rank. Collective over MPI_COMM_WORLD. B and I are the user's,
 * or NAN: then they are measured where there is such a link. root is that of collectives that have
 * one. Returns 0, or -1 on every rank when memory is short on one.
 */
int links_find(struct links *links, double B, double I, enum link_copies copies, int root);

#endif
