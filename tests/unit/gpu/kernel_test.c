/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels, by the driver alone: every collective and algorithm, of any shape, against the
 * host's step machine, bit for bit and step for step; left and launched again at every wait. On the
 * fake driver in its modes; on a real device with KERNEL_IMAGE (kernel_driver.h).
 *
 * Environment: GPURING_SEED; KERNEL_TEST_THIN=N: one in N cases; KERNEL_TEST_FEW=f32_sum,f64_max:
 * these kernels and copy only; KERNEL_TEST_EACH=N: one in N kernels combines once, by the seed which,
 * whatever is thinned out; KERNEL_TEST_ONLY: tests whose name this pattern (with *) matches;
 * KERNEL_TEST_STOP: at the first failure; KERNEL_TEST_LIMIT: seconds of a call; and what
 * kernel_driver.h says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_test.h"

#include "sanitizer/sanitizer.h"
#include "kernel_draw.h"
#include "kernel_leader.h"

#include "blocks.h"
#include "depth.h"

#include "rng.h"

static uint64_t thinning = 1;
static struct kc_device seen;

/* ---- cases ---- */

static void run_case(struct kc_case *c)
{
    char why[1200] = "", text[400];

    kc_set_lines(c);

    if (0 == kc_run(c, &seen, why, sizeof(why))) {
        return;
    }
    if (NULL != getenv("KERNEL_TEST_STOP")) {
        printf("# %s: %s\n", kc_describe(c, text, sizeof(text)), why);
        exit(1);
    }
    fail_msg("%s: %s", kc_describe(c, text, sizeof(text)), why);
}

static int thinned(void)
{
    return 0 != rng_below(&kc_seed, thinning);
}

/* KERNEL_TEST_EACH, or 0; of so many kernels the one that combines. */
static unsigned each, the_one;

static int is_in_each(int kernel)
{
    return (unsigned) kernel % each == the_one;
}

/*
 * Blocks of all ranks, about: under ThreadSanitizer each of their threads is one of the machine's.
 */
enum { BLOCKS = GR_SANITIZER(144, 144, 12) };

/* What so many blocks would take too long for. */
static void lighten(struct kc_case *c)
{
    uint32_t p = (uint32_t) c->p;

    if (p * c->nchannels > BLOCKS) {
        c->nchannels = p < BLOCKS ? BLOCKS / p : 1;
        c->chunk_bytes = 0;
    }
}

typedef void (*change_fn)(struct kc_case *c);

/* Each algorithm and collective `times` times with p ranks, after a change. */
static void sweep(int p, int times, change_fn change)
{
    int coll, algo, k;

    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for (algo = 0; algo < GR_NALGOS; algo++) {
            for (k = 0; k < times && gr_algo_has((enum gr_algo) algo, (enum gr_coll) coll); k++) {
                struct kc_case c = any_case((enum gr_coll) coll, (enum gr_algo) algo, p);
                struct gr_torus torus = kc_torus(p, c.seed);

                if (thinned() || !gr_algo_fits((enum gr_algo) algo, p, &torus)) {
                    continue;
                }
                if (NULL != change) {
                    change(&c);
                }
                lighten(&c);
                kc_set_torus(&c, &torus);
                run_case(&c);
            }
        }
    }
}

/* ---- tests ---- */

static void every_schedule_equals_the_hosts(void **state)
{
    int p;

    for (p = 1; p <= 9; p++) {
        sweep(p, p < 6 ? 4 : 2, NULL);
    }
    sweep(13, 1, NULL);
}

/*
 * All that goes along a torus: in fewer channels than it has ways and in more, in slices.
 */
static void run_along(const struct gr_torus *torus)
{
    int p = gr_torus_size(torus), coll, algo;

    for (coll = 0; coll < GR_NCOLLS; coll++) {
        for (algo = 0; algo < GR_NALGOS; algo++) {
            struct kc_case c;

            if (!gr_algo_is_by_rank((enum gr_algo) algo) ||
                !gr_algo_has((enum gr_algo) algo, (enum gr_coll) coll) ||
                !gr_algo_fits((enum gr_algo) algo, p, torus)) {
                continue;
            }
            /* some call reads each field of a step, whatever the seed */
            if ((GR_COLL_ALLTOALL != coll || 9 != p) && thinned()) {
                continue;
            }
            c = any_case((enum gr_coll) coll, (enum gr_algo) algo, p);
            c.nchannels = (uint32_t) (9 == p ? 1 : ANY(1, 2, 5, 9));
            c.threads = kd_is_fake() ? 64 : c.threads;
            c.count += 9 == p ? 0 : ANY(0, 300, 1000); /* one block at a time takes long */
            lighten(&c);
            kc_set_torus(&c, torus);
            run_case(&c);
        }
    }
}

static void channels_go_their_own_ways(void **state)
{
    static const struct gr_torus tori[] = {
        {.ndims = 2, .dims = {2, 2}}, {.ndims = 2, .dims = {4, 2}},
        {.ndims = 2, .dims = {3, 3}}, {.ndims = 3, .dims = {2, 2, 2}},
        {.ndims = 2, .dims = {4, 4}}, {.ndims = 4, .dims = {2, 1, 3, 2}},
    };
    size_t k;

    for (k = 0; k < sizeof(tori) / sizeof(tori[0]); k++) {
        struct gr_torus torus = tori[k];

        run_along(&torus);
        torus.mesh = 1;
        run_along(&torus);
        torus.mesh = (1u << torus.ndims) - 1;
        run_along(&torus);
    }
}

static void be_impatient(struct kc_case *c)
{
    c->patience = 1;
    c->count += 5 * c->slot_bytes / kd_elem_bytes(c->kernel);
}

static void blocks_leave_at_every_wait_and_go_on(void **state)
{
    uint64_t before;
    int k;

    sweep(2, 1, be_impatient);
    sweep(5, 1, be_impatient);
    before = seen.left;
    /* chance may have thinned out the cases where the scheduler waits */
    for (k = 0; k < 10 && seen.left == before; k++) {
        struct kc_case c = any_case(GR_COLL_ALLREDUCE, GR_ALGO_RING, 3);

        be_impatient(&c);
        c.protocol = GR_PROTOCOL_SIMPLE;
        run_case(&c);
    }
    assert_true(seen.left > before);
}

static void misalign(struct kc_case *c)
{
    c->offset[0] = rng_below(&kc_seed, 16);
    c->offset[1] = 0 == rng_below(&kc_seed, 2) ? c->offset[0] : (size_t) rng_below(&kc_seed, 16);
    c->slot_bytes = ANY(256, 2048, 8192);
    c->slot_elems = 0;
    c->count += c->slot_bytes / kd_elem_bytes(c->kernel);
}

static void buffers_may_lie_anywhere(void **state)
{
    /* from buffer to buffer: the only steps all of whose addresses can be off alike */
    sweep(1, 16, misalign);
    sweep(2, 4, misalign);
    sweep(3, 4, misalign);
    sweep(4, 2, misalign);
}

static void give_counts(struct kc_case *c)
{
    size_t at = 0;
    int r;

    if (GR_COLL_ALLGATHER != c->coll && GR_COLL_REDUCE_SCATTER != c->coll) {
        return;
    }
    c->has_counts = 1;
    c->has_displs = 0 == rng_below(&kc_seed, 2);
    for (r = c->p - 1; r >= 0; r--) {
        c->counts[r] = ANY(0, 1, 5, 40, 300);
        c->displs[r] = at + rng_below(&kc_seed, 3);
        at = c->displs[r] + c->counts[r];
    }
}

static void counts_may_differ_and_be_zero(void **state)
{
    sweep(3, 4, give_counts);
    sweep(6, 4, give_counts);
}

/* All ranks, or some, allow it and are reached. */
static void copy_nothing(struct kc_case *c)
{
    int all = 0 != rng_below(&kc_seed, 3);

    c->protocol = GR_PROTOCOL_SIMPLE;
    c->zero_copy = (int) ANY(1, 2, 77);
    c->allows = all ? UINT32_MAX : (uint32_t) rng_next(&kc_seed);
    c->mapped = all ? UINT32_MAX : (uint32_t) rng_next(&kc_seed);
    c->patience = ANY(0, 0, 1, 1000);
    if (0 == rng_below(&kc_seed, 3)) {
        give_counts(c);
    }
    if (0 == rng_below(&kc_seed, 3)) {
        misalign(c);
    }
}

static void results_may_go_past_the_slots(void **state)
{
    int p;

    for (p = 1; p <= 6; p++) {
        sweep(p, 3, copy_nothing);
    }
    sweep(11, 1, copy_nothing);
}

static void slots_may_hold_many_pieces(void **state)
{
    int p, k;

    for (p = 2; p < 6; p++) {
        for (k = 0; k < 8; k++) {
            struct kc_case c = any_case(k % 2 ? GR_COLL_BCAST : GR_COLL_REDUCE, GR_ALGO_CHAIN, p);
            size_t elem = kd_elem_bytes(c.kernel);

            c.run = (uint32_t) ANY(2, 3, 5);
            c.protocol = (enum gr_protocol)(k % GR_NPROTOCOLS);
            /* in lines each piece has its own slot, on the host not */
            c.untraced = GR_PROTOCOL_SIMPLE != c.protocol;
            c.slot_bytes = 256;
            c.slot_elems = ANY(0, 7, 256 / elem - 1);
            c.chunk_bytes = elem * ANY(3, 5, 32);
            /* a message takes many, and none waits for a reader that has not begun */
            c.nslots = 64;
            c.count = ANY(1, 50, 400);
            if (!thinned()) {
                run_case(&c);
            }
        }
    }
}

/* Two sources and one or two destinations, three and four of both: rings, trees and stars. */
static void every_kernel_combines_as_the_host_does(void **state)
{
    static const enum gr_algo algos[] = {GR_ALGO_RING, GR_ALGO_TREE, GR_ALGO_FLAT};
    const char *few = getenv("KERNEL_TEST_FEW");
    int n, k;

    for (n = 0; n < (NULL == few ? GR_NKERNELS : 40); n++) {
        for (k = 0; k < 3 && (NULL != few || GR_KERNEL_copy != n); k++) {
            struct kc_case c = any_case(GR_COLL_ALLREDUCE, algos[k], 4 + k);

            c.kernel = NULL == few ? (enum gr_kernel) n : c.kernel;
            c.slot_bytes = ANY(2048, 8192);
            c.slot_elems = 0;
            c.nchannels = 1;
            c.threads = kd_is_fake() ? 64 : c.threads;
            c.count = 5000 / kd_elem_bytes(c.kernel) + rng_below(&kc_seed, 30);
            c.offset[0] = c.offset[1] = kd_elem_align(c.kernel) * rng_below(&kc_seed, 3);
            if (each > 0) {
                c.patience = 1000;
            }
            if (each > 0 ? n % 3 == k && is_in_each(n) : !thinned()) {
                run_case(&c);
            }
        }
    }
}

/* ---- a leader's kernels ---- */

static void run_leader(const struct kl_case *c)
{
    char why[1200] = "";

    if (0 == kl_run(c, why, sizeof(why))) {
        return;
    }
    if (NULL != getenv("KERNEL_TEST_STOP")) {
        printf("# %s\n", why);
        exit(1);
    }
    fail_msg("%s", why);
}

static void one_kernel_does_the_call_of_all_ranks(void **state)
{
    int p, coll, k;

    for (p = 2; p <= 10; p++) {
        for (coll = 0; coll < GR_NCOLLS; coll++) {
            for (k = 0; k < (p > 9 ? 3 : 12) && GR_COLL_BARRIER != coll; k++) {
                struct kl_case c = kl_any((enum gr_coll) coll, p > 9 ? GR_LEADER_RANKS : p,
                                          p > 9 ? GR_KERNEL_f32_sum : -1);

                if (!thinned()) {
                    run_leader(&c);
                }
            }
        }
    }
}

static void every_kernel_combines_for_all_ranks(void **state)
{
    static const enum gr_coll colls[] = {GR_COLL_ALLREDUCE, GR_COLL_REDUCE, GR_COLL_REDUCE_SCATTER};
    const int few = NULL != getenv("KERNEL_TEST_FEW");
    int n;

    for (n = 0; n < (few ? 40 : GR_KERNEL_copy); n++) {
        struct kl_case c = kl_any(colls[n % 3], 2 + n % 8, few ? -1 : n);

        if (each > 0 ? is_in_each(n) : !thinned()) {
            run_leader(&c);
        }
    }
}

static void be_whole(struct kc_case *c)
{
    c->threads = GR_GPU_THREADS;
    c->slot_bytes = 65536;
    /* few slots: full blocks are slow where threads are fibers */
    c->slot_elems = c->chunk_bytes = 0;
    c->count = (GR_COLL_ALLGATHER == c->coll ? 60000 : 150000) / kd_elem_bytes(c->kernel);
    c->nchannels = (uint32_t) ANY(1, 2);
}

static void blocks_of_full_size_move_large_slots(void **state)
{
    sweep(2, 1, be_whole);
    sweep(4, 1, be_whole);
}

static void check_abort(enum gr_protocol protocol)
{
    struct kc_case c = any_case(GR_COLL_BCAST, GR_ALGO_CHAIN, 2);
    char why[100] = "";
    struct kc_call *call;

    c.protocol = protocol;
    c.root = 0;
    c.count = 100;
    c.patience = UINT64_MAX;
    kc_set_lines(&c);
    call = kc_open(&c);
    if (0 != kc_abort_device(call, 1, why, sizeof(why))) {
        if (NULL != getenv("KERNEL_TEST_STOP")) {
            printf("# %s\n", why);
            fflush(stdout);
            _exit(1); /* its kernel never ends */
        }
        fail_msg("%s", why);
    }
    kc_close(call);
}

static void an_abort_is_seen_while_waiting(void **state)
{
    int k;

    for (k = 0; k < GR_NPROTOCOLS; k++) {
        check_abort((enum gr_protocol) k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_equals_the_hosts),
        cmocka_unit_test(channels_go_their_own_ways),
        cmocka_unit_test(blocks_leave_at_every_wait_and_go_on),
        cmocka_unit_test(buffers_may_lie_anywhere),
        cmocka_unit_test(counts_may_differ_and_be_zero),
        cmocka_unit_test(results_may_go_past_the_slots),
        cmocka_unit_test(slots_may_hold_many_pieces),
        cmocka_unit_test(every_kernel_combines_as_the_host_does),
        cmocka_unit_test(one_kernel_does_the_call_of_all_ranks),
        cmocka_unit_test(every_kernel_combines_for_all_ranks),
        cmocka_unit_test(blocks_of_full_size_move_large_slots),
        cmocka_unit_test(an_abort_is_seen_while_waiting),
    };
    const char *thin = getenv("KERNEL_TEST_THIN"), *each_of = getenv("KERNEL_TEST_EACH");
    int rc;

    kc_seed = rng_seed();
    each = NULL == each_of ? 0 : (unsigned) atoi(each_of);
    the_one = each > 0 ? (unsigned) (kc_seed % each) : 0;
    thinning = (NULL == thin ? 1 : strtoull(thin, NULL, 10)) * (uint64_t) depth(10, 1);
    kd_open();
    if (NULL != getenv("KERNEL_TEST_ONLY")) {
        cmocka_set_test_filter(getenv("KERNEL_TEST_ONLY"));
    }
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    printf("# launches %llu, channels that left %llu, slots %llu\n",
           (unsigned long long) seen.launches, (unsigned long long) seen.left,
           (unsigned long long) seen.moved);
    return rc;
}
