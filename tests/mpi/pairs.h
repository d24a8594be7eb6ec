/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-pairs choice of test cases: a case gives every factor (type, size, root ...) one of its
 * levels, and the cases together contain every allowed pair of levels of every two factors.
 */
#ifndef TEST_PAIRS_H
#define TEST_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#define PAIRS_MAX_FACTORS 8

/* May these levels go together? -1: a factor without a level yet, which allows everything. */
typedef bool (*pairs_allowed_fn)(const int *levels);

struct pairs {
    int factors;
    int levels[PAIRS_MAX_FACTORS];
    pairs_allowed_fn allowed;
    uint64_t rng;
    /* [f][g], f < g: a flag for every pair of levels */
    char *done[PAIRS_MAX_FACTORS][PAIRS_MAX_FACTORS];
};

/* levels[f]: how many levels factor f has. The same seed gives the same cases. */
void pairs_init(struct pairs *p, int factors, const int *levels, pairs_allowed_fn allowed,
                uint64_t seed);

/* The next case in chosen[], or false when every pair has been in one. */
bool pairs_next(struct pairs *p, int *chosen);

/* A random allowed case. */
void pairs_random(struct pairs *p, int *chosen);

void pairs_free(struct pairs *p);

#endif
