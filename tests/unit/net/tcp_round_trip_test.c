/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trip between two processes by their TCP connections (tune/network.h): only one
 * that joins the two counts, over IPv4 and IPv6, and nothing else that has a descriptor does.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"

#include "tune/network.h"

static struct sockaddr_in loopback(void)
{
    return (struct sockaddr_in) {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* Of either version of IP, on any address: one of version 6 takes connections of both. */
static int listening(int family, uint16_t *port)
{
    struct sockaddr_storage address = {.ss_family = (sa_family_t) family};
    socklen_t bytes = AF_INET6 == family ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int fd = socket(family, SOCK_STREAM, 0);

    if (fd < 0 || 0 != bind(fd, (struct sockaddr *) &address, bytes)) {
        return -1;
    }
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *) &address, &bytes), 0);
    /* the port is in the same place for both */
    *port = ((struct sockaddr_in *) &address)->sin_port;
    return fd;
}

/* A connection of IPv4 to that port, over which a byte has gone. */
static int connected(uint16_t port)
{
    struct sockaddr_in to = loopback();
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    to.sin_port = port;
    assert_int_equal(connect(fd, (struct sockaddr *) &to, sizeof(to)), 0);
    assert_int_equal(write(fd, "x", 1), 1);
    return fd;
}

static int accepted(int listener)
{
    int fd = accept(listener, NULL, NULL);
    char byte;

    assert_true(fd >= 0);
    assert_int_equal(read(fd, &byte, 1), 1);
    return fd;
}

/*
 * A process with one connection, to that port, which tells what its connections are and stays until
 * the pipe is closed.
 */
static pid_t start_other(int listener, uint16_t port, int told[2], int stay[2])
{
    struct gr_tcp_connections list;
    pid_t pid;
    char byte;

    assert_int_equal(pipe(told), 0);
    assert_int_equal(pipe(stay), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (0 == pid) {
        close(listener);
        close(stay[1]);
        (void) connected(port);
        gr_tcp_list(&list);
        _exit(sizeof(list) != write(told[1], &list, sizeof(list)) || 0 != read(stay[0], &byte, 1));
    }
    close(stay[0]);
    close(told[1]);
    return pid;
}

static void end_other(pid_t pid, const int told[2], const int stay[2])
{
    int status;

    close(told[0]);
    close(stay[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void try_pair(int listener, uint16_t port)
{
    struct gr_tcp_connections theirs, none = {0};
    int told[2], stay[2], fd, others[2];
    uint16_t other_port;
    int other_listener = listening(AF_INET, &other_port);
    pid_t pid = start_other(listener, port, told, stay);
    double seconds;

    fd = accepted(listener);
    assert_int_equal(read(told[0], &theirs, sizeof(theirs)), sizeof(theirs));
    assert_int_equal(theirs.n, 1);
    seconds = gr_tcp_round_trip(&theirs);
    assert_true(seconds > 0 && seconds < 1);
    assert_true(0 == gr_tcp_round_trip(&none));
    close(fd);
    /* one that does not lead there */
    others[0] = connected(other_port);
    others[1] = accepted(other_listener);
    assert_true(0 == gr_tcp_round_trip(&theirs));
    close(others[0]);
    close(others[1]);
    close(other_listener);
    end_other(pid, told, stay);
}

static void joins_two_processes(void **state)
{
    uint16_t port = 0;
    int listener = listening(AF_INET, &port);

    try_pair(listener, port);
    close(listener);
}

/* Then one end knows the other by an IPv4 address, and is known by that address in IPv6. */
static void joins_two_versions_of_ip(void **state)
{
    uint16_t port = 0;
    int listener = listening(AF_INET6, &port);

    if (listener < 0) {
        skip(); /* a machine without IPv6 */
    }
    try_pair(listener, port);
    close(listener);
}

static void other_descriptors_are_none(void **state)
{
    struct gr_tcp_connections list;
    uint16_t port = 0;
    int fds[5], k, free_one;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(pipe(fds + 2), 0);
    fds[4] = listening(AF_INET, &port);
    free_one = dup(fds[4]);
    close(free_one);
    gr_tcp_list(&list);
    assert_int_equal(list.n, 0);
    assert_true(0 == gr_tcp_round_trip(&list));
    k = dup(fds[4]);
    assert_int_equal(k, free_one); /* the calls have left none open */
    close(k);
    for (k = 0; k < 5; k++) {
        close(fds[k]);
    }
}

/* A list that came from elsewhere does not say how much of itself is read. */
static void a_list_has_its_size(void **state)
{
    struct gr_tcp_connections list = {.n = UINT64_MAX};
    uint16_t port = 0;
    int listener = listening(AF_INET, &port), ends[2] = {connected(port)};

    ends[1] = accepted(listener);
    assert_true(0 == gr_tcp_round_trip(&list));
    close(ends[0]);
    close(ends[1]);
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_two_processes),
        cmocka_unit_test(joins_two_versions_of_ip),
        cmocka_unit_test(other_descriptors_are_none),
        cmocka_unit_test(a_list_has_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
