/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory of the benchmarks (benchmarks/common/device.h): that buffers are of the kind that they
 * should be, are filled and checked, what the checks find there, and buffers of another process. No
 * MPI. Runs on the driver that the loader finds as libcuda.so.1: the fake one, whose device memory
 * no host access survives, or a real one; skips where there is none.
 */
#include "common/device.h"
#include "common/moves.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 100000, SIZE = 4 };

/* A process that knows no driver yet: it opens a buffer of ours, and writes what it finds. */
static struct {
    pid_t pid;
    int to, from; /* pipes */
} peer;

static char error[DEVICE_ERROR_CHARS];

/* ---- the peer ---- */

/* Exit status: 0 when the buffer held what it should. */
static int be_peer(int in, int out)
{
    unsigned char handle[DEVICE_HANDLE_BYTES];
    char found[64], text[DEVICE_ERROR_CHARS];
    char *theirs, *mine;

    alarm(300);
    if ((ssize_t) sizeof handle != read(in, handle, sizeof handle) || device_open(0, text) < 0) {
        return 1;
    }
    theirs = device_import(handle);
    mine = memory_cuda.alloc(sizeof found);
    if (NULL == theirs || NULL == mine) {
        return 2;
    }
    device_copy(mine, theirs, sizeof found, 2);
    memcpy(found, memory_cuda.view(mine, found, sizeof found), sizeof found);
    memory_cuda.set(theirs, 'b', sizeof found);
    device_forget(theirs);
    memory_cuda.release(mine);
    device_close();
    for (size_t i = 0; i < sizeof found; i++) {
        if ('a' != found[i]) {
            return 3;
        }
    }
    return 1 == write(out, "", 1) ? 0 : 4;
}

static void start_peer(void)
{
    int to[2], from[2];

    if (0 != pipe(to) || 0 != pipe(from)) {
        abort();
    }
    peer.pid = fork();
    if (0 == peer.pid) {
        close(to[1]); /* so that it ends when we do */
        _exit(be_peer(to[0], from[1]));
    }
    close(to[0]);
    close(from[1]);
    peer.to = to[1];
    peer.from = from[0];
}

/* ---- the tests ---- */

static int open_device(void **state)
{
    (void) state;
    start_peer();
    device_open(0, error);
    return 0;
}

static int close_device(void **state)
{
    (void) state;
    device_close();
    close(peer.to);
    kill(peer.pid, SIGKILL);
    return 0;
}

static void need_device(void)
{
    if ('\0' != error[0]) {
        print_message("# no device: it %s\n", error);
        skip();
    }
}

static struct shape shape_of(const struct moves *moves, bool in_place)
{
    return moves_shape(moves, BYTES, SIZE, 1, 0, 0, in_place);
}

static const struct element_rule rule = {&element_types[ELEMENT_FLOAT], ELEMENT_SUM, 1, 1};

/* The collective of one rank: its output is its input. */
static void run_alone(const struct buffers *b, const struct shape *s)
{
    if (!s->shared) {
        device_copy(b->recv, b->send, s->out_count * s->element, 1);
    }
}

static const struct memory *const kinds[] = {&memory_cuda, &memory_managed, &memory_pinned};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void buffers_are_filled_and_checked(void **state)
{
    static const struct moves *const all[] = {
        &moves_allreduce, &moves_allgather, &moves_reduce_scatter, &moves_bcast, &moves_reduce,
        &moves_alltoall,  &moves_gather,    &moves_scatter,        &moves_scan};

    (void) state;
    need_device();
    for (size_t i = 0; i < KINDS * 2 * sizeof all / sizeof all[0]; i++) {
        struct shape s = shape_of(all[i / (KINDS * 2)], i % 2);
        struct buffers b;
        assert_int_equal(0, moves_alloc(&b, kinds[i / 2 % KINDS], &s));
        moves_prepare(&b, &s, &rule);
        if (!s.shared) {
            assert_int_equal(s.out_count, moves_check(&b, &s, &rule)); /* poison everywhere */
        }
        run_alone(&b, &s);
        assert_int_equal(0, moves_check(&b, &s, &rule));
        moves_corrupt(&b, &s);
        assert_int_equal(1, moves_check(&b, &s, &rule));
        moves_release(&b);
    }
}

static void writes_where_none_belong_are_found(void **state)
{
    struct shape s = shape_of(&moves_allreduce, false);
    struct buffers b;
    char *input;

    (void) state;
    need_device();
    assert_int_equal(0, moves_alloc(&b, &memory_cuda, &s));
    moves_prepare(&b, &s, &rule);
    run_alone(&b, &s);
    memory_cuda.set(b.recv + s.out_count * SIZE, 0, 1); /* the first byte behind the output */
    assert_int_equal(1, moves_check(&b, &s, &rule));
    moves_prepare(&b, &s, &rule);
    run_alone(&b, &s);
    input = b.send + (s.in_count - 1) * SIZE;
    memory_cuda.write(input, "abcd", SIZE);
    assert_int_equal(1, moves_check(&b, &s, &rule));
    moves_release(&b);
}

/*
 * So that the copies above are known to be needed. (Where CPU and GPU share page tables it does not
 * hold.)
 */
static void the_host_cannot_touch_it(void **state)
{
    char *buffer;
    int status;
    pid_t pid;

    (void) state;
    need_device();
    buffer = memory_cuda.alloc(64);
    assert_non_null(buffer);
    pid = fork();
    if (0 == pid) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        *(volatile char *) buffer = 1;
        _exit(0);
    }
    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_true(WIFSIGNALED(status));
    memory_cuda.release(buffer);
    memory_cuda.release(NULL);
}

static void memory_that_is_not_there_is_null(void **state)
{
    (void) state;
    need_device();
    assert_null(memory_cuda.alloc((size_t) 1 << 46));
}

/*
 * What the driver says of a byte in the middle of a buffer: CU_MEMORYTYPE_HOST, _DEVICE, and
 * whether it is managed.
 */
static void kinds_are_what_they_say(void **state)
{
    enum { MEMORY_TYPE = 2, IS_MANAGED = 8, HOST = 1, DEVICE = 2 };
    static const struct {
        unsigned type; /* 0: it moves */
        unsigned managed;
    } expected[] = {{DEVICE, 0}, {0, 1}, {HOST, 0}};
    int (*attribute)(void *, int, unsigned long long);
    void *library;

    (void) state;
    need_device();
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **) &attribute = dlsym(library, "cuPointerGetAttribute");
    for (int i = 0; i < KINDS; i++) {
        char *buffer = kinds[i]->alloc(BYTES);
        unsigned long long middle = (uintptr_t) buffer + BYTES / 2;
        unsigned type = 0, managed = 0;
        assert_non_null(buffer);
        assert_int_equal(0, attribute(&type, MEMORY_TYPE, middle));
        assert_int_equal(0, attribute(&managed, IS_MANAGED, middle));
        assert_int_equal(expected[i].managed, managed & 1);
        if (0 != expected[i].type) {
            assert_int_equal(expected[i].type, type);
        }
        kinds[i]->release(buffer);
        kinds[i]->release(NULL);
    }
}

static void another_process_uses_a_buffer(void **state)
{
    unsigned char handle[DEVICE_HANDLE_BYTES];
    char bounce[64], done;
    char *buffer;
    int status;

    (void) state;
    need_device();
    buffer = memory_cuda.alloc(sizeof bounce);
    assert_non_null(buffer);
    memory_cuda.set(buffer, 'a', sizeof bounce);
    assert_int_equal(0, device_export(buffer, handle));
    assert_int_equal(sizeof handle, write(peer.to, handle, sizeof handle));
    assert_int_equal(1, read(peer.from, &done, 1));
    assert_int_equal(peer.pid, waitpid(peer.pid, &status, 0));
    assert_true(WIFEXITED(status) && 0 == WEXITSTATUS(status));
    memset(bounce, 0, sizeof bounce);
    assert_memory_equal(memory_cuda.view(buffer, bounce, sizeof bounce), "bbbbbbbb", 8);
    memory_cuda.release(buffer);
    memset(handle, 0, sizeof handle);
    assert_null(device_import(handle));
}

static void devices_are_taken_in_turn(void **state)
{
    char text[DEVICE_ERROR_CHARS];
    int (*count)(int *), devices = 0;
    void *library;

    (void) state;
    need_device();
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **) &count = dlsym(library, "cuDeviceGetCount");
    assert_int_equal(0, count(&devices));
    assert_true(devices > 0);
    for (int i = 0; i < 2 * devices; i++) {
        assert_int_equal(i % devices, device_open(i, text));
        assert_string_equal("", text);
    }
}

static void the_launcher_says_which_rank(void **state)
{
    (void) state;
    unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
    assert_int_equal(0, device_local_rank());
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
    assert_int_equal(3, device_local_rank());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_are_filled_and_checked),
        cmocka_unit_test(writes_where_none_belong_are_found),
        cmocka_unit_test(the_host_cannot_touch_it),
        cmocka_unit_test(memory_that_is_not_there_is_null),
        cmocka_unit_test(kinds_are_what_they_say),
        cmocka_unit_test(another_process_uses_a_buffer),
        cmocka_unit_test(the_launcher_says_which_rank),
        cmocka_unit_test(devices_are_taken_in_turn),
    };

    setenv("FAKECUDA_DEVICES", "3", 1); /* a real driver has as many as it has */
    return cmocka_run_group_tests(tests, open_device, close_device);
}
