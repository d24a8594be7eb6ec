/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_bench --together=K,...: do K small collectives that are started together cost less than K
 * one after the other?
 *
 *     one after the other:   start 1, wait 1, start 2, wait 2, ... start K, wait K
 *     together:              start 1, start 2, ... start K, wait for all
 *
 * Both are timed in the same run, in short blocks that take turns, so that other load on the
 * machine affects both.
 */
#ifndef BENCH_TOGETHER_H
#define BENCH_TOGETHER_H

#include "session.h"

#include <stdio.h>

enum { TOGETHER_MOST_KS = 16, TOGETHER_MOST_K = 1024 };

struct together {
    int k[TOGETHER_MOST_KS]; /* numbers of calls */
    int n;                   /* in k[]; 0: not asked for */
};

/*
 * Times every collective and size of the options, in their nonblocking or persistent form; rank 0
 * writes to out. Returns 0; or -1 on every rank, with a line in session->error unless out failed.
 */
int together_run(struct session *session, const struct together *together, FILE *out);

#endif
