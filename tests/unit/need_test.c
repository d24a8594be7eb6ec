/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a set-up of links is said to need (link/team.h), beside what it reserves and sends, for all
 * algorithms on one node; between nodes for one rank of each. Seed: GPURING_SEED.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#include "exec_helpers.h"
#include "team_side.h"

#include "link/team.h"

/* Rounds of the agreement, each with a message. */
static int rounds_of(int p)
{
    int rounds = 0;

    for (; 1 << rounds < p; rounds++) {
    }
    return rounds;
}

/* Make the links of a way in a new team, and compare. */
static void compare(struct ex_world *w, int way, int root, uint32_t nchannels)
{
    struct gr_need need = gr_team_need(w->ranks[0].team, way, nchannels);
    size_t all = 0, most = 0;
    int r;

    w->channels = nchannels;
    assert_int_equal(ex_link(w, way, root), 0);
    for (r = 0; r < w->params.p; r++) {
        const struct gr_channel_set *set = gr_team_channel_set(w->ranks[r].team, way);
        size_t leased = gr_pool_usage(w->ranks[r].pool).leased,
               n = nchannels * (size_t) w->params.p, k;
        int in = 0;

        for (k = 0; k < n; k++) {
            in += NULL != set->in[k].shared;
        }
        assert_int_equal(
            leased, (size_t) in * ((gr_link_bytes(set->nslots, set->slot_bytes) + 63) / 64 * 64));
        assert_true(in <= need.links);
        /* a handle for each incoming link */
        assert_true(in + rounds_of(w->params.p) <= need.messages);
        most = leased > most ? leased : most;
        all += leased;
    }
    assert_true(most <= need.most_bytes && need.bytes <= need.most_bytes);
    assert_true(all <= need.bytes * (size_t) w->params.p);
    /* no formula says more than twice what some rank needs */
    assert_true(2 * most >= need.most_bytes);
}

static void compare_all(int p, uint32_t nchannels, const char *torus)
{
    struct ex_world w;
    int way, root;

    open_world(&w, p, nchannels, 3, 256, torus);
    for (way = 0; way < GR_NALGOS; way++) {
        if (!gr_algo_fits((enum gr_algo) way, p, &w.params.torus)) {
            continue;
        }
        for (root = 0; root < (gr_algo_is_rooted((enum gr_algo) way) ? p : 1); root += 3) {
            compare(&w, way, root, nchannels);
            ex_leave(&w);
            assert_int_equal(ex_team(&w), 0);
        }
    }
    ex_close(&w);
}

static void as_set_ups_reserve(void **state)
{
    int p;

    for (p = 2; p <= 16; p++) {
        compare_all(p, 1 + (uint32_t) p % 3, "");
    }
    compare_all(8, 2, "2x4");
    compare_all(16, 2, "4x4");
    compare_all(12, 1, "2x2x3");
}

/*
 * This process's end only, of a rank that is alone on its node: slabs at both ends of each link,
 * and a reply to each handle. Ways with a number of links that all ranks have.
 */
static void between_nodes(void **state)
{
    static const enum gr_algo ways[] = {GR_ALGO_RING, GR_ALGO_FLAT, GR_ALGO_PAIRWISE,
                                        GR_ALGO_DOUBLING};
    enum { P = 8 };
    static const unsigned char remote[P] = {0, 1, 1, 1, 1, 1, 1, 1};
    struct gr_team_params params = side_params(P, 2, remote);
    struct side s;
    size_t k;

    for (k = 0; k < 2 * sizeof(ways) / sizeof(ways[0]); k++) {
        int way = (k % 2 ? GR_USE_SMALL : 0) + (int) ways[k / 2];
        struct gr_need need;

        side_open(&s, &params);
        need = gr_team_need(s.team, way, 2);
        side_join(&s, way, 2);
        assert_int_equal(s.join.in.n, need.links);
        assert_int_equal(s.join.in.n + s.join.out.n - s.join.out.near + rounds_of(P),
                         need.messages);
        assert_int_equal(gr_pool_usage(s.pool).leased, need.bytes);
        assert_int_equal(need.bytes, need.most_bytes);
        side_end_join(&s, GR_ERR_NET, 0);
        side_close(&s);
    }
}

/* Links for notes of a team of 12 ranks. */
static struct gr_need need_of_notes(struct gr_torus torus)
{
    struct gr_team_params params = side_params(12, 2, NULL);
    struct gr_team *team;
    struct gr_need need;

    params.torus = torus;
    team = gr_team_create(&params);
    assert_non_null(team);
    need = gr_team_need(team, GR_USE_NOTES, 1);
    gr_team_destroy(team, NULL);
    return need;
}

static void notes_go_along_rows(void **state)
{
    struct gr_need need = need_of_notes((struct gr_torus) {.ndims = 2, .dims = {3, 4}});

    assert_int_equal(need.links, 2 + 3);
    assert_int_equal(need.bytes, 5 * gr_link_bytes(SIDE_NOTE_SLOTS, SIDE_SHORT));
    assert_int_equal(need_of_notes((struct gr_torus) {.ndims = 0}).links, 11);
}

/* A set-up makes what a call needs; a call with more channels asks for the others. */
static void channels_are_made_when_they_are_needed(void **state)
{
    struct ex_world w;
    const struct gr_team *t;

    open_world(&w, 4, 7, 2, 256, "");
    t = w.ranks[1].team;
    assert_int_equal(gr_team_channels(t, GR_ALGO_RING, 1), 1);
    assert_int_equal(gr_team_channels(t, GR_ALGO_RING, 3), 4);
    assert_int_equal(gr_team_channels(t, GR_ALGO_RING, 5), 7);
    assert_int_equal(gr_team_channels(t, GR_ALGO_MAILBOX, 5), 1);
    compare(&w, GR_ALGO_RING, 0, 1);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 1), GR_LINKS_THERE);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 2), GR_LINKS_NONE);
    gr_team_ask(w.ranks[1].team, GR_ALGO_RING, 0, 4);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 3), GR_LINKS_ASKED);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 1), GR_LINKS_THERE);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 5), GR_LINKS_NONE);
    /* the links of the first channel stay: only three more are made */
    compare(&w, GR_ALGO_RING, 0, 4);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 4), GR_LINKS_THERE);
    ex_close(&w);
}

/* A refusal is remembered for as many channels; those that are there stay. */
static void a_refusal_is_for_as_many_channels(void **state)
{
    struct ex_world w;
    struct gr_team *t;

    open_world(&w, 3, 8, 2, 256, "");
    t = w.ranks[0].team;
    gr_team_ask(t, GR_ALGO_RING, 0, 2);
    gr_team_settle(t, GR_ALGO_RING, 0, 2, 0);
    gr_team_ask(t, GR_ALGO_RING, 0, 4);
    gr_team_settle(t, GR_ALGO_RING, 0, 4, GR_ERR_SPACE);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 2), GR_LINKS_THERE);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 3), GR_LINKS_REFUSED);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 4), GR_LINKS_REFUSED);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 5), GR_LINKS_NONE);
    gr_team_ask(t, GR_ALGO_RING, 0, 8);
    gr_team_settle(t, GR_ALGO_RING, 0, 8, 0);
    assert_int_equal(gr_team_links(t, GR_ALGO_RING, 0, 4), GR_LINKS_THERE);
    ex_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_set_ups_reserve),
        cmocka_unit_test(between_nodes),
        cmocka_unit_test(notes_go_along_rows),
        cmocka_unit_test(channels_are_made_when_they_are_needed),
        cmocka_unit_test(a_refusal_is_for_as_many_channels),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
