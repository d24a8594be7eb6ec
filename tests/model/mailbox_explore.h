/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All orders in which ranks can post and take a few calls through mailboxes, one after the other:
 * whatever the order, nobody is stuck, no set is used again before all have taken what was in it,
 * and results are right.
 *
 * A rank may at any time try to post its next call, or to take its next one. From each state that
 * is reached every such try is made; states that were seen before are not gone into again.
 */
#ifndef GR_TESTS_MAILBOX_EXPLORE_H
#define GR_TESTS_MAILBOX_EXPLORE_H

#include "exec/mailbox.h"

enum { MX_RANKS = 4, MX_CALLS = 8, MX_SETS = 4 };

struct mx_call {
    enum gr_coll coll;
    int root;
    int hollow; /* the rank whose block is empty, or -1 (allgather, reduce_scatter) */
};

struct mx_game {
    int p;
    uint32_t nsets;
    uint64_t first;
    int ncalls;
    struct mx_call calls[MX_CALLS];
};

enum mx_fault {
    MX_OK,
    MX_STUCK,    /* nobody can go on, and not all are through */
    MX_OVERRUN,  /* a set was used again that somebody has not taken */
    MX_NEEDLESS, /* a post was put off that nobody is in the way of */
    MX_RESULT,   /* a wrong result, or one where there must be none */
    MX_REPORT,   /* a waiting rank does not name those whom it waits for */
    MX_NFAULTS
};

/*
 * Play the game in all orders. *states is increased by the states seen; why: who did what when it
 * went wrong first.
 */
enum mx_fault mx_explore(const struct mx_game *game, uint64_t *states, char *why, size_t size);

/*
 * Game number k with so many calls out of all; mx_games() says how many there are. Each call is one
 * of: allreduce; allgather and reduce_scatter, also with one empty block; bcast and reduce from
 * each root.
 */
uint64_t mx_games(int p, int ncalls);
struct mx_game mx_game(int p, uint32_t nsets, uint64_t first, int ncalls, uint64_t k);

#endif
