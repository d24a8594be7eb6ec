/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the run: from the command line over the collectives and sizes asked for to the exit status.
 *
 * Environment, for tests only: GPURING_BENCH_CORRUPT=1 makes one received element on one rank wrong
 * before each check, to see that checks see it. */
#include "collect.h"
#include "collectives.h"
#include "common/fit.h"
#include "help.h"
#include "links.h"
#include "measure.h"
#include "mpit.h"
#include "placement.h"
#include "report.h"
#include "supported.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };
enum { MAX_SIZES = 64 }; /* sizes double: there are not more */

struct bench {
    struct options options;
    char error[OPTIONS_ERROR_CHARS];
    struct links links;
    struct report report; /* rank 0's */
    struct mpit mpit;
    int rank, ranks;
    double *errors; /* rank 0's: room for a number from every rank */
    bool progress;
    bool wrong; /* rank 0's: was a result? */
};

/* The times of one collective, for the fit. */
struct points {
    double bytes[MAX_SIZES];
    double us[MAX_SIZES];
    int n;
};

static int complain(const struct bench *b, const char *text)
{
    if (0 == b->rank) {
        fprintf(stderr, "gpuring_bench: %s\n", text);
    }
    return EXIT_USAGE;
}

static void show_progress(const struct bench *b, const char *name, size_t bytes, int iterations)
{
    if (b->progress) {
        fprintf(stderr, "%sgpuring_bench: %s, %zu bytes, %d iterations%s", isatty(2) ? "\r" : "",
                name, bytes, iterations, isatty(2) ? "\033[K" : "\n");
    }
}

static void clear_progress(const struct bench *b)
{
    if (b->progress && isatty(2)) {
        fprintf(stderr, "\r\033[K");
    }
}

static struct shape shape_of(const struct bench *b, const struct collective *c, size_t bytes)
{
    const struct options *o = &b->options;

    return moves_shape(c->moves, bytes, element_types[o->type].size, b->ranks, b->rank, o->root,
                       o->in_place);
}

/* Does this rank have an output to be made wrong, as GPURING_BENCH_CORRUPT wants? */
static bool is_corrupted(const struct bench *b, const struct shape *shape)
{
    const char *wanted = getenv("GPURING_BENCH_CORRUPT");
    bool chosen =
        shape->moves->flags & MOVES_TO_ROOT ? b->rank == shape->root : b->rank == b->ranks - 1;

    return NULL != wanted && 0 == strcmp(wanted, "1") && chosen;
}

/* One call on fresh data, every element checked. Returns the errors of all ranks, on rank 0. */
static double check_call(const struct bench *b, struct call *call, const struct shape *shape,
                         const struct buffers *buffers, unsigned seed)
{
    const struct options *o = &b->options;
    enum element_op op = shape->moves->flags & MOVES_REDUCED ? o->op : ELEMENT_MOVE;
    struct element_rule rule = {&element_types[o->type], op, b->ranks, seed};
    double mine, sum = 0;

    moves_prepare(buffers, shape, &rule);
    call_run(call);
    if (is_corrupted(b, shape)) {
        moves_corrupt(buffers, shape);
    }
    mine = (double) moves_check(buffers, shape, &rule);
    collect_gather(&mine, b->errors, sizeof mine);
    for (int r = 0; 0 == b->rank && r < b->ranks; r++) {
        sum += b->errors[r];
    }
    return sum;
}

static void fill_result(const struct bench *b, const struct collective *c, const struct timing *t,
                        struct result *r)
{
    const struct links *l = &b->links;

    r->avg_us = t->avg;
    r->min_us = t->min;
    r->max_us = t->max;
    r->p50_us = t->p50;
    r->p99_us = t->p99;
    r->cycle_us = t->cycle;
    r->algbw = (double) r->bytes / t->avg * 1e-3;
    r->busbw = ideal_busbw(c->kind, r->bytes, t->avg * 1e-6, b->ranks);
    r->ideal = b->options.published ? ideal_published(&l->layout, l->B.GBs, l->I.GBs)
                                    : ideal_bound(c->kind, &l->layout, l->B.GBs, l->I.GBs);
    r->efficiency = r->busbw / r->ideal;
    strcpy(r->algorithm, t->algorithm);
}

/* Checks and times one size; rank 0 has the result. Returns 0, or -1 everywhere without memory. */
static int run_size(struct bench *b, const struct collective *c, const struct shape *shape,
                    const struct buffers *buffers, struct result *result)
{
    const struct options *o = &b->options;
    struct element_rule data = {&element_types[o->type], ELEMENT_MOVE, b->ranks, 0};
    size_t bytes = shape->total * shape->element;
    int iterations = options_iterations(o, bytes), status;
    struct timing timing;
    struct call call;

    *result = (struct result) {.bytes = bytes, .errors = o->check ? 0 : NAN};
    show_progress(b, c->name, bytes, iterations);
    moves_prepare(buffers, shape, &data);
    status = call_init(&call, c, o, shape, buffers);
    if (0 == status && o->check) {
        result->errors += check_call(b, &call, shape, buffers, 0);
    }
    if (0 == status) {
        status = measure_call(&call, &b->mpit, options_warmup(o, bytes), iterations, &timing);
    }
    if (0 == status && o->check) { /* other data: what the timed calls left behind must not pass */
        result->errors += check_call(b, &call, shape, buffers, 1);
    }
    call_free(&call);
    if (0 == status && 0 == b->rank) {
        fill_result(b, c, &timing, result);
    }
    return status;
}

static void report_size(struct bench *b, const struct result *result, struct points *points)
{
    clear_progress(b);
    report_result(&b->report, result);
    points->bytes[points->n] = (double) result->bytes;
    points->us[points->n] = result->avg_us;
    points->n++;
    b->wrong = b->wrong || result->errors > 0;
}

static int run_sizes(struct bench *b, const struct collective *c, const struct buffers *buffers,
                     struct points *points)
{
    size_t previous = 0, bytes = b->options.min_bytes;

    for (;; bytes *= 2) {
        struct shape shape = shape_of(b, c, bytes);
        struct result result;
        if (shape.total != previous) { /* small sizes may all be one element per rank */
            if (0 != run_size(b, c, &shape, buffers, &result)) {
                return -1;
            }
            if (0 == b->rank) {
                report_size(b, &result, points);
            }
        }
        previous = shape.total;
        if (bytes > b->options.max_bytes / 2) {
            return 0;
        }
    }
}

static int run_collective(struct bench *b, const struct collective *c)
{
    const char *op = c->moves->flags & MOVES_REDUCED ? element_op_names[b->options.op] : "none";
    struct shape largest = shape_of(b, c, b->options.max_bytes);
    struct points points = {.n = 0};
    struct fit_line fit;
    struct buffers buffers;
    int status;

    status = moves_alloc(&buffers, placement_memory(&b->options, b->rank), &largest);
    if (!collect_agree(0 == status)) {
        moves_release(&buffers);
        return complain(b, "-m: too little memory for buffers of the largest size");
    }
    if (0 == b->rank) {
        report_open(&b->report, c->name, op);
    }
    status = run_sizes(b, c, &buffers, &points);
    moves_release(&buffers);
    if (0 != status) {
        return complain(b, "out of memory");
    }
    if (0 == b->rank) {
        bool fitted = b->options.fit && 0 == fit_times(&fit, points.bytes, points.us, points.n);
        report_close(&b->report, fitted ? &fit : NULL);
    }
    return EXIT_RIGHT;
}

/* Rank 0's output, or NULL with a complaint; every rank learns whether there is one. */
static FILE *open_output(const struct bench *b)
{
    const char *file = b->options.file;
    FILE *out = 0 != b->rank || NULL == file ? stdout : fopen(file, "w");

    if (NULL == out) {
        fprintf(stderr, "gpuring_bench: -f: '%s' cannot be opened for writing: %s\n", file,
                strerror(errno));
    }
    return collect_agree(NULL != out) ? out : NULL;
}

static int run_all(struct bench *b, FILE *out)
{
    int status = EXIT_RIGHT;

    b->errors = malloc((size_t) b->ranks * sizeof *b->errors);
    if (!collect_agree(NULL != b->errors) ||
        0 != links_find(&b->links, b->options.B, b->options.I,
                        placement_copies(&b->options, b->ranks), b->options.root)) {
        free(b->errors);
        return complain(b, "out of memory");
    }
    if (0 == b->rank) {
        report_begin(&b->report, out, &b->options, &b->links);
    }
    for (int i = 0; EXIT_RIGHT == status && i < b->options.ncollectives; i++) {
        status = run_collective(b, &collectives[b->options.collectives[i]]);
    }
    if (0 == b->rank && EXIT_RIGHT == status && 0 != report_end(&b->report)) {
        status = complain(b, "-f: the output could not be written completely");
    }
    free(b->errors);
    return EXIT_RIGHT == status && b->wrong ? EXIT_WRONG : status;
}

static int run_options(struct bench *b)
{
    FILE *out;
    int status;

    if (0 != supported_check(&b->options, b->ranks, b->mpit.ncounters, b->error)) {
        return complain(b, b->error);
    }
    if (NULL == (out = open_output(b))) {
        return EXIT_USAGE;
    }
    b->progress = 0 == b->rank && (b->options.progress || isatty(2));
    status = run_all(b, out);
    if (stdout != out && 0 != fclose(out)) {
        status = EXIT_RIGHT == status ? EXIT_USAGE : status;
    }
    return status;
}

/* What was asked for, if it was understood and every rank has such memory. */
static int run(struct bench *b, bool understood, const char *const *names)
{
    int status;

    if (!understood) {
        return complain(b, b->error);
    }
    if (b->options.help) {
        if (0 == b->rank) {
            help_print(stdout, names, COLLECTIVES);
        }
        return EXIT_RIGHT;
    }
    placement_check(&b->options, b->rank, b->error);
    if (!collect_complaint(b->error, sizeof b->error)) {
        return complain(b, b->error);
    }
    mpit_open(&b->mpit, "coll_gpuring_algorithm_");
    status = run_options(b);
    collectives_end();
    mpit_close(&b->mpit);
    return status;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    const char *names[COLLECTIVES];
    bool understood;
    int status;

    for (int i = 0; i < COLLECTIVES; i++) {
        names[i] = collectives[i].name;
    }
    bench.options = options_default();
    understood =
        0 == options_parse(&bench.options, NULL, argc, argv, names, COLLECTIVES, bench.error);
    if (understood && !bench.options.help) {
        placement_open(&bench.options, bench.error);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    status = run(&bench, understood, names);
    MPI_Finalize();
    placement_close();
    return status;
}
