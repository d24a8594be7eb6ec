/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report with which a job can end: what was counted (report.c), how it comes from all ranks to
 * rank 0 (report_gather.c), and how it is printed (report_print.c).
 */
#ifndef GR_MPI_REPORT_H
#define GR_MPI_REPORT_H

#include "mpi/ompi.h"

#include "comm/collectives.h"
#include "timing/timer.h"

/* ---- what one rank has counted (report.c) ---- */

/* What calls of a row have in common. No padding: keys are compared as bytes. */
struct gr_report_key {
    uint8_t nonblocking; /* 1: nonblocking or persistent: their time may overlap with other work */
    uint8_t device;      /* 1: kernels did the calls */
    uint8_t id;          /* enum gr_call_id */
    uint8_t algo;        /* number of the algorithm */
    uint8_t size_class;  /* of base/size_class.h, by a rank's part */
    uint8_t unused[3];   /* 0 */
};

/* Sums over calls, in bytes and nanoseconds. */
struct gr_report_sums {
    uint64_t calls;
    uint64_t bytes;
    uint64_t ns;        /* from the calls' begin to their end */
    uint64_t wait_ns;   /* of these: until the last rank had come, as far as that is known */
    uint64_t bus_bytes; /* bytes times the factor of the bus bandwidth */
};

struct gr_report_row {
    struct gr_report_key key;
    struct gr_report_sums sums;
};

/* Call each(ctx, row) for this rank's rows that have calls. */
void mca_coll_gpuring_report_rows(void (*each)(void *ctx, const struct gr_report_row *row),
                                  void *ctx);

typedef _Atomic unsigned long long gr_report_counter_t;

/* This rank's numbers of calls. */
struct gr_report_counts {
    gr_report_counter_t done[GR_NSUPPORTED];      /* by collective: gpuring did */
    gr_report_counter_t fell_back[GR_NFALLBACKS]; /* by reason: of collectives that gpuring does */
    gr_report_counter_t others[GR_NCALLS];        /* by collective: that gpuring does not do */
};
const struct gr_report_counts *mca_coll_gpuring_report_counts(void);

/* What step timing saw on this rank. */
const struct gr_timing_report *mca_coll_gpuring_report_timing(void);

/* ---- all ranks (report_gather.c) ---- */

/* A row of all ranks. */
struct gr_report_merged {
    struct gr_report_key key;
    struct gr_report_sums sum; /* over ranks */
    uint64_t calls;            /* of the rank that has most */
    uint64_t bytes;            /* of that rank */
    double wait_us[2];         /* least and most over ranks: of a rank's mean wait per call */
    double move_us[2];         /* the same of the rest of its calls' time */
};

/* Shares of the run, and who comes late. Blocking calls only. */
struct gr_report_total {
    int ranks;       /* whose counts are known */
    int of;          /* ranks of the job */
    double run_s;    /* sum over ranks: from MPI_Init to MPI_Finalize */
    double move_s;   /* sum over ranks: in calls, without waiting for late ranks */
    double wait_s;   /* sum over ranks: waiting for late ranks */
    int latest_rank; /* for which others waited at least 1% of the run; -1: for none */
};

/* The rows of all ranks whose rows came, on the job's first rank. *n: of rows. Borrowed. */
const struct gr_report_merged *mca_coll_gpuring_report_merged(size_t *n,
                                                              struct gr_report_total *total);
void mca_coll_gpuring_report_free(void);

/* Whether this process prints a report: the job's first one, of a program that has communicators. */
bool mca_coll_gpuring_report_wanted(void);

/* Why gpuring does nothing in this process, or not all that it can do; NULL: it does. */
const char *mca_coll_gpuring_report_off(void);

#endif
