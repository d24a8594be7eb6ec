/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mappings that the cache of users' buffers (link/ipc_cache.h) keeps, closes and refuses, on a
 * driver that records opened allocations and refuses overlaps. Seed: GPURING_SEED.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "gpu_share_noted.h"
#include "rng.h"
#include "usage.h"

/* ---- kept ---- */

static void a_mapping_is_kept(void)
{
    struct sharer s = open_noted(8);
    struct gr_ipc_handle t = apart(5), part = t;
    struct gr_ipc_mapped a, b;

    use_once(s.share, &t, 5);
    use_once(s.share, &t, 5);
    part.offset = 4096;
    a = take(s.share, &t, 5);
    b = take(s.share, &part, 5);
    noted_calls(1, 0);
    CHECK_USAGE(s.share, 0, 1, 1);
    drop(s.share, &a, 5);
    CHECK_USAGE(s.share, 0, 1, 1);
    drop(s.share, &b, 5);
    gr_ipc_cache_unmap(s.share, &b); /* nothing is left to drop */
    CHECK_USAGE(s.share, 0, 1, 0);
    close_sharer(&s);
    noted_calls(0, 1);
}

/* A handle that says more of an allocation than the one for which it was mapped leads nowhere. */
static void a_mapping_is_no_larger_than_its_handle(void)
{
    struct sharer s = open_noted(8);
    struct gr_ipc_handle t = apart(5), larger = t;
    struct gr_ipc_mapped m = take(s.share, &t, 5);

    larger.of.bytes = 2 * t.of.bytes;
    larger.offset = t.of.bytes + 64;
    not_mapped(s.share, &larger);
    drop(s.share, &m, 5);
    close_sharer(&s);
}

/*
 * The same addresses and buffer id are of others where the process is another, also one that has
 * its pid by now.
 */
static void processes_are_told_apart(void)
{
    struct sharer s = open_noted(8);
    struct gr_ipc_handle t = apart(5), other = foreign(1, 5, t.of.base, BYTES), later = apart(6);
    struct gr_ipc_mapped m = take(s.share, &t, 5);
    int number = 7;

    memcpy(other.ipc + sizeof(other.of), &number, sizeof(number));
    later.of = t.of;
    later.of.process = 5;
    memcpy(later.ipc, &later.of, sizeof(later.of));
    use_once(s.share, &other, 7);
    use_once(s.share, &later, 6);
    noted_calls(3, 0);
    CHECK_USAGE(s.share, 0, 3, 1);
    drop(s.share, &m, 5);
    close_sharer(&s);
}

static void what_is_no_handle(void)
{
    struct sharer s = open_noted(8), none = open_noted(0);
    struct gr_ipc_handle t = apart(5), bad = t;

    not_mapped(none.share, &t);
    bad.offset = BYTES + 1;
    not_mapped(s.share, &bad);
    memset(&bad, 0, sizeof(bad));
    not_mapped(s.share, &bad);
    noted_calls(0, 0);
    close_sharer(&none);
    close_sharer(&s);
}

/* ---- the bound ---- */

static void the_one_taken_longest_ago_makes_room(void)
{
    struct sharer s = open_noted(3);
    struct gr_ipc_handle t[10];
    int k;

    for (k = 0; k < 10; k++) {
        t[k] = apart(k);
        use_once(s.share, &t[k], k);
        CHECK(noted.opens - noted.closes <= 3);
    }
    CHECK_OPEN("789");
    noted_calls(10, 7);
    use_once(s.share, &t[7], 7);
    use_once(s.share, &t[0], 0);
    CHECK_OPEN("079");
    use_once(s.share, &t[1], 1);
    CHECK_OPEN("017");
    noted_calls(2, 2);
    CHECK_USAGE(s.share, 0, 3, 0);
    close_sharer(&s);
    CHECK_OPEN("");
}

static void what_is_in_use_stays(void)
{
    struct sharer s = open_noted(3);
    struct gr_ipc_handle t[10];
    struct gr_ipc_mapped m[3];
    int k;

    for (k = 0; k < 10; k++) {
        t[k] = apart(k);
    }
    m[0] = take(s.share, &t[0], 0);
    for (k = 3; k < 10; k++) {
        use_once(s.share, &t[k], k);
    }
    CHECK_OPEN("089");
    m[1] = take(s.share, &t[1], 1);
    m[2] = take(s.share, &t[2], 2);
    CHECK_OPEN("012");
    noted_calls(10, 7);
    not_mapped(s.share, &t[3]);
    not_mapped(s.share, &t[3]);
    noted_calls(0, 0);
    CHECK_USAGE(s.share, 0, 3, 3);
    use_once(s.share, &t[2], 2); /* those that are there can be had */
    drop(s.share, &m[1], 1);
    use_once(s.share, &t[3], 3); /* refused for want of room, which is not remembered */
    CHECK_OPEN("023");
    drop(s.share, &m[0], 0);
    drop(s.share, &m[2], 2);
    close_sharer(&s);
}

static void trimming(void)
{
    struct sharer s = open_noted(8);
    struct gr_ipc_handle t[4];
    struct gr_ipc_mapped m;
    int k;

    for (k = 0; k < 4; k++) {
        t[k] = apart(k);
        use_once(s.share, &t[k], k);
    }
    m = take(s.share, &t[2], 2);
    gr_ipc_cache_trim(s.share);
    CHECK_OPEN("2");
    CHECK_USAGE(s.share, 0, 1, 1);
    use_once(s.share, &t[1], 1);
    CHECK_OPEN("12");
    drop(s.share, &m, 2);
    gr_ipc_cache_trim(s.share);
    CHECK_OPEN("");
    CHECK_USAGE(s.share, 0, 0, 0);
    m = take(s.share, &t[2], 2);
    noted.used[2] = 0;
    close_sharer(&s); /* closes what is in use, too */
    CHECK_OPEN("");
}

/* ---- what is out of date ---- */

/*
 * Another allocation, at addresses of those that are open: these are closed first, and no others.
 */
static void what_is_overlapped_is_closed(void)
{
    enum { AT = 0x10000 };
    static const struct {
        uint64_t base, bytes;
        const char *open;
    } rows[] = {
        {AT, BYTES, "0345"},         /* the same addresses */
        {AT, 100, "0345"},           /* smaller */
        {AT + BYTES - 1, 1, "0345"}, /* its last byte */
        {AT - 4000, 4001, "0345"},   /* its first byte */
        {AT, BYTES + 1, "045"},      /* larger: the next one, too */
        {AT - BYTES, 4 * BYTES, "045"},
        {AT - BYTES, BYTES, "01345"},       /* just before, */
        {AT + BYTES + 4000, 1000, "01345"}, /* and after: nothing */
    };
    size_t k;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct sharer s = open_noted(8);
        struct gr_ipc_handle one = foreign(0, 1, AT, BYTES), next = foreign(0, 3, AT + BYTES, 4000);
        struct gr_ipc_handle others[] = {foreign(1, 4, AT, BYTES), foreign(0, 5, AT * 2, BYTES)};
        struct gr_ipc_handle t = foreign(0, 0, rows[k].base, rows[k].bytes);

        use_once(s.share, &one, 1);
        use_once(s.share, &next, 3);
        use_once(s.share, &others[0], 4);
        use_once(s.share, &others[1], 5);
        use_once(s.share, &t, 0);
        if (0 != strcmp(open_now(), rows[k].open)) {
            fprintf(stderr, "# row %zu: %s are open, not %s\n", k, open_now(), rows[k].open);
            _exit(1);
        }
        noted_calls(5, 5 - (int) strlen(rows[k].open));
        close_sharer(&s);
        noted.closes = 0;
    }
}

/* Its owner says that it has freed what is in use: not trusted with more than slots. */
static void what_is_overlapped_is_in_use(void)
{
    struct sharer s = open_noted(8);
    struct gr_ipc_handle old = apart(1), beside = foreign(0, 2, old.of.base + BYTES, BYTES);
    struct gr_ipc_handle t = foreign(0, 3, old.of.base, 2 * BYTES);
    struct gr_ipc_mapped m = take(s.share, &old, 1);

    use_once(s.share, &beside, 2);
    not_mapped(s.share, &t);
    noted_calls(2, 0); /* the driver was not asked, and nothing was closed */
    CHECK_USAGE(s.share, 0, 2, 1);
    drop(s.share, &m, 1);
    use_once(s.share, &t, 3);
    CHECK_OPEN("3");
    close_sharer(&s);
}

/* What its owner says it has freed is closed, in use when it is unmapped; nothing else is. */
static void what_its_owner_names_is_closed(void)
{
    struct sharer s = open_noted(8);
    struct gr_ipc_handle t[3] = {apart(0), apart(1), apart(2)};
    uint64_t names[3], taken = 0;
    struct gr_ipc_mapped m;
    int k;

    for (k = 0; k < 3; k++) { /* allocations with names of their own, of which there are 64 */
        for (names[k] = gr_ipc_name(&t[k].of); 0 != (names[k] & taken);
             names[k] = gr_ipc_name(&t[k].of)) {
            t[k].of.id++;
        }
        taken |= names[k];
        use_once(s.share, &t[k], k);
    }
    gr_ipc_cache_end_call(s.share, names[1]);
    CHECK_OPEN("02");
    use_once(s.share, &t[1], 1);
    m = take(s.share, &t[2], 2);
    gr_ipc_cache_end_call(s.share, names[0] | names[2]);
    CHECK_OPEN("12");
    gr_ipc_cache_end_call(s.share, 0);
    CHECK_OPEN("12");
    drop(s.share, &m, 2);
    CHECK_OPEN("1");
    noted_calls(4, 3);
    close_sharer(&s);
}

/* n calls in which no memory was freed, and mapping number 1 is used. */
static void calls_pass(struct sharer *s, int n)
{
    struct gr_ipc_handle t = apart(1);
    int k;

    for (k = 0; k < n; k++) {
        gr_ipc_cache_end_call(s->share, 0);
        use_once(s->share, &t, 1);
    }
}

/*
 * What no call uses is closed; where it comes back, it is kept for twice as long as it was not
 * used.
 */
static void what_no_call_uses_is_closed(void)
{
    struct sharer s = open_noted(8);
    struct gr_ipc_handle t[3] = {apart(0), apart(1), apart(2)};
    struct gr_ipc_mapped m;

    use_once(s.share, &t[1], 1);
    use_once(s.share, &t[0], 0);
    m = take(s.share, &t[2], 2);
    calls_pass(&s, 15);
    CHECK_OPEN("012");
    calls_pass(&s, 1);
    CHECK_OPEN("12"); /* what is in use stays */
    calls_pass(&s, 40);
    drop(s.share, &m, 2);
    use_once(s.share, &t[0], 0); /* 56 calls after its first use */
    noted_calls(4, 1);
    calls_pass(&s, 2 * 56 - 1);
    CHECK_OPEN("012");
    noted_calls(0, 0);
    calls_pass(&s, 8);
    CHECK_OPEN("1");
    close_sharer(&s);
}

/* ---- what the driver refuses ---- */

static void what_was_refused_is_not_tried_again(void)
{
    struct sharer s = open_noted(8);
    struct gr_ipc_handle t = apart(1), first;
    int k;

    noted.refuse = 1;
    not_mapped(s.share, &t);
    not_mapped(s.share, &t);
    noted_calls(1, 0);
    CHECK_USAGE(s.share, 0, 0, 0);
    t = foreign(0, 2, t.of.base, BYTES); /* another allocation at its addresses */
    use_once(s.share, &t, 2);
    first = apart(10);
    for (k = 10; k < 26; k++) {
        t = apart(k);
        noted.refuse = 2;
        not_mapped(s.share, &t);
        not_mapped(s.share, &t);
    }
    noted.refuse = 0;
    not_mapped(s.share, &first);
    noted_calls(1 + 1 + 16, 1);
    t = apart(26);
    noted.refuse = 1;
    not_mapped(s.share, &t);
    use_once(s.share, &first, 10); /* sixteen are remembered */
    close_sharer(&s);
}

/*
 * What was there before may be in the way, though its addresses are not: blocks of the driver's are
 * larger.
 */
static void unused_mappings_of_the_process_give_way(void)
{
    struct sharer s = open_noted(8);
    struct gr_ipc_handle t[5];
    struct gr_ipc_mapped m;
    int k;

    for (k = 0; k < 5; k++) {
        t[k] = 3 == k ? foreign(1, k, 8 * MIB, BYTES) : apart(k);
    }
    use_once(s.share, &t[0], 0);
    use_once(s.share, &t[1], 1);
    use_once(s.share, &t[3], 3);
    noted.refuse_beside = 1;
    use_once(s.share, &t[2], 2);
    CHECK_OPEN("23");
    noted_calls(3 + 2, 2);
    m = take(s.share, &t[2], 2);
    not_mapped(s.share, &t[4]); /* what is in use is not given up for it */
    CHECK_OPEN("23");
    noted_calls(1, 0);
    CHECK_USAGE(s.share, 0, 2, 1);
    drop(s.share, &m, 2);
    close_sharer(&s);
}

/* ---- threads ---- */

enum { NTHREADS = 4, NTICKETS = 9, NOWN = 12, ROUNDS = 2000 };

static uint64_t seed;

struct crowd {
    struct sharer s;
    unsigned char *own[NOWN];  /* buffers, more than handles are kept of */
    atomic_uint_fast64_t seed; /* of the next thread */
};

static void *use_at_random(void *arg)
{
    struct crowd *c = arg;
    struct sharer *s = &c->s;
    uint64_t random = atomic_fetch_add(&c->seed, 1);
    int k, number, mapped = 0;

    for (k = 0; k < ROUNDS; k++) {
        struct gr_ipc_handle t = handle_of(s->share, c->own[rng_below(&random, NOWN)] + k, 1);
        struct gr_ipc_mapped m;

        number = (int) rng_below(&random, NTICKETS);
        /* the last ones overlap: now this is there, now that */
        t = number < NTICKETS - 2 ? apart(number) : foreign(2, number, 40 * MIB, BYTES);
        if (0 != gr_ipc_cache_map(s->share, &t, &m)) {
            continue;
        }
        mapped++;
        atomic_fetch_add(&noted.used[number], 1);
        CHECK_INT(m.at, OPENED + (CUdeviceptr) number * SPREAD);
        if (0 == k % 64) {
            gr_ipc_cache_trim(s->share);
        }
        drop(s->share, &m, number);
    }
    CHECK(mapped > ROUNDS / 10);
    return NULL;
}

static void threads(void)
{
    struct crowd c = {.s = open_noted(4), .seed = seed};
    pthread_t thread[NTHREADS];
    int k;

    for (k = 0; k < NOWN; k++) {
        c.own[k] = device_memory(BYTES);
    }
    for (k = 0; k < NTHREADS; k++) {
        CHECK_INT(pthread_create(&thread[k], NULL, use_at_random, &c), 0);
    }
    for (k = 0; k < NTHREADS; k++) {
        CHECK_INT(pthread_join(thread[k], NULL), 0);
    }
    CHECK_INT(ipc_cache_usage(c.s.share).exports, 8);
    CHECK_INT(ipc_cache_usage(c.s.share).in_use, 0);
    CHECK(ipc_cache_usage(c.s.share).mapped <= 4);
    close_sharer(&c.s);
    CHECK_INT(noted.opens, noted.closes);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        ROW(a_mapping_is_kept, NULL),
        ROW(a_mapping_is_no_larger_than_its_handle, NULL),
        ROW(processes_are_told_apart, NULL),
        ROW(what_is_no_handle, NULL),
        ROW(the_one_taken_longest_ago_makes_room, NULL),
        ROW(what_is_in_use_stays, NULL),
        ROW(trimming, NULL),
        ROW(what_is_overlapped_is_closed, NULL),
        ROW(what_is_overlapped_is_in_use, NULL),
        ROW(what_its_owner_names_is_closed, NULL),
        ROW(what_no_call_uses_is_closed, NULL),
        ROW(what_was_refused_is_not_tried_again, NULL),
        ROW(unused_mappings_of_the_process_give_way, NULL),
        ROW(threads, NULL),
    };

    seed = rng_seed();
    return RUN_ROWS(rows, argc, argv);
}
