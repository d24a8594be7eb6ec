/* SPDX-License-Identifier: BSD-3-Clause */
/* gpuring_gpu's command line: gpuring_bench's, and options for ranks, links and NCCL. */
#ifndef BENCH_GPU_ARGUMENTS_H
#define BENCH_GPU_ARGUMENTS_H

#include "run.h"

struct arguments {
    struct run_options run;
    struct world_shape shape; /* root and algo are set for each run */
    int ranks;
    int algo; /* GR_NALGOS: all that a collective has */
    bool processes;
    bool costs;
    bool attributes;     /* only what the driver says of the device */
    const char *library; /* libnccl.so.2; NULL: no NCCL */
    const char *json;    /* a file for JSON besides the table; NULL: none */
    char error[CLI_ERROR_CHARS];
};

/* 0, or -1 with a line in arguments->error. */
int arguments_parse(struct arguments *arguments, int argc, char **argv);

void arguments_help(void);

#endif
