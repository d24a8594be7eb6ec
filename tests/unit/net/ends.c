/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends of links as processes (ends.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "ends.h"

#include "net/transport.h"
#include "net/ucx.h"
#include "rng.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmocka_test.h"

/* ---- in a part ---- */

void need_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    _exit(1);
}

double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* After so many looks at a network where nothing moves a part sleeps between two looks. */
enum { IDLE_LOOKS = 1000, IDLE_NS = 200000 };

static void progress(struct part *p)
{
    static const struct timespec pause = {.tv_nsec = IDLE_NS};
    uint64_t moved = 0;

    gr_net_progress(p->net, &moved);
    p->idle_looks = moved > 0 ? 0 : p->idle_looks + 1;
    if (p->idle_looks > IDLE_LOOKS) {
        (void) nanosleep(&pause, NULL);
    } else if (p->idle_looks > 0) {
        sched_yield();
    }
}

void settle(struct part *p, double quiet)
{
    double since = seconds();

    while (seconds() - since < quiet) {
        progress(p);
        since = 0 == p->idle_looks ? seconds() : since;
    }
}

/* The socket's next byte; progress until it comes. */
static char next_byte(struct part *p, int fd)
{
    char c;
    ssize_t n;

    while (1 != (n = recv(fd, &c, 1, MSG_DONTWAIT))) {
        need(0 != n); /* the other side is gone */
        progress(p);
    }
    return c;
}

void meet(struct part *p, int other)
{
    need(1 == send(p->sockets[other], "m", 1, MSG_NOSIGNAL));
    need('m' == next_byte(p, p->sockets[other]));
}

void tell(struct part *p, char word)
{
    need(1 == send(p->control, &word, 1, MSG_NOSIGNAL));
}
char hear(struct part *p)
{
    return next_byte(p, p->control);
}

#ifdef ENDS_ON_GPUS
static int flush(void *flushes)
{
    ++*(uint64_t *) flushes;
    return 0;
}

static void lie_on_gpu(struct end *e)
{
    need(gr_net_reaches_gpus(e->part->net));
    e->fifo.gpu = (struct gr_fifo_gpu) {
        .on = 1, .flush = flush, .gpu = &e->flushes, .user = &e->slots, .lease = 78};
}

/* What was read had been flushed. */
static void check_gpu(const struct end *e)
{
    need(78 == atomic_load(&e->slots.left));
    need((GR_NET_IN == e->side && e->done > 0) <= (e->flushes > 0));
}
#else
static void lie_on_gpu(struct end *e)
{
    (void) e;
}
static void check_gpu(const struct end *e)
{
    (void) e;
}
#endif

void end_open(struct end *e, struct part *p, enum gr_net_side side, struct shape shape)
{
    static const uint64_t begin = 1000003; /* counters of a slab that was used before */

    memset(e, 0, sizeof(*e));
    e->part = p;
    e->side = side;
    e->shared = aligned_alloc(GR_CACHE_LINE,
                              (gr_link_bytes(shape.nslots, shape.slot_bytes) + 63) / 64 * 64);
    need(NULL != e->shared);
    memset(e->shared, 0, sizeof(*e->shared));
    e->shared->head = e->shared->tail = begin;
    e->fifo = gr_link_fifo(e->shared, begin, shape.nslots, shape.slot_bytes);
    e->fifo.valid_bytes = GR_NET_OUT == side ? e->fill : NULL;
    e->fifo.lease = 77;
    lie_on_gpu(e);
    gr_link_attach(&e->link, e->shared, begin, shape.nslots, shape.slot_bytes);
    need(0 == gr_net_link_open(p->net, side, &e->fifo, &e->net));
    e->link.bell = &e->net->bell;
}

void end_join(struct end *e, int other)
{
    struct gr_net_handle mine, theirs;
    char name[32];

    gr_net_link_export(e->net, &mine);
    need(sizeof(mine) == send(e->part->sockets[other], &mine, sizeof(mine), MSG_NOSIGNAL));
    need(sizeof(theirs) == recv(e->part->sockets[other], &theirs, sizeof(theirs), MSG_WAITALL));
    snprintf(name, sizeof(name), "part %d", other);
    need(0 == gr_net_link_join(e->net, &theirs, name));
    e->seed = GR_NET_OUT == e->side ? (uint64_t) e->part->number : (uint64_t) other;
}

void end_close(struct end *e)
{
    double end = seconds() + PATIENCE / 2;

    gr_net_link_close(e->net);
    while (77 != atomic_load(&e->shared->writer.left)) {
        need(seconds() < end);
        progress(e->part);
    }
    check_gpu(e);
    free(e->shared);
}

static size_t length_of(const struct end *e, const struct shape *shape)
{
    /* rarely 0 and full, mostly short */
    uint64_t r = rng_mix(e->seed * 31 + e->done * 2 + 1);

    if (!shape->vary || 0 == r % 5) {
        return shape->slot_bytes;
    }
    return 1 == r % 5 ? r / 5 % (shape->slot_bytes + 1)
                      : r / 5 % (shape->slot_bytes < 100 ? shape->slot_bytes : 100);
}

/*
 * Words of a slot: each depends on the link, the slot and its place; whether they are right, or
 * make them so.
 */
static int contents(struct end *e, unsigned char *slot, size_t bytes, int check)
{
    uint64_t word, k;

    for (k = 0; k < bytes; k += sizeof(word)) {
        size_t n = bytes - k < sizeof(word) ? bytes - k : sizeof(word);

        word = rng_mix(e->seed << 48 ^ e->done << 20 ^ k);
        if (!check) {
            memcpy(slot + k, &word, n);
        } else if (0 != memcmp(slot + k, &word, n)) {
            fprintf(stderr, "slot %llu of %zu bytes differs at %llu\n",
                    (unsigned long long) e->done, bytes, (unsigned long long) k);
            return 0;
        }
    }
    return 1;
}

/* What is said beside a slot: nothing at first. */
static uint64_t word_beside(const struct end *e)
{
    return e->done < 40 ? 0 : e->done;
}

int end_go_on(struct end *e, uint64_t until, const struct shape *shape)
{
    size_t bytes;

    while (e->done < until &&
           (GR_NET_OUT == e->side ? gr_link_writable(&e->link) : gr_link_readable(&e->link))) {
        bytes = length_of(e, shape);
        need(contents(e, gr_link_slot(&e->link), bytes, GR_NET_IN == e->side));
        if (GR_NET_OUT == e->side) {
            e->fill[e->link.mine % e->link.nslots] = (uint32_t) bytes;
            atomic_store(&e->shared->sideband[0], word_beside(e));
            gr_link_push(&e->link);
        } else {
            need(atomic_load(&e->shared->sideband[0]) >= word_beside(e)); /* or a newer one's */
            memset(gr_link_slot(&e->link), 0x55, bytes); /* what is not sent again must be seen */
            gr_link_pop(&e->link);
        }
        e->done++;
    }
    return e->done == until;
}

void ends_finish(struct end *ends, int n, uint64_t until, const struct shape *shape)
{
    int k, left;

    do {
        left = 0;
        for (k = 0; k < n; k++) {
            left += !end_go_on(&ends[k], until, shape);
            need(0 == gr_net_link_status(ends[k].net));
        }
        progress(ends[0].part);
    } while (left > 0);
}

static int run_part(char **arguments)
{
    struct part p = {
        .number = atoi(arguments[1]), .nparts = atoi(arguments[2]), .control = atoi(arguments[3])};
    const struct scenario *s = scenarios;
    char why[200] = "";
    int k;

    alarm(PATIENCE);
    for (k = 0; k < p.nparts; k++) {
        p.sockets[k] = atoi(arguments[4 + k]);
    }
    while (NULL != s->name && 0 != strcmp(s->name, arguments[0])) {
        s++;
    }
    need(NULL != s->name);
    if (0 != gr_net_open(&p.net, &gr_transport_ucx, NULL, why, sizeof(why))) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    s->run(&p);
    gr_net_close(p.net, 1);
    return 0;
}

/* ---- in the test ---- */

static void become_part(const char *scenario, int number, int n, int control,
                        int sockets[MAX_PARTS])
{
    char words[3 + MAX_PARTS][12];
    char *arguments[] = {"test",   "--part", (char *) scenario, words[0], words[1], words[2],
                         words[3], words[4], words[5],          words[6], NULL};
    int k;

    snprintf(words[0], sizeof(words[0]), "%d", number);
    snprintf(words[1], sizeof(words[1]), "%d", n);
    snprintf(words[2], sizeof(words[2]), "%d", control);
    for (k = 0; k < MAX_PARTS; k++) {
        snprintf(words[3 + k], sizeof(words[3 + k]), "%d", sockets[k]);
    }
    dup2(2, 1); /* standard output is for TAP */
    execv("/proc/self/exe", arguments);
    _exit(127);
}

struct running parts_start(const char *scenario, int n, const char *tls, const char *others)
{
    struct running r = {.n = n};
    int between[MAX_PARTS][MAX_PARTS], control[MAX_PARTS][2], pair[2], a, b;

    fflush(stdout);
    memset(between, -1, sizeof(between));
    for (a = 0; a < n; a++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, control[a]), 0);
        for (b = a + 1; b < n; b++) {
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            between[a][b] = pair[0];
            between[b][a] = pair[1];
        }
    }
    for (a = 0; a < n; a++) {
        /* where nothing can tell a dead peer, and where nothing leads to it, UCX says so */
        setenv("UCX_LOG_LEVEL", "fatal", 1);
        setenv("UCX_TLS", 0 == a || NULL == others ? tls : others, 1);
        r.pids[a] = fork();
        assert_true(r.pids[a] >= 0);
        if (0 == r.pids[a]) {
            /* a part that dies must be seen: its sockets are nobody else's */
            for (b = 0; b < n * n; b++) {
                if (b / n != a && between[b / n][b % n] >= 0) {
                    close(between[b / n][b % n]);
                }
            }
            become_part(scenario, a, n, control[a][1], between[a]);
        }
    }
    for (a = 0; a < n; a++) {
        close(control[a][1]);
        r.control[a] = control[a][0];
        for (b = 0; b < n; b++) {
            close(between[a][b]);
        }
    }
    return r;
}

char parts_hear(const struct running *r, int part)
{
    char c = 0;

    assert_int_equal(recv(r->control[part], &c, 1, 0), 1);
    return c;
}

void parts_tell(const struct running *r, int part, char word)
{
    assert_int_equal(send(r->control[part], &word, 1, MSG_NOSIGNAL), 1);
}

int part_await(struct running *r, int part)
{
    int status;

    assert_int_equal(waitpid(r->pids[part], &status, 0), r->pids[part]);
    r->pids[part] = 0;
    close(r->control[part]);
    return status;
}

void parts_await(struct running *r)
{
    int k, bad = 0;

    for (k = 0; k < r->n; k++) {
        bad += 0 != r->pids[k] && 0 != part_await(r, k);
    }
    assert_int_equal(bad, 0);
}

void parts_run(const char *scenario, int n, const char *tls)
{
    struct running r = parts_start(scenario, n, tls, NULL);

    parts_await(&r);
}

int parts_main(int argc, char **argv, int (*tests)(void))
{
    if (argc == 6 + MAX_PARTS && 0 == strcmp(argv[1], "--part")) {
        return run_part(argv + 2);
    }
    return tests();
}
