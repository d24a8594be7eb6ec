/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torus_sim: what an Alltoall costs on a torus when its steps are synchronised in one of three
 * ways. The schedules are those of coll_gpuring/sched, the machine is simulated. docs/timing.md
 * explains the method and its results.
 *
 *      torus_sim --figure                                the published evaluation
 *      torus_sim -t 8x8x8 -m 1k --uneven 0.5             one size on another torus
 *      torus_sim dimension-ordered -t 6x5 --mesh 1       any extents, and lines
 *      torus_sim --sync-packets -t 16x16x16              packets that a sync takes
 *      torus_sim --project                               which allreduce wins where
 */
#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "common/cli.h"
#include "project.h"
#include "report.h"

/* ---- progress ---- */

struct meter {
    const struct row *row;
    time_t last;
};

static void show_progress(void *ctx, enum scheme scheme, double share)
{
    struct meter *meter = ctx;
    time_t now = time(NULL);

    if (now - meter->last >= 2) {
        meter->last = now;
        fprintf(stderr, "torus_sim: %g bytes, %s, scheme %d: %.0f%%\n", meter->row->bytes,
                meter->row->model, (int) scheme, 100 * share);
    }
}

/* ---- simulations ---- */

static const char *algorithm(const struct options *o)
{
    if (o->source >= 0) {
        return source_name((enum source_algo) o->source);
    }
    return GR_ALGO_SUH_SHIN == o->algo ? "suh-shin" : "dimension-ordered";
}

/* A row: the selected schemes at one size. */
static struct row simulate(const struct options *o, double bytes)
{
    struct row row = {.model = o->model->name,
                      .algorithm = algorithm(o),
                      .bytes = bytes,
                      .uneven = o->sizes.uneven,
                      .skewed = o->sizes.skewed};
    struct meter meter = {&row, time(NULL)};
    struct sizes sizes = o->sizes;
    struct traffic traffic;
    int s, rc;

    sizes.bytes = bytes;
    rc = o->source >= 0
             ? source_traffic(&traffic, (enum source_algo) o->source, &o->machine, o->chunks, bytes)
             : traffic_alltoall(&traffic, o->algo, &o->machine.torus, &sizes);
    if (o->source >= 0 && rc < 0) {
        errx(EXIT_USAGE,
             -1 == rc ? "%s has no schedule on %s"
                      : "%s on %s has more messages than a simulation can hold; try --project",
             algorithm(o), torus_text(&o->machine.torus));
    }
    for (s = 0; s < 4; s++) {
        row.outcome[s].ns = -1;
        if (0 == rc && 0 != (o->schemes >> s & 1)) {
            rc = scheme_run(&o->machine, &traffic, o->model, o->packet, (enum scheme) s, &o->noise,
                            o->progress ? show_progress : NULL, &meter, &row.outcome[s]);
        }
    }
    traffic_free(&traffic);
    if (rc < 0) {
        errx(EXIT_USAGE, "out of memory: %d nodes, %g bytes per pair",
             gr_torus_size(&o->machine.torus), bytes);
    }
    return row;
}

static void run_sizes(FILE *out, const struct options *o)
{
    char title[120];
    int k;

    snprintf(title, sizeof(title), "%s, %s; bytes %s",
             o->source < 0                       ? "Alltoall"
             : SOURCE_MST == o->source           ? "bcast"
             : SOURCE_DISSEMINATION == o->source ? "barrier"
                                                 : "allreduce",
             algorithm(o),
             o->source < 0                       ? "per pair"
             : SOURCE_DISSEMINATION == o->source ? "of the token"
                                                 : "of the vector");
    for (k = 0; k < o->nbytes; k++) {
        struct row row = simulate(o, o->bytes[k]);

        if (0 == k) { /* not before the first simulation: it may fail */
            report_begin(out, o, title);
        }
        report_row(out, o, &row);
    }
    report_end(out, o);
}

/* ---- the published evaluation ---- */

/* A part of the figure: a model, sizes of messages, and the range of bytes per pair. */
struct part {
    const char *title;
    const struct model *model;
    double uneven, skewed, least, most;
    unsigned schemes;
};

/* Packets are simulated one by one: only scheme 2, which has conflicts, and only up to 64 bytes. */
static const struct part parts[] = {
    {"even sizes, links serve whole messages", &model_fifo, 0, 0, 1, 65536, 14},
    {"senders +-50%, links serve whole messages", &model_fifo, 0.5, 0, 1, 65536, 14},
    {"even sizes, links serve packets by turns", &model_packets, 0, 0, 1, 64, 4},
    {"senders +-50%, links serve packets by turns", &model_packets, 0.5, 0, 1, 64, 4},
    {"senders +-2%", &model_fifo, 0.02, 0, 64, 64, 14},
    {"senders +-10%", &model_fifo, 0.1, 0, 64, 64, 14},
    {"1% of the senders sends 10 times as much", &model_fifo, 0, 0.01, 64, 64, 14},
};

/* What a sync costs. (1) has one for each step, (3) the first only. */
static double sync_us(const struct options *o)
{
    double *entered = calloc((size_t) gr_torus_size(&o->machine.torus), sizeof(*entered)), us;

    if (NULL == entered) {
        errx(EXIT_USAGE, "out of memory");
    }
    sync_run(&o->machine, NULL, o->noise.shortest, entered);
    us = entered[0] / 1000;
    free(entered);
    return us;
}

static void run_figure(FILE *out, const struct options *base)
{
    const struct gr_sched a = {.algo = base->algo, .torus = base->machine.torus};
    double expected = (gr_alltoall_ticks(&a) - 1.0) * sync_us(base), worst = 0, off;
    uint64_t conflicts = 0;
    size_t k;

    for (k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
        struct options o = *base;
        double bytes;

        o.model = parts[k].model;
        o.sizes.uneven = parts[k].uneven;
        o.sizes.skewed = parts[k].skewed;
        o.sizes.factor = 10;
        o.schemes = parts[k].schemes;
        report_begin(out, &o, parts[k].title);
        for (bytes = parts[k].least; bytes <= parts[k].most; bytes *= bytes < 64 ? 8 : 4) {
            struct row row = simulate(&o, bytes);

            report_row(out, &o, &row);
            if (row.outcome[1].ns >= 0) {
                off = fabs((row.outcome[1].ns - row.outcome[3].ns) / 1000 - expected) / expected;
                worst = off > worst ? off : worst;
                conflicts += row.outcome[3].conflicts;
            }
        }
        if (FORMAT_TEXT == o.format) {
            fputc('\n', out);
        }
    }
    report_end(out, base);
    if (FORMAT_TEXT == base->format) {
        fprintf(out,
                "(1)-(3): %u steps save %u syncs of %.3f us: %.3f us. Farthest off in the rows "
                "above: %.3f%%\n",
                gr_alltoall_ticks(&a), gr_alltoall_ticks(&a) - 1, sync_us(base), expected,
                100 * worst);
        fprintf(out, "Conflicts under (3), all rows: %llu\n", (unsigned long long) conflicts);
    }
}

/* ---- packets of a sync ---- */

static void put_packets(FILE *out, const struct options *o)
{
    const struct gr_torus *t = &o->machine.torus;
    double p = gr_torus_size(t), sum = 0;
    static const char *const heads[] = {"# packets of one sync\n%10s %12s\n", "%s,%s\n",
                                        "[\n  {\"%s\": \"%s\"}"};
    static const char *const lines[] = {"%10s %12.0f\n", "%s,%.0f\n",
                                        ",\n  {\"dimension\": \"%s\", \"packets\": %.0f}"};
    char name[16];
    int d;

    fprintf(out, heads[o->format], FORMAT_JSON == o->format ? "torus" : "dimension",
            FORMAT_JSON == o->format ? torus_text(t) : "packets");
    for (d = 0; d < t->ndims; d++) {
        snprintf(name, sizeof(name), "%d", d);
        fprintf(out, lines[o->format], name, p * (t->dims[d] - 1));
        sum += p * (t->dims[d] - 1);
    }
    fprintf(out, lines[o->format], "all", sum);
    fprintf(out, lines[o->format], "all-to-all", p * (p - 1));
    if (FORMAT_JSON == o->format) {
        fputs("\n]\n", out);
    }
}

/* ---- projections ---- */

/* The fastest time of an algorithm; the double tree has pipelines of several lengths. */
struct entry {
    struct projection *of[4];
    int n;
};

static struct entry project(enum source_algo algo, const struct machine *m)
{
    static const uint32_t chunks[] = {2, 16, 64, 256};
    struct entry e = {.n = SOURCE_TREE == algo ? 4 : 1};
    int k;

    for (k = 0; k < e.n; k++) {
        e.of[k] = project_make(algo, m, chunks[k]);
        if (NULL == e.of[k]) {
            errx(EXIT_USAGE, "%s has no schedule on %s", source_name(algo), torus_text(&m->torus));
        }
    }
    return e;
}

static double best_us(const struct entry *e, double bytes, double overhead)
{
    double best = INFINITY, t;
    int k;

    for (k = 0; k < e->n; k++) {
        t = project_ns(e->of[k], bytes, overhead) / 1000;
        best = t < best ? t : best;
    }
    return best;
}

static void put_projection(FILE *out, const struct options *o, int nodes, double bytes,
                           const double *us)
{
    static int rows;
    int k, winner = 0;

    if (FORMAT_JSON == o->format) {
        fprintf(out, "%s\n  {\"nodes\": %d, \"torus\": \"%s\", \"bytes\": %.0f",
                rows++ > 0 ? "," : "", nodes, torus_text(&o->machine.torus), bytes);
    } else {
        fprintf(out, FORMAT_CSV == o->format ? "%d,%s,%.0f" : "%6d %-10s %11.0f", nodes,
                torus_text(&o->machine.torus), bytes);
    }
    for (k = 0; k < SOURCE_ALLREDUCES; k++) {
        winner = us[k] < us[winner] ? k : winner;
        if (FORMAT_JSON == o->format) {
            fprintf(out, ", \"%s_us\": %.3f", source_name((enum source_algo) k), us[k]);
        } else {
            fprintf(out, FORMAT_CSV == o->format ? ",%.3f" : " %12.3f", us[k]);
        }
    }
    fprintf(out,
            FORMAT_JSON == o->format  ? ", \"fastest\": \"%s\"}"
            : FORMAT_CSV == o->format ? ",%s\n"
                                      : "  %s\n",
            source_name((enum source_algo) winner));
    fflush(out);
}

static void run_projection(FILE *out, const struct options *base)
{
    static const char *const shapes[] = {"4x4x4",   "8x4x4",    "8x8x4",    "8x8x8",    "16x8x8",
                                         "16x16x8", "16x16x16", "32x16x16", "32x32x16", "32x32x32"};
    static const char *const heads[] = {
        "", "nodes,torus,bytes,ring_us,tree_us,bucket_us,swing_us,fastest\n", "["};
    struct options o = *base;
    int s, k, a;

    fputs(heads[o.format], out);
    if (FORMAT_TEXT == o.format) {
        fprintf(out,
                "# allreduce, %g ns per message, %g GB/s per link; times in us\n"
                "%6s %-10s %11s %12s %12s %12s %12s  %s\n",
                o.overhead, o.machine.bandwidth, "nodes", "torus", "bytes", "ring", "tree",
                "bucket", "swing", "fastest");
    }
    for (s = 0; s < (o.torus_given ? 1 : (int) (sizeof(shapes) / sizeof(shapes[0]))); s++) {
        struct entry entries[SOURCE_ALLREDUCES];

        if (!o.torus_given) {
            gr_torus_parse(shapes[s], &o.machine.torus);
        }
        if (o.progress) {
            fprintf(stderr, "torus_sim: %s\n", torus_text(&o.machine.torus));
        }
        for (a = 0; a < SOURCE_ALLREDUCES; a++) {
            entries[a] = project((enum source_algo) a, &o.machine);
        }
        for (k = 0; k < o.nbytes; k++) {
            double us[SOURCE_ALLREDUCES];

            for (a = 0; a < SOURCE_ALLREDUCES; a++) {
                us[a] = best_us(&entries[a], o.bytes[k], o.overhead);
            }
            put_projection(out, &o, gr_torus_size(&o.machine.torus), o.bytes[k], us);
        }
        for (a = 0; a < SOURCE_ALLREDUCES * 4; a++) {
            project_free(entries[a / 4].of[a % 4]);
        }
    }
    fputs(FORMAT_JSON == o.format ? "\n]\n" : "", out);
}

int main(int argc, char **argv)
{
    struct options o;
    FILE *out = stdout;

    options_parse(&o, argc, argv);
    if (NULL != o.file && NULL == (out = fopen(o.file, "w"))) {
        errx(EXIT_USAGE, "cannot write to %s", o.file);
    }
    switch (o.task) {
    case TASK_FIGURE:
        run_figure(out, &o);
        break;
    case TASK_SYNC_PACKETS:
        put_packets(out, &o);
        break;
    case TASK_PROJECT:
        run_projection(out, &o);
        break;
    default:
        run_sizes(out, &o);
    }
    return ferror(out) || 0 != fflush(out) ? 1 : 0;
}
