/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Four processes that are the ranks of a 2x2 torus, and a relay between them: each note takes 2 ms
 * where the ranks differ in dimension 0, and 5 ms where they differ in dimension 1. Their clocks
 * are 3 s apart.
 */
#ifndef GR_TESTS_TIMING_RELAY_H
#define GR_TESTS_TIMING_RELAY_H

#include "timing/latency.h"
#include "timing/port.h"

#include <sys/types.h>

enum { P = 4 };

static const struct gr_torus torus = {.ndims = 2, .dims = {2, 2}};

struct relay_rank {
    int rank, fd;
    int64_t offset; /* of its clock */
    struct gr_port port;
    int heard[16]; /* for the test */
};

/* Start all processes, which run body and end. 0 or -1. */
int relay_start(void (*body)(struct relay_rank *r));
extern pid_t relay_pids[P];

/* Wait for the ranks, then end the relay. */
void relay_end(int status[P]);

/* ns of CLOCK_MONOTONIC, common to all; sleep so long. */
int64_t relay_now(void);
void relay_nap(int64_t ns);

/* A moment, or until a note comes: there are more ranks than cores. */
void relay_rest(const struct relay_rank *r);

/* The port's functions; ctx is the rank. */
int relay_send(void *ctx, int to, const struct gr_note *note);
int relay_poll(void *ctx, struct gr_note *note, int64_t *at);

#endif
