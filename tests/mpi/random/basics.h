/* SPDX-License-Identifier: BSD-3-Clause */
/* The types whose elements are moved and reduced: all predefined ones, and those of two words. */
#ifndef RANDOM_BASICS_H
#define RANDOM_BASICS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum basic_class {
    WHOLE,
    NATURAL,
    FOREIGN, /* whole numbers of Fortran and of several languages: no logical operations */
    REAL,
    COMPLEX,
    TRUTH,
    BITS,
    MOVED, /* no operations */
    PAIR,
    MAP
};

enum format { NO_FIELD, INTEGER, SHORT, WORD, LONG, SINGLE, DOUBLE, EXTENDED, QUAD };

struct field {
    int at;
    enum format format;
    int bytes; /* set by basics_open: those that count; what lies behind them is padding */
};

struct basic {
    const char *name;
    MPI_Datatype type;
    enum basic_class class;
    bool first; /* of a kind; further ones of that kind follow */
    struct field fields[2];
    /* set by basics_open */
    int bytes; /* extent; 0: this Open MPI does not have the type */
    int data;  /* bytes from its begin to the end of its data: the last one may have no more */
    bool sign_unsure; /* Open MPI orders it with the wrong sign in some versions */
};

extern struct basic basics[];
extern const int num_basics;
extern const int basic_spaced; /* two words behind a gap */

/* Those that a kind begins with, in the order of the table. */
extern int num_basic_kinds;
int basic_first(int kind);

/* After MPI_Init: makes the two of words, and sees which of the others there are. */
void basics_open(void);
void basics_close(void);

/* Reals are kept as whole numbers of 1 / UNIT. */
#define UNIT ((int64_t) 1 << 20)

/* Writes a field of an element. */
void field_store(const struct field *f, char *element, int64_t value);

#endif
