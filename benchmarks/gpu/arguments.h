/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns the command line of gpuring_gpu: gpuring_bench's, and what concerns ranks, links and NCCL.
 */
#ifndef BENCH_GPU_ARGUMENTS_H
#define BENCH_GPU_ARGUMENTS_H

#include "run.h"

struct arguments {
    struct run_options run;
    struct world_shape shape; /* root and algorithm are those of a run */
    int ranks;
    int algo; /* -1: all that a collective has */
    int processes;
    int costs;
    size_t step;         /* factor from one size to the next */
    const char *library; /* NCCL's, or NULL */
    const char *json;    /* file that has the JSON besides, or NULL */
    char error[OPTIONS_ERROR_CHARS];
};

/* 0, or -1 with a line in arguments->error. */
int arguments_parse(struct arguments *arguments, int argc, char **argv);

void arguments_help(void);

#endif
