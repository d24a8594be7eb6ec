/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines as tables, a row per option: one grammar and one wording of errors for all
 * programs. No MPI.
 */
#ifndef BENCH_CLI_H
#define BENCH_CLI_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_ERROR_CHARS 1024

/* Exit statuses of the programs: a result was wrong, the command line was. */
enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };

enum cli_kind {
    CLI_FLAG,   /* takes no value; the field, a bool, becomes true */
    CLI_SWITCH, /* as CLI_FLAG; a whole number may follow, and 0 makes the field false */
    CLI_SET,    /* takes no value; the field, an int or an enum, becomes `least` */
    CLI_INT,    /* a whole number; the field has an int's size */
    CLI_SIZE,   /* a whole number; the field has a size_t's size */
    CLI_REAL,   /* a number; the field is a double */
    CLI_WORD,   /* one of `words`; the field, an int or an enum, becomes its index + `least` */
    CLI_BITS,   /* whole numbers with commas between; the field, an unsigned, has these bits set */
    CLI_TEXT,   /* any text; the field, a const char *, points into argv */
    CLI_TAKE,   /* take() takes the value */
    CLI_HELP    /* takes no value; prints `allowed`, and ends the program */
};

struct cli_option {
    char letter;      /* '\0': none */
    const char *name; /* without "--"; NULL: none */
    enum cli_kind kind;
    size_t at; /* of the field in the struct that cli_table names */
    double least;
    double most;
    const char *allowed;      /* what errors say is allowed; NULL: the range, or the words */
    const char *const *words; /* the last one is NULL */
    bool (*take)(void *into, const char *value); /* whether the value is allowed */
};

struct cli_table {
    const struct cli_option *rows;
    int n;
    void *into; /* the struct that has the fields */
};

/*
 * Takes the options in argv (which getopt may reorder); optind is the first operand's index then.
 * Returns 0, or -1 with one line, without a newline, in error[CLI_ERROR_CHARS].
 */
int cli_parse(const struct cli_table *tables, int n, int argc, char **argv, char *error);

/*
 * Write the line about a value that is not allowed; value: NULL: there is none. Return -1.
 */
int cli_refuse(char *error, const char *option, const char *value, const char *allowed);
int cli_refuse_word(char *error, const char *option, const char *value, const char *const *words);

/* The index of value among the words, of which the last is NULL; -1: it is none of them. */
int cli_word(const char *value, const char *const *words);

/* The same for programs that print such a line, and exit. what: what the operand is. */
void cli_parse_or_exit(const struct cli_table *table, int argc, char **argv);
int cli_word_or_exit(const char *what, const char *value, const char *const *words);

/*
 * Numbers, with a suffix k, M or G (powers of 1024) or without. end: what follows the number; NULL:
 * nothing may. Return whether there is one from least to most.
 */
bool cli_whole(const char *text, size_t least, size_t most, const char **end, size_t *number);
bool cli_real(const char *text, double least, double most, const char **end, double *number);

/* Whole numbers with commas between them. Returns how many, or -1: that is not such a list. */
int cli_list(const char *text, size_t least, size_t most, int *list, int room);

#endif
