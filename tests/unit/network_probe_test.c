/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe of the network between nodes (engine/network_probe.h) on a simulated network with a
 * clock of its own, and the classes that follow from what it measures (tune/network.h).
 *
 * A message costs its sender `message`, leaves when the link of its node's rate has room, of which
 * a first burst takes none, and arrives `latency` later.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

#include "comm/comm.h"
#include "comm/process.h"
#include "comm/runtime.h"
#include "engine/network_probe.h"
#include "engine/op_queue.h"

#include "base/errors.h"
#include "tune/network.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

enum { MOST_RANKS = 9 };

/* ---- the network ---- */

struct gr_message {
    struct gr_message *next; /* of those sent to the same rank, in the order of sending */
    int from, tag;
    size_t bytes;
    double due;          /* when it arrives, or the send is complete */
    bool receive;        /* a receive: what it waits for */
    void *buf;           /* a receive's */
    struct sim_rank *at; /* a receive's */
    unsigned char data[];
};

struct sim_rank {
    struct gr_comm comm;
    struct gr_process process;
    struct gr_op_queue queue;
    unsigned char remote[MOST_RANKS];
    struct gr_message *sent; /* to this rank, not received yet */
    double busy;             /* until when it sends */
    double away[2];          /* it does not look at messages between these times */
    double turn;             /* it has a core for every second of such times; 0: always */
    struct gr_network_probe *probe;
    int rc;
};

static struct {
    double now;     /* seconds */
    double latency; /* seconds */
    double message; /* seconds */
    double rate;    /* bytes per second */
    double burst;   /* bytes */
    double next;    /* the next event after now */
    double begin;   /* of the first message between nodes */
    double end;     /* of the last one */
    long sends;
    long fails; /* the send that fails; 0: none */
    bool tcp;   /* messages between nodes go over TCP connections, of which kernels know */
    int n;
    int node[MOST_RANKS];
    double used[MOST_RANKS]; /* [node]: until when its link is used up, but for the burst */
    struct sim_rank rank[MOST_RANKS];
} sim;

static const bool no_threads;
const bool *const gr_runtime_threads = &no_threads;

void gr_print(const char *format, ...)
{
    (void) format;
}

struct gr_peer_id gr_runtime_self(void)
{
    fail_msg("a probe opens no pool");
    return (struct gr_peer_id) {.job = 0};
}

double gr_runtime_now(void)
{
    return sim.now;
}

int gr_runtime_tag(int offset)
{
    return -offset;
}

/* When a message that is sent now leaves the node. */
static double leaves(int node, size_t bytes)
{
    double room;

    sim.used[node] = fmax(sim.used[node], sim.now) + (double) bytes / sim.rate;
    room = sim.used[node] - sim.burst / sim.rate;
    return fmax(room, sim.now);
}

int gr_runtime_send(const struct gr_comm *comm, const void *buf, size_t bytes, int rank, int tag,
                    struct gr_message **message)
{
    struct sim_rank *from = &sim.rank[comm->rank];
    struct gr_message *m = calloc(1, sizeof(*m) + bytes), **last = &sim.rank[rank].sent;
    double leaving = sim.now;

    *message = NULL;
    assert_non_null(m);
    if (++sim.sends == sim.fails) {
        free(m);
        return GR_ERR_FAILED;
    }
    from->busy = fmax(from->busy, sim.now) + sim.message;
    if (sim.node[comm->rank] != sim.node[rank]) {
        leaving = fmax(leaves(sim.node[comm->rank], bytes), from->busy) + sim.latency;
    }
    *m = (struct gr_message) {.from = comm->rank, .tag = tag, .bytes = bytes, .due = leaving};
    memcpy(m->data, buf, bytes);
    while (NULL != *last) {
        last = &(*last)->next;
    }
    *last = m;
    *message = malloc(sizeof(**message));
    assert_non_null(*message);
    **message = (struct gr_message) {.due = leaving - sim.latency};
    return 0;
}

int gr_runtime_receive(const struct gr_comm *comm, void *buf, size_t bytes, int rank, int tag,
                       struct gr_message **message)
{
    *message = malloc(sizeof(**message));
    assert_non_null(*message);
    **message = (struct gr_message) {.from = rank,
                                     .tag = tag,
                                     .bytes = bytes,
                                     .receive = true,
                                     .buf = buf,
                                     .at = &sim.rank[comm->rank]};
    return 0;
}

static bool is_due(double due)
{
    if (due > sim.now) {
        sim.next = fmin(sim.next, due);
    }
    return due <= sim.now;
}

int gr_runtime_test(struct gr_message **message)
{
    struct gr_message *m = *message, **sent, *found;

    if (NULL == m) {
        return 1;
    }
    if (m->receive) {
        for (sent = &m->at->sent; NULL != *sent; sent = &(*sent)->next) {
            if ((*sent)->from == m->from && (*sent)->tag == m->tag) {
                break;
            }
        }
        found = *sent;
        if (NULL == found || !is_due(found->due)) {
            return 0;
        }
        assert_true(found->bytes == m->bytes);
        memcpy(m->buf, found->data, found->bytes);
        *sent = found->next;
        free(found);
    } else if (!is_due(m->due)) {
        return 0;
    }
    free(m);
    *message = NULL;
    return 1;
}

/* The one connection that there is in such a network. */
#define CONNECTION 77

void gr_tcp_list(struct gr_tcp_connections *list)
{
    *list = (struct gr_tcp_connections) {.n = 1, .number = {CONNECTION}};
}

double gr_tcp_round_trip(const struct gr_tcp_connections *other)
{
    assert_true(1 == other->n && CONNECTION == other->number[0]);
    return sim.tcp ? 2 * sim.latency : 0;
}

/* ---- worlds ---- */

/*
 * Messages may be under way into a probe that failed, so it is never freed. volatile: nobody reads
 * these worlds but a leak checker.
 */
static struct stuck {
    struct stuck *next;
    __typeof__(sim) sim;
} *volatile all_stuck;

static void keep_stuck(void)
{
    struct stuck *stuck = malloc(sizeof(*stuck));

    assert_non_null(stuck);
    *stuck = (struct stuck) {all_stuck, sim};
    all_stuck = stuck;
}

/*
 * A network of Mbit/s behind a burst of bytes, with microseconds for a message to arrive and for its
 * sender. nodes: each rank's, as digits.
 */
static void use_network(double mbit, double latency_us, double message_us, double burst,
                        const char *nodes)
{
    int r, o;

    memset(&sim, 0, sizeof(sim));
    sim.now = 1;
    sim.rate = mbit * 1e6 / 8;
    sim.latency = latency_us * 1e-6;
    sim.message = message_us * 1e-6;
    sim.burst = burst;
    sim.n = (int) strlen(nodes);
    for (r = 0; r < sim.n; r++) {
        sim.node[r] = nodes[r] - '0';
    }
    for (r = 0; r < sim.n; r++) {
        struct sim_rank *rank = &sim.rank[r];

        for (o = 0; o < sim.n; o++) {
            rank->remote[o] = sim.node[o] != sim.node[r];
        }
        rank->comm.rank = r;
        rank->comm.size = sim.n;
        rank->comm.name = "a communicator";
        rank->comm.process = &rank->process;
        rank->comm.remote = rank->remote;
        rank->comm.rails = 1;
        rank->queue.comm = &rank->comm;
    }
}

/* Ranks share cores, and have one for every second of times of so many seconds; 0: always. */
static void share_cores(double turn)
{
    int r;

    for (r = 0; r < sim.n; r++) {
        sim.rank[r].comm.oversubscribed = true;
        sim.rank[r].turn = turn;
    }
}

static bool is_here(const struct sim_rank *rank)
{
    double turns = rank->turn > 0 ? sim.now / rank->turn + 0.31 * rank->comm.rank : 0;

    if (sim.now >= rank->away[0] && sim.now < rank->away[1]) {
        sim.next = fmin(sim.next, rank->away[1]);
        return false;
    }
    if (fmod(turns, 2) > 1) {
        sim.next = fmin(sim.next, sim.now + (2 - fmod(turns, 2)) * rank->turn + 1e-9);
        return false;
    }
    return true;
}

static struct gr_order_network *order_of(struct sim_rank *rank)
{
    return &rank->comm.network[rank->queue.order];
}

static void begin_probe(struct sim_rank *rank)
{
    order_of(rank)->state = GR_NETWORK_NEW;
    assert_true(gr_network_wanted(&rank->queue));
    rank->probe = gr_network_new(&rank->queue, 0);
    assert_non_null(rank->probe);
    assert_false(gr_network_wanted(&rank->queue));
    assert_true(gr_network_is_open(order_of(rank)));
    rank->rc = GR_AGAIN;
}

/* All ranks probe, until each is done or has failed. Returns seconds. */
static double run(void)
{
    double begin = sim.now;
    uint64_t moved;
    bool again = true;
    int r;

    for (r = 0; r < sim.n; r++) {
        begin_probe(&sim.rank[r]);
    }
    while (again) {
        again = false;
        moved = 0;
        sim.next = INFINITY;
        for (r = 0; r < sim.n; r++) {
            struct sim_rank *rank = &sim.rank[r];

            if (GR_AGAIN == rank->rc && is_here(rank)) {
                rank->rc = gr_network_poll(rank->probe, &moved);
            }
            again = again || GR_AGAIN == rank->rc;
        }
        if (0 == moved && again) {
            if (isinf(sim.next)) { /* only after an error does one wait for another for good */
                break;
            }
            sim.now = sim.next;
        }
    }
    return sim.now - begin;
}

/* All ranks know the same, which is returned; nothing is in flight. */
static struct gr_network end_all(void)
{
    struct gr_network all;
    int r;

    for (r = 0; r < sim.n; r++) {
        assert_int_equal(sim.rank[r].rc, GR_DONE);
        assert_null(sim.rank[r].sent);
        gr_network_end(sim.rank[r].probe);
        assert_false(gr_network_is_open(order_of(&sim.rank[r])));
    }
    all = order_of(&sim.rank[0])->network;
    for (r = 1; r < sim.n; r++) {
        assert_memory_equal(&order_of(&sim.rank[r])->network, &all, sizeof(all));
    }
    return all;
}

static struct gr_network class_of(struct gr_network n)
{
    return gr_network_class(&n, (struct gr_network_use) {.rails = 1});
}

/* The same where ranks share cores. */
static struct gr_network shared_class_of(struct gr_network n)
{
    return gr_network_class(&n, (struct gr_network_use) {.rails = 1, .shares_cores = true});
}

/* ---- classes ---- */

static struct gr_network network_of(double latency, double mbit)
{
    return (struct gr_network) {.latency = (float) latency, .mbit = (float) mbit};
}

static void a_nominal_rate_has_a_class_of_its_own(void **state)
{
    static const double nominal[] = {10,    100,   200,    1000,   10000,
                                     25000, 40000, 100000, 200000, 400000};
    static const double reached[] = {0.8, 0.9, 0.95, 0.99, 1, 1.02, 1.2};
    struct gr_network n;
    size_t k, j;

    for (k = 0; k < COUNT_OF(nominal); k++) {
        for (j = 0; j < COUNT_OF(reached); j++) {
            assert_float_equal(class_of(network_of(20, reached[j] * nominal[k])).mbit, nominal[k],
                               0);
        }
        n = network_of(20, nominal[k]);
        assert_float_equal(gr_network_class(&n, (struct gr_network_use) {.rails = 2}).mbit,
                           2 * nominal[k], 0);
    }
    assert_float_equal(class_of(network_of(20, 1)).mbit, 10, 0);
    assert_float_equal(class_of(network_of(20, 800000)).mbit, 400000, 0);
}

static void classes_of_times_are_coarse(void **state)
{
    assert_float_equal(class_of(network_of(0.6, 1000)).latency, 1.25, 0);
    assert_float_equal(class_of(network_of(2.4, 1000)).latency, 1.25, 0);
    assert_float_equal(class_of(network_of(2.6, 1000)).latency, 5, 0);
    assert_float_equal(class_of(network_of(10.5, 1000)).latency, 20, 0);
    assert_float_equal(class_of(network_of(39, 1000)).latency, 20, 0);
    assert_float_equal(class_of(network_of(41, 1000)).latency, 80, 0);
    assert_float_equal(class_of(network_of(5040, 1000)).latency, 5120, 0);
    assert_float_equal(class_of(network_of(900000, 1000)).latency, 20480, 0);
}

/* A rank that waits for a core makes a message late, by more than the network does. */
static void where_ranks_share_cores_times_of_messages_do_not_count(void **state)
{
    struct gr_network late = network_of(5100, 190), class;

    class = shared_class_of(late);
    assert_float_equal(class.latency, gr_network_built_in.latency, 0);
    assert_float_equal(class.mbit, 200, 0);
}

/* The round trip of kernels holds no such wait, nor what a turn of a rank takes. */
static void where_ranks_share_cores_the_wire_counts_if_it_is_long(void **state)
{
    static const struct {
        double wire, class;
    } rows[] = {{3, 20}, {17, 20}, {39, 20}, {41, 80}, {5040, 5120}};
    struct gr_network n = network_of(7000, 190);
    size_t k;

    for (k = 0; k < COUNT_OF(rows); k++) {
        n.wire = (float) rows[k].wire;
        assert_float_equal(shared_class_of(n).latency, rows[k].class, 0);
        assert_float_equal(shared_class_of(n).mbit, 200, 0);
        /* ranks with cores of their own go by their messages */
        assert_float_equal(class_of(n).latency, 5120, 0);
    }
}

/* The built-in values are in the classes that they are the values of. */
static void what_no_network_has_is_built_in(void **state)
{
    const struct gr_network bad[] = {network_of(0, 0), network_of(20, 0), network_of(0, 1000),
                                     network_of(20, INFINITY), network_of(NAN, 1000)};
    struct gr_network class;
    size_t k;

    for (k = 0; k < COUNT_OF(bad); k++) {
        assert_false(gr_network_good(&bad[k]));
        class = class_of(bad[k]);
        assert_memory_equal(&class, &gr_network_built_in, sizeof(class));
    }
    class = class_of(gr_network_built_in);
    assert_memory_equal(&class, &gr_network_built_in, sizeof(class));
}

/* ---- the probe ---- */

static const char *const layouts[] = {"01", "0011", "0101", "0001", "00112233", "012", "000000001"};

static void measures_each_class_in_time(void **state)
{
    static const double rates[] = {10, 100, 200, 1000, 10000, 25000, 40000, 100000, 200000, 400000};
    static const struct {
        double us, class;
    } times[] = {{1.3, 1.25}, {6, 5}, {17, 20}, {70, 80}};
    static const double bursts[] = {0, 65536};
    struct gr_network class;
    size_t k, t, b;
    double took;

    for (k = 0; k < COUNT_OF(rates); k++) {
        for (t = 0; t < COUNT_OF(times); t++) {
            /* 64 KiB beyond a burst take 50 ms at 10 Mbit/s */
            for (b = 0; b < (0 == k ? 1 : COUNT_OF(bursts)); b++) {
                if (0 == k && times[t].us < 10) { /* eight bytes take 6 us there */
                    continue;
                }
                /* a message of a train does not cost its sender more than the network */
                use_network(rates[k], times[t].us, fmin(times[t].us / 5, 150000 / rates[k]),
                            bursts[b], layouts[k % COUNT_OF(layouts)]);
                took = run();
                class = class_of(end_all());
                assert_float_equal(class.mbit, rates[k], 0);
                assert_float_equal(class.latency, times[t].class, 0);
                assert_in_range((uintmax_t) (1e6 * took), 0, 0 == k ? 40000 : 20000);
            }
        }
    }
}

static void a_far_network_has_its_rate(void **state)
{
    static const double rates[] = {200, 1000};
    struct gr_network class;
    size_t k;

    for (k = 0; k < 2 * COUNT_OF(rates); k++) {
        use_network(rates[k / 2], 5000, 3, 65536, "00112233");
        if (k % 2 > 0) {
            share_cores(0);
        }
        assert_true(run() < 0.4);
        class = class_of(end_all());
        assert_float_equal(class.latency, 5120, 0);
        assert_float_equal(class.mbit, rates[k / 2], 0);
    }
}

/* A job measures once: then ranks bring what one of them knows, be it another rank than rank 0. */
static void what_a_rank_knows_is_not_measured_again(void **state)
{
    struct gr_network known = network_of(3, 39000), found;
    long sends;

    use_network(200, 15, 2, 65536, "00112233");
    sim.rank[5].process.network.network = known;
    (void) run();
    found = end_all();
    assert_memory_equal(&found, &known, sizeof(found));
    assert_int_equal(sim.sends, 3 * 8); /* three rounds */
    /* all have learned it: the order of nonblocking calls, and further communicators, too */
    sim.rank[5].process.network.network = network_of(0, 0);
    sends = sim.sends;
    (void) run();
    found = end_all();
    assert_memory_equal(&found, &known, sizeof(found));
    assert_int_equal(sim.sends - sends, 3 * 8);
}

/* Where ranks bring different values, the lowest one's holds for all. */
static void the_lowest_rank_that_knows_counts(void **state)
{
    struct gr_network one = network_of(3, 39000), other = network_of(50, 900), found;

    use_network(200, 15, 2, 65536, "00112233");
    sim.rank[6].process.network.network = one;
    sim.rank[3].process.network.network = other;
    (void) run();
    found = end_all();
    assert_memory_equal(&found, &other, sizeof(found));
}

/* A rank that computes between two replies does not change what is measured. */
static void a_late_reply_does_not_count(void **state)
{
    struct gr_network class;
    int ms;

    for (ms = 0; ms < 12; ms++) {
        use_network(200, 15, 2, 65536, "0011");
        sim.rank[2].away[0] = sim.now + 1e-3 * ms;
        sim.rank[2].away[1] = sim.rank[2].away[0] + 0.06;
        (void) run();
        class = class_of(end_all());
        assert_float_equal(class.mbit, 200, 0);
        assert_float_equal(class.latency, 20, 0);
    }
}

/* A rank that shares its core is some milliseconds late, again and again; all other ranks too. */
static void ranks_that_share_cores_measure_the_rate(void **state)
{
    static const double rates[] = {100, 200, 1000};
    size_t k;
    int turn;

    for (k = 0; k < COUNT_OF(rates); k++) {
        for (turn = 1; turn < 8; turn++) {
            use_network(rates[k], 15, 2, 65536, "00112233");
            share_cores(1e-3 * turn);
            assert_true(run() < 0.3);
            assert_float_equal(class_of(end_all()).mbit, rates[k], 0);
        }
    }
}

/* Kernels answer meanwhile. Where messages do not go over TCP, the latency stays built in. */
static void ranks_that_share_cores_measure_the_wire(void **state)
{
    static const double us[] = {15, 70, 5000}, classes[] = {20, 80, 5120};
    struct gr_network class;
    size_t k;
    int tcp;

    for (k = 0; k < 2 * COUNT_OF(us); k++) {
        tcp = k % 2 > 0;
        use_network(200, us[k / 2], 2, 65536, layouts[k]);
        sim.tcp = tcp;
        share_cores(3e-3);
        (void) run();
        class = shared_class_of(end_all());
        assert_float_equal(class.latency, tcp ? classes[k / 2] : 20, 0);
        assert_float_equal(class.mbit, 200, 0);
    }
}

/* Nobody asks on, all choose by built-in constants, and the process does not take them for good. */
static void a_reply_that_is_too_late_ends_it(void **state)
{
    struct gr_network found;
    int r;

    use_network(200, 15, 2, 65536, "0011");
    sim.rank[2].away[0] = sim.now + 100e-6;
    sim.rank[2].away[1] = sim.now + 0.5;
    assert_true(run() < 0.51);
    found = end_all();
    assert_false(gr_network_good(&found));
    for (r = 0; r < sim.n; r++) {
        assert_false(gr_network_good(&sim.rank[r].process.network.network));
    }
    /* the next communicator measures */
    (void) run();
    assert_float_equal(class_of(end_all()).mbit, 200, 0);
}

/* Whoever comes late is waited for, and no longer; the others' clocks do not run meanwhile. */
static void who_comes_late_changes_nothing(void **state)
{
    double took;
    int r;

    for (r = 0; r < 4; r++) {
        use_network(1000, 15, 2, 65536, "0011");
        sim.rank[r].away[1] = sim.now + 3;
        took = run();
        assert_true(took >= 3 && took < 3.021);
        assert_float_equal(class_of(end_all()).mbit, 1000, 0);
    }
}

/* Each send of the probe fails once: that rank's call does. What others wait for is not ours. */
static void a_message_that_fails_ends_the_call(void **state)
{
    long k, all;
    int r, failed;

    use_network(200, 15, 2, 65536, "0011");
    (void) run();
    (void) end_all();
    all = sim.sends;
    for (k = 1; k <= all; k += 1 + k / 8) {
        use_network(200, 15, 2, 65536, "0011");
        sim.fails = k;
        (void) run();
        for (r = failed = 0; r < 4; r++) {
            failed += GR_ERR_FAILED == sim.rank[r].rc;
        }
        assert_int_equal(failed, 1);
        keep_stuck();
    }
}

static void says_for_whom_it_waits(void **state)
{
    char text[100];

    use_network(200, 15, 2, 65536, "0011");
    sim.rank[2].away[0] = sim.now + 200e-6;
    sim.rank[2].away[1] = INFINITY;
    (void) run();
    gr_network_explain(sim.rank[0].probe, text, sizeof(text));
    assert_string_equal(text, "measuring the network, waits for rank 2");
    gr_network_explain(sim.rank[1].probe, text, sizeof(text));
    assert_string_equal(text, "measuring the network, waits for rank 0");
    keep_stuck();
}

/* The latency that the user gives holds as it is. */
static void the_model_gets_what_is_given_or_measured(void **state)
{
    static const struct {
        int latency, mbit;      /* given; 0: not */
        bool measured;          /* 20 us, 1000 Mbit/s */
        double step, byte_mbit; /* of the model */
    } rows[] = {{0, 0, false, 20, 10000},      {2, 0, false, 2, 10000},
                {5000, 0, false, 5000, 10000}, {0, 0, true, 20, 1000},
                {5000, 0, true, 5000, 1000},   {0, 300, true, 20, 300}};
    static unsigned char remote[2] = {0, 1};
    size_t k;

    for (k = 0; k < COUNT_OF(rows); k++) {
        struct gr_network measured =
            rows[k].measured ? network_of(20, 1000) : (struct gr_network) {0};
        struct gr_comm comm = {.rails = 1, .nodes = 2, .node_ranks = 1};
        struct gr_internode links;

        comm.params.value[GR_PARAM_NODES_LATENCY] = rows[k].latency;
        comm.params.value[GR_PARAM_NODES_MBIT] = rows[k].mbit;
        links = gr_network_terms(&comm, &measured);
        assert_int_equal(links.nodes, 0); /* all ranks are on one node */
        comm.remote = remote;
        links = gr_network_terms(&comm, &measured);
        assert_int_equal(links.nodes, 2);
        assert_float_equal(links.step, rows[k].step, 0);
        assert_float_equal(links.byte, 8.0 / rows[k].byte_mbit, 1e-9);
    }
}

/* What the model goes by, and no value that it does not use. */
static void says_where_constants_come_from(void **state)
{
    static const struct {
        int latency, mbit; /* given; 0: not */
        bool oversubscribed;
        struct gr_network measured;
        const char *text;
    } rows[] = {
        {0, 0, false, {.latency = 0}, "built in: latency 20 us, 10000 Mbit/s"},
        {50,
         0,
         false,
         {.latency = 17, .mbit = 950},
         "by parameters: latency 50 us; else measured: latency 17.0 us (class 20), 950 Mbit/s "
         "(class 1000)"},
        {50, 200, false, {.latency = 17, .mbit = 950}, "by parameters: latency 50 us, 200 Mbit/s"},
        {0,
         200,
         false,
         {.latency = 0},
         "by parameters: 200 Mbit/s; else built in: latency 20 us, 10000 Mbit/s"},
        {0,
         0,
         true,
         {.latency = 17, .mbit = 950},
         "measured: no latency, since ranks share cores (used: 20 us), 950 Mbit/s (class 1000)"},
        {0,
         0,
         true,
         {.latency = 17, .mbit = 950, .wire = 5021},
         "measured: latency 5021.0 us by the round trip of TCP (used: 5120), 950 Mbit/s (class "
         "1000)"},
    };
    char text[300];
    size_t k;

    for (k = 0; k < COUNT_OF(rows); k++) {
        struct gr_comm comm = {.rails = 1, .oversubscribed = rows[k].oversubscribed};

        comm.params.value[GR_PARAM_NODES_LATENCY] = rows[k].latency;
        comm.params.value[GR_PARAM_NODES_MBIT] = rows[k].mbit;
        gr_comm_network_text(&comm, &rows[k].measured, text, sizeof(text));
        assert_string_equal(text, rows[k].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nominal_rate_has_a_class_of_its_own),
        cmocka_unit_test(classes_of_times_are_coarse),
        cmocka_unit_test(where_ranks_share_cores_times_of_messages_do_not_count),
        cmocka_unit_test(where_ranks_share_cores_the_wire_counts_if_it_is_long),
        cmocka_unit_test(what_no_network_has_is_built_in),
        cmocka_unit_test(measures_each_class_in_time),
        cmocka_unit_test(a_far_network_has_its_rate),
        cmocka_unit_test(what_a_rank_knows_is_not_measured_again),
        cmocka_unit_test(the_lowest_rank_that_knows_counts),
        cmocka_unit_test(a_late_reply_does_not_count),
        cmocka_unit_test(ranks_that_share_cores_measure_the_rate),
        cmocka_unit_test(ranks_that_share_cores_measure_the_wire),
        cmocka_unit_test(a_reply_that_is_too_late_ends_it),
        cmocka_unit_test(who_comes_late_changes_nothing),
        cmocka_unit_test(a_message_that_fails_ends_the_call),
        cmocka_unit_test(says_for_whom_it_waits),
        cmocka_unit_test(the_model_gets_what_is_given_or_measured),
        cmocka_unit_test(says_where_constants_come_from),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
