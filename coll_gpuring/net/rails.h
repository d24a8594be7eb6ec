/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rails: network devices of a node that are equally good, so that links can be spread over them;
 * and which devices the user permits.
 *
 * Rails are all devices of the best kind and speed. So a slower device is no rail, nor is the
 * Ethernet of management beside InfiniBand. A node with one such device, or with none, leaves the
 * choice to the transport.
 */
#ifndef GR_NET_RAILS_H
#define GR_NET_RAILS_H

#include "net/transport.h"

#include <ifaddrs.h>

#define GR_NET_RAILS 8         /* most rails */
#define GR_NET_RAIL_DEVICES 64 /* most devices that are considered */

struct gr_net_rails {
    int n;                                        /* 1: the transport chooses, name[] is empty */
    char name[GR_NET_RAILS][GR_NET_DEVICE_BYTES]; /* in the order of numbers: eth2, eth10 */
};

/*
 * Find the rails among n devices. sys: where sysfs is mounted, "/sys". On all nodes, rails with the
 * same index must be in the same network.
 */
void gr_net_find_rails(struct gr_net_rails *rails, char (*devices)[GR_NET_DEVICE_BYTES], int n,
                       const char *sys);

/*
 * ---- interfaces ----
 *
 * Lists of network interfaces as Open MPI's parameters have them (btl_tcp_if_include): names and
 * networks, separated by commas, as "eth0,10.77.0.0/16". A network stands for the interfaces that
 * have an address in it.
 */

/* Whether a list names an interface; addresses: of all interfaces of this node. */
int gr_net_is_listed(const char *list, const char *name, const struct ifaddrs *addresses);

/*
 * Of n devices of a transport keep ports of RDMA devices, as mlx5_0:1, and the interfaces that the
 * list names, or, with exclude, does not name; lo and all others go. Returns the number that is
 * kept. *left_out: how many interfaces were not, without lo.
 */
int gr_net_confine(char (*devices)[GR_NET_DEVICE_BYTES], int n, const char *list, int exclude,
                   int *left_out);

#endif
