/* SPDX-License-Identifier: BSD-3-Clause */
/* Users' buffers of another process (link/ipc_cache.h), each with a driver of its own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "sanitizer/sanitizer.h"
#include "depth.h"
#include "gpu_share_peer.h"
#include "usage.h"

#include <signal.h>

static void lend_buffers(const struct peer *p, struct sharer *s)
{
    static const size_t sizes[] = {256, 5000, 100000, 3 * MIB};
    unsigned char *at;
    size_t k;

    for (k = 0; k < 4; k++) {
        size_t half = sizes[k] / 2, quarter = sizes[k] / 4;

        at = device_memory(sizes[k]);
        fill(s->gpu, gr_cuda_ptr(at), 77, sizes[k]);
        CHECK_INT(offer(p, s, 1, at + 8, quarter).result, 0);
        CHECK_INT(offer(p, s, 2, at + half, quarter).result, 0); /* while the other one is in use */
        CHECK(holds(s->gpu, gr_cuda_ptr(at), 77, 8));
        CHECK(holds(s->gpu, gr_cuda_ptr(at) + 8 + quarter, 77, half - 8 - quarter));
        CHECK(holds(s->gpu, gr_cuda_ptr(at) + half + quarter, 77, sizes[k] - half - quarter));
        CHECK_INT(order(p, EXPORT, 2).result, 0); /* what is another's cannot be shared further */
        (void) order(p, DROP, 1);
        CHECK_INT(order(p, DROP, 2).usage.mapped, k + 1);
        CHECK_INT(lend(p, s, at, sizes[k]).usage.mapped, k + 1);
    }
    CHECK_INT(order(p, TRIM, 0).usage.mapped, 0);
}

static void on_one_device(void)
{
    struct peer p = start_peer(serve_from_0, NULL);
    struct sharer s = open_sharer(0, 0, 8, 0);

    lend_buffers(&p, &s);
    end_peer(&p);
    close_sharer(&s);
}

static void on_two_devices(void)
{
    struct peer p = start_peer(serve_from_1, NULL);
    struct sharer s = open_sharer(0, 0, 8, 0);

    lend_buffers(&p, &s);
    end_peer(&p);
    close_sharer(&s);
}

static void on_a_device_that_the_peer_does_not_see(void)
{
    struct peer p = start_peer(serve_from_0, "CUDA_VISIBLE_DEVICES=1");
    struct sharer s = open_sharer(0, 0, 8, 0);

    lend_buffers(&p, &s);
    end_peer(&p);
    close_sharer(&s);
}

/* Every mapping is refused, and leaves nothing behind. */
static void nothing_is_mapped(void (*program)(int in, int out), const char *environment)
{
    struct peer p = start_peer(program, environment);
    struct sharer s = open_sharer(0, 0, 8, 0);
    int before = order(&p, TRIM, 0).descriptors, k;

    for (k = 0; k < 40; k++) {
        void *at = device_memory(BYTES);
        struct reply r = offer(&p, &s, 0, at, BYTES);

        CHECK_INT(r.result, GR_ERR_PEER);
        CHECK_INT(r.usage.mapped, 0);
        CHECK_INT(r.descriptors, before);
    }
    end_peer(&p);
    close_sharer(&s);
}

static void devices_that_are_apart(void)
{
    nothing_is_mapped(serve_from_1, NULL);
}

static void the_peer_has_no_ipc(void)
{
    nothing_is_mapped(serve_from_0, "FAKECUDA_IPC=none");
}

/* ---- freed, and used again ---- */

/* Smaller, larger, and as before: one mapping after the other, never two. */
static void an_address_is_used_again(void)
{
    static const size_t sizes[] = {5000, 8192, 7000, 4200, 8192, 8192, 5000};
    struct peer p = start_peer(serve_from_0, NULL);
    struct sharer s = open_sharer(0, 0, 8, 0);
    CUdeviceptr last = 0;
    size_t k;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        unsigned char *at = device_memory(sizes[k]);

        /* or the driver shows nothing */
        CHECK(0 == last || gr_cuda_ptr(at) - last + BYTES < 2 * BYTES);
        last = gr_cuda_ptr(at);
        CHECK_INT(lend(&p, &s, at, sizes[k]).usage.mapped, 1);
        CHECK_INT(lend(&p, &s, at + 4000, 150).usage.mapped, 1);
        free_memory(at);
    }
    end_peer(&p);
    close_sharer(&s);
}

/* Grown by a copy, as a vector does: the old one is freed when the new one is there. */
static void a_buffer_grows(void)
{
    struct peer p = start_peer(serve_from_0, NULL);
    struct sharer s = open_sharer(0, 0, 3, 0);
    unsigned char *at = device_memory(1000), *old;
    size_t bytes;

    for (bytes = 1000; bytes < 2000000; bytes += bytes / 4) {
        CHECK(lend(&p, &s, at, bytes).usage.mapped <= BOUND);
        old = at;
        at = device_memory(bytes + bytes / 4);
        free_memory(old);
    }
    CHECK_INT(ipc_cache_usage(s.share).exports, 3);
    end_peer(&p);
    close_sharer(&s);
}

/*
 * It cannot be, but for an error of the application: the peer sends through slots, and stores
 * nowhere.
 */
static void freed_while_in_use(void)
{
    struct peer p = start_peer(serve_from_0, NULL);
    struct sharer s = open_sharer(0, 0, 8, 0);
    unsigned char *at = device_memory(BYTES), *next;

    CHECK_INT(offer(&p, &s, 1, at, BYTES).result, 0);
    free_memory(at);
    next = device_memory(BYTES);
    CHECK(next == at); /* or the driver under test shows nothing */
    CHECK_INT(offer(&p, &s, 2, next, BYTES).result, GR_ERR_PEER);
    CHECK_INT(order(&p, DROP, 1).usage.mapped, 1);
    CHECK_INT(lend(&p, &s, next, BYTES).usage.mapped, 1);
    end_peer(&p);
    close_sharer(&s);
}

/* ---- bounds ---- */

static void mappings_are_bounded(void)
{
    enum { N = 12 };
    struct peer p = start_peer(serve_from_0, NULL);
    struct sharer s = open_sharer(0, 0, 8, 0);
    int before = order(&p, TRIM, 0).descriptors, round, k;
    unsigned char *at[N];

    for (k = 0; k < N; k++) {
        at[k] = device_memory(BYTES);
    }
    for (round = 0; round < 3; round++) {
        for (k = 0; k < N; k++) {
            struct reply r = lend(&p, &s, at[k], BYTES);

            CHECK(r.usage.mapped <= BOUND);
            CHECK(r.descriptors <= before + BOUND);
        }
    }
    CHECK_INT(order(&p, TRIM, 0).descriptors, before);
    for (k = 0; k < BOUND; k++) { /* all in use */
        CHECK_INT(offer(&p, &s, k, at[k], BYTES).result, 0);
    }
    CHECK_INT(offer(&p, &s, BOUND, at[BOUND], BYTES).result, GR_ERR_PEER);
    CHECK_INT(offer(&p, &s, BOUND, at[1], BYTES).result, 0); /* one of those */
    CHECK_INT(order(&p, DROP, 0).usage.in_use, BOUND - 1);
    CHECK_INT(offer(&p, &s, 0, at[N - 1], BYTES).result, 0);
    end_peer(&p); /* closes what is in use */
    close_sharer(&s);
}

/*
 * KiB that a process may grow by; a sanitizer is slow, keeps what is freed, and looks for leaks
 * itself.
 */
enum { GROWTH = GR_SANITIZER(512, 1 << 20, 1 << 20), ROUNDS = GR_SANITIZER(3000, 2500, 2500) };

static void many_rounds(void)
{
    enum { EARLY = 500, ALIVE = 3 };
    const int rounds = depth(ROUNDS, 4 * ROUNDS);
    struct peer p = start_peer(serve_from_0, NULL);
    struct sharer s = open_sharer(0, 0, BOUND, 0);
    void *at[ALIVE] = {NULL};
    struct reply early = {0}, r = {0};
    long own = 0;
    int k, fds = 0;

    for (k = 0; k < rounds; k++) {
        void **one = &at[k % ALIVE];

        if (NULL != *one) {
            free_memory(*one);
        }
        *one = device_memory(1000 + (size_t) (k * 37 % 60) * 1000);
        r = lend(&p, &s, *one, 64);
        if (EARLY == k) {
            early = r;
            own = resident();
            fds = descriptors();
        }
        CHECK(r.usage.mapped <= BOUND && 0 == r.usage.in_use);
        CHECK(ipc_cache_usage(s.share).exports <= BOUND);
        CHECK(k < EARLY ||
              (r.descriptors <= early.descriptors + BOUND && descriptors() <= fds + ALIVE));
    }
    fprintf(stderr, "# resident: owner %ld to %ld KiB, peer %ld to %ld KiB\n", own, resident(),
            early.resident, r.resident);
    CHECK(r.resident < early.resident + GROWTH && resident() < own + GROWTH);
    end_peer(&p);
    close_sharer(&s);
}

/* ---- killed ---- */

/* The owner: tells two handles, and waits. */
static void own_two(int in, int out)
{
    struct sharer s = open_sharer(1, 0, 8, 0);
    struct gr_ipc_handle t[2];
    int k;

    for (k = 0; k < 2; k++) {
        void *at = device_memory(BYTES);

        fill(s.gpu, gr_cuda_ptr(at), 5, BYTES);
        t[k] = handle_of(s.share, at, BYTES);
    }
    tell(out, t, sizeof(t));
    CHECK_INT(read(in, &k, sizeof(k)), 0);
    close_sharer(&s);
}

static void the_owner_is_killed(void)
{
    struct peer first = start_peer(own_two, NULL), second = start_peer(own_two, NULL);
    struct sharer s = open_sharer(0, 0, 8, 2);
    struct gr_ipc_handle t[2], next[2];
    struct gr_ipc_mapped m, n;

    hear(first.in, t, sizeof(t));
    hear(second.in, next, sizeof(next));
    CHECK(t[0].of.process != next[0].of.process);
    m = map_handle(s.share, &t[0]);
    kill(first.pid, SIGKILL);
    CHECK(0 != child_status(first.pid));
    not_mapped(s.share, &t[1]);
    n = map_handle(s.share, &next[0]);
    CHECK(holds(s.gpu, n.at, 5, BYTES));
    CHECK_USAGE(s.share, 0, 2, 2);
    gr_ipc_cache_unmap(s.share, &m);
    m = map_handle(s.share, &next[1]); /* in place of the dead one's */
    CHECK(holds(s.gpu, m.at, 5, BYTES));
    CHECK_USAGE(s.share, 0, 2, 2);
    end_peer(&second);
    close_sharer(&s);
}

static void the_peer_is_killed(void)
{
    struct peer first = start_peer(serve_from_0, NULL), second = start_peer(serve_from_0, NULL);
    struct sharer s = open_sharer(0, 0, 8, 0);
    unsigned char *at = device_memory(BYTES);

    CHECK_INT(offer(&first, &s, 1, at, BYTES).result, 0);
    kill(first.pid, SIGKILL);
    CHECK(0 != child_status(first.pid));
    (void) lend(&second, &s, at, BYTES);
    free_memory(at);
    at = device_memory(BYTES);
    (void) lend(&second, &s, at, BYTES);
    end_peer(&second);
    close_sharer(&s);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        ROW(on_one_device, NULL),
        ROW(on_two_devices, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=all"),
        ROW(on_a_device_that_the_peer_does_not_see, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=all"),
        ROW(devices_that_are_apart, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=none"),
        ROW(the_peer_has_no_ipc, NULL),
        ROW(an_address_is_used_again, "FAKECUDA_REUSE=1"),
        ROW(a_buffer_grows, NULL),
        ROW_AS("a_buffer_grows, addresses are used again", a_buffer_grows, "FAKECUDA_REUSE=1"),
        ROW(freed_while_in_use, "FAKECUDA_REUSE=1"),
        ROW(mappings_are_bounded, NULL),
        ROW(many_rounds, NULL),
        ROW_AS("many_rounds, addresses are used again", many_rounds, "FAKECUDA_REUSE=1"),
        ROW(the_owner_is_killed, NULL),
        ROW(the_peer_is_killed, "FAKECUDA_REUSE=1"),
    };

    return RUN_ROWS(rows, argc, argv);
}
