/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host executor where the kernel refuses to copy between processes, at any call of
 * process_vm_readv and process_vm_writev, also after a part was copied: every schedule with data,
 * on links that other calls use too, in seeded orders of scheduling and in threads, and with timed
 * steps. ld's --wrap puts the functions of this file before those of libc. Seed: GPURING_SEED.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "cmocka_test.h"

#include "exec_helpers.h"
#include "depth.h"

/* One in so many cases is run; in threads, which mostly wait for a core, one in THREADS more. */
enum { THINNING = GR_SANITIZER(2, 4, 8), THREADS = GR_SANITIZER(4, 1, 2) };

/* ---- the kernel ---- */

static unsigned refused_in;           /* one in so many calls is refused; 0: none */
static bool for_ever;                 /* with errors that say so, too */
static atomic_ullong nrefused, drawn; /* calls refused; random numbers drawn */

typedef ssize_t copy_fn(pid_t pid, const struct iovec *local, unsigned long nlocal,
                        const struct iovec *remote, unsigned long nremote, unsigned long flags);
copy_fn __real_process_vm_readv, __real_process_vm_writev, __wrap_process_vm_readv,
    __wrap_process_vm_writev;

/* The calls of the component have one vector each. */
static ssize_t copy_or_refuse(copy_fn *real, pid_t pid, const struct iovec *local,
                              const struct iovec *remote)
{
    static const int errors[] = {EFAULT, ENOMEM, EPERM, ESRCH, ENOSYS};
    uint64_t random = seed + atomic_fetch_add(&drawn, 1) * 0x9e3779b97f4a7c15u;
    struct iovec mine = *local, theirs = *remote;

    if (0 == refused_in || 0 != rng_below(&random, refused_in)) {
        return real(pid, local, 1, remote, 1, 0);
    }
    atomic_fetch_add(&nrefused, 1);
    if (mine.iov_len > 1 && 0 == rng_below(&random, 2)) { /* the next call may be refused */
        mine.iov_len = theirs.iov_len = mine.iov_len / 2;
        return real(pid, &mine, 1, &theirs, 1, 0);
    }
    errno = errors[rng_below(&random, for_ever ? 5 : 2)];
    return -1;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long nlocal,
                                const struct iovec *remote, unsigned long nremote,
                                unsigned long flags)
{
    (void) nlocal;
    (void) nremote;
    (void) flags;
    return copy_or_refuse(__real_process_vm_readv, pid, local, remote);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *local, unsigned long nlocal,
                                 const struct iovec *remote, unsigned long nremote,
                                 unsigned long flags)
{
    (void) nlocal;
    (void) nremote;
    (void) flags;
    return copy_or_refuse(__real_process_vm_writev, pid, local, remote);
}

/* ---- calls ---- */

static size_t most_bytes; /* of a vector */
static uint64_t thinning; /* one in so many cases is run */

static void add_direct(struct ex_batch *b, const struct ex_world *w, int algo, enum gr_coll coll)
{
    int k;

    for (k = 0; k < 4; k++) {
        struct ex_case *c;
        size_t elem;

        if (0 != rng_below(&seed, thinning)) {
            continue;
        }
        c = ex_add(b, w, algo, coll);
        elem = ex_kinds[c->kind].elem_bytes;
        c->in_place = k % 2;
        c->count = 1 + rng_below(&seed, most_bytes / elem) /
                           (ex_has_blocks(coll) ? (size_t) w->params.p : 1);
        if (GR_SYNC_NONE != w->sync && c->chunk_bytes < GR_CACHE_LINE) {
            c->chunk_bytes = 0; /* a barrier for each byte takes minutes */
        }
        if (ex_has_counts(coll) && 3 == k) {
            ex_make_counts(b, c, w->params.p, w->params.slot_bytes / elem, 1);
        }
        if (GR_ALGO_MAILBOX != algo && 0 != rng_below(&seed, 8)) {
            ex_make_direct(b, w, c);
        }
    }
}

static void run_refused(int p, uint32_t nchannels, uint32_t nslots, size_t slot_bytes,
                        enum gr_step_sync sync, enum ex_mode mode)
{
    struct ex_batch b = {.random = &seed};
    struct ex_world w;

    refused_in = 0; /* set-up */
    open_world(&w, p, nchannels, nslots, slot_bytes, "");
    w.sync = sync;
    if (GR_SYNC_NONE != sync) {
        ex_timers(&w, sync);
    }
    ex_for_each_mode(&b, &w, add_direct);
    ex_shuffle(&b);
    refused_in = 1 + (unsigned) rng_below(&seed, 3);
    for_ever = 0 == rng_below(&seed, 2);
    run(&w, b.cases, b.n, mode);
    refused_in = 0;
    ex_close(&w);
    free(b.cases);
}

static void sweep(enum ex_mode mode)
{
    static const int sizes[] = {2, 3, 4, 5, 8};
    size_t k;

    needs_to_fetch();
    atomic_store(&nrefused, 0);
    thinning = THINNING * (EX_THREADS == mode ? THREADS : 1) * (uint64_t) depth(12, 1);
    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        most_bytes = 4000;
        run_refused(sizes[k], 1 + k % 3, 2, 128, GR_SYNC_NONE, mode);
        run_refused(sizes[k], 1, 4, 96, GR_SYNC_NONE, mode);
        most_bytes = 400000;
        run_refused(sizes[k], 1 + k % 2, 2, 150000, GR_SYNC_NONE, mode);
    }
    assert_true(atomic_load(&nrefused) > 0);
}

static void what_is_refused_comes_through_slots_in_any_order_of_ranks(void **state)
{
    sweep(EX_STEPPED);
}

static void what_is_refused_comes_through_slots_in_threads(void **state)
{
    sweep(EX_THREADS);
}

/* A rank that waits until its step may begin answers the others. */
static void what_is_refused_comes_through_slots_where_steps_are_timed(void **state)
{
    needs_to_fetch();
    most_bytes = 2000;
    thinning = (uint64_t) depth(8, 1);
    run_refused(3, 2, 2, 256, GR_SYNC_BARRIER, EX_STEPPED);
    run_refused(4, 1, 2, 256, GR_SYNC_START, EX_STEPPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused_comes_through_slots_in_any_order_of_ranks),
        cmocka_unit_test(what_is_refused_comes_through_slots_in_threads),
        cmocka_unit_test(what_is_refused_comes_through_slots_where_steps_are_timed),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
