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
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SIZES = 64 }; /* each is twice the one before, at least: there are not more */

struct bench {
    struct session s;
    struct links links;
    struct report report; /* rank 0's */
    struct together together;
    int per_rank;   /* -g and -t of nccl-tests, which can only be 1 */
    FILE *progress; /* rank 0's; NULL: nowhere */
    bool transient; /* progress is on a terminal: each line takes the place of the one before */
};

/* Sizes and times of one collective, for the fit. */
struct points {
    double bytes[MAX_SIZES];
    double us[MAX_SIZES];
    int n;
};

/*
 * Whether descriptor fd is the user's terminal. A launcher has its own for that, while a rank's is
 * a pipe, or a terminal that only the launcher reads.
 */
static bool is_terminal(int fd)
{
    char link[32], target[64];
    ssize_t n;

    if (NULL == getenv("OMPI_COMM_WORLD_RANK")) {
        return isatty(fd);
    }
    snprintf(link, sizeof link, "/proc/%d/fd/%d", (int) getppid(), fd);
    n = readlink(link, target, sizeof target - 1);
    target[n > 0 ? n : 0] = '\0';
    return 0 == strncmp(target, "/dev/pts/", 9) || 0 == strncmp(target, "/dev/tty", 8);
}

/* To stdout where the table goes to the terminal, too: two streams would not keep their order. */
static void choose_progress(struct bench *b, const FILE *out)
{
    b->transient = is_terminal(2);
    if (0 == b->s.rank && (b->transient || b->s.options.progress)) {
        b->progress = b->transient && stdout == out && is_terminal(1) ? stdout : stderr;
    }
}

static void show_progress(const struct bench *b, const char *name, size_t bytes, int iterations)
{
    if (NULL != b->progress) {
        fprintf(b->progress, "%sgpuring_bench: %s, %zu bytes, %d iterations%s",
                b->transient ? "\r" : "", name, bytes, iterations, b->transient ? "\033[K" : "\n");
        fflush(b->progress);
    }
}

static void clear_progress(const struct bench *b)
{
    if (NULL != b->progress && b->transient) {
        fprintf(b->progress, "\r\033[K");
        fflush(b->progress);
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
 * What efficiency refers to. Ranks that share a device are limited by one pass over its memory;
 * inside a node the limit is otherwise that of the size, if it was measured.
 */
static double ideal_of(const struct options *o, const struct links *l, enum ideal_kind kind,
                       size_t bytes)
{
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
    r->p95_us = t->p95;
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

    for (;; bytes *= b->s.options.factor) {
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
        if (bytes > b->s.options.max_bytes / b->s.options.factor) {
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

    if (0 != session_reserve(&b->s, moves_bytes(&largest))) {
        return -1;
    }
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
    choose_progress(b, out);
    rc = b->together.n > 0 ? together_run(s, &b->together, out) : run_all(b, out);
    if ((stdout != out && 0 != fclose(out)) || (0 != rc && '\0' == s->error[0])) {
        rc = session_fail(s, "-f: the output could not be written completely");
    }
    return rc;
}

/* ---- command line ---- */

enum { LINE = 80 };

static const char options_help[] =
    "  -m MIN:MAX    or MIN: or MAX, as -b MIN and -e MAX: sizes in bytes; suffixes k M G are\n"
    "                powers of 1024 (4:4M). A size is rounded down to whole elements (of every\n"
    "                rank, where it is the sum over ranks); the bytes printed are those moved\n"
    "  -f FACTOR     from one size to the next (2)\n"
    "  -d DEVICE     where buffers live: host (default), cuda: device memory, managed: memory\n"
    "                that moves between device and host, pinned: host memory that stays where\n"
    "                it is. Or a list, such as cuda,host: rank i takes number i modulo its\n"
    "                length. All but host need a CUDA driver; rank i of a node uses its GPU i\n"
    "                modulo their number. cuda also needs gpuring, or an Open MPI with CUDA\n"
    "                support (sendrecv: the latter)\n"
    "  -T TYPE       or -d TYPE: int8 (char) uint8 (byte) int16 uint16 int32 (int) uint32 int64\n"
    "                uint64 float (default) double, and half bfloat16 where MPI has them\n"
    "  -O OP         or -o OP: sum (default) prod min max, and for integers band bor bxor\n"
    "  -r ROOT       root of bcast, reduce, gather(v) and scatter(v) (0)\n"
    "  -i ITERS      or -n ITERS: timed calls per size (1000 to 64k bytes, 100 to 4M, 20 above);\n"
    "                a barrier of messages precedes each, untimed\n"
    "  -x WARMUP     or -w WARMUP: untimed calls before them (a tenth of ITERS)\n"
    "  --in-place    MPI_IN_PLACE; bcast is so anyway; barrier, neighbor_..., sendrecv have none\n"
    "  --nonblocking  MPI_I... and MPI_Waitall     --persistent  ..._init, then start and wait\n"
    "  -G N          --persistent where N is above 0: MPI's counterpart of a CUDA graph\n"
    "  -c            check every element, before and after the timed calls; not with -c 0\n"
    "  -B GB/s       bandwidth of a rank inside its node (default: measured)\n"
    "  -I GB/s       bandwidth of a node to the others (default: measured)\n"
    "  --together=K,...  K calls that are started together, beside K one after the other\n"
    "                (-m 8:8k, -i 400 by default; not with -B -I --fit, nor JSON)\n"
    "  --fit         also fit t = overhead + bytes / bandwidth\n"
    "  -o FORMAT     table (default) csv json      -f FILE  written instead of stdout; no number\n"
    "  --progress    say on stderr which size runs, also where that is no terminal\n"
    "  -h            this text      --version  of gpuring and of MPI\n"
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
          "Measure MPI collectives, and how close they come to what the hardware allows.\n\n"
          "Letters mean what they do for OSU's programs; -b -e -f -n -w -c -o -d -G -g 1 -t 1\n"
          "and their long names what they do for nccl-tests, whose -m and -i are others.\n\n",
          out);
    put_names(out, collective_names(), COLLECTIVES);
    fputs(options_help, out);
}

static void print_version(void)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(library, &length);
    printf("gpuring_bench " GR_VERSION "\nMPI: %.*s\n", (int) strcspn(library, "\n"), library);
}

/* A factor, or a file. Of OSU's programs -f is a flag, which would take an option for its value. */
static bool take_factor(void *into, const char *value)
{
    struct options *o = &((struct bench *) into)->s.options;
    size_t number;

    if (cli_whole(value, 0, SIZE_MAX, NULL, &number)) {
        o->factor = number;
        return number >= 2 && number <= 1024;
    }
    o->file = value;
    return '-' != value[0];
}

static bool take_graphs(void *into, const char *value)
{
    size_t number = 0;
    bool is_number = cli_whole(value, 0, INT_MAX, NULL, &number);

    ((struct bench *) into)->s.options.persistent |= number > 0;
    return is_number;
}

static bool take_together(void *into, const char *value)
{
    struct together *t = &((struct bench *) into)->together;

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
#define AT(field) .at = offsetof(struct bench, field)
    static const char one[] = "1: a rank has one thread and one GPU; mpirun -np N starts N ranks";
    static const char size[] = "bytes, at least 1, suffixes k M G";
    static const char whole[] = "a whole number of at least 0";
    static const struct cli_option rows[] = {
        {'b', "minbytes", CLI_SIZE, AT(s.options.min_bytes), 1, 1L << 62, size},
        {'e', "maxbytes", CLI_SIZE, AT(s.options.max_bytes), 1, 1L << 62, size},
        {'f', "stepfactor", CLI_TAKE, .take = take_factor,
         .allowed = "a file, or the factor between sizes, 2 to 1024; min and max over ranks are "
                    "always shown"},
        {'n', "iters", CLI_INT, AT(s.options.iterations), 1, INT_MAX,
         "a whole number of at least 1"},
        {'w', "warmup_iters", CLI_INT, AT(s.options.warmup), 0, INT_MAX, whole},
        {'G', "cudagraph", CLI_TAKE, .take = take_graphs, .allowed = whole},
        {'g', "ngpus", CLI_INT, AT(per_rank), 1, 1, one},
        {'t', "nthreads", CLI_INT, AT(per_rank), 1, 1, one},
        {0, "together", CLI_TAKE, .take = take_together,
         .allowed = "K,K,...: up to 16 numbers of calls, each from 1 to 1024"},
        {0, "version", CLI_SET, AT(s.options.help), HELP_VERSION},
    };
    const struct cli_table own = {rows, sizeof rows / sizeof rows[0], b};
    struct options *o = &b->s.options;

    *o = options_default();
    if (0 != options_parse(o, &own, NULL, argc, argv, collective_names(), b->s.error) ||
        0 != options_sizes(o, b->together.n > 0 ? 8 : 4, b->together.n > 0 ? 8 << 10 : 4 << 20,
                           b->s.error)) {
        return -1;
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
        HELP_VERSION == s->options.help ? print_version() : help(stdout);
    }
    if (0 != rc && 0 == s->rank) {
        fprintf(stderr, "gpuring_bench: %s\n", s->error);
    }
    MPI_Finalize();
    placement_close();
    return 0 != rc ? EXIT_USAGE : s->wrong ? EXIT_WRONG : EXIT_RIGHT;
}
