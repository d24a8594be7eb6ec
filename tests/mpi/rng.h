/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the tests' random numbers: splitmix64, a pure function of its state, alike everywhere. */
#ifndef TEST_RNG_H
#define TEST_RNG_H

#include <stdint.h>

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

/* In [0, n); n > 0. */
static inline int rng_below(uint64_t *state, int n)
{
    return (int) (rng_next(state) % (uint64_t) n);
}

/* A fresh state that depends on every one of three keys. */
static inline uint64_t rng_key(uint64_t a, uint64_t b, uint64_t c)
{
    return rng_mix(rng_mix(rng_mix(a + 0x9e3779b97f4a7c15ull) + b) + c);
}

#endif
