/* SPDX-License-Identifier: BSD-3-Clause */
/* A second process of a test. To be included after cmocka_test.h. */
#ifndef GR_TESTS_PROCESS_HELPERS_H
#define GR_TESTS_PROCESS_HELPERS_H

#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 300 };

/* Run a function in a child; what it writes to standard output first is the reply. */
static inline pid_t start(int (*run)(const void *arg), const void *arg, void *reply, size_t size)
{
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (0 == pid) {
        dup2(fds[1], 1);
        close(fds[0]);
        close(fds[1]);
        alarm(PATIENCE_S);
        _exit(run(arg));
    }
    close(fds[1]);
    assert_int_equal(read(fds[0], reply, size), size);
    close(fds[0]);
    return pid;
}

static inline int await(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

#endif
