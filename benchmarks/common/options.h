/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of gpuring_bench, which gpuring_gpu shares: grammar,
 * defaults and error messages. Each program has its own help. No MPI: all ranks parse the same and
 * decide the same; only rank 0 prints.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "cli.h"
#include "elements.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define OPTIONS_MAX_COLLECTIVES 64
#define OPTIONS_MAX_DEVICES 64

enum call_form { FORM_BLOCKING, FORM_NONBLOCKING, FORM_PERSISTENT };
enum device_kind {
    DEVICE_HOST,
    DEVICE_CUDA,
    DEVICE_MANAGED,
    DEVICE_PINNED,
    DEVICE_KINDS,
    DEVICE_MIXED = DEVICE_KINDS /* not the same for all ranks */
};
enum { HELP_TEXT = 1, HELP_VERSION };
enum report_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };

struct options {
    int collectives[OPTIONS_MAX_COLLECTIVES]; /* indices into the names given to options_parse */
    int ncollectives;
    bool all;         /* "all" was named: collectives that lack a form asked for are left out */
    size_t min_bytes; /* the first size; 0: not given, see options_sizes */
    size_t max_bytes; /* no size exceeds this; 0: not given */
    size_t factor;    /* from one size to the next */
    enum device_kind device;                       /* where buffers live */
    enum device_kind devices[OPTIONS_MAX_DEVICES]; /* rank i's is number i modulo ndevices */
    int ndevices;
    const char *device_text; /* the value of -d, in argv */
    enum element_type_id type;
    enum element_op op;
    int root;
    int iterations; /* -1: by size, see options_iterations */
    int warmup;     /* -1: a tenth of the iterations */
    enum call_form form;
    bool nonblocking; /* --nonblocking was given; form says it, too */
    bool persistent;  /* --persistent was given; form says it, too */
    bool in_place;
    bool check;
    double B; /* GB/s; NAN: to be measured */
    double I; /* GB/s; NAN: to be measured */
    enum report_format format;
    const char *file; /* in argv; NULL: stdout */
    bool fit;
    bool progress;
    int help; /* an enum: what is printed instead of running */
};

/* As if the command line were empty. */
struct options options_default(void);

/*
 * Parses argv (which getopt may reorder) into *options, which has the defaults. own: options that
 * the program has besides; NULL: none. collective: the default COLLECTIVE; NULL: one must be named.
 * names: of the collectives there are, then "all" and NULL. Returns 0, or -1 with one line, without
 * a newline, in error[CLI_ERROR_CHARS].
 */
int options_parse(struct options *options, const struct cli_table *own, const char *collective,
                  int argc, char **argv, const char *const *names, char *error);

/* Sizes that were not given. Returns 0, or -1 with a line in error where there are none between. */
int options_sizes(struct options *options, size_t min_bytes, size_t max_bytes, char *error);

/* Whether an option was given that only the comparison with links has: -B -I --ideal --fit. */
bool options_only_links(const struct options *options);

/* Timed and untimed calls for a size: -i and -x, or fewer for larger sizes. */
int options_iterations(const struct options *options, size_t bytes);
int options_warmup(const struct options *options, size_t bytes);

const char *options_form_name(enum call_form form);
const char *options_device_name(enum device_kind device); /* not DEVICE_MIXED's */

/* Where a rank's buffers live: never DEVICE_MIXED. */
enum device_kind options_device_of(const struct options *options, int rank);

#endif
