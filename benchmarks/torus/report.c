/* SPDX-License-Identifier: BSD-3-Clause */
/* The formats of report.h. */
#include "report.h"

#include <math.h>

static int rows; /* written so far, for JSON's commas */

enum { DIFFERENCES = 3, CONFLICTS = 5, SECONDS = 8, VALUES }; /* where these begin in values[] */

/* What a row has of its outcomes. */
static const struct {
    const char *name;
    int width, digits; /* in text; digits everywhere */
} values[VALUES] = {
    {"scheme1_us", 12, 3},      {"scheme2_us", 12, 3},      {"scheme3_us", 12, 3},
    {"difference13_us", 10, 3}, {"difference23_us", 10, 3}, {"conflicts1", 9, 0},
    {"conflicts2", 9, 0},       {"conflicts3", 9, 0},       {"seconds", 7, 2},
};

static void put_text_head(FILE *out, const struct options *o, const char *title)
{
    const struct machine *m = &o->machine;
    int d;

    fprintf(out, "# %s\n# torus %s, ", title, torus_text(&m->torus));
    for (d = 0; d < m->torus.ndims; d++) {
        fprintf(out, "%s%g", d > 0 ? "/" : "", m->hop[d]);
    }
    fprintf(out,
            " ns per hop, %g GB/s; times in us: (1) sync before each step, (2) at the start, (3) "
            "predicted\n",
            m->bandwidth);
    fprintf(out, "%9s %-7s %6s %6s %12s %12s %12s %10s %10s %9s %9s %9s %7s\n", "bytes", "model",
            "uneven", "skewed", "(1)", "(2)", "(3)", "(1)-(3)", "(2)-(3)", "confl.(1)", "confl.(2)",
            "confl.(3)", "seconds");
}

static void put_csv_head(FILE *out)
{
    fputs("torus,algorithm,model,uneven,skewed,bytes", out);
    for (int k = 0; k < VALUES; k++) {
        fprintf(out, ",%s", values[k].name);
    }
    fputc('\n', out);
}

void report_begin(FILE *out, const struct options *o, const char *title)
{
    switch (o->format) {
    case FORMAT_TEXT:
        put_text_head(out, o, title);
        break;
    case FORMAT_CSV:
        if (0 == rows) {
            put_csv_head(out);
        }
        break;
    case FORMAT_JSON:
        fputs(0 == rows ? "[" : "", out);
    }
}

/* NAN: there is none. */
static double value_of(const struct row *row, int k)
{
    const struct outcome *o = row->outcome, *third = &o[3];
    double seconds = 0;

    if (SECONDS == k) {
        for (int s = 1; s <= 3; s++) {
            seconds += o[s].ns < 0 ? 0 : o[s].seconds;
        }
        return seconds;
    }
    o += k < DIFFERENCES ? k + 1 : k < CONFLICTS ? k - DIFFERENCES + 1 : k - CONFLICTS + 1;
    if (k >= CONFLICTS) {
        return o->ns < 0 ? NAN : (double) o->conflicts;
    }
    if (k >= DIFFERENCES) {
        return o->ns < 0 || third->ns < 0 ? NAN : (o->ns - third->ns) / 1000;
    }
    return o->ns < 0 ? NAN : o->ns / 1000;
}

static void put_values(FILE *out, const struct row *row, enum format format)
{
    static const char *const none[] = {"-", "", "null"};

    for (int k = 0; k < VALUES; k++) {
        double v = value_of(row, k);
        int width = FORMAT_TEXT == format ? values[k].width : 0;

        fprintf(out,
                FORMAT_TEXT == format  ? " "
                : FORMAT_CSV == format ? ","
                                       : ", \"%s\": ",
                values[k].name);
        if (isnan(v)) {
            fprintf(out, "%*s", width, none[format]);
        } else {
            fprintf(out, "%*.*f", width, values[k].digits, v);
        }
    }
}

void report_row(FILE *out, const struct options *o, const struct row *row)
{
    const char *torus = torus_text(&o->machine.torus);

    switch (o->format) {
    case FORMAT_TEXT:
        fprintf(out, "%9.10g %-7s %6g %6g", row->bytes, row->model, row->uneven, row->skewed);
        put_values(out, row, o->format);
        fputc('\n', out);
        break;
    case FORMAT_CSV:
        fprintf(out, "%s,%s,%s,%g,%g,%.10g", torus, row->algorithm, row->model, row->uneven,
                row->skewed, row->bytes);
        put_values(out, row, o->format);
        fputc('\n', out);
        break;
    case FORMAT_JSON:
        fprintf(out,
                "%s\n  {\"torus\": \"%s\", \"algorithm\": \"%s\", \"model\": \"%s\", \"uneven\": "
                "%g, \"skewed\": %g, \"bytes\": %.10g",
                rows > 0 ? "," : "", torus, row->algorithm, row->model, row->uneven, row->skewed,
                row->bytes);
        put_values(out, row, o->format);
        fputs("}", out);
    }
    rows++;
    fflush(out);
}

void report_end(FILE *out, const struct options *o)
{
    if (FORMAT_JSON == o->format) {
        fputs("\n]\n", out);
    }
}
