/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding rails, from the kernel's sysfs, among the devices that the user permits (rails.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* strverscmp(), getifaddrs() */
#endif
#include "net/rails.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Kinds of devices. A later one is better at any speed: a virtual device depends on an adapter, or
 * has none; RDMA saves processor time.
 */
enum kind { KIND_NONE, KIND_VIRTUAL, KIND_ADAPTER, KIND_ROCE, KIND_INFINIBAND };

struct device {
    enum kind kind;
    long speed;       /* Mbit/s; 0: unknown */
    const char *name; /* borrowed */
};

#define LOOPBACK 772 /* ARPHRD_LOOPBACK */

/* Read the first line of a file of a device. Returns 0 if there is none. */
static int read_line(char *line, size_t size, const char *sys, const char *class, const char *name,
                     const char *file)
{
    /* reading the speed of an interface that is down fails */
    return gr_text_read_line(line, size, "%s/class/%s/%s/%s", sys, class, name, file);
}

static int is_there(const char *sys, const char *name, const char *file)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/class/net/%s/%s", sys, name, file);
    return 0 == access(path, F_OK);
}

/* Mbit/s of a rate as "2.5 Gb/sec (1X SDR)". */
static long rate_of(const char *text)
{
    struct gr_c_locale locale = gr_c_locale_enter();
    double gbit = strtod(text, NULL);

    gr_c_locale_leave(locale);
    return (long) (1000 * gbit);
}

/* Read kind and speed of a port of an RDMA device, as mlx5_0:1. Returns 0 if it is no such port. */
static int read_port(struct device *d, const char *sys)
{
    const char *port = strchr(d->name, ':');
    char name[GR_NET_DEVICE_BYTES], file[GR_NET_DEVICE_BYTES + 32], line[64];

    if (NULL == port) {
        return 0;
    }
    snprintf(name, sizeof(name), "%.*s", (int) (port - d->name), d->name);
    snprintf(file, sizeof(file), "ports/%s/link_layer", port + 1);
    if (!read_line(line, sizeof(line), sys, "infiniband", name, file)) {
        return 0;
    }
    d->kind = 0 == strncmp(line, "InfiniBand", 10) ? KIND_INFINIBAND : KIND_ROCE;
    snprintf(file, sizeof(file), "ports/%s/rate", port + 1);
    d->speed = read_line(line, sizeof(line), sys, "infiniband", name, file) ? rate_of(line) : 0;
    return 1;
}

/* Read kind and speed of an interface. A bridge is no device: it joins other interfaces. */
static void read_interface(struct device *d, const char *sys)
{
    char line[64];

    if (!read_line(line, sizeof(line), sys, "net", d->name, "type") || LOOPBACK == atoi(line) ||
        is_there(sys, d->name, "bridge")) {
        return;
    }
    d->kind = is_there(sys, d->name, "device") ? KIND_ADAPTER : KIND_VIRTUAL;
    d->speed = read_line(line, sizeof(line), sys, "net", d->name, "speed") ? atol(line) : 0;
    d->speed = d->speed < 0 ? 0 : d->speed;
}

/* Order: the best first; devices of the same kind and speed by name. */
static int compare(const void *one, const void *other)
{
    const struct device *a = one, *b = other;

    if (a->kind != b->kind) {
        return a->kind > b->kind ? -1 : 1;
    }
    if (a->speed != b->speed) {
        return a->speed > b->speed ? -1 : 1;
    }
    return strverscmp(a->name, b->name);
}

/* Whether both have the same kind and speed. */
static int are_alike(const struct device *a, const struct device *b)
{
    return KIND_NONE != a->kind && a->kind == b->kind && a->speed == b->speed;
}

void gr_net_find_rails(struct gr_net_rails *rails, char (*devices)[GR_NET_DEVICE_BYTES], int n,
                       const char *sys)
{
    struct device d[GR_NET_RAIL_DEVICES] = {{KIND_NONE, 0, NULL}};
    int k;

    n = n < GR_NET_RAIL_DEVICES ? n : GR_NET_RAIL_DEVICES;
    for (k = 0; k < n; k++) {
        d[k] = (struct device) {KIND_NONE, 0, devices[k]};
        if (!read_port(&d[k], sys)) {
            read_interface(&d[k], sys);
        }
    }
    qsort(d, (size_t) n, sizeof(d[0]), compare);
    memset(rails, 0, sizeof(*rails));
    for (k = 0; k < n && k < GR_NET_RAILS && are_alike(&d[0], &d[k]); k++) {
        snprintf(rails->name[k], sizeof(rails->name[k]), "%s", d[k].name);
    }
    rails->n = k > 1 ? k : 1;
}

/* ---- interfaces, by name and by network ---- */

#define ITEM_BYTES 128 /* longest item of a list, with its end */

/* Whether the first bits of two addresses are the same. */
static int have_prefix(const unsigned char *one, const unsigned char *other, int bits)
{
    int rest = bits % 8;

    return 0 == memcmp(one, other, (size_t) bits / 8) &&
           (0 == rest || 0 == (one[bits / 8] ^ other[bits / 8]) >> (8 - rest));
}

/* Whether an address lies in a network, as 10.77.0.0/16. */
static int is_in(const struct sockaddr *address, const char *network)
{
    const struct sockaddr_in *v4 = (const void *) address;
    const struct sockaddr_in6 *v6 = (const void *) address;
    const char *slash = strchr(network, '/');
    unsigned char start[sizeof(v6->sin6_addr)];
    char text[ITEM_BYTES], *end;
    long bits;

    if (NULL == slash || (AF_INET != address->sa_family && AF_INET6 != address->sa_family)) {
        return 0;
    }
    bits = strtol(slash + 1, &end, 10);
    snprintf(text, sizeof(text), "%.*s", (int) (slash - network), network);
    if (end == slash + 1 || '\0' != *end || bits < 0 ||
        bits > (AF_INET == address->sa_family ? 32 : 128) ||
        1 != inet_pton(address->sa_family, text, start)) {
        return 0;
    }
    return have_prefix(AF_INET == address->sa_family ? (const void *) &v4->sin_addr
                                                     : (const void *) &v6->sin6_addr,
                       start, (int) bits);
}

/* Whether an item names an interface. */
static int names(const char *item, const char *name, const struct ifaddrs *addresses)
{
    const struct ifaddrs *a;

    if (0 == strcmp(item, name)) {
        return 1;
    }
    for (a = addresses; NULL != a; a = a->ifa_next) {
        if (NULL != a->ifa_addr && 0 == strcmp(a->ifa_name, name) && is_in(a->ifa_addr, item)) {
            return 1;
        }
    }
    return 0;
}

int gr_net_is_listed(const char *list, const char *name, const struct ifaddrs *addresses)
{
    char item[ITEM_BYTES];
    size_t length;

    for (; '\0' != *list; list += length + (',' == list[length])) {
        length = strcspn(list, ",");
        if (length < sizeof(item)) {
            memcpy(item, list, length);
            item[length] = '\0';
            if (names(item, name, addresses)) {
                return 1;
            }
        }
    }
    return 0;
}

int gr_net_confine(char (*devices)[GR_NET_DEVICE_BYTES], int n, const char *list, int exclude,
                   int *left_out)
{
    struct ifaddrs *addresses = NULL;
    int k, kept = 0, keep;

    *left_out = 0;
    if (0 != getifaddrs(&addresses)) {
        addresses = NULL; /* names still count */
    }
    for (k = 0; k < n; k++) {
        keep = NULL != strchr(devices[k], ':');
        if (!keep && 0 != strcmp(devices[k], "lo") && 0 != if_nametoindex(devices[k])) {
            keep = exclude != gr_net_is_listed(list, devices[k], addresses);
            *left_out += !keep;
        }
        if (keep && kept++ < k) {
            memcpy(devices[kept - 1], devices[k], sizeof(devices[k]));
        }
    }
    freeifaddrs(addresses);
    return kept;
}
