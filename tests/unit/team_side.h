/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a team, alone in this process: the test is all other ranks, and the network. */
#ifndef GR_TESTS_TEAM_SIDE_H
#define GR_TESTS_TEAM_SIDE_H

#include "cmocka_test.h"

#include "link/connect.h"

enum { SIDE_MOST = 16, SIDE_SLOTS = 4, SIDE_SLOT = 256 };
enum { SIDE_SMALL_SLOTS = 8, SIDE_NOTE_SLOTS = 2, SIDE_SHORT = 64 };

struct side {
    struct gr_pool *pool;
    struct gr_team *team;
    struct gr_join join;
};

/* Rank 0 of p. remote: as in struct gr_team. */
static inline struct gr_team_params side_params(int p, uint32_t nchannels,
                                                const unsigned char *remote)
{
    static const int32_t pids[SIDE_MOST];

    return (struct gr_team_params) {.p = p,
                                    .nchannels = nchannels,
                                    .nslots = SIDE_SLOTS,
                                    .slot_bytes = SIDE_SLOT,
                                    .nsets = 2,
                                    .mailbox_bytes = SIDE_SHORT,
                                    .record_bytes = SIDE_SHORT,
                                    .small_slots = SIDE_SMALL_SLOTS,
                                    .small_bytes = SIDE_SHORT,
                                    .note_slots = SIDE_NOTE_SLOTS,
                                    .note_bytes = SIDE_SHORT,
                                    .pids = pids,
                                    .remote = remote,
                                    .direct = 1};
}

static inline void side_open(struct side *s, const struct gr_team_params *params)
{
    s->pool = gr_pool_open((struct gr_peer_id) {1, 0}, (size_t) 1 << 20);
    assert_non_null(s->pool);
    s->team = gr_team_create(params);
    assert_non_null(s->team);
}

/* Begin a set-up: the slabs are there. */
static inline void side_join(struct side *s, int use, uint32_t nchannels)
{
    assert_int_equal(gr_team_join(&s->join, s->team, s->pool, use, 0, nchannels), 0);
    assert_int_equal(s->join.status, 0);
}

/* The set-up ends, with this status on all ranks. */
static inline void side_end_join(struct side *s, int status, int direct)
{
    struct gr_join_agreement agreed = {.host = {status, direct}};

    gr_join_end(&s->join, status, &agreed);
}

static inline void side_close(struct side *s)
{
    gr_team_destroy(s->team, s->pool);
    gr_pool_close(s->pool);
}

#endif
