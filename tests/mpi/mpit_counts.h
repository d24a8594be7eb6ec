/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads gpuring's MPI_T counters: all variables whose name begins with coll_gpuring_.
 */
#ifndef TEST_MPIT_COUNTS_H
#define TEST_MPIT_COUNTS_H

#include <stdio.h>

struct mpit_totals {
    /* how many of the counters exist; 0: the component is not there */
    int counters;
    unsigned long long calls;     /* collectives that gpuring carried out */
    unsigned long long handovers; /* collectives that fell back */
    unsigned long long device;    /* of the calls: done on devices, */
    unsigned long long zero_copy; /* and with other ranks' receive buffers mapped */
    unsigned long long leader;    /* of those on devices: by one kernel for all ranks */
};

/* Starts counting in this process. Between MPI_Init and MPI_Finalize, once. */
void mpit_counts_start(void);

/* What was counted since the start. */
struct mpit_totals mpit_counts_read(void);

/* One line "PREFIX NAME COUNT" for each counter that exists. */
void mpit_counts_list(FILE *f, const char *prefix);

void mpit_counts_stop(void);

#endif
