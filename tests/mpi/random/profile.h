/* SPDX-License-Identifier: BSD-3-Clause */
/* What a random program is mostly made of: the weights of its draw. */
#ifndef RANDOM_PROFILE_H
#define RANDOM_PROFILE_H

#include <stdbool.h>

#include "program.h"

/* Collectives are all of these. */
enum { WHICH_EIGHT = 1, WHICH_OTHERS = 2, WHICH_MOVES = 4, WHICH_REDUCTIONS = 8 };

struct profile {
    const char *name;
    const char *forms; /* a call has any of these: b, n, and p at the end */
    int messages, comms, frees, starts, releases; /* percent of the steps; the rest: collectives */
    unsigned which;
    int derived;     /* of 3 calls that move data */
    int in_place;    /* of 4 calls */
    int nonsense;    /* of 3 calls */
    bool every, big; /* before the programs those of cases: see program_of_cases */
    int users; /* of 2 draws of a user-defined operation, those that are taken; 2: and no others */
    int again; /* percent of the steps after a collective that is not persistent: the same again */
};

/* The weights of programs without a profile. */
extern const struct profile profile_usual;

/* Changes *p by the profiles in a list "persistent,types"; false: one of them does not exist. */
bool profile_apply(struct profile *p, const char *names);

/* One of the eight collectives that gpuring carries out itself. */
bool collective_is_of_eight(enum collective what);

/* Whether a program of this profile has the collective, on an intercommunicator or not. */
bool profile_has(const struct profile *p, enum collective what, bool inter);

#endif
