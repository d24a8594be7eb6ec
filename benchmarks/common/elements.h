/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Element types, operations, and the test pattern: which value each rank puts at each index, and
 * what the reduction of all ranks' values must be, exactly. No MPI.
 *
 * The pattern repeats every ELEMENT_TILE elements. That is a prime, so that data which land a power
 * of two (a chunk, a slot) away from their place are found wrong.
 */
#ifndef BENCH_ELEMENTS_H
#define BENCH_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELEMENT_TILE 8191

/* In the order of element_types[]. */
enum element_type_id {
    ELEMENT_INT8,
    ELEMENT_UINT8,
    ELEMENT_INT16,
    ELEMENT_UINT16,
    ELEMENT_INT32,
    ELEMENT_UINT32,
    ELEMENT_INT64,
    ELEMENT_UINT64,
    ELEMENT_HALF,
    ELEMENT_BFLOAT16,
    ELEMENT_FLOAT,
    ELEMENT_DOUBLE,
    ELEMENT_TYPES
};

struct element_type {
    const char *name;
    const char *alias; /* another name for it, or NULL */
    size_t size;
    bool is_signed;
    int exact_bits; /* of floating point: whole numbers of so many bits are exact; else 0 */
    void (*store)(void *array, size_t index, int64_t value); /* integers keep the low bits */
};

extern const struct element_type element_types[ELEMENT_TYPES];

enum element_op {
    ELEMENT_SUM,
    ELEMENT_PROD,
    ELEMENT_MIN,
    ELEMENT_MAX,
    ELEMENT_BAND,
    ELEMENT_BOR,
    ELEMENT_BXOR,
    ELEMENT_OPS,
    ELEMENT_MOVE = ELEMENT_OPS /* no operation: elements only travel */
};

extern const char *const element_op_names[ELEMENT_OPS + 1]; /* the last one is NULL */

/* Floating-point numbers have no bits to operate on. */
bool element_op_applies(enum element_op op, enum element_type_id type);

struct element_rule {
    const struct element_type *type;
    enum element_op op;
    int ranks;
    unsigned seed; /* another seed gives other data */
};

/* Writes the ELEMENT_TILE elements that rank source contributes. */
void element_tile_input(const struct element_rule *rule, int source, void *tile);

/*
 * Writes the ELEMENT_TILE elements that rule->op makes of the inputs of the first n ranks, at least
 * one.
 */
void element_tile_reduced(const struct element_rule *rule, int n, void *tile);

#endif
