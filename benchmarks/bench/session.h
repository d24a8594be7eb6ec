/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of gpuring_bench share: the options, this rank's place, and what went wrong. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include "common/moves.h"
#include "common/options.h"
#include "mpit.h"

#include <stdlib.h>
#include <string.h>

struct session {
    struct options options;
    struct mpit mpit; /* counters of gpuring's algorithms */
    int rank;
    int ranks;
    int node_ranks; /* of this rank's node; 0: not known yet */
    bool wrong;     /* rank 0's: a result was wrong */
    char error[CLI_ERROR_CHARS];
};

/*
 * Before buffers of so many bytes are allocated: whether each node has that much memory for each of
 * its ranks whose buffers are on the host. Returns 0; or -1 on every rank, with a line in rank 0's
 * error.
 */
int session_reserve(struct session *session, size_t bytes);

/* Writes the line to session->error. Returns -1. */
static inline int session_fail(struct session *s, const char *text)
{
    snprintf(s->error, sizeof s->error, "%s", text);
    return -1;
}

/* Whether GPURING_BENCH_CORRUPT makes this rank's output wrong, which tests ask for. */
static inline bool session_corrupts(const struct session *s, const struct shape *shape)
{
    const char *wanted = getenv("GPURING_BENCH_CORRUPT");
    bool chosen =
        shape->moves->flags & MOVES_TO_ROOT ? s->rank == shape->root : s->rank == s->ranks - 1;

    return NULL != wanted && 0 == strcmp(wanted, "1") && chosen;
}

#endif
