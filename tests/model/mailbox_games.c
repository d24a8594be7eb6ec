/* SPDX-License-Identifier: BSD-3-Clause */
/* The games of mailbox_explore.h, by number: sequences of calls to explore. */
#include "mailbox_explore.h"

#include "exec_data.h"

#include <stdio.h>

enum { UNROOTED = 5 }; /* kinds of calls that have no root */

uint64_t mx_games(int p, int ncalls)
{
    uint64_t n = 1;

    for (; ncalls > 0; ncalls--) {
        n *= (uint64_t) (UNROOTED + 2 * p);
    }
    return n;
}

static struct mx_call kind(int p, int k)
{
    static const struct mx_call unrooted[UNROOTED] = {{GR_COLL_ALLREDUCE, 0, -1},
                                                      {GR_COLL_ALLGATHER, 0, -1},
                                                      {GR_COLL_ALLGATHER, 0, 0},
                                                      {GR_COLL_REDUCE_SCATTER, 0, -1},
                                                      {GR_COLL_REDUCE_SCATTER, 0, 1}};

    if (k < UNROOTED) {
        return unrooted[k];
    }
    return (struct mx_call) {k - UNROOTED < p ? GR_COLL_BCAST : GR_COLL_REDUCE, (k - UNROOTED) % p,
                             -1};
}

struct mx_game mx_game(int p, uint32_t nsets, uint64_t first, int ncalls, uint64_t k)
{
    struct mx_game g = {.p = p, .nsets = nsets, .first = first, .ncalls = ncalls};
    uint64_t kinds = (uint64_t) (UNROOTED + 2 * p);
    int call;

    for (call = 0; call < ncalls; call++, k /= kinds) {
        g.calls[call] = kind(p, (int) (k % kinds));
    }
    return g;
}

const char *mx_describe(const struct mx_game *g, char *text, size_t size)
{
    int n = snprintf(text, size, "p=%d nsets=%u first=%llu:", g->p, (unsigned) g->nsets,
                     (unsigned long long) g->first);
    int call;

    for (call = 0; call < g->ncalls && n < (int) size - 40; call++) {
        const struct mx_call *c = &g->calls[call];

        n += snprintf(text + n, size - (size_t) n, " %s", gr_coll_name(c->coll));
        if (!ex_has_blocks(c->coll)) {
            n += snprintf(text + n, size - (size_t) n, "(%d)", c->root);
        } else if (c->hollow >= 0) {
            n += snprintf(text + n, size - (size_t) n, "(%d empty)", c->hollow);
        }
    }
    return text;
}
