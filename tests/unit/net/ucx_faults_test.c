/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links over UCX when something happens to a process: one that was killed is an error that names
 * it, for writers and readers, and for no other links; one that was stopped and continued is late
 * and no more; one that cannot be reached is told so; and a module of UCX that cannot be loaded
 * says why.
 */
#include "ends.h"

#include "net/transport.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "usage.h"

static const char tcp[] = "tcp,self", shm[] = "posix,cma,self";
static const struct shape shape = {4, 20000, 1};

/* ---- parts ---- */

/* Until a link has failed: how, and in words that name part 1. */
static void await_loss(struct part *p, const struct gr_net_link *l)
{
    double end = seconds() + PATIENCE / 2;
    char text[300];

    while (0 == gr_net_link_status(l)) {
        need(seconds() < end);
        settle(p, 0.01);
    }
    need(GR_ERR_LOST == gr_net_link_status(l));
    gr_net_link_error(l, text, sizeof(text));
    need(0 == strncmp(text, "part 1: ", 8) && strlen(text) > 8);
}

/*
 * Part 1 is killed. Part 0 has links to it and from it; and to and from part 2, which knows nothing
 * of it.
 */
static void killed(struct part *p)
{
    struct end lost[2], kept[2];
    int k, other = 2 - p->number;

    for (k = 0; k < 2 && p->number < 2; k++) {
        end_open(&lost[k], p, k == p->number ? GR_NET_OUT : GR_NET_IN, shape);
        end_join(&lost[k], 1 - p->number);
    }
    for (k = 0; k < 2 && 1 != p->number; k++) {
        end_open(&kept[k], p, k == (0 == p->number) ? GR_NET_OUT : GR_NET_IN, shape);
        end_join(&kept[k], other);
    }
    if (1 != p->number) {
        ends_finish(kept, 2, 50, &shape);
    }
    if (2 != p->number) {
        ends_finish(lost, 2, 50, &shape);
        tell(p, 'r');
    }
    if (0 == p->number) {
        /* as many as there is room for; the reader is idle, and waits */
        end_go_on(&lost[0], 60, &shape);
        await_loss(p, lost[0].net);
        await_loss(p, lost[1].net);
        end_close(&lost[0]); /* although not all is sent */
        end_close(&lost[1]);
    } else if (1 == p->number) {
        settle(p, PATIENCE); /* until it is killed */
    }
    ends_finish(kept, 2, 100, &shape);
    end_close(&kept[0]);
    end_close(&kept[1]);
    meet(p, other);
}

/* In the middle of much data, so that messages are under way. */
static void killed_in_the_middle(struct part *p)
{
    static const struct shape large = {8, 300000, 0};
    struct end ends[2];
    struct net_usage u;
    int k;

    for (k = 0; k < 2; k++) {
        end_open(&ends[k], p, k == p->number ? GR_NET_OUT : GR_NET_IN, large);
        end_join(&ends[k], 1 - p->number);
    }
    ends_finish(ends, 2, 30, &large);
    if (0 == p->number) {
        tell(p, 'r');
    }
    while (0 == gr_net_link_status(ends[0].net)) {
        for (k = 0; k < 2; k++) {
            end_go_on(&ends[k], UINT64_MAX, &large);
        }
        settle(p, 0);
        gr_net_progress(p->net, &(uint64_t) {0});
    }
    await_loss(p, ends[1].net);
    end_close(&ends[0]);
    end_close(&ends[1]);
    u = net_usage(p->net);
    need(0 == u.links && 0 == u.messages);
}

/* The test stops part 1 for a while. */
static void stopped(struct part *p)
{
    struct end ends[2];
    int k;

    for (k = 0; k < 2; k++) {
        end_open(&ends[k], p, k == p->number ? GR_NET_OUT : GR_NET_IN, shape);
        end_join(&ends[k], 1 - p->number);
    }
    ends_finish(ends, 2, 100, &shape);
    tell(p, 'r');
    ends_finish(ends, 2, 30000, &shape);
    tell(p, 'd');
    end_close(&ends[0]);
    end_close(&ends[1]);
    meet(p, 1 - p->number);
}

/* Part 0 has other transports than part 1. */
static void apart(struct part *p)
{
    struct gr_net_handle mine, theirs;
    struct end e;
    char text[300];

    end_open(&e, p, 0 == p->number ? GR_NET_OUT : GR_NET_IN, shape);
    gr_net_link_export(e.net, &mine);
    need(sizeof(mine) == write(p->sockets[1 - p->number], &mine, sizeof(mine)));
    need(sizeof(theirs) == read(p->sockets[1 - p->number], &theirs, sizeof(theirs)));
    need(GR_ERR_UNREACHED == gr_net_link_join(e.net, &theirs, "rank 1 on there"));
    gr_net_link_error(e.net, text, sizeof(text));
    need(NULL !=
         strstr(text, "rank 1 on there: none of UCX's transports leads there (UCX_TLS is "));
    end_close(&e);
    meet(p, 1 - p->number);
}

const struct scenario scenarios[] = {
    {"killed", killed},   {"killed_in_the_middle", killed_in_the_middle},
    {"stopped", stopped}, {"apart", apart},
    {NULL, NULL},
};

/* ---- tests ---- */

static void a_killed_peer_fails_the_links_to_it_and_no_others(void **state)
{
    struct running r = parts_start("killed", 3, tcp, NULL);

    assert_int_equal(parts_hear(&r, 1), 'r');
    assert_int_equal(parts_hear(&r, 0), 'r');
    kill(r.pids[1], SIGKILL);
    assert_true(WIFSIGNALED(part_await(&r, 1)));
    parts_await(&r);
}

static void a_peer_killed_in_the_middle_of_messages(void **state)
{
    struct running r = parts_start("killed_in_the_middle", 2, tcp, NULL);

    assert_int_equal(parts_hear(&r, 0), 'r');
    usleep(100000);
    kill(r.pids[1], SIGKILL);
    assert_true(WIFSIGNALED(part_await(&r, 1)));
    parts_await(&r);
}

static void stop_and_continue(const char *tls)
{
    struct running r = parts_start("stopped", 2, tls, NULL);

    assert_int_equal(parts_hear(&r, 1), 'r');
    kill(r.pids[1], SIGSTOP);
    sleep(2);
    kill(r.pids[1], SIGCONT);
    assert_int_equal(parts_hear(&r, 1), 'd');
    parts_await(&r);
}

static void a_stopped_and_continued_peer_is_late_over_tcp(void **state)
{
    stop_and_continue(tcp);
}

static void a_stopped_and_continued_peer_is_late_over_shared_memory(void **state)
{
    stop_and_continue(shm);
}

static void a_peer_without_a_common_transport_is_named(void **state)
{
    struct running r = parts_start("apart", 2, tcp, shm);

    parts_await(&r);
}

static void a_module_that_cannot_be_loaded_says_why(void **state)
{
    char dir[] = "/tmp/gpuring-test-XXXXXX", path[64], why[300];
    FILE *f;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/gpuring_net_ucx.so", dir);
    assert_null(gr_net_load(dir, why, sizeof(why)));
    assert_non_null(strstr(why, "gpuring_net_ucx.so: cannot open shared object file"));
    f = fopen(path, "w");
    assert_non_null(f);
    fputs("not a library", f);
    fclose(f);
    assert_null(gr_net_load(dir, why, sizeof(why)));
    assert_non_null(strstr(why, path));
    unlink(path);
    rmdir(dir);
}

static void the_module_is_loaded_and_opens(void **state)
{
    const char *dir = getenv("GR_DIR");
    const struct gr_transport *t;
    struct gr_net *net;
    char why[300] = "";

    if (NULL == dir) {
        skip();
    }
    t = gr_net_load(dir, why, sizeof(why));
    assert_string_equal(why, "");
    assert_string_equal(t->name, "ucx");
    setenv("UCX_TLS", tcp, 1);
    assert_int_equal(gr_net_open(&net, t, NULL, why, sizeof(why)), 0);
    gr_net_close(net, 0);
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(a_killed_peer_fails_the_links_to_it_and_no_others),
        cmocka_unit_test(a_peer_killed_in_the_middle_of_messages),
        cmocka_unit_test(a_stopped_and_continued_peer_is_late_over_tcp),
        cmocka_unit_test(a_stopped_and_continued_peer_is_late_over_shared_memory),
        cmocka_unit_test(a_peer_without_a_common_transport_is_named),
        cmocka_unit_test(a_module_that_cannot_be_loaded_says_why),
        cmocka_unit_test(the_module_is_loaded_and_opens),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}

int main(int argc, char **argv)
{
    return parts_main(argc, argv, tests);
}
