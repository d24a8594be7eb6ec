/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The round trip of the network between two processes, as the kernel measures it on the TCP
 * connections between them. Kernels acknowledge packets themselves, so this time includes no wait
 * of a process for a core.
 */
#ifndef GR_NET_TCP_ROUND_TRIP_H
#define GR_NET_TCP_ROUND_TRIP_H

#include <stdint.h>

enum { GR_TCP_MOST = 512 }; /* connections of a process that are listed */

/*
 * TCP connections that a process has ends of. Ranks send this to each other as bytes. A connection
 * has one number, which its two ends compute alike of their addresses and ports.
 */
struct gr_tcp_connections {
    uint64_t n;                   /* in number[] */
    uint64_t number[GR_TCP_MOST]; /* the rest is zero */
};

/* Those of this process, whoever opened them. */
void gr_tcp_list(struct gr_tcp_connections *list);

/*
 * Seconds of the shortest round trip that the kernel has seen on a connection of this process that
 * is in the other process's list; 0: there is none, or the kernel does not say.
 */
double gr_tcp_round_trip(const struct gr_tcp_connections *other);

#endif
