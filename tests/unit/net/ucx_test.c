/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links over UCX between processes: what is pushed comes out, in order, whatever the shape of the
 * slots; a reader that does not read holds up its writer and nobody else; and nothing is left
 * behind. Over TCP and over shared memory.
 */
#include "ends.h"
#include "depth.h"

#include "net/rails.h"
#include "net/ucx.h"

#include <ucp/api/ucp.h>

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmocka_test.h"
#include "usage.h"

static const char tcp[] = "tcp,self", shm[] = "posix,cma,self";

/* ---- parts ---- */

static void both_ways_as(struct part *p, struct shape shape, uint64_t slots)
{
    struct end ends[2];
    int other = 1 - p->number, k;

    /* in both processes 0 is the way from part 0 to part 1 */
    for (k = 0; k < 2; k++) {
        end_open(&ends[k], p, k == p->number ? GR_NET_OUT : GR_NET_IN, shape);
        end_join(&ends[k], other);
    }
    ends_finish(ends, 2, slots, &shape);
    end_close(&ends[0]);
    end_close(&ends[1]);
    meet(p, other);
}

static void both_ways(struct part *p)
{
    static const uint32_t nslots[] = {2, 3, 8, GR_MAX_SLOTS};
    size_t k;

    for (k = 0; k < sizeof(nslots) / sizeof(nslots[0]); k++) {
        both_ways_as(p, (struct shape) {nslots[k], 64, 0}, (uint64_t) depth(250, 2000));
        both_ways_as(p, (struct shape) {nslots[k], 5000, 1}, (uint64_t) depth(250, 2000));
        both_ways_as(p, (struct shape) {nslots[k], 200000, 1}, (uint64_t) depth(60, 300));
    }
}

/* Each to the next one, and each to all others: connections are shared by links. */
static void among_four(struct part *p)
{
    static const struct shape shape = {4, 3000, 1};
    struct end ends[2 * (MAX_PARTS - 1)];
    struct net_usage u;
    int step, n = 0, k, to, from, first;

    for (step = 1; step < p->nparts; step++) {
        to = (p->number + step) % p->nparts;
        from = (p->number + p->nparts - step) % p->nparts;
        end_open(&ends[n], p, GR_NET_OUT, shape);
        end_open(&ends[n + 1], p, GR_NET_IN, shape);
        /* the lower one first; between two, the way from the lower one first */
        first = to > from || (to == from && p->number > to);
        end_join(&ends[n + first], first ? from : to);
        end_join(&ends[n + !first], first ? to : from);
        n += 2;
    }
    ends_finish(ends, n, 1000, &shape);
    u = net_usage(p->net);
    need(u.peers == p->nparts - 1 && u.links == n);
    for (k = 0; k < n; k++) {
        end_close(&ends[k]);
    }
    for (k = 0; k < p->nparts; k++) {
        if (k != p->number) {
            meet(p, k);
        }
    }
}

/* Part 1 does not read one of two links for a while. */
static void held_up(struct part *p)
{
    static const struct shape shape = {5, 4000, 0};
    int other = 1 - p->number, reader = 1 == p->number, k;
    struct end ends[2];
    struct net_usage u;

    for (k = 0; k < 2; k++) {
        end_open(&ends[k], p, reader ? GR_NET_IN : GR_NET_OUT, shape);
        end_join(&ends[k], other);
    }
    ends_finish(&ends[1], 1, 500, &shape);
    if (!reader) {
        while (gr_link_writable(&ends[0].link)) {
            end_go_on(&ends[0], 1000, &shape);
            settle(p, 0.3);
        }
        u = net_usage(p->net);
        /* the reader's slots are full, then the writer's; there is no more room */
        need(2 * shape.nslots == ends[0].done);
        need(0 == u.messages);
    } else {
        settle(p, 1);
    }
    meet(p, other);
    if (reader) {
        need(ends[0].shared->tail - ends[0].fifo.count == shape.nslots && 0 == ends[0].done);
        settle(p, 0.3); /* it stays so */
        need(ends[0].shared->tail - ends[0].fifo.count == shape.nslots);
    }
    ends_finish(&ends[1], 1, 700, &shape); /* the other link is free */
    meet(p, other);
    ends_finish(&ends[0], 1, 400, &shape);
    end_close(&ends[0]);
    end_close(&ends[1]);
    meet(p, other);
}

/* A writer that leaves at once what it has pushed; a reader that leaves before it has read. */
static void early_leavers(struct part *p)
{
    static const struct shape shape = {8, 30000, 1};
    int other = 1 - p->number, writer = 0 == p->number;
    struct end e;

    end_open(&e, p, writer ? GR_NET_OUT : GR_NET_IN, shape);
    end_join(&e, other);
    if (writer) {
        need(end_go_on(&e, 8, &shape));
        end_close(&e); /* sends them */
    } else {
        settle(p, 0.2);
        ends_finish(&e, 1, 8, &shape);
        end_close(&e);
    }
    meet(p, other);

    end_open(&e, p, writer ? GR_NET_OUT : GR_NET_IN, shape);
    end_join(&e, other);
    if (writer) {
        while (e.done < 16) {
            end_go_on(&e, 16, &shape);
            settle(p, 0.1);
        }
    }
    meet(p, other); /* the reader's FIFO is full, and so is the writer's */
    end_close(&e);
    need(0 == net_usage(p->net).links);
    meet(p, other);
}

/* Whether a slot is free again although its reader's process does not look at the network. */
static void one_slot(struct part *p, int unasked)
{
    static const struct shape shape = {2, 60000, 0};
    int other = 1 - p->number;
    struct end e;
    char word;

    end_open(&e, p, 0 == p->number ? GR_NET_OUT : GR_NET_IN, shape);
    end_join(&e, other);
    ends_finish(&e, 1, 2, &shape);
    if (0 == p->number) {
        while (!gr_link_writable(&e.link)) {
            settle(p, 0.01);
        }
        meet(p, other);
        need(1 == recv(p->sockets[other], &word, 1, 0)); /* now it waits, and does nothing else */
        need(end_go_on(&e, 3, &shape));
        do {
            settle(p, 0.5);
        } while (unasked && !gr_link_drained(&e.link));
        need(gr_link_drained(&e.link) == unasked);
        need(1 == send(p->sockets[other], "w", 1, MSG_NOSIGNAL));
    } else {
        meet(p, other);
        need(1 == send(p->sockets[other], "b", 1, MSG_NOSIGNAL));
        need(1 == recv(p->sockets[other], &word, 1, 0));
    }
    ends_finish(&e, 1, 3, &shape);
    end_close(&e);
    meet(p, other);
}

static void sent_unasked(struct part *p)
{
    one_slot(p, 1);
}

static void asked_first(struct part *p)
{
    one_slot(p, 0);
}

static int entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;

    need(NULL != dir);
    while (NULL != readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

/* ---- addresses of workers, which UCX allocates ---- */

static int addresses; /* that have not been given back */

ucs_status_t __real_ucp_worker_get_address(ucp_worker_h worker, ucp_address_t **address,
                                           size_t *bytes);
ucs_status_t __wrap_ucp_worker_get_address(ucp_worker_h worker, ucp_address_t **address,
                                           size_t *bytes);
void __real_ucp_worker_release_address(ucp_worker_h worker, ucp_address_t *address);
void __wrap_ucp_worker_release_address(ucp_worker_h worker, ucp_address_t *address);

ucs_status_t __wrap_ucp_worker_get_address(ucp_worker_h worker, ucp_address_t **address,
                                           size_t *bytes)
{
    addresses++;
    return __real_ucp_worker_get_address(worker, address, bytes);
}

void __wrap_ucp_worker_release_address(ucp_worker_h worker, ucp_address_t *address)
{
    addresses--;
    __real_ucp_worker_release_address(worker, address);
}

static void again_and_again(struct part *p)
{
    static const struct shape shape = {2, 1000, 1};
    char why[100];
    int round, fds = 0;

    for (round = 0; round < 20; round++) {
        both_ways_as(p, shape, 20);
        meet(p, 1 - p->number);
        gr_net_close(p->net, 1);
        if (1 == round) {
            fds = entries("/proc/self/fd");
        }
        need(round < 2 || entries("/proc/self/fd") == fds);
        need(0 == gr_net_open(&p->net, &gr_transport_ucx, NULL, why, sizeof(why)));
        need(0 == addresses);
    }
}

static void handles_that_do_not_fit(struct part *p)
{
    static const struct shape shape = {4, 1000, 0};
    struct gr_net_handle good, bad[5];
    const char *why;
    char text[200];
    struct end e;
    int k;

    end_open(&e, p, GR_NET_OUT, shape);
    gr_net_link_export(e.net, &good);
    end_close(&e);
    for (k = 0; k < 5; k++) {
        bad[k] = good;
    }
    bad[0].link = 0;
    bad[1].slot_bytes++;
    bad[2].nslots = 1;
    bad[3].bytes = GR_NET_ADDRESS_BYTES + 1;
    memcpy(bad[4].transport, "carrier", 8);
    for (k = 0; k < 5; k++) {
        end_open(&e, p, GR_NET_OUT, shape);
        need(GR_ERR_NET == gr_net_link_join(e.net, &bad[k], "somebody"));
        need(GR_ERR_NET == gr_net_link_status(e.net));
        gr_net_link_error(e.net, text, sizeof(text));
        why = k < 4 ? "somebody: its handle of a link does not fit"
                    : "somebody: its links go over carrier, those of this process over ucx";
        need(0 == strcmp(text, why));
        end_close(&e);
    }
    need(0 == net_usage(p->net).peers);
}

/* Devices that UCX lists, and how many of them are called so. */
static int devices(const char *name, int *called)
{
    char names[GR_NET_RAIL_DEVICES][GR_NET_DEVICE_BYTES];
    int chosen, n = gr_transport_ucx.devices(names, GR_NET_RAIL_DEVICES, &chosen), k;

    for (*called = k = 0; k < n; k++) {
        *called += 0 == strcmp(names[k], name);
    }
    return n;
}

static size_t address_bytes(struct part *p)
{
    static const struct shape shape = {4, 1000, 0};
    struct gr_net_handle handle;
    struct end e;

    end_open(&e, p, GR_NET_OUT, shape);
    gr_net_link_export(e.net, &handle);
    end_close(&e);
    return handle.bytes;
}

/* A network that may use lo and nothing else: its address says so, where there is more. */
static void over_one_device(struct part *p)
{
    static const struct shape shape = {4, 5000, 1};
    size_t all = address_bytes(p);
    int lo, memory, n = devices("lo", &lo), m;
    char why[100];

    need(1 == lo);
    setenv("UCX_NET_DEVICES", "lo", 1);
    m = devices("lo", &lo);
    need(1 == lo && 2 >= m && m <= n); /* itself, for messages to this process, and lo */
    unsetenv("UCX_NET_DEVICES");
    setenv("UCX_TLS", "posix,sysv,tcp", 1);
    (void) devices("memory", &memory);
    need(1 == memory); /* once, whatever can use it */
    setenv("UCX_TLS", tcp, 1);
    gr_net_close(p->net, 1);
    need(0 == gr_net_open(&p->net, &gr_transport_ucx, "lo", why, sizeof(why)));
    need(m == n ? address_bytes(p) == all : address_bytes(p) < all);
    both_ways_as(p, shape, 500);
}

const struct scenario scenarios[] = {
    {"both_ways", both_ways},
    {"among_four", among_four},
    {"held_up", held_up},
    {"early_leavers", early_leavers},
    {"sent_unasked", sent_unasked},
    {"asked_first", asked_first},
    {"again_and_again", again_and_again},
    {"handles_that_do_not_fit", handles_that_do_not_fit},
    {"over_one_device", over_one_device},
    {NULL, NULL},
};

/* ---- tests ---- */

/*
 * A /dev/shm of this process's own from now on, and of those that it starts: others run tests, too.
 * Whether that is allowed.
 */
static int has_own_shm(void)
{
    return 0 == unshare(CLONE_NEWNS) && 0 == mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
           0 == mount("none", "/dev/shm", "tmpfs", 0, "mode=1777");
}

#define TEST(title, scenario, n, tls) \
    static void title(void **state)   \
    {                                 \
        parts_run(scenario, n, tls);  \
    }
TEST(slots_go_both_ways_over_tcp, "both_ways", 2, tcp)
TEST(slots_go_both_ways_over_shared_memory, "both_ways", 2, shm)
TEST(four_processes_over_tcp, "among_four", 4, tcp)
TEST(four_processes_over_shared_memory, "among_four", 4, shm)
TEST(a_reader_that_does_not_read_holds_up_one_link_over_tcp, "held_up", 2, tcp)
TEST(a_reader_that_does_not_read_holds_up_one_link_over_shared_memory, "held_up", 2, shm)
TEST(who_leaves_early_loses_nothing_of_its_own_over_tcp, "early_leavers", 2, tcp)
TEST(who_leaves_early_loses_nothing_of_its_own_over_shared_memory, "early_leavers", 2, shm)
TEST(over_tcp_slots_are_sent_unasked, "sent_unasked", 2, tcp)
TEST(over_shared_memory_ucx_does_as_it_likes, "asked_first", 2, shm)
TEST(networks_open_and_close_without_a_trace, "again_and_again", 2, tcp)
TEST(handles_that_do_not_fit_are_refused, "handles_that_do_not_fit", 1, tcp)
TEST(a_network_can_be_limited_to_a_device, "over_one_device", 2, tcp)

static void ucx_asks_where_the_user_wants_it(void **state)
{
    setenv("UCX_RNDV_THRESH", "8192", 1);
    parts_run("asked_first", 2, tcp);
    unsetenv("UCX_RNDV_THRESH");
}

static void nothing_is_left_in_shared_memory(void **state)
{
    int before;

    if (!has_own_shm()) {
        skip(); /* somebody else's files cannot be told from these */
    }
    before = entries("/dev/shm");
    parts_run("again_and_again", 2, shm);
    assert_int_equal(entries("/dev/shm"), before);
}

static int tests(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(slots_go_both_ways_over_tcp),
        cmocka_unit_test(slots_go_both_ways_over_shared_memory),
        cmocka_unit_test(four_processes_over_tcp),
        cmocka_unit_test(four_processes_over_shared_memory),
        cmocka_unit_test(a_reader_that_does_not_read_holds_up_one_link_over_tcp),
        cmocka_unit_test(a_reader_that_does_not_read_holds_up_one_link_over_shared_memory),
        cmocka_unit_test(who_leaves_early_loses_nothing_of_its_own_over_tcp),
        cmocka_unit_test(who_leaves_early_loses_nothing_of_its_own_over_shared_memory),
        cmocka_unit_test(over_tcp_slots_are_sent_unasked),
        cmocka_unit_test(over_shared_memory_ucx_does_as_it_likes),
        cmocka_unit_test(ucx_asks_where_the_user_wants_it),
        cmocka_unit_test(networks_open_and_close_without_a_trace),
        cmocka_unit_test(handles_that_do_not_fit_are_refused),
        cmocka_unit_test(a_network_can_be_limited_to_a_device),
        cmocka_unit_test(nothing_is_left_in_shared_memory),
    };

    return cmocka_run_group_tests(all, NULL, NULL);
}

int main(int argc, char **argv)
{
    return parts_main(argc, argv, tests);
}
