/* SPDX-License-Identifier: BSD-3-Clause */
/* Network interfaces by name and by network. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* getifaddrs() */
#endif
#include "net/interfaces.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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
