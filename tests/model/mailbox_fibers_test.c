/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks of mailboxes see faults: a list of them is planted, one at a time. For this, mailboxes
 * are compiled into this file, with hooks in the place of what they do to memory. The hooks are
 * also where fibers are held up, so that the mailboxes as they are can be run in finer steps than
 * whole posts and takes. Seed: GPURING_SEED.
 */
#include "mail_fibers.h"
#include "mailbox_explore.h"

#include "rng.h"

#include <stdlib.h>
#include <string.h>

static void hooked_store(_Atomic uint64_t *at, uint64_t value, memory_order order);
static uint64_t hooked_load(const _Atomic uint64_t *at, memory_order order);
static void hooked_memcpy(void *to, const void *from, size_t n);
static void hooked_reduce(const struct gr_reducer *r, void *const *dst, int ndst,
                          const void *operand, const void *const *src, int nsrc, size_t n);

#pragma push_macro("atomic_store_explicit") /* macros themselves */
#pragma push_macro("atomic_load_explicit")
#undef atomic_store_explicit
#undef atomic_load_explicit
#define atomic_store_explicit hooked_store
#define atomic_load_explicit hooked_load
#define memcpy hooked_memcpy
#define gr_reduce hooked_reduce
#include "link/board.c"
#include "exec/mailbox.c"
#pragma pop_macro("atomic_store_explicit")
#pragma pop_macro("atomic_load_explicit")
#undef memcpy
#undef gr_reduce

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum plant {
    NOTHING,
    TELL_EARLY,
    TELL_NEVER,
    TELL_SOME,
    TRUST_DOORS, /* the consumed epochs */
    EPOCH_FIRST,
    EPOCH_NEVER,
    EPOCH_OF_32_BITS,
    TAKE_OLD, /* the sets */
    DIRTY_SETS,
    DIRTY_DOORS, /* a new lease */
    SHORT_COPY,
    SWAPPED_OPERANDS,
    REPORT_OLD /* what a waiting rank says */
};

static enum plant planted;
static int p; /* of the present world, */
static uint32_t nsets;
static const char *board0; /* and the first user's word that is cleaned in it */
static struct {
    void *to;
    const void *from;
    size_t n;
} put_off; /* EPOCH_FIRST: a copy */

/* ---- hooks ---- */

/* Doors' words are the second ones of their lines, epochs of sets the first ones. */
static int is_door(const _Atomic uint64_t *at)
{
    return 0 != (uintptr_t) at % GR_CACHE_LINE;
}

/* Whether the store is left out. */
static int dropped(const _Atomic uint64_t *at, uint64_t value, int user, int cleans)
{
    const char *word = (const char *) at;

    switch (planted) {
    case TELL_NEVER:
        return user && !cleans;
    case TELL_SOME:
        return user && !cleans && word >= board0 && word < board0 + p * GR_CACHE_LINE;
    case EPOCH_NEVER:
        return !user && !cleans && 0 == value % 5;
    case DIRTY_SETS:
        return !user && cleans;
    case DIRTY_DOORS:
        return user && cleans;
    default:
        return 0;
    }
}

static void hooked_store(_Atomic uint64_t *at, uint64_t value, memory_order order)
{
    int user = is_door(at), cleans = memory_order_relaxed == order;

    fiber_pause();
    board0 = user && cleans && NULL == board0 ? (const char *) at : board0;
    if (dropped(at, value, user, cleans)) {
        return;
    }
    value += TELL_EARLY == planted && user && !cleans;
    value = EPOCH_OF_32_BITS == planted && !user ? (uint32_t) value : value;
    atomic_store_explicit(at, value, order);
    if ((char *) at + GR_SET_HEAD == (char *) put_off.to) {
        fiber_pause();
        memcpy(put_off.to, put_off.from, put_off.n);
        put_off.to = NULL;
    }
}

static uint64_t hooked_load(const _Atomic uint64_t *at, memory_order order)
{
    uint64_t value;

    fiber_pause();
    value = atomic_load_explicit(at, order);
    if ((TRUST_DOORS == planted && is_door(at)) ||
        (TAKE_OLD == planted && !is_door(at) && 0 == value % 3)) {
        value += nsets;
    }
    value -= REPORT_OLD == planted && memory_order_relaxed == order;
    return value;
}

static void hooked_memcpy(void *to, const void *from, size_t n)
{
    fiber_pause();
    if (EPOCH_FIRST == planted && fiber_on_board(to) && NULL == put_off.to) {
        put_off.to = to;
        put_off.from = from;
        put_off.n = n;
        return;
    }
    memcpy(to, from, n - (SHORT_COPY == planted && n > 0));
}

static void hooked_reduce(const struct gr_reducer *r, void *const *dst, int ndst,
                          const void *operand, const void *const *src, int nsrc, size_t n)
{
    fiber_pause();
    if (SWAPPED_OPERANDS == planted && operand != dst[0]) {
        gr_reduce(r, dst, ndst, src[0], &operand, nsrc, n);
    } else {
        gr_reduce(r, dst, ndst, operand, src, nsrc, n);
    }
}

/* ---- finding them ---- */

struct mutant {
    const char *name;
    enum plant plant;
    /* that the explorer finds first; MX_OK: steps finer than its own are needed */
    enum mx_fault fault;
};

/*
 * Play games until one goes wrong; some reports are wrong, too, where something worse is, so look
 * for that.
 */
static enum mx_fault explore(int harm_only, char *why, size_t size)
{
    static const struct {
        int p;
        uint32_t nsets;
        int ncalls;
        uint64_t stride; /* one in so many games */
    } rows[] = {{2, 2, 4, 29}, {3, 2, 4, 701}, {2, 4, 6, 30011}};
    static const uint64_t firsts[] = {UINT32_MAX - 1, 0, UINT64_MAX - 2};
    enum mx_fault fault = MX_OK;
    uint64_t states = 0, k;
    size_t row;

    for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        for (k = 5; k < mx_games(rows[row].p, rows[row].ncalls) && MX_OK == fault;
             k += rows[row].stride) {
            struct mx_game g =
                mx_game(rows[row].p, rows[row].nsets, firsts[k % 3], rows[row].ncalls, k);

            g.harm_only = harm_only;
            p = g.p;
            nsets = g.nsets;
            board0 = NULL;
            fault = mx_explore(&g, &states, why, size);
        }
    }
    return fault;
}

/* One world of fibers with random calls. 0, or -1 with why. */
static int run_fibers(uint64_t *seed, char *why, size_t size)
{
    uint32_t n = 2u << rng_below(seed, 3);
    struct mail_shape s = {2 + rng_below(seed, 4), n, 128, UINT32_MAX - rng_below(seed, 100), n};
    struct ex_world shape = {.params = {.p = s.p, .nchannels = 1, .nslots = 2, .slot_bytes = 64}};
    struct ex_batch b = {.random = seed};
    struct mail_world w;
    int k, rc;

    for (k = 0; k < 200; k++) {
        struct ex_case *c =
            ex_add(&b, &shape, GR_WAY_MAILBOX, (enum gr_coll) rng_below(seed, EX_MAIL_COLLS));

        c->kind = EX_ORDERED;
        c->count = 1 + rng_below(seed, 6);
        ex_fit(c, s.p, s.bytes);
    }
    p = s.p;
    nsets = n;
    board0 = NULL;
    put_off.to = NULL;
    mail_open(&w, &s, rng_next(seed));
    rc = fibers_run(&w, b.cases, b.n);
    snprintf(why, size, "%s", w.why);
    mail_close(&w);
    free(b.cases);
    return rc;
}

/* The same in a process of its own: some faults lead to a crash. Whether anything went wrong. */
static int fibers_fail(uint64_t seed)
{
    char why[600];
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (0 == pid) {
        signal(SIGSEGV, SIG_DFL); /* cmocka's would go on with the tests */
        _exit(0 != run_fibers(&seed, why, sizeof(why)));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return 0 != status;
}

static void a_planted_fault_is_found(void **state)
{
    const struct mutant *m = *state;
    uint64_t seed = rng_seed();
    char why[200] = "";
    enum mx_fault fault;
    int tries = 0;

    planted = m->plant;
    fault = explore(MX_OK != m->fault && MX_REPORT != m->fault, why, sizeof(why));
    printf("# %s: %s\n", m->name, MX_OK == fault ? "not found by the explorer" : why);
    if (fault != m->fault) {
        fail_msg("%s: found %s, not %s", m->name, mx_fault_name(fault), mx_fault_name(m->fault));
    }
    while (REPORT_OLD != m->plant && tries++ < 20 && !fibers_fail(rng_next(&seed))) {
    }
    assert_true(tries <= 20);
}

static void no_fault_is_found_where_there_is_none(void **state)
{
    uint64_t seed = rng_seed();
    char why[600] = "";
    int tries;

    (void) state;
    planted = NOTHING;
    if (MX_OK != explore(0, why, sizeof(why))) {
        fail_msg("%s", why);
    }
    for (tries = 0; tries < 60; tries++) {
        if (0 != run_fibers(&seed, why, sizeof(why))) {
            fail_msg("%s", why);
        }
    }
}

static struct mutant mutants[] = {
    {"tells of a call before it is taken", TELL_EARLY, MX_OVERRUN},
    {"never tells", TELL_NEVER, MX_STUCK},
    {"does not tell all", TELL_SOME, MX_STUCK},
    {"writes without asking", TRUST_DOORS, MX_OVERRUN},
    {"epoch before data", EPOCH_FIRST, MX_OK},
    {"epoch left out", EPOCH_NEVER, MX_STUCK},
    {"epochs of 32 bits", EPOCH_OF_32_BITS, MX_STUCK},
    {"takes old epochs for new ones", TAKE_OLD, MX_STUCK},
    {"sets of the last lease", DIRTY_SETS, MX_RESULT},
    {"users of the last lease", DIRTY_DOORS, MX_OVERRUN},
    {"copies a byte less", SHORT_COPY, MX_RESULT},
    {"swaps operands", SWAPPED_OPERANDS, MX_RESULT},
    {"names more than it waits for", REPORT_OLD, MX_REPORT},
};

#define NMUTANTS (sizeof(mutants) / sizeof(mutants[0]))

int main(void)
{
    static struct CMUnitTest tests[NMUTANTS + 1];
    static char names[NMUTANTS][80];
    size_t k;

    for (k = 0; k < NMUTANTS; k++) {
        snprintf(names[k], sizeof(names[k]), "found: %s", mutants[k].name);
        tests[k].name = names[k];
        tests[k].test_func = a_planted_fault_is_found;
        tests[k].initial_state = &mutants[k];
    }
    tests[k] = (struct CMUnitTest) cmocka_unit_test(no_fault_is_found_where_there_is_none);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
