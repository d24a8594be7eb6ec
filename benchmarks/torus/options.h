/* SPDX-License-Identifier: BSD-3-Clause */
/* torus_sim's command line: grammar, defaults, help and error messages. */
#ifndef TORUS_OPTIONS_H
#define TORUS_OPTIONS_H

#include "schemes.h"

#include <stdbool.h>

#define MAX_SIZES 64

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

enum task {
    TASK_SIMULATE,     /* one schedule on one torus */
    TASK_FIGURE,       /* the published evaluation */
    TASK_SYNC_PACKETS, /* how many packets a sync takes */
    TASK_PROJECT       /* an allreduce by several algorithms on many sizes of torus */
};

struct options {
    enum task task;
    int source;        /* an enum source_algo; -1: an Alltoall */
    enum gr_algo algo; /* of an Alltoall */
    uint32_t chunks;   /* of the pipelines of tree and mst */
    struct machine machine;
    double bytes[MAX_SIZES];
    int nbytes;
    bool torus_given;
    unsigned mesh;      /* bit d: dimension d is a line; torus has it, too */
    double overhead;    /* ns of each message, in a projection */
    struct sizes sizes; /* bytes: not used */
    struct noise noise;
    unsigned schemes; /* bit s: scheme s */
    int packets;      /* 1: by --model; model says it, too */
    const struct model *model;
    double packet;
    enum format format;
    const char *file; /* NULL: stdout */
    bool progress;
};

/* Parses argv. Exits after -h, and with status 2 and one line on stderr after an error. */
void options_parse(struct options *o, int argc, char **argv);

/* "16x16x16", with a bar behind a dimension that is a line; points to static memory. */
const char *torus_text(const struct gr_torus *torus);

#endif
