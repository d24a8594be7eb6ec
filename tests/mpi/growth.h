/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects growth: whether repeated work takes ever more memory, descriptors or mappings. */
#ifndef TEST_GROWTH_H
#define TEST_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Collective, with TAP lines: repeats windows of `rounds` rounds, each window with the same random
 * numbers, which the rounds draw from *calls. GPURING_SLACK_KIB: growth that is let pass (default
 * 512).
 */
void growth_check(bool (*round)(int i), int rounds, uint64_t *calls);

#endif
