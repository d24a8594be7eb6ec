/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the answer to "which algorithm ran": reads, through MPI's tool interface, the counters in
 * which gpuring counts the calls of this process by algorithm. Works without gpuring, too. */
#ifndef BENCH_MPIT_H
#define BENCH_MPIT_H

#include <mpi.h>

#define MPIT_NAME_CHARS 64

struct mpit_counter {
    char algorithm[MPIT_NAME_CHARS]; /* the variable's name behind the prefix */
    MPI_T_pvar_handle handle;
    unsigned long long before;
};

struct mpit {
    MPI_T_pvar_session session;
    struct mpit_counter *counters;
    int ncounters;
};

/* Finds the counters whose names begin with prefix. Call after MPI_Init. Anything that fails leaves
 * fewer counters, or none; mpit_close is due in any case. */
void mpit_open(struct mpit *mpit, const char *prefix);
void mpit_close(struct mpit *mpit);

/* Notes where the counters stand. */
void mpit_mark(struct mpit *mpit);

/* Writes the name of the counter that has grown most since mpit_mark (the first, among equals), or
 * "stock" where none has, to name[MPIT_NAME_CHARS]. */
void mpit_algorithm(struct mpit *mpit, char *name);

#endif
