/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links over a transport that does in any order whatever a transport may (post.h): all that is
 * pushed comes out, once, in order and unharmed; no more is under way than there are slots; what
 * breaks the rules is refused; and whatever is closed or lost, and when, nothing stays under way,
 * no user stays shut. Seed: GPURING_SEED.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmocka_test.h"

#include "pipes.h"
#include "rule_rows.h"
#include "usage.h"

/* ---- tests ---- */

static void what_is_pushed_comes_out(void **state)
{
    struct pipe pipes[4];
    int round, k;

    for (round = 0; round < 12; round++) {
        post_ways = (struct post_ways) {(int) post_random(101), (int) post_random(101),
                                        (int) post_random(60)};
        for (k = 0; k < 4; k++) {
            open_pipe(&pipes[k], k % 2, 1 + k / 2 - k % 2, 2 + (uint32_t) post_random(7),
                      2 + (uint32_t) post_random(7));
            assert_int_equal(join(&pipes[k], k % 2), 0);
            for (int n = 0; n < 50; n++) {
                one_of(&pipes[k]); /* one end has joined already */
            }
            assert_int_equal(join(&pipes[k], !(k % 2)), 0);
        }
        for (k = 0; k < 4000; k++) {
            one_of(&pipes[post_random(4)]);
        }
        for (k = 0; k < 4; k++) {
            while (pipes[k].done[1] < pipes[k].done[0]) {
                progress((int) post_random(POST_ENDS));
                pop(&pipes[k]);
            }
            assert_true(pipes[k].done[1] > 50);
        }
        for (k = 0; k < 4; k++) {
            assert_int_equal(
                gr_net_link_status(pipes[k].net[0]) | gr_net_link_status(pipes[k].net[1]), 0);
            close_pipe(&pipes[k], (int) post_random(2));
        }
        nothing_is_open();
    }
}

/*
 * Slots on GPUs, where what comes in lands late: none is read before a flush, which comes once for
 * all that is in order.
 */
static void what_is_pushed_comes_out_on_gpus(void **state)
{
    gs_begin(1);
    what_is_pushed_comes_out(state);
    assert_true(gs_late > 0 && gs_flushes > 0 && gs_flushes < gs_writes);
}

/* Then the reader sees nothing of it, and the link has failed; the other one has not. */
static void a_flush_fails(void **state)
{
    struct pipe p, other;

    gs_begin(1);
    open_joined(&p, 0, 1, 4, 4);
    open_joined(&other, 2, 0, 4, 4);
    gs_broken = 1;
    push(&p);
    while (0 == gr_net_link_status(p.net[1])) {
        progress((int) post_random(2));
    }
    assert_int_equal(gr_net_link_status(p.net[1]), GR_ERR_NET);
    assert_false(gr_link_readable(&p.link[1]));
    gs_broken = 0;
    for (push(&other); other.done[1] < 1; pop(&other)) {
        progress((int) post_random(POST_ENDS));
    }
    close_pipe(&p, 1);
    close_pipe(&other, 0);
}

static void most_slots_are_used(void **state)
{
    struct pipe p;
    int k;

    post_ways.lazy = 0;
    open_joined(&p, 0, 1, GR_MAX_SLOTS, GR_MAX_SLOTS);
    for (k = 0; k < 5000; k++) {
        push(&p);
        progress(k % 2);
    }
    assert_int_equal(p.done[0], 2 * GR_MAX_SLOTS); /* nobody has read */
    assert_int_equal(net_usage(nets[0]).messages, 0);
    while (p.done[1] < 2 * GR_MAX_SLOTS) {
        pop(&p);
        progress(0);
        progress(1);
    }
    close_pipe(&p, 0);
}

/*
 * Each answers the other: credits travel with the answers, and data on links of which nobody
 * answers have theirs.
 */
static void answers_carry_credits(void **state)
{
    struct pipe there, back, alone;
    int k, before;

    open_joined(&there, 0, 1, 4, 4);
    open_joined(&back, 1, 0, 3, 3);
    open_joined(&alone, 0, 1, 4, 4);
    before = post_credits;
    for (k = 1; k <= 100; k++) {
        struct pipe *one[2] = {&there, &back};
        int n;

        for (n = 0; n < 2; n++) {
            while (one[n]->done[1] < (uint64_t) k) {
                if (one[n]->done[0] < (uint64_t) k) {
                    /* where all slots are still to be reported as sent, it does nothing */
                    push(one[n]);
                }
                progress(k % 2);
                progress(!(k % 2));
                pop(one[n]);
            }
        }
        assert_int_equal(one[0]->done[0] + one[1]->done[0], 2 * k);
    }
    assert_int_equal(post_credits, before);
    while (alone.done[1] < 100) {
        push(&alone);
        progress(0);
        progress(1);
        pop(&alone);
    }
    assert_true(post_credits >= before + (100 - 4) / 4); /* one tells of 4 slots at most */
    close_pipe(&back, 0);
    while (there.done[1] < 200) { /* nobody answers any more */
        push(&there);
        progress(0);
        progress(1);
        pop(&there);
    }
    close_pipe(&there, 1);
    close_pipe(&alone, 0);
}

static void what_was_pushed_before_leaving_arrives(void **state)
{
    struct pipe p;
    int round, k;

    for (round = 0; round < 40; round++) {
        open_joined(&p, 0, 2, 5, 3);
        for (k = 0; k < 5; k++) {
            push(&p);
        }
        gr_net_link_close(p.net[0]);
        while (p.done[1] < 5) {
            progress((int) post_random(POST_ENDS));
            pop(&p);
        }
        gr_net_link_close(p.net[1]);
        for (k = 0; k < 500; k++) {
            progress(k % POST_ENDS);
        }
        assert_int_equal(atomic_load(&p.shared[0]->writer.left) +
                             atomic_load(&p.shared[1]->writer.left),
                         2 * LEASE);
        free(p.shared[0]);
        free(p.shared[1]);
        nothing_is_open();
    }
}

/*
 * It stops at any moment; what it has pushed arrives nevertheless, also where nobody reads before.
 */
static void a_writer_gets_back_the_memory_it_pushed_from(void **state)
{
    struct pipe p;
    int round, k;

    for (round = 0; round < 100; round++) {
        post_ways = (struct post_ways) {(int) post_random(101), (int) post_random(101),
                                        (int) post_random(60)};
        open_pipe(&p, 0, 1, 2 + (uint32_t) post_random(7), 2 + (uint32_t) post_random(3));
        for (k = (int) post_random(5); k > 0; k--) {
            push(&p);
        }
        if (0 == post_random(4)) {
            reclaim(&p); /* before it has joined */
        }
        assert_int_equal(join(&p, 0) | join(&p, 1), 0);
        for (k = (int) post_random(60); k > 0; k--) {
            one_of(&p);
        }
        reclaim(&p);
        assert_int_equal(gr_net_link_reclaim(p.net[1]), 0); /* a reader has none */
        while (p.done[1] < p.done[0]) {
            progress((int) post_random(POST_ENDS));
            pop(&p);
        }
        close_pipe(&p, (int) post_random(2));
        nothing_is_open();
    }
}

static void a_reader_that_has_left_frees_its_writer(void **state)
{
    struct pipe p;
    int round, k;

    for (round = 0; round < 40; round++) {
        open_joined(&p, 1, 0, 4, 4);
        for (k = (int) post_random(60); k > 0; k--) {
            push(&p);
            progress((int) post_random(POST_ENDS));
        }
        close_pipe(&p, 1);
        nothing_is_open();
    }
}

/* Whoever still sends to it gets each slot back, and is not held up. */
static void a_reader_that_has_left_holds_no_slots(void **state)
{
    struct pipe p;
    int k;

    open_joined(&p, 0, 1, 4, 4);
    push(&p);
    gr_net_link_close(p.net[1]);
    for (k = 0; k < 500; k++) {
        push(&p);
        progress(k % POST_ENDS);
    }
    assert_true(p.done[0] > 100);
    gr_net_link_close(p.net[0]);
    for (k = 0; k < 500; k++) {
        progress(k % POST_ENDS);
    }
    free(p.shared[0]);
    free(p.shared[1]);
    nothing_is_open();
}

static void shuffle(int *order, int n)
{
    int k, other, kept;

    for (k = 0; k < n; k++) {
        other = (int) post_random((uint64_t) k + 1);
        kept = other < k ? order[other] : k;
        order[other] = k;
        order[k] = kept;
    }
}

/*
 * Where links have their places in the network says nothing. A second slot goes with its link's
 * first.
 */
static void what_was_pushed_first_is_sent_first(void **state)
{
    enum { N = 6, MOST = 3 };
    struct pipe p[N];
    int order[N], round, k, j, slots;

    for (round = 0; round < 50; round++) {
        for (k = 0; k < N; k++) {
            open_joined(&p[k], 0, 1 + k % 2, MOST, MOST);
        }
        shuffle(order, N);
        slots = 1 + (int) post_random(MOST);
        for (j = 0; j < slots; j++) {
            for (k = 0; k < N; k++) {
                push(&p[(order[k] + j) % N]);
            }
        }
        post_data = 0;
        gr_net_receive(nets[0], &(uint64_t) {0});
        assert_int_equal(post_data, 0);
        gr_net_send(nets[0], &(uint64_t) {0});
        assert_int_equal(post_data, N * slots);
        for (k = 0; k < N * slots; k++) {
            assert_int_equal(post_to[k], p[order[k / slots]].handle[1].link);
        }
        for (k = 0; k < N; k++) {
            close_pipe(&p[k], 0);
        }
    }
    nothing_is_open();
}

static void until_quiet(void)
{
    int k;

    for (k = 0; k < 200; k++) {
        progress(k % POST_ENDS);
    }
}

/* Push a slot of which the network does not hear. */
static void push_silently(struct pipe *p)
{
    p->link[0].bell = NULL;
    push(p);
}

/* The network has not looked at the link since then; it does when the doorbell rings. */
static void is_seen_when_it_rings(struct pipe *p)
{
    uint64_t before = p->done[1];

    assert_false(gr_link_readable(&p->link[1]));
    gr_doorbell_ring(&p->net[0]->bell);
    while (p->done[1] == before) {
        progress((int) post_random(POST_ENDS));
        pop(p);
    }
}

/* Links that nothing happens on are not looked at, however many there are. */
static void idle_links_are_not_looked_at(void **state)
{
    enum { IDLE = 100 };
    static struct pipe idle[IDLE];
    struct pipe busy;
    int k;

    for (k = 0; k < IDLE; k++) {
        open_joined(&idle[k], 0, 1, 4, 4);
    }
    open_joined(&busy, 0, 1, 4, 4);
    for (k = 0; k < IDLE; k++) {
        for (push(&idle[k]); idle[k].done[1] < 1; pop(&idle[k])) {
            progress((int) post_random(POST_ENDS));
        }
    }
    until_quiet();
    for (k = 0; k < IDLE; k++) {
        push_silently(&idle[k]);
    }
    while (busy.done[1] < 1000) {
        one_of(&busy);
    }
    until_quiet();
    for (k = 0; k < IDLE; k++) {
        is_seen_when_it_rings(&idle[k]);
        close_pipe(&idle[k], (int) post_random(2));
    }
    close_pipe(&busy, 0);
    nothing_is_open();
}

/* What kernels push and pop: without a doorbell, while it is held, and not longer. */
static void a_held_link_needs_no_doorbell(void **state)
{
    struct pipe p;
    int side;

    open_joined(&p, 0, 1, 3, 5);
    for (side = 0; side < 2; side++) {
        p.link[side].bell = NULL;
        gr_doorbell_hold(&p.net[side]->bell, 1);
    }
    while (p.done[1] < 500) {
        one_of(&p);
    }
    while (p.done[1] < p.done[0]) {
        progress((int) post_random(POST_ENDS));
        pop(&p);
    }
    for (side = 0; side < 2; side++) {
        gr_doorbell_hold(&p.net[side]->bell, 0);
    }
    until_quiet();
    push_silently(&p);
    until_quiet();
    is_seen_when_it_rings(&p);
    close_pipe(&p, 0);
}

enum { PUSHES = 2000 };

/* Another thread pushes while this one progresses the network: no doorbell is missed. */
static void *push_all(void *arg)
{
    struct pipe *p = arg;

    while (p->done[0] < PUSHES) {
        if (gr_link_writable(&p->link[0])) {
            *(uint64_t *) gr_link_slot(&p->link[0]) = ++p->done[0];
            p->fill[p->link[0].mine % p->link[0].nslots] = sizeof(uint64_t);
            gr_link_push(&p->link[0]);
        } else {
            sched_yield();
        }
    }
    return NULL;
}

static void doorbells_ring_from_another_thread(void **state)
{
    static struct pipe p;
    pthread_t thread;
    uint64_t seen = 0, moved;
    time_t since = time(NULL);

    post_ways = (struct post_ways) {0};
    open_joined(&p, 0, 1, 32, 32);
    assert_int_equal(pthread_create(&thread, NULL, push_all, &p), 0);
    while (seen < PUSHES) {
        moved = 0;
        gr_net_progress(nets[0], &moved);
        gr_net_progress(nets[1], &moved);
        if (gr_link_readable(&p.link[1])) {
            assert_int_equal(*(uint64_t *) gr_link_slot(&p.link[1]), ++seen);
            gr_link_pop(&p.link[1]);
            since = time(NULL);
        } else if (0 == moved) {
            assert_true(time(NULL) - since < 60); /* hangs */
            sched_yield();
        }
    }
    pthread_join(thread, NULL);
    close_pipe(&p, 0);
}

/*
 * All slots are sent, and nobody has fetched any: what breaks now loses them, also what lies
 * outside of slots.
 */
static void leave_under_way(struct pipe *p)
{
    struct post_ways before = post_ways;
    int k, slot;

    post_ways = (struct post_ways) {0};
    for (k = 0; k < 2; k++) {
        while (p[k].done[1] < p[k].done[0]) {
            progress(k);
            progress(!k);
            pop(&p[k]);
        }
    }
    while (post_under_way(-1, 0) > 0) { /* credits */
        progress((int) post_random(POST_ENDS));
    }
    for (k = 0; k < 2; k++) {
        for (slot = 0; slot < 2; slot++) {
            push(&p[k]);
        }
        gr_net_send(nets[k], &(uint64_t) {0});
    }
    post_ways = before;
}

static void a_broken_connection_fails_its_links(void **state)
{
    struct pipe broken[2], whole;
    char text[200];
    int round, k, side;

    for (round = 0; round < 30; round++) {
        open_joined(&broken[0], 0, 1, 4, 4);
        open_joined(&broken[1], 1, 0, 4, 2);
        open_joined(&whole, 0, 2, 3, 3);
        for (k = (int) post_random(200); k > 0; k--) {
            one_of(&broken[post_random(2)]);
            one_of(&whole);
        }
        leave_under_way(broken);
        post_break(0, 1);
        for (k = 0; k < 2; k++) {
            for (side = 0; side < 2; side++) {
                assert_int_equal(gr_net_link_status(broken[k].net[side]), GR_ERR_LOST);
                gr_net_link_error(broken[k].net[side], text, sizeof(text));
                assert_string_equal(text, 0 == side ? "the reader: cut" : "the writer: cut");
            }
            one_of(&broken[k]);
            reclaim(&broken[k]);
            close_pipe(&broken[k], (int) post_random(2));
        }
        open_pipe(&broken[0], 0, 1, 2, 2);
        assert_true(0 > join(&broken[0], 0)); /* that peer stays lost */
        close_pipe(&broken[0], 0);
        while (whole.done[1] < 100) {
            one_of(&whole);
        }
        assert_int_equal(gr_net_link_status(whole.net[0]) | gr_net_link_status(whole.net[1]), 0);
        close_pipe(&whole, 0);
        nothing_is_open();
        assert_int_equal(tear_down(state), 0);
        set_up_from(post_random(UINT32_MAX));
    }
}

/* The writer has closed its end, and waits for a reader that never reads. */
static void a_closed_link_ends_with_its_connection(void **state)
{
    struct pipe p;
    int k;

    open_joined(&p, 0, 1, 4, 2);
    for (k = 0; k < 4; k++) {
        push(&p);
    }
    gr_net_link_close(p.net[0]);
    until_quiet();
    assert_int_equal(net_usage(nets[0]).links, 1); /* half of the slots are still to be sent */
    post_break(0, 1);
    until_quiet();
    assert_int_equal(net_usage(nets[0]).links, 0);
    gr_net_link_close(p.net[1]);
    until_quiet();
    nothing_is_open();
    free(p.shared[0]);
    free(p.shared[1]);
}

/* Whoever goes first: FIFOs are left, and what was under way is given up. */
static void networks_may_end_before_their_links(void **state)
{
    struct pipe p;
    int round, n;

    for (round = 0; round < 20; round++) {
        open_joined(&p, 0, 1, 4, 4);
        for (n = (int) post_random(100); n > 0; n--) {
            one_of(&p);
        }
        assert_int_equal(tear_down(state), 0);
        for (n = 0; n < 2; n++) {
            assert_int_equal(atomic_load(&p.shared[n]->writer.left), LEASE);
            free(p.shared[n]);
        }
        set_up_from(post_random(UINT32_MAX));
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_pushed_comes_out),
        TEST(what_is_pushed_comes_out_on_gpus),
        TEST(a_flush_fails),
        TEST(most_slots_are_used),
        TEST(answers_carry_credits),
        TEST(what_was_pushed_before_leaving_arrives),
        TEST(a_writer_gets_back_the_memory_it_pushed_from),
        TEST(a_reader_that_has_left_frees_its_writer),
        TEST(a_reader_that_has_left_holds_no_slots),
        TEST(what_was_pushed_first_is_sent_first),
        TEST(idle_links_are_not_looked_at),
        TEST(a_held_link_needs_no_doorbell),
        TEST(doorbells_ring_from_another_thread),
        TEST(a_broken_connection_fails_its_links),
        TEST(a_closed_link_ends_with_its_connection),
        TEST(what_breaks_the_rules_is_refused),
        TEST(what_is_being_received_does_not_come_again),
        TEST(what_could_not_be_received_fails_its_link),
        TEST(a_short_address_has_zeros_behind_it),
        TEST(wrong_credits_are_ignored),
        TEST(messages_for_links_that_are_gone_are_dropped),
        TEST(networks_may_end_before_their_links),
    };

    seed = rng_seed();
    alarm(600);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
