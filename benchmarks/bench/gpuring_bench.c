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
#include "links.h"
#include "measure.h"
#include "placement.h"
#include "report.h"
#include "session.h"
#include "supported.h"
#include "together.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SIZES = 64 }; /* sizes double: there are not more */

struct bench {
    struct session s;
    struct links links;
    struct report report; /* rank 0's */
    struct together together;
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

/* One call on fresh data, every element checked. Returns the errors of all ranks, on rank 0. */
static double check_call(const struct bench *b, struct call *call, const struct shape *shape,
                         const struct buffers *buffers, unsigned seed)
{
    const struct options *o = &b->s.options;
    enum element_op op = shape->moves->flags & MOVES_REDUCED ? o->op : ELEMENT_MOVE;
    struct element_rule rule = {&element_types[o->type], op, b->s.ranks, seed};

    moves_prepare(buffers, shape, &rule);
    call_run(call);
    if (session_corrupts(&b->s, shape)) {
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

static int run(struct bench *b)
{
    struct session *s = &b->s;
    FILE *out;
    int rc;

    if (0 != supported_check(&s->options, s->ranks, s->mpit.ncounters, s->error) ||
        NULL == (out = open_output(b))) {
        return -1;
    }
    b->progress = 0 == s->rank && (s->options.progress || isatty(2));
    rc = b->together.n > 0 ? together_run(s, &b->together, out) : run_all(b, out);
    if ((stdout != out && 0 != fclose(out)) || (0 != rc && '\0' == s->error[0])) {
        rc = session_fail(s, "-f: the output could not be written completely");
    }
    return rc;
}

/* ---- command line ---- */

enum { LINE = 80 };

static const char options_help[] =
    "  -m MIN:MAX    sizes in bytes, doubling; suffixes k M G are powers of 1024 (4:4M).\n"
    "                A size is rounded down to whole elements (of every rank, where it is\n"
    "                the sum over ranks); the bytes printed are those moved\n"
    "  -d DEVICE     where buffers live: host (default), cuda: device memory, managed: memory\n"
    "                that moves between device and host, pinned: host memory that stays where\n"
    "                it is. Or a list, such as cuda,host: rank i takes number i modulo its\n"
    "                length. All but host need a CUDA driver; rank i of a node uses its GPU i\n"
    "                modulo their number. cuda also needs gpuring, or an Open MPI with CUDA\n"
    "                support (sendrecv: the latter)\n"
    "  -T TYPE       int8 (char) uint8 (byte) int16 uint16 int32 uint32 int64 uint64\n"
    "                float (default) double\n"
    "  -O OP         sum (default) prod min max, and for integers band bor bxor\n"
    "  -r ROOT       root of bcast, reduce, gather(v) and scatter(v) (0)\n"
    "  -i ITERS      timed calls per size (1000 to 64k bytes, 100 to 4M, 20 above); a\n"
    "                barrier of messages precedes each, untimed\n"
    "  -x WARMUP     untimed calls before them (a tenth of ITERS)\n"
    "  --in-place    MPI_IN_PLACE; bcast is so anyway; barrier, neighbor_..., sendrecv have none\n"
    "  --nonblocking  MPI_I... and MPI_Waitall     --persistent  ..._init, then start and wait\n"
    "  -c            check every element, before and after the timed calls\n"
    "  -B GB/s       bandwidth of a rank inside its node (default: measured)\n"
    "  -I GB/s       bandwidth of a node to the others (default: measured)\n"
    "  --ideal=bound|published  what efficiency refers to: the bound that holds for the\n"
    "                collective (default), or the published formula for all\n"
    "  --together=K,...  K calls that are started together, beside K one after the other\n"
    "                (-m 8:8k, -i 400 by default; not with -B -I --ideal --fit, nor JSON)\n"
    "  --fit         also fit t = overhead + bytes / bandwidth\n"
    "  -o FORMAT     table (default) csv json      -f FILE  write there, not to stdout\n"
    "  --progress    say on stderr which size runs, also where that is no terminal\n"
    "  -h            this text\n"
    "Exit status: 0, 1 when a result was wrong (-c), 2 when the call was.\n";

/* Names, with a comma before the last word, in lines of at most LINE characters. */
static void put_names(FILE *out, const char *const *names, int n)
{
    int used = fprintf(out, "COLLECTIVE:");

    for (int i = 0; i < n; i++) {
        if (used + 1 + (int) strlen(names[i]) >= LINE) {
            used = fprintf(out, "\n           ") - 1;
        }
        used += fprintf(out, " %s", names[i]);
    }
    fprintf(out, ", or all\n");
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
    fputs("gpuring_bench " GR_VERSION "\n"
          "usage: mpirun ... gpuring_bench COLLECTIVE... [options]\n"
          "Measure MPI collectives, and how close they come to what the hardware allows.\n\n",
          out);
    put_names(out, collective_names(), COLLECTIVES);
    fputs(options_help, out);
}

static bool take_together(void *into, const char *value)
{
    struct together *t = into;

    t->n = cli_list(value, 1, TOGETHER_MOST_K, t->k, TOGETHER_MOST_KS);
    return t->n > 0;
}

/* Few and small calls are what --together is about. */
static int check_together(struct session *s)
{
    struct options *o = &s->options;

    if (options_only_links(o)) {
        return session_fail(s, "-B -I --ideal --fit: not with --together");
    }
    o->form = FORM_BLOCKING == o->form ? FORM_NONBLOCKING : o->form;
    o->iterations = o->iterations > 0 ? o->iterations : 400;
    return FORMAT_JSON == o->format
               ? cli_refuse(s->error, "-o", "json", "table csv, with --together")
               : 0;
}

static int parse(struct bench *b, int argc, char **argv)
{
    const struct cli_option rows[] = {
        {0, "together", CLI_TAKE, .take = take_together,
         .allowed = "K,K,...: up to 16 numbers of calls, each from 1 to 1024"},
    };
    const struct cli_table own = {rows, 1, &b->together};
    struct options *o = &b->s.options;

    *o = options_default();
    o->max_bytes = 0;
    if (0 != options_parse(o, &own, NULL, argc, argv, collective_names(), b->s.error)) {
        return -1;
    }
    if (0 == o->max_bytes) {
        o->min_bytes = b->together.n > 0 ? 8 : 4;
        o->max_bytes = b->together.n > 0 ? 8 << 10 : 4 << 20;
    }
    return b->together.n > 0 ? check_together(&b->s) : 0;
}

/* ---- the course of the program ---- */

static int run_session(struct bench *b)
{
    int rc;

    placement_check(&b->s.options, b->s.rank, b->s.error);
    if (!collect_complaint(b->s.error, sizeof b->s.error)) {
        return -1;
    }
    mpit_open(&b->s.mpit, "coll_gpuring_algorithm_");
    rc = run(b);
    collectives_end();
    mpit_close(&b->s.mpit);
    return rc;
}

int main(int argc, char **argv)
{
    static struct bench bench;
    struct session *s = &bench.s;
    int rc = parse(&bench, argc, argv);
    bool runs = 0 == rc && !s->options.help;

    if (runs) {
        placement_open(&s->options, s->error); /* before MPI_Init, as placement.h says */
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
    if (runs) {
        rc = run_session(&bench);
    } else if (0 == rc && 0 == s->rank) {
        help(stdout);
    }
    if (0 != rc && 0 == s->rank) {
        fprintf(stderr, "gpuring_bench: %s\n", s->error);
    }
    MPI_Finalize();
    placement_close();
    return 0 != rc ? EXIT_USAGE : s->wrong ? EXIT_WRONG : EXIT_RIGHT;
}
