/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a machine is like: how long two ranks take for the parts of a call, as processes of a node
 * or on devices. Those of processes are measured when a job starts or beforehand (measure.c). All
 * are turned into constants of the cost model.
 */
#ifndef GR_TUNE_MACHINE_H
#define GR_TUNE_MACHINE_H

#include "sched/protocol.h"
#include "tune/types.h"

#include <math.h>
#include <stddef.h>

/* Sizes at which copies are measured, in bytes; between them times are interpolated. */
#define GR_MACHINE_SIZES 4
extern const size_t gr_machine_bytes[GR_MACHINE_SIZES];

/*
 * Times in microseconds of two ranks: of processes at one distance, or of kernels on devices joined
 * by one path. Processes send this to each other as bytes: no padding, no pointers. Unless stated
 * otherwise arrays are indexed by size. 0 (of an array by size: its first element): not known.
 */
struct gr_machine {
    /* processes */
    float exchange; /* both processes write a cache line and wait for the other's */
    float reduce;   /* combine the smallest size with another vector in the cache */
    float call;     /* single copy (process_vm_readv) of a byte */
    float one_way[GR_MACHINE_SIZES];   /* moved through slots, from one process to the other */
    float two_way[GR_MACHINE_SIZES];   /* the same in both directions at once, in long chunks */
    float fetch[GR_MACHINE_SIZES];     /* single copy of what was copied before */
    float fetch_new[GR_MACHINE_SIZES]; /* single copy of what its owner has just written; two-way */
    /* kernels */
    float device_own;                  /* a step that waits for no other rank */
    float device_step[GR_NPROTOCOLS];  /* by protocol: wait for a message, and pass it on */
    float device_bytes[GR_NPROTOCOLS]; /* by protocol: the smallest size, through all channels */
};

/*
 * The constants, a row each: its entry in a tuning file is RELATION.NAME (tune/constants.h).
 */
struct gr_machine_row {
    const char *name;
    size_t offset; /* of its first value in struct gr_machine */
    int values;    /* 1, or GR_MACHINE_SIZES */
    int is_rate;   /* written as GB/s of the bytes at gr_machine_bytes; else as us */
    int is_device; /* of kernels on devices; else of processes */
};
#define GR_MACHINE_ROWS 14
extern const struct gr_machine_row gr_machine_rows[GR_MACHINE_ROWS];

/* The unit in which a row is written. */
const char *gr_machine_unit(int row);

/* A row's first value. */
float *gr_machine_values(struct gr_machine *m, int row);

/* Whether the row's values are known. */
int gr_machine_knows(const struct gr_machine *m, int row);

/* Whether each constant is not known, or one that a computer can have. */
int gr_machine_good(const struct gr_machine *m);

/*
 * Read a row's values from text: numbers separated by spaces or commas. Returns 0; or -1: other
 * than that, or not as a computer can have them; *m is as before then.
 */
int gr_machine_parse(struct gr_machine *m, int row, const char *text);

/* A row's values as gr_machine_parse() reads them, with four digits. Returns buf. */
const char *gr_machine_print(const struct gr_machine *m, int row, char *buf, size_t size);

/*
 * Constants of the model for a question: those of base, but for those that follow from what is
 * known of the machine.
 */
struct gr_costs gr_machine_costs(const struct gr_machine *m, const struct gr_costs *base,
                                 const struct gr_select_args *q);

/*
 * The same between devices, for any question. A protocol that base does not choose stays so.
 */
struct gr_costs gr_machine_device_costs(const struct gr_machine *m, const struct gr_costs *base);

/*
 * The value at `bytes` of n >= 1 values at growing sizes: linear in the logarithm of the size;
 * beyond the first or the last size the value there.
 */
static inline double gr_interpolate(const size_t *sizes, const double *values, int n, double bytes)
{
    double below, share;
    int k = 0;

    if (bytes <= (double) sizes[0]) {
        return values[0];
    }
    while (k < n && (double) sizes[k] < bytes) {
        k++;
    }
    if (n == k) {
        return values[n - 1];
    }
    below = (double) sizes[k - 1];
    share = log(bytes / below) / log((double) sizes[k] / below);
    return values[k - 1] + share * (values[k] - values[k - 1]);
}

/* ---- measuring: measure.c ---- */

/* d1[i] = a[i] + b[i] for n floats, as gr_reduce_fn (exec/reduce.h). d2 is NULL. */
typedef void (*gr_machine_sum_fn)(void *d1, void *d2, const void *a, const void *b, size_t n);

/* How much is measured; the best of several counts, as what runs beside makes times longer. */
enum gr_effort {
    GR_EFFORT_BRIEF,    /* 1 ms: the two largest sizes follow from those of `whole` */
    GR_EFFORT_QUICK,    /* 5 ms, when a job starts */
    GR_EFFORT_THOROUGH, /* 60 ms, a round of gpuring_tune */
    GR_EFFORTS
};

struct gr_measure_args {
    int cpus[2]; /* the two processors; only the threads that measure are bound to them */
    enum gr_effort effort;
    const struct gr_machine *whole; /* measured at another distance; GR_EFFORT_BRIEF only */
    double limit;                   /* seconds after which it is given up */
    gr_machine_sum_fn sum;
};

/*
 * Measure two processors. Where the kernel refuses single copy, its times are unknown. Returns 0
 * and fills *m; or GR_ERR_NOT_SUPPORTED (a thread must not run on its processor), GR_ERR_NOMEM, or
 * GR_ERR_TIMEOUT (the time did not suffice): *m is all zero then. Leaves no thread and no memory
 * behind, and the caller's processors as they are.
 */
int gr_machine_measure(const struct gr_measure_args *args, struct gr_machine *m);

#endif
