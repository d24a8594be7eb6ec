/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program from its command line to its exit status: what gpuring_bench and gpuring_together
 * share.
 */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "common/options.h"
#include "mpit.h"

struct session {
    const char *name; /* of the program */
    struct options options;
    struct mpit mpit; /* counters of gpuring's algorithms */
    int rank;
    int ranks;
    bool wrong; /* rank 0's: a result was wrong */
    char error[CLI_ERROR_CHARS];
};

struct session_program {
    /* Before MPI_Init. Returns 0, or -1 with a line in session->error. */
    int (*parse)(struct session *session, int argc, char **argv);
    void (*help)(FILE *out);
    /* Returns 0; or -1 on every rank, on rank 0 with a line in session->error. */
    int (*run)(struct session *session);
};

/* Returns the exit status. Rank 0 prints an error line, behind the program's name. */
int session_run(struct session *session, const struct session_program *program, int argc,
                char **argv);

/* Writes the line to session->error. Returns -1. */
int session_fail(struct session *session, const char *text);

#endif
