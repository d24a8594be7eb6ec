/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of net_test: messages that break the protocol. To be included after "pipes.h". */
#ifndef GR_TESTS_NET_RULE_ROWS_H
#define GR_TESTS_NET_RULE_ROWS_H

#include "pipes.h"

#include "net/net_state.h"

/* Messages that no writer of ours sends: each fails the link, and touches no slot. */
static void what_breaks_the_rules_is_refused(void **state)
{
    static const struct {
        uint64_t seq;
        size_t bytes;
        int twice;
    } wrong[] = {{1, 8, 0}, {3, 8, 0}, {6, 8, 0}, {UINT64_MAX, 8, 0}, {4, WORDS * 8 + 1, 0},
                 {5, 8, 1}};
    char text[200];
    size_t k;

    post_ways = (struct post_ways) {100, 0, 0};
    for (k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        struct gr_net_head head = {
            .seq = wrong[k].seq, .kind = GR_NET_DATA, .sideband = {6, 6 << 1}};
        struct pipe p;
        int n;

        open_joined(&p, 0, 1, 4, 4);
        for (n = 0; n < 1000; n++) { /* 4 have come, 2 were read and told: 4 and 5 may come */
            p.done[0] < 4 ? push(&p) : progress(n % 2);
            p.done[1] < 2 ? pop(&p) : progress(n % 2);
        }
        head.link = p.handle[1].link;
        for (n = 0; n < 200; n++) {
            if (n == 0 || (wrong[k].twice && n == 100)) {
                assert_int_equal(gr_net_link_status(p.net[1]), 0);
                post_forge(1, &head, wrong[k].bytes);
            }
            progress(1);
        }
        assert_int_equal(gr_net_link_status(p.net[1]), GR_ERR_NET);
        gr_net_link_error(p.net[1], text, sizeof(text));
        assert_string_equal(text, "the writer: a message came for which there is no room");
        head.seq = 4; /* and now a right one */
        post_forge(1, &head, 8);
        for (n = 0; n < 100; n++) {
            progress(1);
        }
        assert_int_equal(p.shared[1]->tail - p.shared[1]->head, 2);
        while (p.done[1] < 4) {
            pop(&p); /* unharmed */
        }
        close_pipe(&p, 1);
    }
}

/* A message comes while the network still writes the first one of its number. */
static void what_is_being_received_does_not_come_again(void **state)
{
    struct gr_net_head head = {.kind = GR_NET_DATA};
    struct pipe p;
    int on_gpu;

    open_joined(&p, 0, 1, 4, 4);
    head.link = p.handle[1].link;
    head.seq = 1;
    assert_non_null(gr_net_get_recv_buffer(nets[1], &head, 8, &on_gpu));
    assert_null(gr_net_get_recv_buffer(nets[1], &head, 8, &on_gpu));
    assert_int_equal(gr_net_link_status(p.net[1]), GR_ERR_NET);
    gr_net_recv_done(nets[1], &head, 0);
    close_pipe(&p, 1);
}

/* The transport loses a message: its link fails, and the reader sees nothing of it. */
static void what_could_not_be_received_fails_its_link(void **state)
{
    struct gr_net_head head = {.kind = GR_NET_DATA};
    struct pipe p;
    int on_gpu;

    open_joined(&p, 0, 1, 4, 4);
    head.link = p.handle[1].link;
    assert_non_null(gr_net_get_recv_buffer(nets[1], &head, 8, &on_gpu));
    gr_net_recv_done(nets[1], &head, GR_ERR_LOST);
    assert_int_equal(gr_net_link_status(p.net[1]), GR_ERR_LOST);
    assert_false(gr_link_readable(&p.link[1]));
    close_pipe(&p, 1);
}

/*
 * The address in a handle is said to be shorter than those of the transport: it must not read
 * beyond.
 */
static void a_short_address_has_zeros_behind_it(void **state)
{
    struct pipe p;

    open_pipe(&p, 0, 1, 4, 4);
    p.handle[1].bytes = 1;
    assert_int_equal(join(&p, 0) | join(&p, 1), 0);
    close_pipe(&p, 0);
}

/* Credits for what was not sent, and old ones: neither counts. */
static void wrong_credits_are_ignored(void **state)
{
    struct gr_net_head head = {.kind = GR_NET_CREDIT};
    struct pipe p;

    open_joined(&p, 0, 1, 4, 2);
    head.link = p.handle[0].link;
    while (p.done[1] < 300) {
        if (p.done[1] > 10 && 0 == post_random(20)) {
            head.seq = 0 == post_random(2) ? 1000000 : post_random(5);
            post_forge(0, &head, 0);
            while (0 < post_under_way(0, head.link)) {
                progress(0);
            }
        }
        one_of(&p);
    }
    assert_int_equal(gr_net_link_status(p.net[1]), 0);
    close_pipe(&p, 0);
}

static void messages_for_links_that_are_gone_are_dropped(void **state)
{
    struct gr_net_head head = {.kind = GR_NET_DATA};
    struct pipe old, young;
    int k;

    open_joined(&old, 0, 1, 2, 2);
    close_pipe(&old, 0);
    open_joined(&young, 0, 1, 2, 2); /* in its place */
    assert_int_equal((uint32_t) old.handle[1].link, (uint32_t) young.handle[1].link);
    for (k = 0; k < 3; k++) {
        head.link = 0 == k ? old.handle[1].link : 1 == k ? 77 : old.handle[0].link;
        head.kind = 2 == k ? GR_NET_GONE : GR_NET_DATA;
        post_forge(2 == k ? 0 : 1, &head, 8);
    }
    while (young.done[1] < 100) {
        one_of(&young);
    }
    close_pipe(&young, 0);
}

#endif
