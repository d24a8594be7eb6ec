/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * torus_sim: what an Alltoall costs on a torus when its steps are synchronised in one of three ways. The schedules are
 * those of coll_gpuring/sched, the machine is simulated. docs/torus.md explains the method and its results.
 *
 *      torus_sim --figure                                the published evaluation
 *      torus_sim -t 8x8x8 -m 1k --uneven 0.5             one size on another torus
 *      torus_sim dimension-ordered -t 6x5 --mesh 1       any extents, and lines
 *      torus_sim --sync-packets -t 16x16x16              packets that a sync takes
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

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
        fprintf(stderr, "torus_sim: %g bytes, %s, scheme %d: %.0f%%\n", meter->row->bytes, meter->row->model, (int) scheme,
                100 * share);
    }
}

/* ---- simulations ---- */

/* Fill a row: the schemes asked for at one size. */
static struct row simulate(const struct options *o, double bytes)
{
    struct row row = {.model = o->model->name, .algorithm = gr_alltoall_name(o->algo), .bytes = bytes,
                      .uneven = o->sizes.uneven, .skewed = o->sizes.skewed};
    struct meter meter = {&row, time(NULL)};
    struct sizes sizes = o->sizes;
    struct traffic traffic;
    int s, rc;

    sizes.bytes = bytes;
    rc = traffic_alltoall(&traffic, o->algo, &o->machine.torus, &sizes);
    for (s = 0; s < 4; s++) {
        row.outcome[s].ns = -1;
        if (0 == rc && 0 != (o->schemes >> s & 1)) {
            rc = scheme_run(&o->machine, &traffic, o->model, o->packet, (enum scheme) s, &o->noise,
                            o->progress ? show_progress : NULL, &meter, &row.outcome[s]);
        }
    }
    traffic_free(&traffic);
    if (rc < 0) {
        die("out of memory: %d nodes, %g bytes per pair", gr_torus_size(&o->machine.torus), bytes);
    }
    return row;
}

static void run_sizes(FILE *out, const struct options *o)
{
    char title[120];
    int k;

    snprintf(title, sizeof(title), "Alltoall, %s; bytes per pair", gr_alltoall_name(o->algo));
    report_begin(out, o, title);
    for (k = 0; k < o->nbytes; k++) {
        struct row row = simulate(o, o->bytes[k]);

        report_row(out, o, &row);
    }
    report_end(out, o);
}

/* ---- the published evaluation ---- */

/* One part of it: a model, sizes of messages, and up to how many bytes per pair it is run. */
struct part {
    const char *title;
    const struct model *model;
    double uneven, skewed, least, most;
    unsigned schemes;
};

/* Packets are simulated one by one: (2) only, which alone has conflicts, and up to 64 bytes, which take seconds. */
static const struct part parts[] = {
    {"even sizes, links serve whole messages", &model_fifo, 0, 0, 1, 65536, 14},
    {"senders +-50%, links serve whole messages", &model_fifo, 0.5, 0, 1, 65536, 14},
    {"even sizes, links serve packets by turns", &model_packets, 0, 0, 1, 64, 4},
    {"senders +-50%, links serve packets by turns", &model_packets, 0.5, 0, 1, 64, 4},
    {"senders +-2%", &model_fifo, 0.02, 0, 64, 64, 14},
    {"senders +-10%", &model_fifo, 0.1, 0, 64, 64, 14},
    {"1% of the senders sends 10 times as much", &model_fifo, 0, 0.01, 64, 64, 14},
};

/* What a sync costs when packets go around each ring: the difference of (1) and (3) is one less of it than there are steps. */
static double sync_us(const struct options *o)
{
    double *entered = calloc((size_t) gr_torus_size(&o->machine.torus), sizeof(*entered)), us;

    if (NULL == entered) {
        die("out of memory");
    }
    sync_run(&o->machine, NULL, o->noise.shortest, entered);
    us = entered[0] / 1000;
    free(entered);
    return us;
}

static void run_figure(FILE *out, const struct options *base)
{
    struct gr_alltoall a = {.algo = base->algo, .torus = base->machine.torus};
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
        fprintf(out, "(1)-(3): %u steps save %u syncs of %.3f us: %.3f us. Farthest off in the rows above: %.3f%%\n",
                gr_alltoall_ticks(&a), gr_alltoall_ticks(&a) - 1, sync_us(base), expected, 100 * worst);
        fprintf(out, "Conflicts under (3), all rows: %llu\n", (unsigned long long) conflicts);
    }
}

/* ---- packets of a sync ---- */

static void put_packets(FILE *out, const struct options *o)
{
    const struct gr_torus *t = &o->machine.torus;
    double p = gr_torus_size(t), sum = 0;
    static const char *const heads[] = {"# packets of one sync\n%10s %12s\n", "%s,%s\n", "[\n  {\"%s\": \"%s\"}"};
    static const char *const lines[] = {"%10s %12.0f\n", "%s,%.0f\n", ",\n  {\"dimension\": \"%s\", \"packets\": %.0f}"};
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

int main(int argc, char **argv)
{
    struct options o;
    FILE *out = stdout;

    options_parse(&o, argc, argv);
    if (NULL != o.file && NULL == (out = fopen(o.file, "w"))) {
        die("cannot write to %s", o.file);
    }
    switch (o.task) {
    case TASK_FIGURE:
        run_figure(out, &o);
        break;
    case TASK_SYNC_PACKETS:
        put_packets(out, &o);
        break;
    default:
        run_sizes(out, &o);
    }
    return ferror(out) || 0 != fflush(out) ? 1 : 0;
}
