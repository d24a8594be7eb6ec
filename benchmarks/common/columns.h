/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results as a table, as CSV and as JSON: a row is a struct, a column one of
 * its fields. Numbers that are not finite have no value: "-" in the table,
 * nothing in CSV, null in JSON.
 */
#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include <stddef.h>
#include <stdio.h>

enum column_kind {
    COLUMN_NUMBER, /* a double */
    COLUMN_BYTES,  /* a size_t */
    COLUMN_TEXT    /* a const char * */
};

struct column {
    const char *name; /* in CSV and JSON */
    const char *head; /* in the table; NULL: not in the table */
    int width;        /* in the table; negative: flush left */
    int digits;       /* in the table, behind the point */
    double scale;     /* in the table, numbers are multiplied by this */
    enum column_kind kind;
    size_t offset; /* of the field in the struct */
    unsigned when; /* the table has the column where all these bits are in
                    columns.shown */
};

struct columns {
    const struct column *of; /* [n] */
    int n;
    unsigned shown; /* bits of column.when */
};

/* Lines of the table: "#" and the heads, then "#" and the units; or a row. */
void columns_table_heads(FILE *out, const struct columns *columns);
void columns_table_row(FILE *out, const struct columns *columns, const void *row);

/* Part of a line of CSV: each name, or each value of a row, behind a comma. */
void columns_csv_names(FILE *out, const struct columns *columns);
void columns_csv_row(FILE *out, const struct columns *columns, const void *row);

/* A JSON object. */
void columns_json_row(FILE *out, const struct columns *columns, const void *row);

/* A JSON string; what cannot be printed becomes a blank. */
void columns_json_text(FILE *out, const char *text);

/* A JSON number, or null. */
void columns_json_number(FILE *out, double value);

#endif
