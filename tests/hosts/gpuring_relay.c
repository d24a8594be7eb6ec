/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network with delay between hosts that are namespaces (hosts.sh): a switch in user space, for
 * kernels without netem.
 *
 *     gpuring_relay [--delay=MICROSECONDS] [--mbit=RATE] PID...
 *
 * Makes an interface eth0 in the network namespace of each of these processes, and one named gr0 in
 * its own, and relays Ethernet frames between them, each MICROSECONDS later. No interface gives or
 * takes more than RATE; a frame that would wait for QUEUE seconds for that is dropped. The last
 * byte of an interface's address is its number, from 1 on; gr0 has 254. Prints "ready", and ends
 * with SIGTERM.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* setns */
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define QUEUE 0.1   /* seconds of data that wait for an interface */
#define BATCH 64    /* frames read from an interface before others get their turn */
#define RANGE 16384 /* most bytes of a frame */

enum { MOST_PORTS = 64, FRONT_NUMBER = 254 };

struct port {
    int fd;
    unsigned char number; /* last byte of its address */
    double gives, takes;  /* seconds: until when each direction is in use */
};

/* A frame on its way. Those of a pair of ports arrive in order. */
struct frame {
    double due; /* seconds */
    unsigned long sequence;
    int to; /* port */
    ssize_t bytes;
    unsigned char *data; /* owned */
};

static struct {
    struct port ports[MOST_PORTS];
    int nports;
    double delay, rate; /* seconds; bytes per second, 0: no limit */
    struct frame *heap; /* [size]: the earliest first */
    size_t n, size;
    unsigned long sequence;
} net;

static volatile sig_atomic_t stop;

static void on_signal(int signal)
{
    (void) signal;
    stop = 1;
}

static void fail(const char *what)
{
    fprintf(stderr, "gpuring_relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* ---- frames on their way: a binary heap ---- */

static bool is_before(const struct frame *a, const struct frame *b)
{
    return a->due < b->due || (a->due == b->due && a->sequence < b->sequence);
}

static void push(struct frame frame)
{
    size_t at = net.n++;

    if (net.n > net.size) {
        net.size = net.n * 2;
        net.heap = realloc(net.heap, net.size * sizeof(*net.heap));
        if (NULL == net.heap) {
            fail("realloc");
        }
    }
    for (; at > 0 && is_before(&frame, &net.heap[(at - 1) / 2]); at = (at - 1) / 2) {
        net.heap[at] = net.heap[(at - 1) / 2];
    }
    net.heap[at] = frame;
}

static struct frame pop(void)
{
    struct frame first = net.heap[0], last = net.heap[--net.n];
    size_t at = 0, child;

    for (child = 1; child < net.n; child = 2 * at + 1) {
        child += child + 1 < net.n && is_before(&net.heap[child + 1], &net.heap[child]);
        if (!is_before(&net.heap[child], &last)) {
            break;
        }
        net.heap[at] = net.heap[child];
        at = child;
    }
    net.heap[at] = last;
    return first;
}

/* ---- relaying ---- */

/* When the interface has moved bytes that are there at a time; negative: it drops them. */
static double pass(double *used, double at, ssize_t bytes)
{
    double begin = *used > at ? *used : at;

    if (0 == net.rate) {
        return at;
    }
    if (begin > at + QUEUE) {
        return -1;
    }
    *used = begin + (double) bytes / net.rate;
    return *used;
}

static void relay(int from, int to, const unsigned char *data, ssize_t bytes)
{
    double at = pass(&net.ports[from].gives, now(), bytes);

    at = at < 0 ? at : pass(&net.ports[to].takes, at + net.delay, bytes);
    if (at >= 0) {
        struct frame frame = {at, net.sequence++, to, bytes, malloc((size_t) bytes)};

        if (NULL == frame.data) {
            fail("malloc");
        }
        memcpy(frame.data, data, (size_t) bytes);
        push(frame);
    }
}

/* A frame of an interface: to that whose address it has, or to all others. */
static void forward(int from, const unsigned char *data, ssize_t bytes)
{
    bool to_all = 0 != (data[0] & 1);
    int to;

    for (to = 0; to < net.nports; to++) {
        if (to != from && (to_all || data[5] == net.ports[to].number)) {
            relay(from, to, data, bytes);
        }
    }
}

static void read_frames(int from)
{
    static unsigned char data[RANGE];
    ssize_t bytes;
    int k;

    for (k = 0; k < BATCH; k++) {
        bytes = read(net.ports[from].fd, data, sizeof(data));
        if (bytes < 14) {
            return;
        }
        forward(from, data, bytes);
    }
}

static void write_due(void)
{
    while (net.n > 0 && net.heap[0].due <= now()) {
        struct frame frame = pop();

        /* an interface that is down, or full, loses frames as a real one does */
        (void) !write(net.ports[frame.to].fd, frame.data, (size_t) frame.bytes);
        free(frame.data);
    }
}

static void run(void)
{
    struct pollfd polls[MOST_PORTS];
    int k;

    for (k = 0; k < net.nports; k++) {
        polls[k] = (struct pollfd) {.fd = net.ports[k].fd, .events = POLLIN};
    }
    while (!stop) {
        double left = net.n > 0 ? net.heap[0].due - now() : 1;
        struct timespec wait = {0, 0};

        if (left > 0) {
            wait.tv_sec = (time_t) left;
            wait.tv_nsec = (long) (1e9 * (left - (double) wait.tv_sec));
        }
        (void) ppoll(polls, (nfds_t) net.nports, &wait, NULL);
        for (k = 0; k < net.nports; k++) {
            read_frames(k);
        }
        write_due();
    }
}

/* ---- interfaces ---- */

/* In the namespace that this process is in. */
static void add_port(const char *name, unsigned char number)
{
    static const unsigned char start[] = {2, 0, 0, 0, 0};
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (fd < 0 || 0 != ioctl(fd, TUNSETIFF, &request)) {
        fail("an interface");
    }
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memcpy(request.ifr_hwaddr.sa_data, start, sizeof(start));
    request.ifr_hwaddr.sa_data[5] = (char) number;
    if (0 != ioctl(fd, SIOCSIFHWADDR, &request)) {
        fail("an interface's address");
    }
    net.ports[net.nports++] = (struct port) {.fd = fd, .number = number};
}

static void add_host(const char *pid, unsigned char number)
{
    char path[64];
    int fd;

    snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || 0 != setns(fd, CLONE_NEWNET)) {
        fail(path);
    }
    close(fd);
    add_port("eth0", number);
}

int main(int argc, char **argv)
{
    struct sched_param soon = {.sched_priority = 10};
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), k;

    add_port("gr0", FRONT_NUMBER);
    for (k = 1; k < argc; k++) {
        if (0 == strncmp(argv[k], "--delay=", 8)) {
            net.delay = 1e-6 * atof(argv[k] + 8);
        } else if (0 == strncmp(argv[k], "--mbit=", 7)) {
            net.rate = 1e6 / 8 * atof(argv[k] + 7);
        } else if (net.nports < MOST_PORTS) {
            add_host(argv[k], (unsigned char) net.nports);
        } else {
            errno = E2BIG;
            fail("hosts");
        }
    }
    if (home < 0 || 0 != setns(home, CLONE_NEWNET)) {
        fail("the first namespace");
    }
    signal(SIGTERM, on_signal);
    /* frames leave in time also where ranks use all cores; without the right to that, later */
    (void) sched_setscheduler(0, SCHED_FIFO, &soon);
    (void) prctl(PR_SET_TIMERSLACK, 1);
    puts("ready");
    fflush(stdout);
    run();
    return 0;
}
