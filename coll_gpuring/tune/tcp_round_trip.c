/* SPDX-License-Identifier: BSD-3-Clause */
/* The round trip by TCP's connections (network.h): a walk over file descriptors. */
#include "tune/network.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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
