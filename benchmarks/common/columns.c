/* SPDX-License-Identifier: BSD-3-Clause */
/* The formats of columns.h. */
#include "common/columns.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const void *field(const struct column *c, const void *row)
{
    return (const char *) row + c->offset;
}

static double number(const struct column *c, const void *row)
{
    return *(const double *) field(c, row);
}

static const char *text(const struct column *c, const void *row)
{
    return *(const char *const *) field(c, row);
}

/* ---- table ---- */

static int is_shown(const struct columns *columns, int k)
{
    const struct column *c = &columns->of[k];

    return NULL != c->head && c->when == (c->when & columns->shown);
}

static const char *head_of(const struct column *c)
{
    return c->head;
}

/* The end of a column's name says it. */
static const char *unit_of(const struct column *c)
{
    static const struct {
        const char *end, *unit;
    } units[] = {{"us", "(us)"}, {"GBs", "(GB/s)"}, {"bytes", "(B)"}};
    size_t length = strlen(c->name);

    for (size_t k = 0; k < sizeof units / sizeof units[0]; k++) {
        size_t end = strlen(units[k].end);
        if (length >= end && 0 == strcmp(c->name + length - end, units[k].end)) {
            return units[k].unit;
        }
    }
    return 100 == c->scale ? "(%)" : "";
}

static void put_heads(FILE *out, const struct columns *columns,
                      const char *(*text_of)(const struct column *c))
{
    int n = columns->n;

    while (n > 0 && (!is_shown(columns, n - 1) || '\0' == text_of(&columns->of[n - 1])[0])) {
        n--;
    }
    for (int k = 0; k < n; k++) {
        const struct column *c = &columns->of[k];

        if (0 == k) { /* the # is part of the first column */
            fprintf(out, "#%*s", c->width > 0 ? c->width - 1 : c->width + 1, text_of(c));
        } else if (is_shown(columns, k)) {
            fprintf(out, " %*s", c->width, text_of(c));
        }
    }
    fprintf(out, "\n");
}

void columns_table_heads(FILE *out, const struct columns *columns)
{
    put_heads(out, columns, head_of);
    put_heads(out, columns, unit_of);
}

void columns_table_row(FILE *out, const struct columns *columns, const void *row)
{
    for (int k = 0; k < columns->n; k++) {
        const struct column *c = &columns->of[k];

        if (!is_shown(columns, k)) {
            continue;
        }
        fputs(0 == k ? "" : " ", out);
        if (COLUMN_BYTES == c->kind) {
            fprintf(out, "%*zu", c->width, *(const size_t *) field(c, row));
        } else if (COLUMN_TEXT == c->kind) {
            fprintf(out, "%*s", c->width, text(c, row));
        } else if (isfinite(number(c, row))) {
            fprintf(out, "%*.*f", c->width, c->digits, number(c, row) * c->scale);
        } else {
            fprintf(out, "%*s", c->width, "-");
        }
    }
    fprintf(out, "\n");
}

/* ---- CSV and JSON: numbers so that they can be read back ---- */

static void put_number(FILE *out, double value, const char *missing)
{
    if (isfinite(value)) {
        fprintf(out, "%.10g", value);
    } else {
        fputs(missing, out);
    }
}

void columns_csv_names(FILE *out, const struct columns *columns)
{
    for (int k = 0; k < columns->n; k++) {
        fprintf(out, ",%s", columns->of[k].name);
    }
}

void columns_csv_row(FILE *out, const struct columns *columns, const void *row)
{
    for (int k = 0; k < columns->n; k++) {
        const struct column *c = &columns->of[k];

        putc(',', out);
        if (COLUMN_BYTES == c->kind) {
            fprintf(out, "%zu", *(const size_t *) field(c, row));
        } else if (COLUMN_TEXT == c->kind) {
            fputs(text(c, row), out);
        } else {
            put_number(out, number(c, row), "");
        }
    }
}

void columns_json_row(FILE *out, const struct columns *columns, const void *row)
{
    putc('{', out);
    for (int k = 0; k < columns->n; k++) {
        const struct column *c = &columns->of[k];

        fprintf(out, "%s\"%s\": ", 0 == k ? "" : ", ", c->name);
        if (COLUMN_BYTES == c->kind) {
            fprintf(out, "%zu", *(const size_t *) field(c, row));
        } else if (COLUMN_TEXT == c->kind) {
            columns_json_text(out, text(c, row));
        } else {
            put_number(out, number(c, row), "null");
        }
    }
    putc('}', out);
}

void columns_json_text(FILE *out, const char *text)
{
    putc('"', out);
    for (; '\0' != *text; text++) {
        if ('"' == *text || '\\' == *text) {
            putc('\\', out);
        }
        putc(isprint((unsigned char) *text) ? *text : ' ', out);
    }
    putc('"', out);
}

void columns_json_number(FILE *out, double value)
{
    put_number(out, value, "null");
}
