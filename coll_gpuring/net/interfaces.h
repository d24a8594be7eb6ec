/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of network interfaces as Open MPI's parameters have them (btl_tcp_if_include): names and
 * networks, separated by commas, as "eth0,10.77.0.0/16". A network stands for the interfaces that
 * have an address in it.
 */
#ifndef GR_NET_INTERFACES_H
#define GR_NET_INTERFACES_H

#include "net/transport.h"

#include <ifaddrs.h>

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
