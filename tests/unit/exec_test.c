/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host executor on real links, and mailboxes beside it: every way and collective with data,
 * many at a time on the same links, in seeded orders of scheduling and in threads; copied through
 * slots and fetched from their senders, also where the kernel refuses that at any call of
 * process_vm_readv and process_vm_writev, or after a part was copied. ld's --wrap puts the functions
 * of this file before those of libc. Seed: GPURING_SEED.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "cmocka_test.h"

#include "exec_helpers.h"
#include "depth.h"

/*
 * One in so many cases of the big tables is run; in threads, which mostly wait for a core, one in
 * THREADS more; with data that are fetched, one in DIRECT more. A single thread has no races.
 */
enum {
    THINNING = GR_SANITIZER(1, 4, 16),
    THREADS = GR_SANITIZER(4, 1, 2),
    STEPPED = GR_SANITIZER(1, 1, 4),
    DIRECT = GR_SANITIZER(2, 2, 3),
    SHORT = GR_SANITIZER(16, 8, 8) /* one in so many more in ./check without --all */
};

static uint64_t thinning;

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

/* ---- results ---- */

static void add_sizes(struct ex_batch *b, const struct ex_world *w, int algo, enum gr_coll coll)
{
    /* elements: slots * what fits a slot + more */
    static const struct {
        size_t slots;
        int more;
    } sizes[] = {{0, 1}, {0, 7}, {1, -1}, {1, 0}, {1, 1}, {4, 3}, {9, 0}};
    size_t k;
    int in_place;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        for (in_place = 0; in_place < 2; in_place++) {
            struct ex_case *c;

            if (0 != rng_below(&seed, thinning)) {
                continue;
            }
            c = ex_add(b, w, algo, coll);
            c->in_place = in_place;
            c->count = sizes[k].slots * (w->params.slot_bytes / ex_kinds[c->kind].elem_bytes);
            c->count = (size_t) ((long) c->count + sizes[k].more);
            if (ex_has_blocks(coll) && sizes[k].slots > (GR_COLL_ALLTOALL == coll ? 1 : 4)) {
                c->count /= (size_t) w->params.p;
            }
        }
    }
}

static void add_v_counts(struct ex_batch *b, const struct ex_world *w, int algo, enum gr_coll coll)
{
    int k;

    for (k = 0; k < 12 && ex_has_counts(coll); k++) {
        struct ex_case *c;

        if (0 != rng_below(&seed, thinning)) {
            continue;
        }
        c = ex_add(b, w, algo, coll);
        c->in_place = k % 2;
        ex_make_counts(b, c, w->params.p, w->params.slot_bytes / ex_kinds[c->kind].elem_bytes,
                       k % 4 < 3);
    }
}

struct geometry {
    uint32_t nchannels, nslots;
    size_t slot_bytes;
};
enum { NGEOMETRIES = 3 };

/* Most of the plans become direct ones, so that there are both on the same links. */
static void make_direct(struct ex_batch *b, const struct ex_world *w)
{
    size_t k;

    for (k = 0; k < b->n; k++) {
        if (GR_ALGO_MAILBOX != b->cases[k].algo && 0 != rng_below(&seed, 8)) {
            ex_make_direct(b, w, &b->cases[k]);
        }
    }
}

/* How data get to their receivers. */
enum fetch { COPIED, FETCHED, REFUSED /* now and then */ };

/* Run the batch in random order; then its world and itself are no more. */
static void run_all(struct ex_world *w, struct ex_batch *b, enum ex_mode mode, enum fetch fetch)
{
    ex_shuffle(b);
    if (REFUSED == fetch) {
        refused_in = 1 + (unsigned) rng_below(&seed, 3);
        for_ever = 0 == rng_below(&seed, 2);
    }
    run(w, b->cases, b->n, mode);
    refused_in = 0; /* of set-ups */
    ex_close(w);
    free(b->cases);
}

/* All the cases that `visit` adds in worlds of every size and geometry. */
static void sweep(ex_visit_fn visit, enum ex_mode mode, enum fetch fetch)
{
    /* of direct plans: one piece of a line in a slot, few bytes that are no line, and many */
    static const struct geometry all[2][NGEOMETRIES] = {{{1, 2, 256}, {3, 4, 256}, {2, 2, 4096}},
                                                        {{1, 2, 128}, {3, 4, 96}, {2, 2, 4096}}};
    const struct geometry *geometries = all[COPIED != fetch];
    static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 13};
    static const char *const tori[NGEOMETRIES][9] = {
        {[4] = "2x2", [8] = "4x2"},
        {[4] = "2x2", [6] = "3x2", [8] = "2x2x2"},
        {[4] = "4", [5] = "5", [6] = "2x3", [8] = "8"}};
    struct ex_world w;
    size_t k, g;

    thinning = THINNING * (EX_THREADS == mode ? THREADS : STEPPED) *
               (COPIED != fetch ? DIRECT : 1) * (uint64_t) depth(SHORT, 1);
    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        for (g = 0; g < NGEOMETRIES; g++) {
            struct ex_batch b = {.random = &seed};
            int p = sizes[k], torus = p < 9 && NULL != tori[g][p];

            open_world(&w, p, geometries[g].nchannels, geometries[g].nslots,
                       geometries[g].slot_bytes, torus ? tori[g][p] : "");
            ex_for_each_mode(&b, &w, visit);
            if (COPIED != fetch) {
                make_direct(&b, &w);
            }
            run_all(&w, &b, mode, fetch);
        }
    }
}

static void every_schedule_is_right_in_any_order_of_ranks(void **state)
{
    sweep(add_sizes, EX_STEPPED, COPIED);
}

static void every_schedule_is_right_in_threads(void **state)
{
    sweep(add_sizes, EX_THREADS, COPIED);
}

static void counts_may_be_zero_with_gaps_and_in_any_order(void **state)
{
    sweep(add_v_counts, EX_STEPPED, COPIED);
    sweep(add_v_counts, EX_THREADS, COPIED);
}

static void data_may_be_fetched_from_their_senders(void **state)
{
    needs_to_fetch();
    sweep(add_sizes, EX_STEPPED, FETCHED);
    sweep(add_v_counts, EX_STEPPED, FETCHED);
}

static void data_may_be_fetched_by_threads(void **state)
{
    needs_to_fetch();
    sweep(add_sizes, EX_THREADS, FETCHED);
    sweep(add_v_counts, EX_THREADS, FETCHED);
}

static void what_is_refused_comes_through_slots_in_any_order_of_ranks(void **state)
{
    needs_to_fetch();
    atomic_store(&nrefused, 0);
    sweep(add_sizes, EX_STEPPED, REFUSED);
    sweep(add_v_counts, EX_STEPPED, REFUSED);
    assert_true(atomic_load(&nrefused) > 0);
}

static void what_is_refused_comes_through_slots_in_threads(void **state)
{
    needs_to_fetch();
    sweep(add_sizes, EX_THREADS, REFUSED);
    sweep(add_v_counts, EX_THREADS, REFUSED);
}

/* A rank that waits until its step may begin answers the others. */
static void what_is_refused_comes_through_slots_where_steps_are_timed(void **state)
{
    static const enum gr_step_sync syncs[] = {GR_SYNC_BARRIER, GR_SYNC_START};
    size_t k, n;

    needs_to_fetch();
    thinning = (uint64_t) depth(8, 1);
    for (k = 0; k < 2; k++) {
        struct ex_batch b = {.random = &seed};
        struct ex_world w;

        open_world(&w, 3 + (int) k, 2 - (uint32_t) k, 2, 256, "");
        ex_timers(&w, syncs[k]);
        ex_for_each_mode(&b, &w, add_sizes);
        make_direct(&b, &w);
        for (n = 0; n < b.n; n++) { /* a barrier for each byte takes minutes */
            b.cases[n].chunk_bytes =
                b.cases[n].chunk_bytes < GR_CACHE_LINE ? 0 : b.cases[n].chunk_bytes;
        }
        run_all(&w, &b, EX_STEPPED, REFUSED);
    }
}

static void add_long(struct ex_batch *b, const struct ex_world *w, int algo, enum gr_coll coll)
{
    int k;

    for (k = 0; k < 4 && GR_ALGO_MAILBOX != algo; k++) {
        struct ex_case *c = ex_add(b, w, algo, coll);
        size_t elems = (size_t) 300000 / ex_kinds[c->kind].elem_bytes;

        c->chunk_bytes = 0;
        c->in_place = k % 2;
        c->count =
            elems / (1 + rng_below(&seed, 3)) / (ex_has_blocks(coll) ? (size_t) w->params.p : 1);
        if (0 != rng_below(&seed, 8)) {
            ex_make_direct(b, w, c);
            c->direct_bytes = 0 == c->direct_bytes ? 0 : 1 << 20;
        }
    }
}

/* So long that they are fetched and combined in blocks, a third of GR_BOUNCE_BYTES or less each. */
static void long_messages_are_fetched_in_blocks(void **state)
{
    static const int sizes[] = {2, 3, 5};
    struct ex_world w;
    int k;

    needs_to_fetch();
    for (k = 0; k < 6; k++) {
        struct ex_batch b = {.random = &seed};

        open_world(&w, sizes[k / 2], 1 + (uint32_t) k / 2 % 2, 2, 150000, "");
        ex_for_each_mode(&b, &w, add_long);
        b.n /= STEPPED;
        run_all(&w, &b, k / 2 % 2 ? EX_THREADS : EX_STEPPED, k % 2 ? REFUSED : FETCHED);
    }
}

/* ---- the same bits ---- */

static void add_inexact(struct ex_batch *b, const struct ex_world *w, int algo, enum gr_coll coll)
{
    struct ex_case *c;

    if (GR_COLL_BCAST != coll && GR_COLL_ALLGATHER != coll && GR_COLL_ALLTOALL != coll) {
        c = ex_add(b, w, algo, coll);
        c->kind = EX_F32_SUM;
        c->count = 300;
        c->seed = 77; /* the same data for all algorithms */
        if (GR_ALGO_MAILBOX != algo && ex_can_fetch() && 0 == rng_below(&seed, 2)) {
            ex_make_direct(b, w, c);
        }
    }
}

/* Run one case in some timing; hashes[rank] of the results. */
static void bits_of(const struct ex_case *c, int p, int timing, uint64_t *hashes)
{
    struct ex_world w;
    int r;

    open_world(&w, p, 3, 2, 256, "");
    w.one_in = (unsigned) timing; /* none, all, half of the time, ... */
    w.one_in += 1 == timing;
    run(&w, c, 1, timing < 3 ? EX_STEPPED : EX_THREADS);
    for (r = 0; r < p; r++) {
        hashes[r] = w.ranks[r].hash;
    }
    ex_close(&w);
}

static void check_bits(const struct ex_case *c, int p, uint64_t *hashes)
{
    uint64_t again[EX_MAX_RANKS];
    int timing, r;

    bits_of(c, p, 0, hashes);
    for (timing = 1; timing < 5; timing++) {
        bits_of(c, p, timing, again);
        assert_memory_equal(hashes, again, (size_t) p * sizeof(*hashes));
    }
    for (r = 1; r < p && GR_COLL_ALLREDUCE == c->coll; r++) {
        assert_true(hashes[r] == hashes[0]);
    }
}

static void timing_does_not_change_a_bit(void **state)
{
    static const int sizes[] = {2, 5, 8};
    uint64_t hashes[EX_MAX_RANKS], allreduce[GR_NALGOS_ALL];
    size_t k, n;

    for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        struct ex_world shape = {
            .params = {.p = sizes[k], .nchannels = 3, .slot_bytes = 256, .mailbox_bytes = 300}};
        struct ex_batch b = {.random = &seed};

        ex_for_each_mode(&b, &shape, add_inexact);
        for (n = 0; n < b.n; n++) {
            check_bits(&b.cases[n], sizes[k], hashes);
            if (GR_COLL_ALLREDUCE == b.cases[n].coll) {
                allreduce[b.cases[n].algo] = hashes[0];
            }
        }
        free(b.cases);
        /* that the data would show another order */
        assert_true(sizes[k] < 3 || allreduce[GR_ALGO_RING] != allreduce[GR_ALGO_FLAT]);
        assert_true(sizes[k] < 3 || allreduce[GR_ALGO_RING] != allreduce[GR_ALGO_TREE]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_is_right_in_any_order_of_ranks),
        cmocka_unit_test(every_schedule_is_right_in_threads),
        cmocka_unit_test(counts_may_be_zero_with_gaps_and_in_any_order),
        cmocka_unit_test(data_may_be_fetched_from_their_senders),
        cmocka_unit_test(data_may_be_fetched_by_threads),
        cmocka_unit_test(what_is_refused_comes_through_slots_in_any_order_of_ranks),
        cmocka_unit_test(what_is_refused_comes_through_slots_in_threads),
        cmocka_unit_test(what_is_refused_comes_through_slots_where_steps_are_timed),
        cmocka_unit_test(long_messages_are_fetched_in_blocks),
        cmocka_unit_test(timing_does_not_change_a_bit),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
