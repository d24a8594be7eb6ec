/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of report.h. */
#include "report.h"

#include <math.h>

static int rows; /* written so far, for JSON's commas */

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

void report_begin(FILE *out, const struct options *o, const char *title)
{
    switch (o->format) {
    case FORMAT_TEXT:
        put_text_head(out, o, title);
        break;
    case FORMAT_CSV:
        if (0 == rows) {
            fputs("torus,algorithm,model,uneven,skewed,bytes,scheme1_us,scheme2_us,scheme3_us,"
                  "difference13_us,difference23_us,conflicts1,conflicts2,conflicts3,seconds\n",
                  out);
        }
        break;
    case FORMAT_JSON:
        fputs(0 == rows ? "[" : "", out);
    }
}

/* A time in us; missing ones as `none`. */
static void put_us(FILE *out, double ns, int width, const char *none)
{
    if (ns < 0 || isnan(ns)) {
        fprintf(out, "%*s", width, none);
    } else {
        fprintf(out, "%*.3f", width, ns / 1000);
    }
}

static void put_difference(FILE *out, const struct outcome *a, const struct outcome *b, int width,
                           const char *none)
{
    if (a->ns < 0 || b->ns < 0) {
        fprintf(out, "%*s", width, none);
    } else {
        fprintf(out, "%*.3f", width, (a->ns - b->ns) / 1000);
    }
}

static void put_count(FILE *out, const struct outcome *a, int width, const char *none)
{
    if (a->ns < 0) {
        fprintf(out, "%*s", width, none);
    } else {
        fprintf(out, "%*llu", width, (unsigned long long) a->conflicts);
    }
}

/* Columns in their order, each after its separator; names[]: of JSON. */
static void put_columns(FILE *out, const struct row *row, int text, const char *none,
                        const char *const *names)
{
    const struct outcome *o = row->outcome;
    double seconds = 0;
    int k;

    for (k = 1; k <= 8; k++) {
        int width = !text ? 0 : k <= 3 ? 12 : k <= 5 ? 10 : 9;

        fputs(names[k - 1], out);
        if (k <= 3) {
            put_us(out, o[k].ns, width, none);
        } else if (k <= 5) {
            put_difference(out, &o[k - 3], &o[3], width, none);
        } else {
            put_count(out, &o[k - 5], width, none);
        }
    }
    for (k = 1; k <= 3; k++) {
        seconds += o[k].ns < 0 ? 0 : o[k].seconds;
    }
    fprintf(out, "%s%*.2f", names[8], text ? 7 : 0, seconds);
}

void report_row(FILE *out, const struct options *o, const struct row *row)
{
    static const char *const blanks[] = {" ", " ", " ", " ", " ", " ", " ", " ", " "};
    static const char *const commas[] = {",", ",", ",", ",", ",", ",", ",", ",", ","};
    static const char *const keys[] = {
        ", \"scheme1_us\": ",      ", \"scheme2_us\": ",      ", \"scheme3_us\": ",
        ", \"difference13_us\": ", ", \"difference23_us\": ", ", \"conflicts1\": ",
        ", \"conflicts2\": ",      ", \"conflicts3\": ",      ", \"seconds\": "};
    const char *torus = torus_text(&o->machine.torus);

    switch (o->format) {
    case FORMAT_TEXT:
        fprintf(out, "%9.10g %-7s %6g %6g", row->bytes, row->model, row->uneven, row->skewed);
        put_columns(out, row, 1, "-", blanks);
        fputc('\n', out);
        break;
    case FORMAT_CSV:
        fprintf(out, "%s,%s,%s,%g,%g,%.10g", torus, row->algorithm, row->model, row->uneven,
                row->skewed, row->bytes);
        put_columns(out, row, 0, "", commas);
        fputc('\n', out);
        break;
    case FORMAT_JSON:
        fprintf(out,
                "%s\n  {\"torus\": \"%s\", \"algorithm\": \"%s\", \"model\": \"%s\", \"uneven\": "
                "%g, \"skewed\": %g, \"bytes\": %.10g",
                rows > 0 ? "," : "", torus, row->algorithm, row->model, row->uneven, row->skewed,
                row->bytes);
        put_columns(out, row, 0, "null", keys);
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
