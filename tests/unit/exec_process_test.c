/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links between processes: data that go to a second process and back, handles that lead nowhere,
 * what is left of a process that was killed, and what a forked child sees.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "link/pool.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"

#include "pool_helpers.h"
#include "process_helpers.h"

enum { SLOTS = 3, SLOT = 320, ECHOES = 2000 };

static const struct gr_peer_id self = {7, 0}, peer = {7, 1};

static struct gr_pool *open_pool(struct gr_peer_id id)
{
    struct gr_pool *pool = gr_pool_open(id, 1 << 20);

    assert_non_null(pool);
    return pool;
}

/* ---- the second process ---- */

static void attach(struct gr_link *l, struct gr_link_shared *shared)
{
    gr_link_attach(l, shared, 0, SLOTS, SLOT);
}

/*
 * Lease a slab, write its handle to standard output, and send each slot back through the link of the
 * handle that is given, each byte plus one.
 */
static int echo(const void *handle)
{
    const struct gr_slab_handle *theirs = handle;
    struct gr_pool *pool = gr_pool_open(peer, 1 << 20);
    struct gr_slab_handle mine;
    struct gr_slab *slab;
    struct gr_link in, out;
    int error, n, k;

    if (NULL == pool || 0 != gr_pool_lease(pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 1, &slab)) {
        return 1;
    }
    mine = gr_pool_export(pool, slab);
    attach(&in, gr_slab_base(slab));
    attach(&out, gr_pool_map(pool, theirs, &error));
    if (NULL == out.shared || (ssize_t) sizeof(mine) != write(1, &mine, sizeof(mine))) {
        return 2;
    }
    for (n = 0; n < ECHOES; n++) {
        while (!gr_link_readable(&in) || !gr_link_writable(&out)) {
            sched_yield();
        }
        for (k = 0; k < SLOT; k++) {
            ((unsigned char *) gr_link_slot(&out))[k] =
                (unsigned char) (((unsigned char *) gr_link_slot(&in))[k] + 1);
        }
        gr_link_push(&out);
        gr_link_pop(&in);
    }
    gr_lease_leave(&out.shared->writer, theirs->lease);
    gr_pool_release(pool, slab, 1);
    gr_pool_close(pool);
    return 0;
}

/* ---- tests ---- */

static void data_go_to_a_second_process_and_back(void **state)
{
    struct gr_pool *pool = open_pool(self);
    struct gr_slab *slab = lease_one(pool);
    struct gr_slab_handle mine = gr_pool_export(pool, slab), theirs;
    struct gr_link in, out;
    int error, sent = 0, got = 0;
    unsigned char want[SLOT];
    pid_t pid;

    alarm(PATIENCE_S);
    pid = start(echo, &mine, &theirs, sizeof(theirs));
    attach(&in, gr_slab_base(slab));
    attach(&out, gr_pool_map(pool, &theirs, &error));
    assert_non_null(out.shared);
    while (got < ECHOES) {
        if (sent < ECHOES && gr_link_writable(&out)) {
            memset(gr_link_slot(&out), sent, SLOT);
            gr_link_push(&out);
            sent++;
        } else if (gr_link_readable(&in)) {
            memset(want, ++got, SLOT);
            assert_memory_equal(gr_link_slot(&in), want, SLOT);
            gr_link_pop(&in);
        } else {
            sched_yield();
        }
    }
    gr_lease_leave(&out.shared->writer, theirs.lease);
    gr_pool_release(pool, slab, 1);
    assert_int_equal(await(pid), 0);
    assert_int_equal(gr_pool_usage(pool).leased, 0); /* it left */
    gr_pool_close(pool);
}

static void nothing_is_left_of_a_killed_process(void **state)
{
    struct gr_pool *pool = open_pool(self), *fresh = open_pool(self);
    struct gr_slab *slab = lease_one(pool);
    struct gr_slab_handle mine = gr_pool_export(pool, slab), theirs;
    struct gr_link_shared *l;
    int error;
    pid_t pid = start(echo, &mine, &theirs, sizeof(theirs));

    l = gr_pool_map(pool, &theirs, &error);
    assert_non_null(l);
    kill(pid, SIGKILL);
    assert_true(WIFSIGNALED(await(pid)));
    memset(l->slots, 1, SLOTS * SLOT); /* pages that are mapped stay */
    assert_ptr_equal(gr_pool_map(pool, &theirs, &error), l);
    gr_pool_release(pool, slab, 1);
    /* for good: nobody can say that the writer has left */
    assert_int_equal(gr_pool_usage(pool).leased, SLAB_BYTES);
    gr_pool_close(pool); /* the last that had attached it */
    assert_null(gr_pool_map(fresh, &theirs, &error));
    assert_int_equal(error, GR_ERR_FOREIGN);
    gr_pool_close(fresh);
}

static pid_t dead_process(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (0 == pid) {
        _exit(0);
    }
    assert_int_equal(await(pid), 0);
    return pid;
}

static void handles_that_lead_nowhere_are_foreign(void **state)
{
    struct gr_pool *pool = open_pool(self), *other = open_pool(peer);
    struct gr_slab_handle good = gr_pool_export(pool, lease_one(pool)), bad[11];
    int error, fds = entries("/proc/self/fd");
    size_t k;

    for (k = 0; k < 11; k++) {
        bad[k] = good;
    }
    bad[0].segment.token[0]++;
    bad[1].segment.token[1]++;
    bad[2].segment_bytes += 1 << 20;
    bad[3].offset = good.segment_bytes;
    bad[4].segment.id = -1;
    bad[5].segment.pid = (int32_t) dead_process();
    bad[6].segment.pid = (int32_t) getppid(); /* alive, but it has not created that one */
    bad[7].offset = 0;                        /* the token's */
    bad[8].offset = good.offset + 8;          /* no slab begins there, */
    bad[9].segment_bytes = good.offset + 8;   /* nor has that room for one */
    bad[10].segment_bytes = 8;
    for (k = 0; k < 11; k++) {
        assert_null(gr_pool_map(other, &bad[k], &error));
        assert_int_equal(error, GR_ERR_FOREIGN);
    }
    assert_int_equal(gr_pool_usage(other).mapped, 0);
    assert_int_equal(entries("/proc/self/fd"), fds);
    assert_non_null(gr_pool_map(other, &good, &error));
    assert_int_equal(error, 0);
    gr_pool_close(pool);
    gr_pool_close(other);
}

/* An id that names something else by now, of the same size: nothing is written there. */
static void another_segment_of_that_id_is_foreign(void **state)
{
    struct gr_pool *pool = open_pool(self), *other = open_pool(peer);
    struct gr_slab_handle bad = gr_pool_export(pool, lease_one(pool));
    unsigned char *theirs, zero[64] = {0};
    struct shmid_ds segment;
    int error;

    bad.segment.id = shmget(IPC_PRIVATE, bad.segment_bytes, 0600);
    assert_true(bad.segment.id >= 0);
    theirs = shmat(bad.segment.id, NULL, 0);
    assert_null(gr_pool_map(other, &bad, &error));
    assert_int_equal(error, GR_ERR_FOREIGN);
    assert_memory_equal(theirs, zero, sizeof(zero));
    assert_int_equal(shmctl(bad.segment.id, IPC_STAT, &segment), 0);
    assert_int_equal(segment.shm_nattch, 1);
    assert_int_equal(shmctl(bad.segment.id, IPC_RMID, NULL), 0);
    shmdt(theirs);
    gr_pool_close(pool);
    gr_pool_close(other);
}

/*
 * What is mapped already is as large as its first handle said; whether there is more is looked at.
 */
static void handles_beyond_a_mapping_are_foreign(void **state)
{
    struct gr_pool *pool = open_pool(self), *other = open_pool(peer);
    struct gr_slab_handle good = gr_pool_export(pool, lease_one(pool)), bad = good;
    int error;

    assert_non_null(gr_pool_map(other, &good, &error));
    bad.segment_bytes += 1 << 20;
    bad.offset = good.segment_bytes;
    assert_null(gr_pool_map(other, &bad, &error));
    assert_int_equal(error, GR_ERR_FOREIGN);
    gr_pool_close(pool);
    gr_pool_close(other);
}

static void mappings_are_kept_by_owner_and_segment(void **state)
{
    struct gr_pool *pool = open_pool(self), *third = open_pool((struct gr_peer_id) {7, 2}),
                   *other = open_pool(peer);
    struct gr_slab *slabs[2];
    struct gr_slab_handle handles[3];
    unsigned char *at[2];
    int error, fds;

    assert_int_equal(gr_pool_lease(pool, GR_SLAB_WHOLE, SLAB_BYTES, 1, 2, slabs), 0);
    handles[0] = gr_pool_export(pool, slabs[0]);
    handles[1] = gr_pool_export(pool, slabs[1]);
    handles[2] = gr_pool_export(third, lease_one(third));
    fds = entries("/proc/self/fd");
    at[0] = (unsigned char *) gr_pool_map(other, &handles[0], &error);
    at[1] = (unsigned char *) gr_pool_map(other, &handles[1], &error);
    assert_true(at[1] - at[0] == (long) handles[1].offset - (long) handles[0].offset);
    assert_ptr_equal(gr_pool_map(other, &handles[0], &error), at[0]);
    assert_int_equal(gr_pool_usage(other).mapped, 1);
    assert_non_null(gr_pool_map(other, &handles[2], &error));
    assert_int_equal(gr_pool_usage(other).mapped, 2);
    assert_int_equal(entries("/proc/self/fd"), fds); /* a mapping keeps no file open */
    gr_pool_close(pool);
    gr_pool_close(third);
    gr_pool_close(other);
}

/* Whether /proc/self/maps has a mapping that begins there. */
static int is_mapped(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4400];
    int found = 0;

    while (NULL != maps && NULL != fgets(line, sizeof(line), maps)) {
        found |= strtoull(line, NULL, 16) == (uintptr_t) address;
    }
    if (NULL != maps) {
        fclose(maps);
    }
    return found;
}

static void a_forked_child_has_neither_slabs_nor_mappings(void **state)
{
    struct gr_pool *pool = open_pool(self), *other = open_pool(peer);
    struct gr_slab *slab = lease_one(pool);
    struct gr_slab_handle handle = gr_pool_export(pool, slab);
    int error;
    struct gr_link_shared *l = gr_pool_map(other, &handle, &error);
    unsigned char *base[2];
    pid_t pid;

    base[0] = (unsigned char *) gr_slab_base(slab) - handle.offset;
    base[1] = (unsigned char *) l - handle.offset;
    assert_true(is_mapped(base[0]) && is_mapped(base[1]));
    fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (0 == pid) {
        _exit(is_mapped(base[0]) + 2 * is_mapped(base[1]));
    }
    assert_int_equal(await(pid), 0);
    gr_pool_close(pool);
    gr_pool_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_go_to_a_second_process_and_back),
        cmocka_unit_test(nothing_is_left_of_a_killed_process),
        cmocka_unit_test(handles_that_lead_nowhere_are_foreign),
        cmocka_unit_test(another_segment_of_that_id_is_foreign),
        cmocka_unit_test(handles_beyond_a_mapping_are_foreign),
        cmocka_unit_test(mappings_are_kept_by_owner_and_segment),
        cmocka_unit_test(a_forked_child_has_neither_slabs_nor_mappings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
