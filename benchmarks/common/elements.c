/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The test pattern of elements.h.
 *
 * Every value, and every result in whatever order it is computed, is a small integer: exact in each
 * floating-point type, and inside the range of the integer types wherever the number of ranks
 * permits (Open MPI's op/avx saturates 8- and 16-bit sums where others wrap; MPI allows both).
 */
#include "elements.h"

#include <string.h>

#define STORE(name, ctype)                                             \
    static void store_##name(void *array, size_t index, int64_t value) \
    {                                                                  \
        ((ctype *) array)[index] = (ctype) value;                      \
    }
STORE(int8, int8_t)
STORE(uint8, uint8_t)
STORE(int16, int16_t)
STORE(uint16, uint16_t)
STORE(int32, int32_t)
STORE(uint32, uint32_t)
STORE(int64, int64_t)
STORE(uint64, uint64_t)
STORE(float, float)
STORE(double, double)

static uint32_t float_bits(int64_t value)
{
    float number = (float) value;
    uint32_t bits;

    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static void store_bfloat16(void *array, size_t index, int64_t value)
{
    ((uint16_t *) array)[index] = (uint16_t) (float_bits(value) >> 16);
}

/* The exponent of a half has 5 bits and a bias of 15, that of a float 8 bits and one of 127. */
static void store_half(void *array, size_t index, int64_t value)
{
    uint32_t bits = float_bits(value), rest = bits >> 13 & 0x3ffff;

    ((uint16_t *) array)[index] =
        (uint16_t) ((bits >> 16 & 0x8000) | (0 == value ? 0 : rest - ((127 - 15) << 10)));
}

const struct element_type element_types[ELEMENT_TYPES] = {
    {"int8", "char", 1, true, 0, store_int8},     {"uint8", "byte", 1, false, 0, store_uint8},
    {"int16", NULL, 2, true, 0, store_int16},     {"uint16", NULL, 2, false, 0, store_uint16},
    {"int32", "int", 4, true, 0, store_int32},    {"uint32", NULL, 4, false, 0, store_uint32},
    {"int64", NULL, 8, true, 0, store_int64},     {"uint64", NULL, 8, false, 0, store_uint64},
    {"half", "float16", 2, true, 11, store_half}, {"bfloat16", "bf16", 2, true, 8, store_bfloat16},
    {"float", NULL, 4, true, 24, store_float},    {"double", NULL, 8, true, 53, store_double},
};

const char *const element_op_names[ELEMENT_OPS + 1] = {"sum",  "prod", "min",  "max",
                                                       "band", "bor",  "bxor", NULL};

bool element_op_applies(enum element_op op, enum element_type_id type)
{
    return op < ELEMENT_BAND || 0 == element_types[type].exact_bits;
}

/* splitmix64 (Steele, Lea, Flood 2014): neighbours in rank, index or seed look unrelated. */
static uint64_t hash(unsigned seed, int source, size_t index)
{
    uint64_t z = ((uint64_t) seed << 48 ^ (uint64_t) source << 16 ^ index) * 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Small enough that the sum over all ranks fits into the type, if any value but 0 is. */
static int64_t value_sum(const struct element_rule *rule, uint64_t h)
{
    int64_t top = rule->type->is_signed ? 127 : 255;
    int64_t limit = top / rule->ranks;

    limit = limit < 1 ? 1 : limit > 8 ? 8 : limit;
    if (!rule->type->is_signed) {
        return (int64_t) (h % (uint64_t) (limit + 1));
    }
    return (int64_t) (h % (uint64_t) (2 * limit + 1)) - limit;
}

/* At most six ranks contribute a 2 to an element, so that 64 bounds the product. */
static int64_t value_prod(const struct element_rule *rule, int source, size_t index, uint64_t h)
{
    size_t stride = ((size_t) rule->ranks + 5) / 6;
    int64_t magnitude = (size_t) source % stride == index % stride ? 2 : 1;

    return rule->type->is_signed && h & 1 ? -magnitude : magnitude;
}

static int64_t value_order(const struct element_rule *rule, uint64_t h)
{
    return (int64_t) (h % 121) - (rule->type->is_signed ? 60 : 0);
}

/* About four ranks set a bit of every byte, so that the union is neither none nor all. */
static int64_t value_bits(const struct element_rule *rule, uint64_t h)
{
    if ((h >> 8) % (uint64_t) rule->ranks >= 4) {
        return 0;
    }
    return (int64_t) (0x0101010101010101u << (h & 7));
}

static int64_t value(const struct element_rule *rule, int source, size_t index)
{
    uint64_t h = hash(rule->seed, source, index);

    switch (rule->op) {
    case ELEMENT_SUM:
        return value_sum(rule, h);
    case ELEMENT_PROD:
        return value_prod(rule, source, index, h);
    case ELEMENT_MIN:
    case ELEMENT_MAX:
        return value_order(rule, h);
    case ELEMENT_BAND:
        return ~value_bits(rule, h);
    case ELEMENT_BOR:
        return value_bits(rule, h);
    case ELEMENT_BXOR:
        return (int64_t) h;
    case ELEMENT_MOVE:
        break;
    }
    return 0 == rule->type->exact_bits ? (int64_t) h
                                       : (int64_t) (h >> (64 - rule->type->exact_bits));
}

/* Unsigned arithmetic, because there a wrap is defined; its low bits are those of every type. */
static int64_t combine(enum element_op op, int64_t a, int64_t b)
{
    switch (op) {
    case ELEMENT_SUM:
        return (int64_t) ((uint64_t) a + (uint64_t) b);
    case ELEMENT_PROD:
        return (int64_t) ((uint64_t) a * (uint64_t) b);
    case ELEMENT_MIN:
        return a < b ? a : b;
    case ELEMENT_MAX:
        return a > b ? a : b;
    case ELEMENT_BAND:
        return a & b;
    case ELEMENT_BOR:
        return a | b;
    case ELEMENT_BXOR:
        return a ^ b;
    case ELEMENT_MOVE:
        break;
    }
    return a;
}

void element_tile_input(const struct element_rule *rule, int source, void *tile)
{
    for (size_t i = 0; i < ELEMENT_TILE; i++) {
        rule->type->store(tile, i, value(rule, source, i));
    }
}

void element_tile_reduced(const struct element_rule *rule, int n, void *tile)
{
    for (size_t i = 0; i < ELEMENT_TILE; i++) {
        int64_t all = value(rule, 0, i);
        for (int r = 1; r < n; r++) {
            all = combine(rule->op, all, value(rule, r, i));
        }
        rule->type->store(tile, i, all);
    }
}
