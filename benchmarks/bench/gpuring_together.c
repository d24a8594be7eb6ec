/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_together: do K small collectives that are started together cost less than K one after the
 * other?
 *
 *     one after the other:   start 1, wait 1, start 2, wait 2, ... start K, wait K
 *     together:              start 1, start 2, ... start K, wait for all
 *
 * Both are timed in the same run, in short blocks that take turns, so that other load on the
 * machine affects both. Environment, for tests only: GPURING_BENCH_CORRUPT makes an element of rank
 * 0's wrong before each check.
 */
#include "collect.h"
#include "collectives.h"
#include "common/fit.h"
#include "placement.h"
#include "session.h"
#include "supported.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_CALLS = 20, MAX_KS = 16, MAX_K = 1024, SIZE_STEP = 4, CACHE_LINE = 64 };

/* Names of the collectives in this program, and in collectives[]. */
static const char *const names[] = {"allreduce", "allgather", "reduce_scatter", "bcast", "reduce",
                                    "all",       NULL};
static const char *const table_names[] = {"allreduce", "allgather", "reduce_scatter_block", "bcast",
                                          "reduce"};

struct bench {
    struct session s; /* the first member; in its options, collectives are indices of names */
    int ks[MAX_KS];
    int nks;
};

/* K calls of one collective, with buffers of their own, and their results. */
struct batch {
    const char *name;
    const struct collective *collective;
    struct shape shape;
    int k;
    struct {
        struct buffers buffers;
        struct call call;
    } * of;
    MPI_Request *requests;
    int block;     /* iterations in a block; fewer with a larger K, to keep blocks short */
    int nblocks;   /* in each manner */
    double *times; /* [manner][block], of this rank: microseconds per call */
    double us[2];  /* [manner], on rank 0: microseconds per call */
    double errors; /* on rank 0: wrong elements of all ranks */
    const char *algorithm;
};

/* ---- command line: most of gpuring_bench's, and -k and --form= ---- */

static bool take_ks(void *into, const char *value)
{
    struct bench *b = into;

    b->nks = cli_list(value, 1, MAX_K, b->ks, MAX_KS);
    return b->nks > 0;
}

static int check_options(struct bench *b)
{
    struct options *o = &b->s.options;
    char value[32];

    snprintf(value, sizeof value, "%zu", o->max_bytes);
    if (options_only_bench(o) || o->progress || 0 != o->root) {
        snprintf(b->s.error, sizeof b->s.error,
                 "-B -I -f -r --ideal --fit --progress: only gpuring_bench has these");
        return -1;
    }
    if (o->max_bytes > INT_MAX) {
        return cli_refuse(b->s.error, "-m", value, "less than 2G");
    }
    if (FORM_PERSISTENT == o->form && !collectives_have_persistent()) {
        return cli_refuse(b->s.error, "--form", "persistent",
                          "nonblocking (this MPI has no persistent collectives)");
    }
    return FORMAT_JSON == o->format ? cli_refuse(b->s.error, "-o", "json", "table csv") : 0;
}

static int parse(struct session *s, int argc, char **argv)
{
    static const char *const forms[] = {"nonblocking", "persistent", NULL};
    static const struct cli_option rows[] = {
        {'k', NULL, CLI_TAKE, .take = take_ks,
         .allowed = "K,K,...: up to 16 numbers of calls, each from 1 to 1024"},
        {0, "form", CLI_WORD, offsetof(struct bench, s.options.form), .least = FORM_NONBLOCKING,
         .words = forms},
    };
    struct bench *b = (struct bench *) s;
    const struct cli_table own = {rows, sizeof rows / sizeof rows[0], b};

    b->s.options = options_default();
    b->s.options.form = FORM_NONBLOCKING;
    b->s.options.min_bytes = 8;
    b->s.options.max_bytes = 8 << 10;
    b->s.options.iterations = 400;
    take_ks(b, "1,4,16,64");
    return 0 == options_parse(&b->s.options, &own, "allreduce", argc, argv, names, b->s.error)
               ? check_options(b)
               : -1;
}

static void help(FILE *out)
{
    fputs("usage: mpirun ... gpuring_together [COLLECTIVE...] [options]\n"
          "Compare K small collectives started together with K one after the other.\n\n"
          "COLLECTIVE: allreduce (default) allgather reduce_scatter "
          "(MPI_Reduce_scatter_block) bcast reduce, or all\n"
          "  -k K,K,...   numbers of calls, each with buffers of its own (1,4,16,64)\n"
          "  --form=FORM  nonblocking (default): MPI_I...; persistent: ..._init once, then "
          "MPI_Startall\n"
          "  -m MIN:MAX   sizes in bytes, each 4 times the last (8:8k); rounded down to "
          "whole elements\n"
          "  -i ITERS     timed iterations of K calls in each manner (400), rounded up to "
          "blocks of 20 calls\n"
          "  -T -O -x -c -d --in-place, -o table or csv: as in gpuring_bench, see its -h\n"
          "Exit status: 0, 1 when a result was wrong (-c), 2 when the call was.\n",
          out);
}

/* ---- K calls ---- */

/*
 * Buffers side by side, as an application's. With a page each, all would compete for the same few
 * cache lines.
 */
static void *alloc_lines(size_t bytes)
{
    return aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
}

/* Returns 0, or -1 on every rank when memory is short on one; batch_close is due in both cases. */
static int batch_open(struct batch *b, const struct options *o)
{
    static struct memory memory;
    struct element_rule data = {&element_types[o->type], ELEMENT_MOVE, b->shape.ranks, 0};
    bool ok;

    memory = *placement_memory(o, b->shape.rank);
    memory.alloc = memory_host.alloc == memory.alloc ? alloc_lines : memory.alloc;
    b->of = calloc((size_t) b->k, sizeof *b->of);
    b->requests = malloc((size_t) b->k * sizeof *b->requests);
    b->block = 1 + (BLOCK_CALLS - 1) / b->k;
    b->nblocks = 1 + (o->iterations - 1) / b->block;
    b->times = malloc(2 * (size_t) b->nblocks * sizeof *b->times);
    ok = NULL != b->of && NULL != b->requests && NULL != b->times;
    for (int i = 0; ok && i < b->k; i++) {
        ok = 0 == moves_alloc(&b->of[i].buffers, &memory, &b->shape);
    }
    ok = collect_agree(ok);
    for (int i = 0; ok && i < b->k; i++) {
        moves_prepare(&b->of[i].buffers, &b->shape, &data);
        ok = 0 == call_init(&b->of[i].call, b->collective, o, &b->shape, &b->of[i].buffers);
        b->requests[i] = b->of[i].call.requests[0];
    }
    return ok ? 0 : -1;
}

static void batch_close(struct batch *b)
{
    for (int i = 0; NULL != b->of && i < b->k && NULL != b->of[i].buffers.memory; i++) {
        call_free(&b->of[i].call);
        moves_release(&b->of[i].buffers);
    }
    free(b->of);
    free(b->requests);
    free(b->times);
}

/* Calls from .. from + n - 1. */
static void start(struct batch *b, int from, int n)
{
    if (FORM_PERSISTENT == b->of[from].call.form) {
        (void) (1 == n ? MPI_Start(&b->requests[from]) : MPI_Startall(n, &b->requests[from]));
        return;
    }
    for (int i = from; i < from + n; i++) {
        b->collective->nonblocking(&b->of[i].call.job, &b->requests[i]);
    }
}

static void one_after_the_other(struct batch *b)
{
    for (int i = 0; i < b->k; i++) {
        start(b, i, 1);
        MPI_Wait(&b->requests[i], MPI_STATUS_IGNORE);
    }
}

static void together(struct batch *b)
{
    start(b, 0, b->k);
    MPI_Waitall(b->k, b->requests, MPI_STATUSES_IGNORE);
}

static void (*const manners[2])(struct batch *) = {one_after_the_other, together};

/* ---- times, checks, output ---- */

/* Medians over blocks, then means over ranks. */
static void measure(struct bench *b, struct batch *batch)
{
    double *times[2] = {batch->times, batch->times + batch->nblocks}, start;

    for (int i = 0; i < 2 * options_warmup(&b->s.options, 0); i++) {
        manners[i % 2](batch);
    }
    mpit_mark(&b->s.mpit);
    for (int i = 0; i < 2 * batch->nblocks; i++) {
        int manner = (i + i / 2) % 2; /* 0 1 1 0 0 1 1 0: neither is always the second */
        collect_begin_together();
        start = MPI_Wtime();
        for (int n = 0; n < batch->block; n++) {
            manners[manner](batch);
        }
        times[manner][i / 2] = (MPI_Wtime() - start) * 1e6 / batch->block / batch->k;
    }
    batch->algorithm = mpit_algorithm(&b->s.mpit);
    for (int m = 0; m < 2; m++) {
        fit_sort(times[m], batch->nblocks);
        batch->us[m] = collect_sum(fit_percentile(times[m], batch->nblocks, 50)) / b->s.ranks;
    }
}

/*
 * Runs all calls in each manner and adds all ranks' wrong elements, on rank 0. Each call has data
 * of its own, so that no result of another or an older call passes for the right one. The seed's
 * last bit, which selects the poison, is the round.
 */
static void check(const struct bench *b, struct batch *batch, int round)
{
    enum element_op op = batch->shape.moves->flags & MOVES_REDUCED ? b->s.options.op : ELEMENT_MOVE;
    struct element_rule rule = {&element_types[b->s.options.type], op, b->s.ranks, 0};
    double errors = 0;

    for (int m = 0; b->s.options.check && m < 2; m++) {
        for (int i = 0; i < batch->k; i++) {
            rule.seed = (unsigned) (4 * i + 2 * m + round);
            moves_prepare(&batch->of[i].buffers, &batch->shape, &rule);
        }
        manners[m](batch);
        if (0 == b->s.rank && NULL != getenv("GPURING_BENCH_CORRUPT")) {
            moves_corrupt(&batch->of[batch->k - 1].buffers, &batch->shape);
        }
        for (int i = 0; i < batch->k; i++) {
            rule.seed = (unsigned) (4 * i + 2 * m + round);
            errors += (double) moves_check(&batch->of[i].buffers, &batch->shape, &rule);
        }
    }
    batch->errors += collect_sum(errors);
}

static void report_head(const struct bench *b)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(library, &length);
    if (FORMAT_CSV == b->s.options.format) {
        puts("collective,bytes,k,one_after_the_other_us,together_us,ratio,algorithm,errors");
    } else {
        printf("# gpuring_together\n# library: %.*s\n# %d ranks, type %s, %s\n"
               "# microseconds per call; ratio: one after the other / together\n"
               "# collective         bytes      K  one after the other     together    ratio    "
               "algorithm   errors\n",
               (int) strcspn(library, "\n"), library, b->s.ranks,
               element_types[b->s.options.type].name, options_form_name(b->s.options.form));
    }
}

static void report(const struct bench *b, const struct batch *a)
{
    bool csv = FORMAT_CSV == b->s.options.format;
    char errors[24];

    snprintf(errors, sizeof errors, b->s.options.check ? "%.0f" : csv ? "" : "-", a->errors);
    printf(csv ? "%s,%zu,%d,%.4f,%.4f,%.4f,%s,%s\n"
               : "%-16s %9zu %6d %20.2f %12.2f %8.2f %12s %8s\n",
           a->name, a->shape.total * a->shape.element, a->k, a->us[0], a->us[1],
           a->us[0] / a->us[1], a->algorithm, errors);
    fflush(stdout);
}

static int run_batch(struct bench *b, struct batch *batch)
{
    int status = batch_open(batch, &b->s.options);

    if (0 == status) {
        check(b, batch, 0);
        measure(b, batch);
        check(b, batch, 1);
        if (0 == b->s.rank) {
            report(b, batch);
        }
        b->s.wrong = b->s.wrong || batch->errors > 0;
    }
    batch_close(batch);
    return status;
}

/* Every size and K. */
static int run_collective(struct bench *b, int name)
{
    const struct options *o = &b->s.options;
    const struct collective *c = collectives;
    size_t previous = 0;

    for (; 0 != strcmp(c->name, table_names[name]); c++) {
    }
    for (size_t bytes = o->min_bytes; bytes <= o->max_bytes; bytes *= SIZE_STEP) {
        struct shape shape = moves_shape(c->moves, bytes, element_types[o->type].size, b->s.ranks,
                                         b->s.rank, o->root, o->in_place);
        /* small sizes may all be one element per rank */
        for (int i = 0; i < b->nks && shape.total != previous; i++) {
            struct batch batch = {
                .name = names[name], .collective = c, .shape = shape, .k = b->ks[i]};
            if (0 != run_batch(b, &batch)) {
                return session_fail(&b->s, "-m, -k: too little memory for the buffers of K calls");
            }
        }
        previous = shape.total;
    }
    return 0;
}

static int run(struct session *s)
{
    struct bench *b = (struct bench *) s;
    int rc = supported_check_device(&s->options, s->ranks, s->mpit.ncounters, s->error);

    if (0 == s->rank && 0 == rc) {
        report_head(b);
    }
    for (int i = 0; 0 == rc && i < s->options.ncollectives; i++) {
        rc = run_collective(b, s->options.collectives[i]);
    }
    return rc;
}

int main(int argc, char **argv)
{
    static const struct session_program program = {parse, help, run};
    static struct bench bench = {.s = {.name = "gpuring_together"}};

    return session_run(&bench.s, &program, argc, argv);
}
