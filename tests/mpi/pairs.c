/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-pairs choice (pairs.h), greedy: start from an uncovered pair, then give each further factor
 * the level that covers the most new pairs; ties are broken at random.
 */
#include "pairs.h"

#include <stdlib.h>

#include "rng.h"

static char *flag(const struct pairs *p, int f, int a, int g, int b)
{
    return f < g ? &p->done[f][g][a * p->levels[g] + b] : &p->done[g][f][b * p->levels[f] + a];
}

static void clear(const struct pairs *p, int *chosen)
{
    for (int f = 0; f < p->factors; f++) {
        chosen[f] = -1;
    }
}

void pairs_init(struct pairs *p, int factors, const int *levels, pairs_allowed_fn allowed,
                uint64_t seed)
{
    int chosen[PAIRS_MAX_FACTORS];

    p->factors = factors;
    p->allowed = allowed;
    p->rng = seed;
    for (int f = 0; f < factors; f++) {
        p->levels[f] = levels[f];
    }
    for (int f = 0; f < factors; f++) {
        for (int g = f + 1; g < factors; g++) {
            p->done[f][g] = calloc((size_t) (levels[f] * levels[g]), 1);
            for (int i = 0; i < levels[f] * levels[g]; i++) {
                clear(p, chosen);
                chosen[f] = i / levels[g];
                chosen[g] = i % levels[g];
                p->done[f][g][i] = (char) !allowed(chosen);
            }
        }
    }
}

static bool find_new_pair(const struct pairs *p, int *chosen)
{
    for (int f = 0; f < p->factors; f++) {
        for (int g = f + 1; g < p->factors; g++) {
            for (int i = 0; i < p->levels[f] * p->levels[g]; i++) {
                if (!p->done[f][g][i]) {
                    chosen[f] = i / p->levels[g];
                    chosen[g] = i % p->levels[g];
                    return true;
                }
            }
        }
    }
    return false;
}

/*
 * New pairs that level a of factor f makes with what is chosen so far; -1 when it is not allowed.
 */
static int gain(const struct pairs *p, int *chosen, int f, int a)
{
    int n = 0;

    chosen[f] = a;
    if (!p->allowed(chosen)) {
        n = -1;
    }
    for (int g = 0; n >= 0 && g < p->factors; g++) {
        if (g != f && chosen[g] >= 0) {
            n += !*flag(p, f, a, g, chosen[g]);
        }
    }
    chosen[f] = -1;
    return n;
}

static int best_level(struct pairs *p, int *chosen, int f)
{
    int best = 0, best_gain = -1, n = p->levels[f];
    int start = rng_below(&p->rng, n);

    for (int i = 0; i < n; i++) {
        int a = (start + i) % n;
        int new_pairs = gain(p, chosen, f, a);

        if (new_pairs > best_gain) {
            best = a;
            best_gain = new_pairs;
        }
    }
    return best;
}

bool pairs_next(struct pairs *p, int *chosen)
{
    clear(p, chosen);
    if (!find_new_pair(p, chosen)) {
        return false;
    }
    for (int f = 0; f < p->factors; f++) {
        if (chosen[f] < 0) {
            chosen[f] = best_level(p, chosen, f);
        }
    }
    for (int f = 0; f < p->factors; f++) {
        for (int g = f + 1; g < p->factors; g++) {
            *flag(p, f, chosen[f], g, chosen[g]) = 1;
        }
    }
    return true;
}

void pairs_random(struct pairs *p, int *chosen)
{
    do {
        for (int f = 0; f < p->factors; f++) {
            chosen[f] = rng_below(&p->rng, p->levels[f]);
        }
    } while (!p->allowed(chosen));
}

void pairs_free(struct pairs *p)
{
    for (int f = 0; f < p->factors; f++) {
        for (int g = f + 1; g < p->factors; g++) {
            free(p->done[f][g]);
        }
    }
}
