/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rails: network devices of a node over which its links can be spread, since one is as good as the
 * other.
 *
 * All are of one kind and of one speed, the best of the node: beside an InfiniBand network the
 * Ethernet of the management is none, nor is a slower card. A device that stands alone is left to
 * the transport's own choice, and so is a node that has no such devices.
 */
#ifndef GR_NET_RAILS_H
#define GR_NET_RAILS_H

#include "net/transport.h"

#define GR_NET_RAILS 8         /* most that are used */
#define GR_NET_RAIL_DEVICES 64 /* most that are looked at */

struct gr_net_rails {
    int n; /* 1: none is better than what the transport chooses; name[] says nothing then */
    char name[GR_NET_RAILS][GR_NET_DEVICE_BYTES]; /* of devices, in order: eth2, eth10 */
};

/*
 * Those among n devices, of which the kernel tells below `sys` ("/sys"). On all nodes the rails of
 * one place in the order must be of one network.
 */
void gr_net_find_rails(struct gr_net_rails *rails, char (*devices)[GR_NET_DEVICE_BYTES], int n,
                       const char *sys);

#endif
