/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmocka, and what its header wants before it. Each test gets a state, and few look at it: there is
 * no warning about it.
 */
#ifndef GR_TESTS_CMOCKA_TEST_H
#define GR_TESTS_CMOCKA_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
