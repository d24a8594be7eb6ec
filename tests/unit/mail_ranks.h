/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of one mailbox world inside one process, on boards in plain memory: with any first
 * epoch, and with several calls posted that are not taken yet. A test decides whose turn it is.
 * Mailboxes of real teams are run by exec_ranks.h.
 */
#ifndef GR_TESTS_MAIL_RANKS_H
#define GR_TESTS_MAIL_RANKS_H

#include "exec_cases.h"

struct mail_shape {
    int p;
    uint32_t nsets;
    size_t bytes; /* of the largest message */
    uint64_t first;
    unsigned window; /* calls that a rank may have posted and not taken: 1..nsets */
};

struct mail_world;

struct mail_rank {
    struct mail_world *world;
    int rank;
    struct gr_mailbox box;
    struct gr_mailbox_call mails[GR_SETS]; /* call number k is [k % GR_SETS] */
    struct ex_buffers buffers[GR_SETS];
    size_t begun, posted, taken; /* calls of this run */
    uint64_t random;
    char why[160]; /* "" while all is well */
};

struct mail_world {
    struct mail_shape shape;
    struct mail_rank ranks[EX_MAX_RANKS];
    void *boards[EX_MAX_RANKS];
    const struct ex_case *cases;
    size_t ncases;
    unsigned char **want;
    uint64_t seed;   /* of all timing */
    atomic_int stop; /* some rank has failed */
    char why[512];
};

/* The boards hold what the next calls wait for, and are then cleaned. */
void mail_open(struct mail_world *w, const struct mail_shape *shape, uint64_t seed);
void mail_close(struct mail_world *w);

/*
 * Before ranks are run on the cases, and after that: 0, or -1 with why. The next run goes on with the
 * same boards.
 */
void mail_begin(struct mail_world *w, const struct ex_case *cases, size_t n);
int mail_end(struct mail_world *w);

static inline int mail_through(const struct mail_rank *r)
{
    return r->taken == r->world->ncases;
}

/* Post one call or take one, as far as it goes. 1: something moved, 0: nothing did, -1: r->why. */
int mail_poll(struct mail_rank *r);

/* Put into r->why whom it waits for. */
void mail_explain(struct mail_rank *r);

#endif
