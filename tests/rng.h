/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tests' random numbers: splitmix64 (Steele, Lea, Flood 2014). The same seed gives the same
 * tests on any machine.
 */
#ifndef GR_TESTS_RNG_H
#define GR_TESTS_RNG_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Scatters the bits of x; equal inputs give equal outputs. */
static inline uint64_t rng_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static inline uint64_t rng_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    return rng_mix(*state);
}

/* In [0, n); n > 0. Signed, since callers subtract. */
static inline int64_t rng_below(uint64_t *state, uint64_t n)
{
    return (int64_t) (rng_next(state) % n);
}

/* A fresh state that depends on every one of three keys. */
static inline uint64_t rng_key(uint64_t a, uint64_t b, uint64_t c)
{
    return rng_mix(rng_mix(rng_mix(a + 0x9e3779b97f4a7c15ull) + b) + c);
}

/*
 * The seed of a program without MPI: GPURING_SEED, or always the same; printed at a file's first
 * call. MPI programs have test_seed, on which the ranks agree (tap.h).
 */
static inline uint64_t rng_seed(void)
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

#endif
