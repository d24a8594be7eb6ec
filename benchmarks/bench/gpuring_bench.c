/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_bench: collectives by their MPI calls, timed and checked.
 *
 * Environment, for tests only: GPURING_BENCH_CORRUPT=1 makes one received element on one rank wrong
 * before each check.
 */
#include "collect.h"
#include "collectives.h"
#include "common/fit.h"
#include "help.h"
#include "links.h"
#include "measure.h"
#include "placement.h"
#include "report.h"
#include "session.h"
#include "supported.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SIZES = 64 }; /* sizes double: there are not more */

struct bench {
    struct session s; /* the first member */
    struct links links;
    struct report report; /* rank 0's */
    bool progress;
};

/* Sizes and times of one collective, for the fit. */
struct points {
    double bytes[MAX_SIZES];
    double us[MAX_SIZES];
    int n;
};

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
    const struct options *o = &b->s.options;

    return moves_shape(c->moves, bytes, element_types[o->type].size, b->s.ranks, b->s.rank, o->root,
                       o->in_place);
}

/* Whether GPURING_BENCH_CORRUPT makes this rank's output wrong. */
static bool is_corrupted(const struct bench *b, const struct shape *shape)
{
    const char *wanted = getenv("GPURING_BENCH_CORRUPT");
    bool chosen = shape->moves->flags & MOVES_TO_ROOT ? b->s.rank == shape->root
                                                      : b->s.rank == b->s.ranks - 1;

    return NULL != wanted && 0 == strcmp(wanted, "1") && chosen;
}

/* One call on fresh data, every element checked. Returns the errors of all ranks, on rank 0. */
static double check_call(const struct bench *b, struct call *call, const struct shape *shape,
                         const struct buffers *buffers, unsigned seed)
{
    const struct options *o = &b->s.options;
    enum element_op op = shape->moves->flags & MOVES_REDUCED ? o->op : ELEMENT_MOVE;
    struct element_rule rule = {&element_types[o->type], op, b->s.ranks, seed};

    moves_prepare(buffers, shape, &rule);
    call_run(call);
    if (is_corrupted(b, shape)) {
        moves_corrupt(buffers, shape);
    }
    return collect_sum((double) moves_check(buffers, shape, &rule));
}

/*
 * What the options ask for. Ranks that share a device are limited by one pass over its memory;
 * inside a node the limit is otherwise that of the size, if it was measured.
 */
static double ideal_of(const struct options *o, const struct links *l, enum ideal_kind kind,
                       size_t bytes)
{
    if (o->published) {
        return ideal_published(&l->layout, l->B.GBs, l->I.GBs);
    }
    if (!isnan(l->memory.GBs)) {
        return ideal_one_pass(kind, l->layout.ranks, o->in_place, l->memory.GBs);
    }
    if (1 == l->layout.nodes && !isnan(l->rates.exchange_us)) {
        return ideal_limit(kind, l->layout.ranks, &l->rates, bytes);
    }
    return ideal_bound(kind, &l->layout, l->B.GBs, l->I.GBs);
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
    r->busbw = ideal_busbw(c->kind, r->bytes, t->avg * 1e-6, b->s.ranks);
    r->ideal = ideal_of(&b->s.options, l, c->kind, r->bytes);
    r->efficiency = r->busbw / r->ideal;
    r->algorithm = t->algorithm;
    if (0 == r->bytes) { /* a latency only */
        r->algbw = r->busbw = r->ideal = r->efficiency = NAN;
    }
}

/* Checks and times one size; rank 0 has the result. Returns 0, or -1 everywhere without memory. */
static int run_size(struct bench *b, const struct collective *c, const struct shape *shape,
                    const struct buffers *buffers, struct result *result)
{
    const struct options *o = &b->s.options;
    struct element_rule data = {&element_types[o->type], ELEMENT_MOVE, b->s.ranks, 0};
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
        status = measure_call(&call, &b->s.mpit, options_warmup(o, bytes), iterations, &timing);
    }
    if (0 == status && o->check) { /* with other data: results of the timed calls must not pass */
        result->errors += check_call(b, &call, shape, buffers, 1);
    }
    call_free(&call);
    if (0 == status && 0 == b->s.rank) {
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
    b->s.wrong = b->s.wrong || result->errors > 0;
}

static int run_sizes(struct bench *b, const struct collective *c, const struct buffers *buffers,
                     struct points *points)
{
    size_t previous = 0, bytes = b->s.options.min_bytes;

    for (;; bytes *= 2) {
        struct shape shape = shape_of(b, c, bytes);
        struct result result;
        /* small sizes may all be one element per rank; a barrier has one size */
        if (bytes == b->s.options.min_bytes || shape.total != previous) {
            if (0 != run_size(b, c, &shape, buffers, &result)) {
                return -1;
            }
            if (0 == b->s.rank) {
                report_size(b, &result, points);
            }
        }
        previous = shape.total;
        if (bytes > b->s.options.max_bytes / 2) {
            return 0;
        }
    }
}

static int run_collective(struct bench *b, const struct collective *c)
{
    const char *op = c->moves->flags & MOVES_REDUCED ? element_op_names[b->s.options.op] : "none";
    struct shape largest = shape_of(b, c, b->s.options.max_bytes);
    struct points points = {.n = 0};
    struct fit_line fit;
    struct buffers buffers;
    int status;

    status = moves_alloc(&buffers, placement_memory(&b->s.options, b->s.rank), &largest);
    if (!collect_agree(0 == status)) {
        moves_release(&buffers);
        return session_fail(&b->s, "-m: too little memory for buffers of the largest size");
    }
    if (0 == b->s.rank) {
        report_open(&b->report, c->name, op);
    }
    status = run_sizes(b, c, &buffers, &points);
    moves_release(&buffers);
    if (0 != status) {
        return session_fail(&b->s, "out of memory");
    }
    if (0 == b->s.rank) {
        bool fitted = b->s.options.fit && 0 == fit_times(&fit, points.bytes, points.us, points.n);
        report_close(&b->report, fitted ? &fit : NULL);
    }
    return 0;
}

/* Rank 0's output, or NULL on every rank. */
static FILE *open_output(struct bench *b)
{
    const char *file = b->s.options.file;
    FILE *out = 0 != b->s.rank || NULL == file ? stdout : fopen(file, "w");

    if (NULL == out) {
        snprintf(b->s.error, sizeof b->s.error, "-f: '%.400s' cannot be opened for writing: %s",
                 file, strerror(errno));
    }
    return collect_agree(NULL != out) ? out : NULL;
}

static int run_all(struct bench *b, FILE *out)
{
    const struct options *o = &b->s.options;
    int rc = 0;

    if (0 != links_find(&b->links, o->B, o->I, placement_copies(o, b->s.ranks), o->root)) {
        return session_fail(&b->s, "out of memory");
    }
    if (0 == b->s.rank) {
        report_begin(&b->report, out, o, &b->links);
    }
    for (int i = 0; 0 == rc && i < o->ncollectives; i++) {
        rc = run_collective(b, &collectives[o->collectives[i]]);
    }
    if (0 == b->s.rank && 0 == rc) {
        rc = report_end(&b->report);
    }
    return rc;
}

static int run(struct session *s)
{
    struct bench *b = (struct bench *) s;
    FILE *out;
    int rc;

    if (0 != supported_check(&s->options, s->ranks, s->mpit.ncounters, s->error) ||
        NULL == (out = open_output(b))) {
        return -1;
    }
    b->progress = 0 == s->rank && (s->options.progress || isatty(2));
    rc = run_all(b, out);
    if ((stdout != out && 0 != fclose(out)) || (0 != rc && '\0' == s->error[0])) {
        rc = session_fail(s, "-f: the output could not be written completely");
    }
    return rc;
}

static const char *const *collective_names(void)
{
    static const char *names[COLLECTIVES + 2] = {[COLLECTIVES] = "all"};

    for (int i = 0; i < COLLECTIVES; i++) {
        names[i] = collectives[i].name;
    }
    return names;
}

static void help(FILE *out)
{
    help_print(out, collective_names(), COLLECTIVES);
}

static int parse(struct session *s, int argc, char **argv)
{
    s->options = options_default();
    return options_parse(&s->options, NULL, NULL, argc, argv, collective_names(), s->error);
}

int main(int argc, char **argv)
{
    static const struct session_program program = {parse, help, run};
    static struct bench bench = {.s = {.name = "gpuring_bench"}};

    return session_run(&bench.s, &program, argc, argv);
}
