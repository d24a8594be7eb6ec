/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is measured of a machine (tune/measure.c), the constants made of it (tune/machine.h), and
 * what may depend on them: how bytes are copied, but never the order in which more than two ranks
 * reduce.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cmocka_test.h"

#include "base/errors.h"
#include "exec/reduce.h"
#include "select_questions.h"
#include "tune/constants.h"
#include "tune/machine.h"
#include "write_file.h"

/* ---- the kernel, as the measurement sees it ---- */

static struct {
    int refuse_binding; /* to processors */
    int refuse_copies, slow_copies;
    pthread_mutex_t lock;
    pid_t caller;    /* the thread that calls gr_machine_measure() */
    int by_caller;   /* bindings of its own */
    int n, cpus[64]; /* bindings of other threads, in their order */
    int most;        /* processors from this number on stand for processor 1; 0: all are real */
} kernel = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void new_kernel(void)
{
    kernel.refuse_binding = kernel.refuse_copies = kernel.slow_copies = 0;
    kernel.by_caller = kernel.n = kernel.most = 0;
    kernel.caller = (pid_t) syscall(SYS_gettid);
}

/* In the place of libc's. */
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    cpu_set_t real = *set;
    int cpu = 0;

    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET((size_t) cpu, set)) {
        cpu++;
    }
    pthread_mutex_lock(&kernel.lock);
    if (syscall(SYS_gettid) == kernel.caller) {
        kernel.by_caller++;
    } else if (kernel.n < (int) COUNT_OF(kernel.cpus)) {
        kernel.cpus[kernel.n++] = CPU_COUNT(set) > 1 ? -1 : cpu;
    }
    pthread_mutex_unlock(&kernel.lock);
    if (kernel.refuse_binding) {
        errno = EPERM;
        return -1;
    }
    if (kernel.most > 0 && cpu >= kernel.most) {
        CPU_ZERO(&real);
        CPU_SET(1, &real);
    }
    return (int) syscall(SYS_sched_setaffinity, pid, size, &real);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n,
                         const struct iovec *remote, unsigned long m, unsigned long flags)
{
    if (kernel.refuse_copies) {
        errno = EPERM;
        return -1;
    }
    if (kernel.slow_copies) {
        usleep(100000);
    }
    return syscall(SYS_process_vm_readv, pid, local, n, remote, m, flags);
}

/* bytes per microsecond through slots and by single copy; 0: refused. Of devices whatever is good */
static struct gr_machine machine_of(double exchange, double slots, double fetch, double call)
{
    struct gr_machine m = {.exchange = (float) exchange,
                           .reduce = (float) ((double) gr_machine_bytes[0] / 100000),
                           .call = (float) (fetch > 0 ? call : 0),
                           .device_own = 0.25F};
    int k;

    for (k = 0; k < GR_NPROTOCOLS; k++) {
        m.device_step[k] = (float) k + 2;
        m.device_bytes[k] = (float) k + 0.5F;
    }

    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        m.one_way[k] = (float) ((double) gr_machine_bytes[k] / slots);
        m.two_way[k] = (float) ((double) gr_machine_bytes[k] / slots);
        m.fetch[k] = (float) (fetch > 0 ? call + (double) gr_machine_bytes[k] / fetch : 0);
        m.fetch_new[k] = m.fetch[k];
    }
    return m;
}

static struct gr_costs costs_of(const struct gr_machine *m, enum gr_coll coll, int p, size_t bytes)
{
    struct gr_select_args q = host_question(coll, p);

    set_bytes(&q, bytes);
    return gr_machine_costs(m, &gr_costs_host, &q);
}

/* ---- what is believed ---- */

static void nothing_known_changes_nothing(void **state)
{
    struct gr_machine m = {.exchange = 0}, good = machine_of(0.2, 10000, 10000, 1);
    struct gr_costs costs;

    assert_true(gr_machine_good(&good));
    assert_true(gr_machine_good(&m));
    costs = costs_of(&m, GR_COLL_BCAST, 2, 1 << 20);
    assert_memory_equal(&costs, &gr_costs_host, /* but for the bytes behind the last member */
                        offsetof(struct gr_costs, mailbox_ranks) + sizeof(costs.mailbox_ranks));
}

static void impossible_times_are_not_good(void **state)
{
    static const float bad[] = {-1, NAN, INFINITY, 1e-9F, 1e9F};
    size_t k, at;

    for (at = 0; at < sizeof(struct gr_machine) / sizeof(float); at++) {
        struct gr_machine m = machine_of(0.2, 10000, 10000, 1), left;
        int row, known, first = 0;

        for (row = 0; row < GR_MACHINE_ROWS; row++) {
            first = first || gr_machine_rows[row].offset == at * sizeof(float);
        }
        memset((char *) &m + at * sizeof(float), 0, sizeof(float));
        assert_int_equal(gr_machine_good(&m), first); /* that constant is not known */
        for (k = 0; k < COUNT_OF(bad); k++) {
            memcpy((char *) &m + at * sizeof(float), &bad[k], sizeof(float));
            assert_false(gr_machine_good(&m));
            left = m;
            forget_bad(&left);
            assert_true(gr_machine_good(&left));
            for (row = 0, known = 0; row < GR_MACHINE_ROWS; row++) {
                known += gr_machine_knows(&left, row);
            }
            assert_int_equal(known, GR_MACHINE_ROWS - 1);
        }
    }
}

/* ---- constants ---- */

static void constants_are_the_measured_ones(void **state)
{
    struct gr_machine m = machine_of(0.4, 5000, 20000, 1.5), faster = machine_of(0.1, 5000, 0, 0);
    struct gr_costs costs, other;
    size_t bytes;

    for (bytes = 1; bytes <= MOST_BYTES; bytes = next_bytes(bytes)) {
        costs = costs_of(&m, GR_COLL_BCAST, 3, bytes);
        other = costs_of(&faster, GR_COLL_BCAST, 3, bytes);
        /* the call is not counted twice */
        assert_true(fabs(costs.by[GR_BY_FETCHING].byte * 20000 - 1) < 0.001);
        assert_true(fabs(costs.by[GR_BY_FETCHING].step - 2 * costs.by[GR_BY_SLOTS].step - 1.5) <
                    0.001);
        /* a time of slots has the step that the first message takes, but for most of it bytes */
        assert_true(costs.by[GR_BY_SLOTS].byte * 5000 > 0.1 &&
                    costs.by[GR_BY_SLOTS].byte * 5000 <= 1.001);
        assert_true(fabs(costs.by[GR_BY_SLOTS].step / other.by[GR_BY_SLOTS].step - 4) < 0.001);
        assert_true(fabs(costs.mailbox / other.mailbox - 4) < 0.001);
        /* refused: those of the base are as good as any */
        assert_true(other.by[GR_BY_FETCHING].byte == gr_costs_host.by[GR_BY_FETCHING].byte);
        /* what decides the order of reduction stays */
        assert_true(costs.by[GR_BY_SLOTS].channel_bytes ==
                        gr_costs_host.by[GR_BY_SLOTS].channel_bytes &&
                    costs.mailbox_ranks == gr_costs_host.mailbox_ranks);
        /* what is fetched has to be combined besides */
        costs = costs_of(&m, GR_COLL_REDUCE, 3, bytes);
        assert_true(fabs(costs.by[GR_BY_FETCHING].byte - 1.0 / 20000 - 1.0 / 100000) < 1e-7);
    }
}

/* A constant that is known alone changes what follows from it, and nothing else. */
static void known_constants_change_their_own(void **state)
{
    static const struct {
        const char *row;
        int step, byte, direct_step, direct_byte, mailbox_byte; /* which of them change */
    } rows[] = {
        {"exchange", 1, 0, 0, 0, 0},
        {"reduce", 0, 0, 0, 0, 0},
        {"slots", 0, 0, 0, 0, 0},
        {"slots_both_ways", 0, 1, 0, 0, 1},
        {"single_copy_call", 0, 0, 1, 0, 0},
        {"single_copy", 0, 0, 0, 1, 0},
        {"single_copy_new", 0, 0, 0, 1, 0},
        {"device_own", 0, 0, 0, 0, 0},
        {"device_step", 0, 0, 0, 0, 0},
        {"device_rate", 0, 0, 0, 0, 0},
        {"device_ll_step", 0, 0, 0, 0, 0},
        {"device_ll_rate", 0, 0, 0, 0, 0},
        {"device_ll128_step", 0, 0, 0, 0, 0},
        {"device_ll128_rate", 0, 0, 0, 0, 0},
    };
    const struct gr_costs *base = &gr_costs_host;
    int row;

    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        struct gr_machine m = machine_of(0.4, 5000, 20000, 3), one = {.exchange = 0};
        struct gr_costs costs;

        assert_string_equal(gr_machine_rows[row].name, rows[row].row);
        memcpy(gr_machine_values(&one, row), gr_machine_values(&m, row),
               (size_t) gr_machine_rows[row].values * sizeof(float));
        costs = costs_of(&one, GR_COLL_ALLREDUCE, 4, 1 << 20);
        assert_int_equal(costs.by[GR_BY_SLOTS].step != base->by[GR_BY_SLOTS].step, rows[row].step);
        assert_int_equal(costs.mailbox != base->mailbox, rows[row].step);
        assert_int_equal(costs.by[GR_BY_SLOTS].byte != base->by[GR_BY_SLOTS].byte, rows[row].byte);
        assert_int_equal(costs.by[GR_BY_FETCHING].step != base->by[GR_BY_FETCHING].step,
                         rows[row].direct_step);
        assert_int_equal(costs.by[GR_BY_FETCHING].byte != base->by[GR_BY_FETCHING].byte,
                         rows[row].direct_byte);
        assert_int_equal(costs.mailbox_byte != base->mailbox_byte, rows[row].mailbox_byte);
    }
}

/* A constant of devices changes one number, and none of a protocol that the path does not choose. */
static void device_constants_change_their_own(void **state)
{
    struct gr_machine all = machine_of(0.2, 10000, 10000, 1);
    int path, row, k, differ, expected;

    for (path = 0; path < GR_NPATHS; path++) {
        const struct gr_costs *base = &gr_costs_device[path];

        for (row = 0; row < GR_MACHINE_ROWS; row++) {
            const char *name = gr_machine_rows[row].name;
            struct gr_machine one = {.exchange = 0};
            enum gr_copy_method by = NULL != strstr(name, "_ll128") ? GR_BY_LL128
                                     : NULL != strstr(name, "_ll_") ? GR_BY_LL
                                                                    : GR_BY_SLOTS;
            struct gr_costs costs;

            memcpy(gr_machine_values(&one, row), gr_machine_values(&all, row),
                   (size_t) gr_machine_rows[row].values * sizeof(float));
            costs = gr_machine_device_costs(&one, base);
            for (k = 0, differ = 0; k < GR_NCOPY_METHODS; k++) {
                differ += costs.by[k].step != base->by[k].step;
                differ += costs.by[k].byte != base->by[k].byte;
            }
            differ += costs.own != base->own;
            expected = gr_machine_rows[row].is_device &&
                       (0 == strcmp(name, "device_own") || base->by[by].step > 0);
            if (differ != expected) {
                fail_msg("path %d, %s: %d numbers differ", path, name, differ);
            }
            if (expected && NULL != strstr(name, "_step")) {
                assert_true(costs.by[by].step == gr_machine_values(&all, row)[0]);
            } else if (expected && NULL != strstr(name, "_rate")) {
                assert_true(costs.by[by].byte * 16384 == gr_machine_values(&all, row)[0]);
            }
        }
    }
}

/* Two ranks of a rooted collective move bytes in one direction; all others in both. */
static void directions_count(void **state)
{
    struct gr_machine m = machine_of(0.2, 10000, 10000, 0.5);
    int coll, p, k;

    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        m.two_way[k] *= 2;
    }
    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for (p = 2; p <= 4; p++) {
            int rooted = GR_COLL_BCAST == coll || GR_COLL_REDUCE == coll;
            double byte = costs_of(&m, (enum gr_coll) coll, p, 8 << 20).by[GR_BY_SLOTS].byte;

            assert_int_equal(byte * 10000 > 1.5, !(rooted && 2 == p));
        }
    }
}

/* What a rank forwards was just written: only the first hop reads what was read before. */
static void new_data_counts(void **state)
{
    struct gr_machine m = machine_of(0.2, 10000, 20000, 0.5);
    double one, two, three;
    int k;

    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        m.fetch_new[k] = (float) (0.5 + (double) gr_machine_bytes[k] / 5000);
    }
    one = costs_of(&m, GR_COLL_BCAST, 2, 1 << 20).by[GR_BY_FETCHING].byte;
    two = costs_of(&m, GR_COLL_BCAST, 3, 1 << 20).by[GR_BY_FETCHING].byte;
    three = costs_of(&m, GR_COLL_BCAST, 4, 1 << 20).by[GR_BY_FETCHING].byte;
    assert_true(fabs(one - 1.0 / 20000) < 1e-7);
    assert_true(fabs(two - (1.0 / 20000 + 1.0 / 5000) / 2) < 1e-7);
    assert_true(fabs(three - (1.0 / 20000 + 2.0 / 5000) / 3) < 1e-7);
    /* an Allreduce on two ranks gathers what they have reduced */
    two = costs_of(&m, GR_COLL_ALLREDUCE, 2, 1 << 20).by[GR_BY_FETCHING].byte;
    assert_true(two > (1.0 / 20000 + 1.0 / 5000) / 2);
    /* not known: as on any machine */
    memset(m.fetch_new, 0, sizeof(m.fetch_new));
    two = costs_of(&m, GR_COLL_BCAST, 3, 1 << 20).by[GR_BY_FETCHING].byte;
    assert_true(fabs(two - (1.0 / 20000 + gr_costs_host.by[GR_BY_FETCHING].byte) / 2) < 1e-7);
}

/* Between two sizes a constant lies between theirs; beyond the sizes it is that of the last one. */
static void constants_follow_the_size(void **state)
{
    struct gr_machine m = machine_of(0.2, 10000, 10000, 0.5);
    double last = 0, byte;
    size_t bytes;
    int k;

    for (k = 0; k < GR_MACHINE_SIZES; k++) { /* larger ones are slower */
        m.fetch_new[k] = (float) (0.5 + (double) gr_machine_bytes[k] / (20000 >> k));
        m.fetch[k] = m.fetch_new[k];
    }
    for (bytes = 1; bytes <= MOST_BYTES; bytes = next_bytes(bytes)) {
        byte = costs_of(&m, GR_COLL_ALLGATHER, 3, bytes).by[GR_BY_FETCHING].byte;
        assert_true(byte >= last);
        last = byte;
        for (k = 0; k < GR_MACHINE_SIZES; k++) {
            assert_true(bytes > gr_machine_bytes[k] || byte * (20000 >> k) < 1.001);
            assert_true(bytes < gr_machine_bytes[k] || byte * (20000 >> k) > 0.999);
        }
    }
}

/* What lies before the smallest size is not looked at. */
static void the_smallest_size_has_its_own_value(void **state)
{
    static const size_t sizes[] = {1, 64, 128};
    static const double values[] = {NAN, 3, 5};

    assert_true(3 == gr_interpolate(sizes + 1, values + 1, 2, 1));
    assert_true(3 == gr_interpolate(sizes + 1, values + 1, 2, 64));
    assert_true(5 == gr_interpolate(sizes + 1, values + 1, 2, 128));
}

/* ---- the choice ---- */

/* Machines of every kind: slots or single copy much faster or slower, lines near or far. */
static struct gr_machine machines[] = {
    {.exchange = 0}, {.exchange = 0}, {.exchange = 0}, {.exchange = 0}, {.exchange = 0}};

static void make_machines(void)
{
    machines[0] = machine_of(0.2, 1000, 100000, 0.2);
    machines[1] = machine_of(0.2, 100000, 1000, 0.2);
    machines[2] = machine_of(0.02, 20000, 20000, 5);
    machines[3] = machine_of(2, 20000, 20000, 0.2);
    machines[4] = machine_of(0.2, 10000, 0, 0);
}

static int reduces(enum gr_coll coll)
{
    return GR_COLL_ALLREDUCE == coll || GR_COLL_REDUCE == coll || GR_COLL_REDUCE_SCATTER == coll;
}

static void keeps_the_order(const struct gr_costs *costs, const struct gr_select_args *shape)
{
    struct gr_select_args q = *shape;
    struct gr_choice plain, c;
    size_t bytes, k;

    if (q.p <= 2 || !reduces(q.coll) || 0 != q.threads || q.internode.nodes > 1) {
        return;
    }
    for (bytes = 1; bytes <= MOST_BYTES; bytes = 3 * bytes + 1) {
        set_bytes(&q, bytes);
        plain = gr_select(costs, &q);
        for (k = 0; k < COUNT_OF(machines); k++) {
            struct gr_costs measured = gr_machine_costs(&machines[k], costs, &q);

            c = gr_select_measured(costs, &measured, &q);
            assert_int_equal(c.algo, plain.algo);
            assert_int_equal(c.nchannels, plain.nchannels);
            if (GR_ALGO_MAILBOX != c.algo &&
                GR_BLOCKS != gr_algo_layout((enum gr_algo) c.algo, q.coll)) {
                assert_int_equal(c.direct, plain.direct);
                assert_int_equal(c.chunk_bytes, plain.chunk_bytes);
                assert_int_equal(c.direct_chunk_bytes, plain.direct_chunk_bytes);
            }
        }
    }
}

static void reductions_keep_their_order(void **state)
{
    int coll;

    make_machines();
    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for_each_host((enum gr_coll) coll, keeps_the_order);
    }
}

/* Large messages are copied as is fastest here: on two ranks, and wherever nothing is reduced. */
static void copies_as_is_fastest(void **state)
{
    int coll, p, k;

    make_machines();
    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for (p = 2; p <= 8; p += 3) {
            if (GR_COLL_ALLTOALL == coll || GR_COLL_BARRIER == coll ||
                (p > 2 && reduces((enum gr_coll) coll))) {
                continue;
            }
            for (k = 0; k < 2; k++) {
                struct gr_select_args q = host_question((enum gr_coll) coll, p);
                struct gr_costs measured;

                q.direct = 1;
                set_bytes(&q, 8 << 20);
                measured = gr_machine_costs(&machines[k], &gr_costs_host, &q);
                assert_int_equal(gr_select_measured(&gr_costs_host, &measured, &q).direct, 0 == k);
            }
        }
    }
}

/* ---- the measurement ---- */

static int threads_of_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = -2; /* "." and ".." */

    assert_non_null(tasks);
    for (; NULL != readdir(tasks); n++) {
    }
    closedir(tasks);
    return n;
}

/* Of a process that has ended a thread: a sanitizer has one of its own from then on. */
static int threads;

static void *end_at_once(void *arg)
{
    return arg;
}

static int count_threads(void **state)
{
    pthread_t thread;

    if (0 != pthread_create(&thread, NULL, end_at_once, NULL)) {
        return -1;
    }
    pthread_join(thread, NULL);
    threads = threads_of_process();
    return 0;
}

/* Two processors that this process may use, and what it was measured with; 0: there are two. */
static int measure(enum gr_effort effort, double limit, struct gr_machine *m)
{
    struct gr_machine whole = machine_of(0.2, 10000, 10000, 1);
    struct gr_measure_args args = {.effort = effort,
                                   .limit = limit,
                                   .whole = GR_EFFORT_BRIEF == effort ? &whole : NULL,
                                   .sum = gr_reduce_find(GR_TYPE_F32, GR_OP_SUM)};
    int partners[GR_CPU_DISTANCES], cpu = sched_getcpu(), d;
    cpu_set_t allowed;

    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    gr_cpu_partners(GR_SYSFS_CPUS, cpu, &allowed, partners);
    for (d = 0; d < GR_CPU_DISTANCES && partners[d] < 0; d++) {
    }
    if (GR_CPU_DISTANCES == d) {
        skip(); /* one processor */
    }
    args.cpus[0] = cpu;
    args.cpus[1] = partners[d];
    return gr_machine_measure(&args, m);
}

/* The same, again where other work on the machine takes too much of the time. */
static int measure_patiently(enum gr_effort effort, struct gr_machine *m)
{
    int tries, rc = GR_ERR_TIMEOUT;

    for (tries = 0; tries < 20 && GR_ERR_TIMEOUT == rc; tries++) {
        rc = measure(effort, 2, m);
    }
    return rc;
}

static void measures_and_leaves_nothing(void **state)
{
    cpu_set_t before, after;
    struct gr_machine m;
    char text[96];
    int row;

    new_kernel();
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(measure_patiently(GR_EFFORT_QUICK, &m), 0);
    assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    assert_int_equal(threads_of_process(), threads);
    assert_true(gr_machine_good(&m));
    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        assert_int_equal(gr_machine_knows(&m, row), !gr_machine_rows[row].is_device);
        print_message("# %s %s\n", gr_machine_rows[row].name,
                      gr_machine_print(&m, row, text, sizeof(text)));
    }
}

/* The caller stays where it is, and its threads are on processors that it may use. */
static void only_its_threads_are_bound(void **state)
{
    struct gr_machine m;
    cpu_set_t allowed;
    int k;

    new_kernel();
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    assert_int_equal(measure_patiently(GR_EFFORT_BRIEF, &m), 0);
    assert_int_equal(kernel.by_caller, 0);
    assert_true(kernel.n >= 2);
    for (k = 0; k < kernel.n; k++) {
        assert_true(kernel.cpus[k] >= 0 && CPU_ISSET((size_t) kernel.cpus[k], &allowed));
        assert_true(kernel.cpus[k] != kernel.cpus[k ^ 1]);
    }
}

static void gives_up_where_binding_is_refused(void **state)
{
    struct gr_machine m = machine_of(1, 1, 1, 1), none = {.exchange = 0};

    new_kernel();
    kernel.refuse_binding = 1;
    assert_int_equal(measure(GR_EFFORT_QUICK, 2, &m), GR_ERR_NOT_SUPPORTED);
    assert_memory_equal(&m, &none, sizeof(m));
    assert_int_equal(threads_of_process(), threads);
}

static void ends_when_the_time_is_over(void **state)
{
    struct gr_machine m = machine_of(1, 1, 1, 1), none = {.exchange = 0};

    new_kernel();
    assert_int_equal(measure(GR_EFFORT_QUICK, 0, &m), GR_ERR_TIMEOUT);
    assert_memory_equal(&m, &none, sizeof(m));
    assert_int_equal(threads_of_process(), threads);
}

/* Single copy that is refused is not known; single copy that takes too long is a time-out. */
static void refused_single_copy_is_no_time_out(void **state)
{
    struct gr_machine m, none = {.exchange = 0};

    new_kernel();
    kernel.refuse_copies = 1;
    assert_int_equal(measure_patiently(GR_EFFORT_BRIEF, &m), 0);
    assert_true(m.exchange > 0 && m.one_way[0] > 0 && m.two_way[1] > 0);
    assert_true(0 == m.call && 0 == m.fetch[0] && 0 == m.fetch_new[0]);
    new_kernel();
    kernel.slow_copies = 1;
    assert_int_equal(measure(GR_EFFORT_BRIEF, 1, &m), GR_ERR_TIMEOUT);
    assert_memory_equal(&m, &none, sizeof(m));
}

/* ---- a node's distances ---- */

static char sysfs[] = "/tmp/gr_machine_test_XXXXXX";

/* Processors 1, 2 and 3 share a cache, a socket and nothing with processor 0. */
static void make_node(void)
{
    static const struct {
        const char *file, *list;
    } files[] = {{"cache/index3/shared_cpu_list", "0-1"}, {"topology/core_siblings_list", "0-2"}};
    char command[256];
    size_t k;

    assert_non_null(mkdtemp(sysfs));
    for (k = 0; k < COUNT_OF(files); k++) {
        snprintf(command, sizeof(command), "f=%s/cpu0/%s; mkdir -p $(dirname $f) && echo %s >$f",
                 sysfs, files[k].file, files[k].list);
        assert_int_equal(system(command), 0);
    }
}

static int measure_node(int ranks, struct gr_constants *c)
{
    struct gr_measure_node_args args = {
        .folder = sysfs, .ranks = ranks, .limit = 2, .sum = gr_reduce_find(GR_TYPE_F32, GR_OP_SUM)};
    int cpu;

    CPU_ZERO(&args.allowed);
    for (cpu = 0; cpu < 4; cpu++) {
        CPU_SET((size_t) cpu, &args.allowed);
    }
    new_kernel();
    kernel.most = 2; /* so many there are; the others are made up */
    return gr_constants_measure(c, &args);
}

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-4 * fabs(b);
}

/* One distance is measured at all sizes; large copies of the others follow from it. */
static void all_distances_are_measured(void **state)
{
    static const int distances[] = {GR_CPU_CACHE, GR_CPU_SOCKET, GR_CPU_SYSTEM};
    int ranks, tries, rc, k, row;
    cpu_set_t allowed;

    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    if (!CPU_ISSET(0, &allowed) || !CPU_ISSET(1, &allowed)) {
        skip();
    }
    make_node();
    for (ranks = 2; ranks <= 4; ranks += 2) {
        int first = 2 == ranks ? GR_CPU_CACHE : GR_CPU_SYSTEM, complete = 0;
        struct gr_constants c;

        for (tries = 0; tries < 20 && !complete; tries++) {
            memset(&c, 0, sizeof(c));
            rc = measure_node(ranks, &c);
            complete = 0 == rc;
            for (k = 0; k < 3; k++) { /* brief ones may run out of time */
                complete = complete && GR_FROM_BUILD != c.from[distances[k]][0];
            }
        }
        assert_true(complete);
        assert_true(gr_constants_good(&c));
        assert_int_equal(c.from[GR_CPU_NUMA][0], GR_FROM_BUILD); /* no processor is so far away */
        /* side by side with two ranks, else far apart */
        assert_true(kernel.cpus[0] + kernel.cpus[1] == (2 == ranks ? 1 : 3));
        for (k = 0; k < 3; k++) {
            const struct gr_machine *m = &c.at[distances[k]], *whole = &c.at[first];

            for (row = 0; row < GR_MACHINE_ROWS; row++) {
                assert_int_equal(c.from[distances[k]][row], gr_machine_rows[row].is_device
                                                                ? GR_FROM_BUILD
                                                                : GR_FROM_MEASUREMENT);
            }
            assert_true(distances[k] == first || is_near(m->one_way[3] / whole->one_way[3],
                                                         m->one_way[1] / whole->one_way[1]));
        }
    }
}

/* What a file says of the distance that counts is not measured. */
static void files_spare_the_measurement(void **state)
{
    struct gr_machine m = machine_of(0.2, 10000, 10000, 1);
    struct gr_constants c = {.not_measured = 0};

    gr_constants_take(&c, GR_CPU_SYSTEM, &m, GR_FROM_FILE);
    assert_int_equal(measure_node(4, &c), 0);
    assert_int_equal(kernel.n, 0);
}

static void one_processor_is_said_to_be_one(void **state)
{
    struct gr_measure_node_args args = {.folder = sysfs, .ranks = 2, .limit = 2};
    struct gr_constants c = {.not_measured = 0};

    CPU_ZERO(&args.allowed);
    CPU_SET(0, &args.allowed);
    assert_int_equal(gr_constants_measure(&c, &args), GR_ERR_NOT_SUPPORTED);
    assert_int_equal(c.not_measured, GR_ERR_NOT_SUPPORTED);
}

static int remove_node(void **state)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", sysfs);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known_changes_nothing),
        cmocka_unit_test(impossible_times_are_not_good),
        cmocka_unit_test(constants_are_the_measured_ones),
        cmocka_unit_test(known_constants_change_their_own),
        cmocka_unit_test(device_constants_change_their_own),
        cmocka_unit_test(directions_count),
        cmocka_unit_test(new_data_counts),
        cmocka_unit_test(constants_follow_the_size),
        cmocka_unit_test(the_smallest_size_has_its_own_value),
        cmocka_unit_test(reductions_keep_their_order),
        cmocka_unit_test(copies_as_is_fastest),
        cmocka_unit_test(measures_and_leaves_nothing),
        cmocka_unit_test(only_its_threads_are_bound),
        cmocka_unit_test(gives_up_where_binding_is_refused),
        cmocka_unit_test(ends_when_the_time_is_over),
        cmocka_unit_test(refused_single_copy_is_no_time_out),
        cmocka_unit_test(all_distances_are_measured),
        cmocka_unit_test(files_spare_the_measurement),
        cmocka_unit_test(one_processor_is_said_to_be_one),
    };

    return cmocka_run_group_tests(tests, count_threads, remove_node);
}
