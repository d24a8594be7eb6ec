/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading another process's memory (base/cma.h): a child's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "base/cma.h"
#include "base/errors.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "cmocka_test.h"

#include "process_helpers.h"

enum { AREA = 3 << 20 }; /* a multiple of the page */

struct shown {
    struct gr_probe probe;
    unsigned char *area; /* AREA bytes, each area_byte() of its number; then nothing */
};

static unsigned char area_byte(size_t k)
{
    return (unsigned char) (k + k / 251);
}

/* Write where memory may be read to standard output, and wait to be killed. */
static int show(const void *unused)
{
    struct shown s = {.probe = gr_probe_make()};
    size_t k;

    (void) unused;
    s.area = mmap(NULL, AREA + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == s.area || 0 != mprotect(s.area + AREA, 4096, PROT_NONE)) {
        return 1;
    }
    for (k = 0; k < AREA; k++) {
        s.area[k] = area_byte(k);
    }
    if ((ssize_t) sizeof(s) != write(1, &s, sizeof(s))) {
        return 2;
    }
    for (;;) {
        pause(); /* until it is killed */
    }
}

/* Whether the kernel lets us, found out without the functions that are tested. */
static int may_read(pid_t pid, const void *from)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {(void *) (uintptr_t) from, 1};

    if (1 == process_vm_readv(pid, &local, 1, &remote, 1, 0)) {
        return 1;
    }
    printf("# process_vm_readv of a child: %s\n", strerror(errno));
    return 0;
}

static void a_probe_says_whether_memory_can_be_read(void **state)
{
    struct shown theirs;
    pid_t pid = start(show, NULL, &theirs, sizeof(theirs)); /* before this process has a probe */
    struct gr_probe own = gr_probe_make(), again = gr_probe_make(), wrong;
    int may = may_read(pid, theirs.area);

    assert_memory_equal(&own, &again, sizeof(own));
    assert_int_equal(theirs.probe.pid, pid);
    assert_int_equal(gr_probe_test(&theirs.probe), may);
    if (may) {
        assert_int_equal(gr_probe_test(&own), 1);
        wrong = theirs.probe;
        wrong.value++;
        assert_int_equal(gr_probe_test(&wrong), 0);
        wrong = theirs.probe;
        wrong.addr = (uint64_t) (uintptr_t) (theirs.area + AREA);
        assert_int_equal(gr_probe_test(&wrong), 0);
        wrong = theirs.probe;
        wrong.pid = own.pid; /* as in another PID namespace: a process, but not that one */
        assert_int_equal(gr_probe_test(&wrong), 0);
    }
    kill(pid, SIGKILL);
    assert_true(WIFSIGNALED(await(pid)));
    assert_int_equal(gr_probe_test(&theirs.probe), 0);
    if (!may) {
        skip();
    }
}

static void own_memory_is_readable_or_not(void **state)
{
    unsigned char *at =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(MAP_FAILED != (void *) at);
    assert_int_equal(0, mprotect(at + 4096, 4096, PROT_NONE));
    errno = EFAULT; /* of an earlier call */
    assert_true(gr_cma_readable(at + 4095));
    assert_false(gr_cma_readable(at + 4096));
    munmap(at, 8192);
    assert_false(gr_cma_readable(at));
}

static void memory_is_copied_as_it_is_or_not_at_all(void **state)
{
    static const struct {
        size_t from, bytes;
    } rows[] = {{0, 1},           {1, 4095},     {4095, 2}, {0, AREA},
                {12345, 1 << 20}, {AREA - 1, 1}, {AREA, 0}};
    struct shown theirs;
    pid_t pid = start(show, NULL, &theirs, sizeof(theirs));
    uint64_t at = (uint64_t) (uintptr_t) theirs.area;
    unsigned char *copy = malloc(AREA + 1);
    size_t k, i;

    if (!may_read(pid, theirs.area)) {
        kill(pid, SIGKILL);
        (void) await(pid);
        free(copy);
        skip();
    }
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        memset(copy, 0xee, AREA + 1);
        assert_int_equal(gr_cma_read(pid, copy, at + rows[k].from, rows[k].bytes), 0);
        for (i = 0; i < rows[k].bytes; i++) {
            assert_int_equal(copy[i], area_byte(rows[k].from + i));
        }
        assert_int_equal(copy[rows[k].bytes], 0xee);
    }
    memset(copy, 0x11, 100);
    assert_int_equal(gr_cma_write(pid, at + 4090, copy, 100), 0);
    memset(copy, 0xee, 102);
    assert_int_equal(gr_cma_read(pid, copy, at + 4089, 102), 0);
    for (i = 0; i < 102; i++) {
        assert_int_equal(copy[i], 0 == i || 101 == i ? area_byte(4089 + i) : 0x11);
    }
    assert_int_equal(gr_cma_write(pid, at + AREA - 1, copy, 2), GR_ERR_SYS);
    assert_false(gr_cma_is_gone(pid));
    assert_int_equal(gr_cma_read(pid, copy, at + AREA, 1), GR_ERR_SYS);
    assert_int_equal(errno, EFAULT);
    /* beyond the end */
    assert_int_equal(gr_cma_read(pid, copy, at + AREA - 5000, 5001), GR_ERR_SYS);
    kill(pid, SIGKILL);
    assert_true(WIFSIGNALED(await(pid)));
    assert_int_equal(gr_cma_read(pid, copy, at, 1), GR_ERR_SYS);
    assert_int_equal(errno, ESRCH);
    assert_true(gr_cma_is_gone(pid));
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_probe_says_whether_memory_can_be_read),
        cmocka_unit_test(own_memory_is_readable_or_not),
        cmocka_unit_test(memory_is_copied_as_it_is_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
