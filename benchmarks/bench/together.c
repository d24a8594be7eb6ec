/* SPDX-License-Identifier: BSD-3-Clause */
/* The batches of together.h. */
#include "together.h"
#include "collect.h"
#include "collectives.h"
#include "common/fit.h"
#include "placement.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_CALLS = 20, CACHE_LINE = 64 };

/* K calls of one collective, with buffers of their own, and their results. */
struct batch {
    const struct collective *collective;
    struct shape shape;
    int k;
    struct {
        struct buffers buffers;
        struct call call;
    } * of;
    MPI_Request *requests; /* [call][per_call] */
    int per_call;
    int block;     /* iterations in a block; fewer with a larger K, to keep blocks short */
    int nblocks;   /* in each manner */
    double *times; /* [manner][block], of this rank: microseconds per call */
    double us[2];  /* [manner], on rank 0: microseconds per call */
    double errors; /* on rank 0: wrong elements of all ranks */
    const char *algorithm;
};

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
    static struct memory memory; /* buffers keep its address */
    struct element_rule data = {&element_types[o->type], ELEMENT_MOVE, b->shape.ranks, 0};
    bool ok;

    memory = *placement_memory(o, b->shape.rank);
    memory.alloc = memory_host.alloc == memory.alloc ? alloc_lines : memory.alloc;
    b->per_call = b->collective->messages ? COLLECTIVE_MAX_REQUESTS : 1;
    b->of = calloc((size_t) b->k, sizeof *b->of);
    b->requests = malloc((size_t) (b->k * b->per_call) * sizeof *b->requests);
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
        memcpy(&b->requests[i * b->per_call], b->of[i].call.requests,
               (size_t) b->per_call * sizeof *b->requests);
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

/* Starts n calls, and waits for them. */
static void run_calls(struct batch *b, int from, int n)
{
    MPI_Request *requests = &b->requests[from * b->per_call];

    if (FORM_PERSISTENT == b->of[from].call.form) {
        MPI_Startall(n * b->per_call, requests);
    }
    for (int i = 0; FORM_PERSISTENT != b->of[from].call.form && i < n; i++) {
        b->collective->nonblocking(&b->of[from + i].call.job, &requests[i * b->per_call]);
    }
    MPI_Waitall(n * b->per_call, requests, MPI_STATUSES_IGNORE);
}

static void one_after_the_other(struct batch *b)
{
    for (int i = 0; i < b->k; i++) {
        run_calls(b, i, 1);
    }
}

static void together(struct batch *b)
{
    run_calls(b, 0, b->k);
}

static void (*const manners[2])(struct batch *) = {one_after_the_other, together};

/* ---- times, checks, output ---- */

/* Medians over blocks, then means over ranks. */
static void measure(struct session *s, struct batch *batch)
{
    double *times[2] = {batch->times, batch->times + batch->nblocks}, start;

    for (int i = 0; i < 2 * options_warmup(&s->options, 0); i++) {
        manners[i % 2](batch);
    }
    mpit_mark(&s->mpit);
    for (int i = 0; i < 2 * batch->nblocks; i++) {
        int manner = (i + i / 2) % 2; /* 0 1 1 0 0 1 1 0: neither is always the second */
        collect_begin_together();
        start = MPI_Wtime();
        for (int n = 0; n < batch->block; n++) {
            manners[manner](batch);
        }
        times[manner][i / 2] = (MPI_Wtime() - start) * 1e6 / batch->block / batch->k;
    }
    batch->algorithm = mpit_algorithm(&s->mpit);
    for (int m = 0; m < 2; m++) {
        fit_sort(times[m], batch->nblocks);
        batch->us[m] = collect_sum(fit_percentile(times[m], batch->nblocks, 50)) / s->ranks;
    }
}

/*
 * Runs all calls in each manner and adds all ranks' wrong elements, on rank 0. Each call has data
 * of its own, so that no result of another or an older call passes for the right one. The seed's
 * last bit, which selects the poison, is the round.
 */
static void check(const struct session *s, struct batch *batch, int round)
{
    enum element_op op = batch->shape.moves->flags & MOVES_REDUCED ? s->options.op : ELEMENT_MOVE;
    struct element_rule rule = {&element_types[s->options.type], op, s->ranks, 0};
    double errors = 0;

    for (int m = 0; s->options.check && m < 2; m++) {
        for (int i = 0; i < batch->k; i++) {
            rule.seed = (unsigned) (4 * i + 2 * m + round);
            moves_prepare(&batch->of[i].buffers, &batch->shape, &rule);
        }
        manners[m](batch);
        if (session_corrupts(s, &batch->shape)) {
            moves_corrupt(&batch->of[batch->k - 1].buffers, &batch->shape);
        }
        for (int i = 0; i < batch->k; i++) {
            rule.seed = (unsigned) (4 * i + 2 * m + round);
            errors += (double) moves_check(&batch->of[i].buffers, &batch->shape, &rule);
        }
    }
    batch->errors += collect_sum(errors);
}

static void report_head(const struct session *s, FILE *out)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(library, &length);
    if (FORMAT_CSV == s->options.format) {
        fputs("collective,bytes,k,one_after_the_other_us,together_us,ratio,algorithm,errors\n",
              out);
    } else {
        fprintf(out,
                "# gpuring_bench --together\n# library: %.*s\n# %d ranks, type %s, %s\n"
                "# microseconds per call; ratio: one after the other / together\n"
                "# collective         bytes      K  one after the other     together    ratio    "
                "algorithm   errors\n",
                (int) strcspn(library, "\n"), library, s->ranks,
                element_types[s->options.type].name, options_form_name(s->options.form));
    }
}

static void report(const struct session *s, const struct batch *a, FILE *out)
{
    bool csv = FORMAT_CSV == s->options.format;
    char errors[24];

    snprintf(errors, sizeof errors, s->options.check ? "%.0f" : csv ? "" : "-", a->errors);
    fprintf(out,
            csv ? "%s,%zu,%d,%.4f,%.4f,%.4f,%s,%s\n"
                : "%-16s %9zu %6d %20.2f %12.2f %8.2f %12s %8s\n",
            a->collective->name, a->shape.total * a->shape.element, a->k, a->us[0], a->us[1],
            a->us[0] / a->us[1], a->algorithm, errors);
    fflush(out);
}

static int run_batch(struct session *s, struct batch *batch, FILE *out)
{
    int status = batch_open(batch, &s->options);

    if (0 == status) {
        check(s, batch, 0);
        measure(s, batch);
        check(s, batch, 1);
        if (0 == s->rank) {
            report(s, batch, out);
        }
        s->wrong = s->wrong || batch->errors > 0;
    }
    batch_close(batch);
    return status;
}

/* Every size and K. */
static int run_collective(struct session *s, const struct together *t, const struct collective *c,
                          FILE *out)
{
    const struct options *o = &s->options;
    size_t previous = SIZE_MAX;

    for (size_t bytes = o->min_bytes; bytes <= o->max_bytes; bytes *= o->factor) {
        struct shape shape = moves_shape(c->moves, bytes, element_types[o->type].size, s->ranks,
                                         s->rank, o->root, o->in_place);
        /* small sizes may all be one element per rank */
        for (int i = 0; i < t->n && shape.total != previous; i++) {
            struct batch batch = {.collective = c, .shape = shape, .k = t->k[i]};
            if (0 != session_reserve(s, (size_t) batch.k * moves_bytes(&shape))) {
                return -1;
            }
            if (0 != run_batch(s, &batch, out)) {
                return session_fail(s, "-m, --together: too little memory for the buffers of K "
                                       "calls");
            }
        }
        previous = shape.total;
    }
    return 0;
}

int together_run(struct session *s, const struct together *t, FILE *out)
{
    int rc = 0;

    if (0 == s->rank) {
        report_head(s, out);
    }
    for (int i = 0; 0 == rc && i < s->options.ncollectives; i++) {
        rc = run_collective(s, t, &collectives[s->options.collectives[i]], out);
    }
    return 0 != rc ? rc : ferror(out) ? -1 : 0;
}
