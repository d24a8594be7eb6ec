/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a schedule: grids, lists and graphs of its steps, for gpuring_sched. */
#ifndef GR_BENCH_SCHED_PRINT_H
#define GR_BENCH_SCHED_PRINT_H

#include "sched/sched.h"

#define MAX_RANKS 1024

/* The steps of one rank that do something, by tick. */
struct lane {
    struct entry {
        struct gr_step step;
        uint32_t index;
        int distributes; /* it moves results, not sums */
    } * entries;
    uint32_t n;
};

/* All steps of a schedule. */
struct table {
    enum gr_coll coll;
    enum gr_algo algo;
    enum gr_layout layout;
    int p;          /* number of ranks */
    int root;       /* a rank */
    uint32_t parts; /* of equal size, of the vector */
    uint32_t ticks;
    int ordered;                  /* the order of ranks was given */
    int order[MAX_RANKS];         /* rank by position */
    struct lane lanes[MAX_RANKS]; /* by rank */
};

enum show {
    SHOW_TABLE, /* up to 8 ranks: a grid with all primitives; more: rank by rank */
    SHOW_TICKS, /* the grid in shorthand */
    SHOW_DOT    /* the messages, for Graphviz */
};

/* Print the schedule to stdout; with SHOW_TABLE and rank >= 0 that rank's steps alone. */
void table_print(const struct table *t, enum show show, int rank);

#endif
