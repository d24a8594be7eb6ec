/* SPDX-License-Identifier: BSD-3-Clause */
/* What network.h offers. */
#include "tune/network.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <math.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

const struct gr_network gr_network_built_in = {.latency = 20, .mbit = 10000};

/* Nominal rates of links in Mbit/s. */
static const float rates[] = {10, 100, 200, 1000, 10000, 25000, 40000, 100000, 200000, 400000};

/*
 * A link is in the class of the lowest nominal rate that is not exceeded by more than a quarter:
 * what a program reaches is some percent below the nominal rate, or, with one stream on a fast
 * link, far below, but never much above.
 */
#define ABOVE_NOMINAL 1.25

/*
 * Latencies are in coarse classes: powers of four times the first one, with boundaries at its
 * doubles: 1.25, 5, 20, 80 ... 20480 us.
 */
#define LEAST_LATENCY 1.25
#define MOST_LATENCY 20480.0

/* No network is outside of these, in microseconds and in Mbit/s. */
#define FASTEST_US 0.05
#define SLOWEST_US 1e6
#define SLOWEST_MBIT 0.1
#define FASTEST_MBIT 1e7

int gr_network_good(const struct gr_network *n)
{
    return n->latency >= FASTEST_US && n->latency <= SLOWEST_US && n->mbit >= SLOWEST_MBIT &&
           n->mbit <= FASTEST_MBIT && n->wire >= 0 && n->wire <= SLOWEST_US;
}

static float class_of_latency(double us)
{
    double class = LEAST_LATENCY;

    while (class < MOST_LATENCY && us > 2 * class) {
        class *= 4;
    }
    return (float) class;
}

static float class_of_rate(double mbit)
{
    size_t last = sizeof(rates) / sizeof(rates[0]) - 1, k = 0;

    while (k < last && mbit > ABOVE_NOMINAL * (double) rates[k]) {
        k++;
    }
    return rates[k];
}

struct gr_network gr_network_class(const struct gr_network *n, struct gr_network_use use)
{
    struct gr_network class = gr_network_built_in;
    float wire;

    if (!gr_network_good(n)) {
        return class;
    }
    class.mbit = (float) use.rails * class_of_rate(n->mbit);
    if (!use.shares_cores) {
        class.latency = class_of_latency(n->latency);
    } else {
        wire = class_of_latency(n->wire);
        class.latency = wire > class.latency ? wire : class.latency;
    }
    return class;
}

/* The times that were measured, and their classes. */
static void times_text(const struct gr_network *n, const struct gr_network *class,
                       bool shares_cores, char *buf, size_t size)
{
    if (!shares_cores) {
        snprintf(buf, size, "latency %.1f us (class %g)", n->latency, class->latency);
    } else if (n->wire > 0) {
        snprintf(buf, size, "latency %.1f us by the round trip of TCP (used: %g)", n->wire,
                 class->latency);
    } else {
        snprintf(buf, size, "no latency, since ranks share cores (used: %g us)", class->latency);
    }
}

const char *gr_network_text(const struct gr_network *n, struct gr_network_use use, char *buf,
                            size_t size)
{
    struct gr_network class = gr_network_class(n, use);
    char times[120];

    if (gr_network_good(n)) {
        times_text(n, &class, use.shares_cores, times, sizeof(times));
        snprintf(buf, size, "measured: %s, %.*f Mbit/s (class %.0f%s)", times, n->mbit < 10 ? 1 : 0,
                 n->mbit, class.mbit, use.rails > 1 ? ", all rails" : "");
    } else {
        snprintf(buf, size, "built in: latency %g us, %.0f Mbit/s", class.latency, class.mbit);
    }
    return buf;
}

/* ---- the round trip by TCP's connections: a walk over file descriptors ---- */

/* The kernel's value for a connection on which nothing was acknowledged yet. */
#define NO_ROUND_TRIP UINT32_MAX

struct connection {
    uint64_t number;
    double round_trip; /* seconds; 0: not known */
};

/* An address and a port, of either IP version. */
struct end {
    unsigned char address[16]; /* as IPv6; an IPv4 address is a mapped one */
    unsigned char port[2];
};

static bool set_end(struct end *end, const struct sockaddr_storage *from)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

    if (AF_INET == from->ss_family) {
        const struct sockaddr_in *in = (const struct sockaddr_in *) from;

        memcpy(end->address, mapped, sizeof(mapped));
        memcpy(end->address + sizeof(mapped), &in->sin_addr, sizeof(in->sin_addr));
        memcpy(end->port, &in->sin_port, sizeof(end->port));
        return true;
    }
    if (AF_INET6 == from->ss_family) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *) from;

        memcpy(end->address, &in6->sin6_addr, sizeof(end->address));
        memcpy(end->port, &in6->sin6_port, sizeof(end->port));
        return true;
    }
    return false;
}

/* FNV-1a. */
static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    size_t k;

    for (k = 0; k < bytes; k++) {
        h = (h ^ at[k]) * 0x100000001b3;
    }
    return h;
}

/* The same for both ends: the lower one comes first. */
static uint64_t number_of(const struct end *here, const struct end *there)
{
    bool lower = memcmp(here, there, sizeof(*here)) < 0;

    return hash(hash(0xcbf29ce484222325, lower ? here : there, sizeof(*here)), lower ? there : here,
                sizeof(*here));
}

static bool find_number(int fd, uint64_t *number)
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof(address);
    struct end here, there;

    if (0 != getsockname(fd, (struct sockaddr *) &address, &bytes) || !set_end(&here, &address)) {
        return false;
    }
    bytes = sizeof(address);
    if (0 != getpeername(fd, (struct sockaddr *) &address, &bytes) || !set_end(&there, &address)) {
        return false;
    }
    *number = number_of(&here, &there);
    return true;
}

/* Read the connection that a descriptor is an end of; false: it is of no TCP connection. */
static bool read_connection(int fd, struct connection *c)
{
    struct tcp_info info = {.tcpi_min_rtt = NO_ROUND_TRIP};
    socklen_t bytes = sizeof(info);

    if (0 != getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) || !find_number(fd, &c->number)) {
        return false;
    }
    /* a kernel that does not have the field writes fewer bytes, and leaves the initial value */
    c->round_trip = NO_ROUND_TRIP == info.tcpi_min_rtt ? 0 : 1e-6 * info.tcpi_min_rtt;
    return true;
}

/* The process's next connection; false: there are no more. Other descriptors are skipped. */
static bool next(DIR *descriptors, struct connection *c)
{
    const struct dirent *entry;

    for (entry = readdir(descriptors); NULL != entry; entry = readdir(descriptors)) {
        if ('.' != entry->d_name[0] && read_connection(atoi(entry->d_name), c)) {
            return true;
        }
    }
    return false;
}

void gr_tcp_list(struct gr_tcp_connections *list)
{
    DIR *descriptors = opendir("/proc/self/fd");
    struct connection c;

    memset(list, 0, sizeof(*list));
    while (NULL != descriptors && list->n < GR_TCP_MOST && next(descriptors, &c)) {
        list->number[list->n++] = c.number;
    }
    if (NULL != descriptors) {
        closedir(descriptors);
    }
}

static bool is_in(const struct gr_tcp_connections *list, uint64_t number)
{
    uint64_t k = 0;

    while (k < list->n && k < GR_TCP_MOST && list->number[k] != number) {
        k++;
    }
    return k < list->n && k < GR_TCP_MOST;
}

double gr_tcp_round_trip(const struct gr_tcp_connections *other)
{
    DIR *descriptors = opendir("/proc/self/fd");
    struct connection c;
    double least = 0;

    while (NULL != descriptors && next(descriptors, &c)) {
        if (c.round_trip > 0 && (0 == least || c.round_trip < least) && is_in(other, c.number)) {
            least = c.round_trip;
        }
    }
    if (NULL != descriptors) {
        closedir(descriptors);
    }
    return least;
}
