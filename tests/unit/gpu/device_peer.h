/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second process of a test: forked before either loads a driver, with a pipe in each direction.
 */
#ifndef GR_TESTS_DEVICE_PEER_H
#define GR_TESTS_DEVICE_PEER_H

#include "device_rows.h"

struct peer {
    pid_t pid;
    int in, out; /* of this end */
};

static inline void tell(int fd, const void *what, size_t bytes)
{
    CHECK_INT(write(fd, what, bytes), bytes);
}

static inline void hear(int fd, void *what, size_t bytes)
{
    CHECK_INT(read(fd, what, bytes), bytes);
}

/* The peer's program; its environment besides the row's. */
static inline struct peer start_peer(void (*program)(int in, int out), const char *environment)
{
    int there[2], back[2];
    struct peer p;

    CHECK_INT(pipe(there), 0);
    CHECK_INT(pipe(back), 0);
    p.pid = fork();
    CHECK(p.pid >= 0);
    if (0 == p.pid) {
        close(there[1]);
        close(back[0]);
        alarm(ROW_PATIENCE);
        set_environment(environment);
        program(there[0], back[1]);
        exit(0);
    }
    close(there[0]);
    close(back[1]);
    p.in = back[0];
    p.out = there[1];
    return p;
}

#endif
