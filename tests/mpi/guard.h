/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers with guard zones on both sides and known contents, to detect writes outside the data. */
#ifndef TEST_GUARD_H
#define TEST_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "devmem.h"

struct guarded {
    char *data; /* bytes of it belong to the user */
    size_t bytes;
    char *base;
    char *borrowed; /* the same in memory of another kind, for MPI; NULL: not lent */
    enum devmem_kind kind;
};

/* Room for bytes, all set to the filling, misaligned by `shift` bytes (0 for aligned). */
struct guarded guarded_alloc(size_t bytes, size_t shift);

/* Data, guard zones and alignment alike. */
struct guarded guarded_copy(const struct guarded *g);

/*
 * What MPI is given: data itself, or its place in memory of the kind that the environment asks for.
 * guarded_put() copies data and guard zones there before a call, guarded_get() back after it; with
 * data itself they do nothing.
 */
char *guarded_lend(struct guarded *g);
/* of that kind, not DEVMEM_MIXED */
char *guarded_lend_kind(struct guarded *g, enum devmem_kind kind);
void guarded_put(const struct guarded *g);
void guarded_get(const struct guarded *g);

/* Are both guard zones as they were? */
bool guarded_intact(const struct guarded *g);

void guarded_free(struct guarded *g);

/* The first of n bytes in which the two differ, or -1. */
long first_difference(const char *a, const char *b, size_t n);

#endif
