/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns the command line: its grammar, its defaults and its error messages (help.h has the help). No
 * MPI in here: every rank parses alike and decides alike; only rank 0 prints.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "elements.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define OPTIONS_MAX_COLLECTIVES 64
#define OPTIONS_MAX_DEVICES 64
#define OPTIONS_ERROR_CHARS 1024

enum call_form { FORM_BLOCKING, FORM_NONBLOCKING, FORM_PERSISTENT };
enum device_kind {
    DEVICE_HOST,
    DEVICE_CUDA,
    DEVICE_MANAGED,
    DEVICE_PINNED,
    DEVICE_KINDS,
    DEVICE_MIXED = DEVICE_KINDS /* not the same for all ranks */
};
enum report_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };

struct options {
    int collectives[OPTIONS_MAX_COLLECTIVES]; /* indices into the list of names given to parse */
    int ncollectives;
    bool all;         /* "all" was named: collectives that lack a form asked for are left out */
    size_t min_bytes; /* sizes double from here .. */
    size_t max_bytes; /* .. as long as they do not exceed this */
    enum device_kind device;                       /* where buffers live */
    enum device_kind devices[OPTIONS_MAX_DEVICES]; /* rank i's: number i modulo ndevices */
    int ndevices;
    const char *device_text; /* as it was given; points into argv */
    enum element_type_id type;
    enum element_op op;
    int root;
    int iterations; /* -1: by size, see options_iterations */
    int warmup;     /* -1: a tenth of the iterations */
    enum call_form form;
    bool in_place;
    bool check;
    double B;       /* GB/s; NAN: to be measured */
    double I;       /* likewise */
    bool published; /* ideal by the published formula instead of the bound */
    enum report_format format;
    const char *file; /* points into argv; NULL: stdout */
    bool fit;
    bool progress;
    bool help;
};

/* Parses argv (which getopt may reorder). names lists the n collectives there are. Returns 0, or -1
 * with one line, without newline, in error[OPTIONS_ERROR_CHARS]. */
int options_parse(struct options *options, int argc, char **argv, const char *const *names, int n,
                  char *error);

/*
 * Bytes from a number with an optional suffix k, M or G (powers of 1024). Returns 0, or -1 if text
 * is anything else, zero, or too large.
 */
int options_size(const char *text, size_t *bytes);

/* Timed and untimed calls for a size: what -i and -x say, else as many as its time deserves. */
int options_iterations(const struct options *options, size_t bytes);
int options_warmup(const struct options *options, size_t bytes);

const char *options_form_name(enum call_form form);
const char *options_device_name(enum device_kind device); /* not DEVICE_MIXED's */

/* Where a rank's buffers live: never DEVICE_MIXED. */
enum device_kind options_device_of(const struct options *options, int rank);

#endif
