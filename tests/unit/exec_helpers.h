/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the executor tests. To be included after cmocka_test.h. */
#ifndef GR_TESTS_EXEC_HELPERS_H
#define GR_TESTS_EXEC_HELPERS_H

#include "exec_cases.h"

#include "rng.h"

enum { POOL_BYTES = 64 << 20 };

static uint64_t seed;

static inline void open_world(struct ex_world *w, int p, uint32_t nchannels, uint32_t nslots,
                              size_t slot_bytes, const char *torus)
{
    struct gr_team_params params = {.p = p,
                                    .nchannels = nchannels,
                                    .nslots = nslots,
                                    .slot_bytes = slot_bytes,
                                    .nsets = 2u << rng_below(&seed, 3),
                                    .mailbox_bytes = 300 + rng_below(&seed, 4000)};

    assert_int_equal(gr_torus_parse(torus, &params.torus), 0);
    if (0 != ex_open(w, &params, POOL_BYTES, rng_next(&seed))) {
        fail_msg("%s", w->why);
    }
    w->one_in = 3;
}

static inline void run(struct ex_world *w, const struct ex_case *cases, size_t n, enum ex_mode mode)
{
    if (0 != ex_run(w, cases, n, mode)) {
        fail_msg("%s", w->why);
    }
}

static inline struct gr_mailbox *mailbox_of(const struct ex_world *w, int rank)
{
    return &w->ranks[rank].team->boards[GR_BOARDS_MAILBOX].box;
}

static inline void needs_to_fetch(void)
{
    if (!ex_can_fetch()) {
        printf("# process_vm_readv is not permitted here: no direct plans\n");
        skip();
    }
}

/* Half of the cases that can be direct plans become such. */
static inline void make_half_direct(struct ex_batch *b, const struct ex_world *w)
{
    size_t k;

    for (k = 0; k < b->n && ex_can_fetch(); k++) {
        if (GR_ALGO_MAILBOX != b->cases[k].algo && 0 == rng_below(b->random, 2)) {
            ex_make_direct(b, w, &b->cases[k]);
        }
    }
}

/* A case of 500 elements for every way. */
static inline void add_one(struct ex_batch *b, const struct ex_world *w, int algo,
                           enum gr_coll coll)
{
    ex_add(b, w, algo, coll)->count = 500;
}

#endif
