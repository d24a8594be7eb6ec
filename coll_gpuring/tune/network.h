/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the network between nodes is like: measured once in a job (engine/network_probe.h), and
 * turned into constants of the cost model.
 *
 * The order of a reduction follows these constants, and must not change from run to run. So what
 * is measured only says which class a network is in: the model gets the class's value. Classes of
 * rates are nominal rates of links; their boundaries lie between those.
 */
#ifndef GR_TUNE_NETWORK_H
#define GR_TUNE_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Between two processes on different nodes. Ranks send this to each other as bytes: no padding, no
 * pointers. A field is 0 where it is not known: its constant is the built-in one.
 */
struct gr_network {
    float latency; /* of a short message one way, in microseconds */
    float mbit;    /* Mbit/s in one direction */
    /*
     * Where ranks share cores: half of the shortest round trip of the kernels on a TCP connection,
     * in microseconds. It includes no wait for a core. 0: there is no such connection.
     */
    float wire;
};

extern const struct gr_network gr_network_built_in;

/* Whether all of it was measured, and each value is one that a network can have. */
int gr_network_good(const struct gr_network *n);

/* What a communicator makes of it; equal on all ranks. */
struct gr_network_use {
    int rails;         /* network devices of a node that links lie on, each of the measured rate */
    bool shares_cores; /* ranks share cores: a message is late if its receiver waits for one */
};

/*
 * The classes that it is in, as values of the model. Built-in values where nothing good was
 * measured. Where ranks share cores, measured times of messages are times until a rank gets a core:
 * then the latency is the built-in one, unless n->wire is in a longer class.
 */
struct gr_network gr_network_class(const struct gr_network *n, struct gr_network_use use);

/* What was measured, and the classes, as text for messages. Returns buf. */
const char *gr_network_text(const struct gr_network *n, struct gr_network_use use, char *buf,
                            size_t size);

/*
 * The round trip of the network between two processes, as the kernel measures it on the TCP
 * connections between them. Kernels acknowledge packets themselves, so this time includes no wait
 * of a process for a core.
 */

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
