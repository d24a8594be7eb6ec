/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of the cases of the fake driver and of the fake runtime, in C, C++ and CUDA. The first
 * thing that is not as it should be ends the program with 1 and a line.
 */
#ifndef FAKES_CASE_CHECKS_H
#define FAKES_CASE_CHECKS_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

/* The call returns `wanted`, of `type`, whose values name_of() names. */
#define CHECK_RESULT(type, name_of, wanted, call)                                                  \
    do {                                                                                           \
        type got_ = (call);                                                                        \
        if ((wanted) != got_) {                                                                    \
            fprintf(stderr, "%s:%d: %s is %s, not %s\n", __FILE__, __LINE__, #call, name_of(got_), \
                    #wanted);                                                                      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
