/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeded random numbers of the tests: the same seed gives the same tests on any machine. */
#include "symbolic.h"

#include <stdio.h>
#include <stdlib.h>

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t sym_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t sym_below(uint64_t *state, uint64_t n)
{
    return sym_random(state) % n;
}

uint64_t sym_seed(void)
{
    static int printed;
    const char *text = getenv("GPURING_SEED");
    uint64_t seed = NULL != text ? strtoull(text, NULL, 0) : 20090817;

    if (!printed) {
        printf("# GPURING_SEED=%llu\n", (unsigned long long) seed);
        printed = 1;
    }
    return seed;
}
