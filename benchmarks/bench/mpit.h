/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm ran: the counters, read by MPI's tool interface, in which gpuring counts this
 * process's calls by algorithm. Works without gpuring, too.
 */
#ifndef BENCH_MPIT_H
#define BENCH_MPIT_H

#include <mpi.h>

#define MPIT_NAME_CHARS 64

struct mpit_counter {
    char algorithm[MPIT_NAME_CHARS]; /* the variable's name behind the prefix */
    MPI_T_pvar_handle handle;
    unsigned long long before; /* the value at mpit_mark */
};

struct mpit {
    MPI_T_pvar_session session;
    struct mpit_counter *counters;
    int ncounters;
};

/*
 * Finds the counters whose names begin with prefix. Call after MPI_Init. A failure leaves fewer
 * counters, or none; mpit_close is due in any case.
 */
void mpit_open(struct mpit *mpit, const char *prefix);
void mpit_close(struct mpit *mpit);

/* Stores the values of the counters. */
void mpit_mark(struct mpit *mpit);

/*
 * The name of the counter that has grown most since mpit_mark (the first, among equals), or "stock"
 * where none has. It is valid until mpit_close.
 */
const char *mpit_algorithm(struct mpit *mpit);

#endif
