/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of cli.h, on getopt_long(). */
#include "common/cli.h"

#include "base/text.h"

#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 48, LIST_CHARS = 512, FIRST_LONG = 256 };

/* ---- errors ---- */

int cli_refuse(char *error, const char *option, const char *value, const char *allowed)
{
    if (NULL == value) {
        snprintf(error, CLI_ERROR_CHARS, "no %s named; allowed: %s", option, allowed);
    } else {
        snprintf(error, CLI_ERROR_CHARS, "%s: '%.200s' is not valid; allowed: %s", option, value,
                 allowed);
    }
    return -1;
}

/* A list that does not fit ends in "...". */
int cli_refuse_word(char *error, const char *option, const char *value, const char *const *words)
{
    static const char cut[] = " ...";
    char list[LIST_CHARS] = "";
    size_t used = 0;

    for (int i = 0; NULL != words[i]; i++) {
        size_t room = LIST_CHARS - used;
        int more = snprintf(list + used, room, "%s%s", i ? " " : "", words[i]);
        if ((size_t) more + (NULL != words[i + 1] ? sizeof cut : 1) > room) {
            snprintf(list + used, room, "%s", cut);
            break;
        }
        used += (size_t) more;
    }
    return cli_refuse(error, option, value, list);
}

static int refuse(char *error, const struct cli_option *row, const char *value)
{
    char option[64], range[64];

    if ('\0' != row->letter) {
        snprintf(option, sizeof option, "-%c", row->letter);
    } else {
        snprintf(option, sizeof option, "--%s", row->name);
    }
    if (NULL == row->allowed && CLI_WORD == row->kind) {
        return cli_refuse_word(error, option, value, row->words);
    }
    snprintf(range, sizeof range, "%.13g to %.13g", row->least, row->most);
    return cli_refuse(error, option, value, NULL != row->allowed ? row->allowed : range);
}

/*
 * Writes the option that is most like the unknown one, which has its dashes, to nearest[]: a letter
 * of the other case for a letter; "-h" where there is none.
 */
static void find_nearest(char *nearest, size_t size, const char *option,
                         const struct cli_option *const *rows, int n)
{
    size_t least = SIZE_MAX, distance;

    snprintf(nearest, size, "-h");
    for (int k = 0; k < n; k++) {
        if ('-' == option[1] && NULL != rows[k]->name) {
            distance = gr_text_distance(option + 2, rows[k]->name);
            if (distance < least) {
                least = distance;
                snprintf(nearest, size, "--%s", rows[k]->name);
            }
        } else if ('-' != option[1] && '\0' != rows[k]->letter &&
                   tolower((unsigned char) option[1]) == tolower((unsigned char) rows[k]->letter)) {
            snprintf(nearest, size, "-%c", rows[k]->letter);
        }
    }
}

/* getopt found an option that is unknown, lacks its value, or has one it should not have. */
static int refuse_option(char *error, int found, char **argv, const struct cli_option *const *rows,
                         int n)
{
    char option[128] = {'-', (char) optopt, '\0'}, nearest[64];

    if (0 == optopt || optopt >= FIRST_LONG) { /* 0: of an unknown name */
        snprintf(option, sizeof option, "%.*s", (int) strcspn(argv[optind - 1], "="),
                 argv[optind - 1]);
    }
    if (':' == found || optopt >= FIRST_LONG) {
        snprintf(error, CLI_ERROR_CHARS, "%s: %s", option,
                 ':' == found ? "needs a value" : "takes no value");
    } else {
        find_nearest(nearest, sizeof nearest, option, rows, n);
        snprintf(error, CLI_ERROR_CHARS, "%s: is not an option; the nearest is %s; see -h", option,
                 nearest);
    }
    return -1;
}

/* ---- values ---- */

int cli_word(const char *value, const char *const *words)
{
    for (int i = 0; NULL != words[i]; i++) {
        if (0 == strcmp(value, words[i])) {
            return i;
        }
    }
    return -1;
}

static bool is_whole(const char *text)
{
    return '\0' != text[0] && '\0' == text[strspn(text, "0123456789")];
}

/* How many bits the suffix at *at shifts by; steps over it. */
static unsigned take_suffix(const char **at)
{
    static const char suffixes[] = "kmg";
    const char *suffix = '\0' != **at ? strchr(suffixes, tolower((unsigned char) **at)) : NULL;

    if (NULL == suffix) {
        return 0;
    }
    ++*at;
    return 10 * (unsigned) (suffix - suffixes + 1);
}

bool cli_whole(const char *text, size_t least, size_t most, const char **end, size_t *number)
{
    char *behind;
    const char *rest;
    unsigned long long v;
    unsigned shift;

    errno = 0;
    v = strtoull(text, &behind, 10);
    rest = behind;
    shift = take_suffix(&rest);
    if (!isdigit((unsigned char) text[0]) || 0 != errno || v > SIZE_MAX >> shift ||
        v << shift < least || v << shift > most || (NULL == end && '\0' != *rest)) {
        return false;
    }
    *number = (size_t) v << shift;
    if (NULL != end) {
        *end = rest;
    }
    return true;
}

bool cli_real(const char *text, double least, double most, const char **end, double *number)
{
    char *behind;
    const char *rest;
    double v = strtod(text, &behind);

    rest = behind;
    v *= (double) (1u << take_suffix(&rest));
    if (behind == text || !(v >= least && v <= most) || (NULL == end && '\0' != *rest)) {
        return false;
    }
    *number = v;
    if (NULL != end) {
        *end = rest;
    }
    return true;
}

int cli_list(const char *text, size_t least, size_t most, int *list, int room)
{
    size_t number;

    for (int n = 0; n < room && cli_whole(text, least, most, &text, &number); text++) {
        list[n++] = (int) number;
        if (',' != *text) {
            return '\0' == *text ? n : -1;
        }
    }
    return -1;
}

/* ---- options ---- */

static bool has_value(const struct cli_option *row)
{
    return CLI_FLAG != row->kind && CLI_SWITCH != row->kind && CLI_SET != row->kind &&
           CLI_HELP != row->kind;
}

/* Whether the value is one that the row allows; then the field, or take(), has it. */
static bool store(const struct cli_option *row, void *into, const char *value)
{
    void *field = (char *) into + row->at;
    size_t number, least = (size_t) row->least, most = (size_t) row->most;
    int word, bits[32], n;

    switch (row->kind) {
    case CLI_FLAG:
        *(bool *) field = true;
        return true;
    case CLI_SWITCH:
        *(bool *) field = NULL == value || (cli_whole(value, 0, SIZE_MAX, NULL, &number) && number);
        return true;
    case CLI_SET:
        *(int *) field = (int) row->least;
        return true;
    case CLI_INT:
        if (!cli_whole(value, least, most, NULL, &number)) {
            return false;
        }
        *(unsigned *) field = (unsigned) number;
        return true;
    case CLI_SIZE:
        return cli_whole(value, least, most, NULL, field);
    case CLI_REAL:
        return cli_real(value, row->least, row->most, NULL, field);
    case CLI_WORD:
        word = cli_word(value, row->words);
        *(int *) field = word + (int) row->least;
        return word >= 0;
    case CLI_BITS:
        *(unsigned *) field = 0;
        n = cli_list(value, least, most, bits, 32);
        for (int i = 0; i < n; i++) {
            *(unsigned *) field |= 1u << bits[i];
        }
        return n > 0;
    case CLI_TEXT:
        *(const char **) field = value;
        return true;
    case CLI_HELP:
        fputs(row->allowed, stdout);
        exit(EXIT_RIGHT);
    case CLI_TAKE:
        break;
    }
    return row->take(into, value);
}

int cli_parse(const struct cli_table *tables, int n, int argc, char **argv, char *error)
{
    const struct cli_option *rows[MAX_OPTIONS];
    void *into[MAX_OPTIONS];
    struct option longs[MAX_OPTIONS + 1] = {{NULL, 0, NULL, 0}};
    char letters[2 * MAX_OPTIONS + 2] = ":";
    int option, nrows = 0, nlongs = 0, k;

    for (int t = 0; t < n; t++) {
        for (k = 0; k < tables[t].n && nrows < MAX_OPTIONS; k++, nrows++) {
            const struct cli_option *row = rows[nrows] = &tables[t].rows[k];
            into[nrows] = tables[t].into;
            if ('\0' != row->letter) {
                size_t used = strlen(letters);
                snprintf(letters + used, sizeof letters - used, "%c%s", row->letter,
                         has_value(row) ? ":" : "");
            }
            if (NULL != row->name) {
                longs[nlongs++] =
                    (struct option) {row->name, has_value(row) ? required_argument : no_argument,
                                     NULL, FIRST_LONG + nrows};
            }
        }
    }
    optind = 1;
    while (-1 != (option = getopt_long(argc, argv, letters, longs, NULL))) {
        if ('?' == option || ':' == option) {
            return refuse_option(error, option, argv, rows, nrows);
        }
        for (k = 0; option < FIRST_LONG && rows[k]->letter != option; k++) {
        }
        k = option < FIRST_LONG ? k : option - FIRST_LONG;
        if (CLI_SWITCH == rows[k]->kind && optind < argc && is_whole(argv[optind])) {
            optarg = argv[optind++];
        }
        if (!store(rows[k], into[k], optarg)) {
            return refuse(error, rows[k], optarg);
        }
    }
    return 0;
}

/* ---- exits ---- */

void cli_parse_or_exit(const struct cli_table *table, int argc, char **argv)
{
    char error[CLI_ERROR_CHARS];

    if (0 != cli_parse(table, 1, argc, argv, error)) {
        errx(EXIT_USAGE, "%s", error);
    }
}

int cli_word_or_exit(const char *what, const char *value, const char *const *words)
{
    char error[CLI_ERROR_CHARS];
    int word = cli_word(value, words);

    if (word < 0) {
        cli_refuse_word(error, what, value, words);
        errx(EXIT_USAGE, "%s", error);
    }
    return word;
}
