/* SPDX-License-Identifier: BSD-3-Clause */
/* The formats of report.h. */
#include "report.h"

#include <math.h>
#include <mpi.h>
#include <stddef.h>
#include <string.h>

enum { CHECKED = 1 }; /* with -c */

#define AT(field) offsetof(struct result, field)

static const struct column columns[] = {
    {"bytes", "bytes", 12, 0, 1, COLUMN_BYTES, AT(bytes), 0},
    {"avg_us", "avg", 11, 2, 1, COLUMN_NUMBER, AT(avg_us), 0},
    {"min_rank_us", "min rank", 11, 2, 1, COLUMN_NUMBER, AT(min_us), 0},
    {"max_rank_us", "max rank", 11, 2, 1, COLUMN_NUMBER, AT(max_us), 0},
    {"p50_us", "p50", 11, 2, 1, COLUMN_NUMBER, AT(p50_us), 0},
    {"p95_us", "p95", 11, 2, 1, COLUMN_NUMBER, AT(p95_us), 0},
    {"p99_us", "p99", 11, 2, 1, COLUMN_NUMBER, AT(p99_us), 0},
    {"algbw_GBs", "algbw", 9, 3, 1, COLUMN_NUMBER, AT(algbw), 0},
    {"busbw_GBs", "busbw", 9, 3, 1, COLUMN_NUMBER, AT(busbw), 0},
    {"ideal_GBs", "ideal", 9, 3, 1, COLUMN_NUMBER, AT(ideal), 0},
    {"efficiency", "efficiency", 10, 2, 100, COLUMN_NUMBER, AT(efficiency), 0},
    {"algorithm", "algorithm", 12, 0, 1, COLUMN_TEXT, AT(algorithm), 0},
    {"cycle_us", NULL, 0, 0, 1, COLUMN_NUMBER, AT(cycle_us), 0},
    {"errors", "errors", 8, 0, 1, COLUMN_NUMBER, AT(errors), CHECKED},
};

static const char *type_name(const struct report *r)
{
    return element_types[r->options->type].name;
}

static const char *device_name(const struct report *r)
{
    return r->options->device_text;
}

static void library_version(char *text)
{
    int length;

    MPI_Get_library_version(text, &length);
    for (char *c = text; '\0' != *c; c++) { /* some have several lines */
        *c = '\n' == *c ? ' ' : *c;
    }
}

/* ---- table ---- */

static void table_link(FILE *out, const char *name, const struct link *link)
{
    bool has_how = '\0' != link->how[0];

    if (isnan(link->GBs)) {
        fprintf(out, "#   %s = n/a%s%s%s\n", name, has_how ? " (" : "", link->how,
                has_how ? ")" : "");
    } else {
        fprintf(out, "#   %s = %.4g GB/s (%s%s%s)\n", name, link->GBs, link->source,
                has_how ? ": " : "", link->how);
    }
}

static void table_begin(struct report *r)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];

    library_version(library);
    fprintf(r->out, "# gpuring_bench\n# library: %s\n", library);
}

/* Whether the ideal of a row is that of its size. */
static int ideal_is_by_size(const struct report *r)
{
    return 1 == r->links->layout.nodes && !isnan(r->links->rates.exchange_us);
}

static void table_rates(const struct report *r)
{
    const struct ideal_rates *rates = &r->links->rates;

    if (!ideal_is_by_size(r)) {
        return;
    }
    fprintf(r->out, "#   by size: an exchange of cache lines takes %.3f us; a copy of",
            rates->exchange_us);
    for (int k = 0; k < IDEAL_SIZES; k++) {
        fprintf(r->out, "%s %zu KiB %.4g", 0 == k ? "" : ",", ideal_sizes[k] >> 10, rates->GBs[k]);
    }
    fprintf(r->out, " GB/s\n");
}

static void table_open(struct report *r)
{
    const struct options *o = r->options;
    const struct ideal_layout *layout = &r->links->layout;

    fprintf(r->out, "%s# collective: %s, %d rank%s on %d node%s, type %s, op %s, device %s, ",
            r->collectives > 1 ? "\n" : "", r->collective, layout->ranks,
            1 == layout->ranks ? "" : "s", layout->nodes, 1 == layout->nodes ? "" : "s",
            type_name(r), r->op, device_name(r));
    fprintf(r->out, "%s%s\n", options_form_name(o->form), o->in_place ? ", in place" : "");
    fprintf(r->out, "# ideal busbw, from\n");
    table_link(r->out, "B", &r->links->B);
    table_link(r->out, "I", &r->links->I);
    if (!isnan(r->links->memory.GBs)) {
        table_link(r->out, "memory", &r->links->memory);
    }
    table_rates(r);
    if (ideal_is_uneven(layout)) {
        fprintf(r->out, "# nodes have %d to %d ranks: the bound is that of the most loaded node\n",
                layout->min_per_node, layout->max_per_node);
    }
    fprintf(r->out, "# avg, min and max rank: of the ranks' mean times; p50, p95, p99: percentiles "
                    "of the slowest rank's calls\n");
    columns_table_heads(r->out, &r->columns);
}

static void table_result(struct report *r, const struct result *result)
{
    columns_table_row(r->out, &r->columns, result);
}

static void csv_close(struct report *r, const struct fit_line *fit)
{
    if (NULL != fit) {
        fprintf(r->out,
                "# fit: %s: t = overhead + bytes / bandwidth, overhead %.3f us, bandwidth %.4g "
                "GB/s, residual rms %.1f%%, max %.1f%%\n",
                r->collective, fit->overhead_us, fit->bandwidth_GBs, 100 * fit->residual_rms,
                100 * fit->residual_max);
    } else if (r->options->fit) {
        fprintf(r->out, "# fit: %s: none (too few sizes, or times that do not grow)\n",
                r->collective);
    }
}

static double average_busbw(const struct report *r)
{
    return r->busbw / r->results;
}

static void table_close(struct report *r, const struct fit_line *fit)
{
    if (isfinite(average_busbw(r))) {
        fprintf(r->out, "# Avg bus bandwidth    : %.6g GB/s\n", average_busbw(r));
    }
    csv_close(r, fit);
}

static void table_end(struct report *r)
{
    (void) r;
}

/* ---- CSV: the same columns for all collectives; a fit is a comment line ---- */

static void csv_begin(struct report *r)
{
    fprintf(r->out, "collective,ranks,nodes,device,type,op");
    columns_csv_names(r->out, &r->columns);
    fprintf(r->out, "\n");
}

static void csv_open(struct report *r)
{
    (void) r;
}

static void csv_result(struct report *r, const struct result *result)
{
    const char *quote = NULL != strchr(device_name(r), ',') ? "\"" : "";

    fprintf(r->out, "%s,%d,%d,%s%s%s,%s,%s", r->collective, r->links->layout.ranks,
            r->links->layout.nodes, quote, device_name(r), quote, type_name(r), r->op);
    columns_csv_row(r->out, &r->columns, result);
    fprintf(r->out, "\n");
}

/* ---- JSON: an object per collective; a list of them if there are several ---- */

static void json_link(FILE *out, const char *name, const struct link *link)
{
    fprintf(out, ", \"%s\": {\"GBs\": ", name);
    columns_json_number(out, link->GBs);
    fprintf(out, ", \"source\": \"%s\", \"how\": \"%s\"}", link->source, link->how);
}

/* Null where the ideal is the same for all sizes. */
static void json_rates(const struct report *r)
{
    const struct ideal_rates *rates = &r->links->rates;

    if (!ideal_is_by_size(r)) {
        fprintf(r->out, ", \"by_size\": null");
        return;
    }
    fprintf(r->out, ",\n \"by_size\": {\"exchange_us\": %.10g, \"copies\": [", rates->exchange_us);
    for (int k = 0; k < IDEAL_SIZES; k++) {
        fprintf(r->out, "%s{\"bytes\": %zu, \"GBs\": %.10g}", 0 == k ? "" : ", ", ideal_sizes[k],
                rates->GBs[k]);
    }
    fprintf(r->out, "]}");
}

static void json_begin(struct report *r)
{
    fprintf(r->out, r->options->ncollectives > 1 ? "[\n" : "");
}

static void json_open(struct report *r)
{
    const struct options *o = r->options;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];

    library_version(library);
    fprintf(r->out, "%s{\"collective\": \"%s\", \"ranks\": %d, \"nodes\": %d, \"device\": \"%s\", ",
            r->collectives > 1 ? ",\n" : "", r->collective, r->links->layout.ranks,
            r->links->layout.nodes, device_name(r));
    fprintf(r->out, "\"type\": \"%s\", \"op\": \"%s\",\n \"library\": ", type_name(r), r->op);
    columns_json_text(r->out, library);
    fprintf(r->out, ",\n \"form\": \"%s\", \"in_place\": %s, \"uneven_nodes\": %s",
            options_form_name(o->form), o->in_place ? "true" : "false",
            ideal_is_uneven(&r->links->layout) ? "true" : "false");
    json_link(r->out, "B", &r->links->B);
    json_link(r->out, "I", &r->links->I);
    json_link(r->out, "memory", &r->links->memory);
    json_rates(r);
    fprintf(r->out, ",\n \"results\": [");
}

static void json_result(struct report *r, const struct result *result)
{
    fprintf(r->out, "%s\n  ", r->results > 1 ? "," : "");
    columns_json_row(r->out, &r->columns, result);
}

static void json_close(struct report *r, const struct fit_line *fit)
{
    fprintf(r->out, "\n ],\n \"avg_busbw_GBs\": ");
    columns_json_number(r->out, average_busbw(r));
    if (NULL != fit) {
        fprintf(r->out,
                ",\n \"fit\": {\"overhead_us\": %.10g, \"bandwidth_GBs\": %.10g, \"residual_rms\": "
                "%.10g, \"residual_max\": %.10g}",
                fit->overhead_us, fit->bandwidth_GBs, fit->residual_rms, fit->residual_max);
    } else if (r->options->fit) {
        fprintf(r->out, ",\n \"fit\": null");
    }
    fprintf(r->out, "}");
}

static void json_end(struct report *r)
{
    fprintf(r->out, r->options->ncollectives > 1 ? "\n]\n" : "\n");
}

/* ---- the formats ---- */

static const struct {
    void (*begin)(struct report *report);
    void (*open)(struct report *report);
    void (*result)(struct report *report, const struct result *result);
    void (*close)(struct report *report, const struct fit_line *fit);
    void (*end)(struct report *report);
} formats[] = {
    [FORMAT_TABLE] = {table_begin, table_open, table_result, table_close, table_end},
    [FORMAT_CSV] = {csv_begin, csv_open, csv_result, csv_close, table_end},
    [FORMAT_JSON] = {json_begin, json_open, json_result, json_close, json_end},
};

void report_begin(struct report *report, FILE *out, const struct options *options,
                  const struct links *links)
{
    *report = (struct report) {
        .out = out,
        .options = options,
        .links = links,
        .columns = {columns, sizeof columns / sizeof columns[0], options->check ? CHECKED : 0}};
    formats[options->format].begin(report);
}

void report_open(struct report *report, const char *collective, const char *op)
{
    report->collective = collective;
    report->op = op;
    report->collectives++;
    report->results = 0;
    report->busbw = 0;
    formats[report->options->format].open(report);
}

void report_result(struct report *report, const struct result *result)
{
    report->results++;
    report->busbw += result->busbw;
    formats[report->options->format].result(report, result);
    fflush(report->out); /* a run may take long, or be cut short */
}

void report_close(struct report *report, const struct fit_line *fit)
{
    formats[report->options->format].close(report, fit);
}

int report_end(struct report *report)
{
    formats[report->options->format].end(report);
    return 0 == fflush(report->out) && !ferror(report->out) ? 0 : -1;
}
