/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What carries the messages of links (net.c) between processes: ucx.c, or a test's. One thread at a
 * time is in a transport; it calls back from within progress() only, but for lost(), which may also
 * come from send().
 */
#ifndef GR_NET_TRANSPORT_H
#define GR_NET_TRANSPORT_H

#include "base/errors.h"
#include "link/fifo.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GR_NET_DEVICE_BYTES 64 /* of a device's name */

enum gr_net_kind {
    GR_NET_DATA,
    GR_NET_CREDIT, /* seq: the slots that the reader is through with */
    GR_NET_GONE    /* the reader has left the link */
};

/*
 * What travels in front of a message's data. Most messages have nothing to say in its later parts:
 * gr_net_head_bytes().
 */
struct gr_net_head {
    uint64_t link; /* the number of the receiver's end */
    uint64_t seq;  /* data: the number of the slot, from 0 for the link's first */
    uint32_t kind, unused;
    /* data: a credit for that link of the receiver's, on the way back; 0: none */
    uint64_t back, read;
    uint64_t words[GR_NWORDS]; /* data: what the writer says beside its slots */
};

/* So many of its bytes have to travel; the others are 0. */
static inline size_t gr_net_head_bytes(const struct gr_net_head *head)
{
    int k;

    for (k = 0; k < GR_NWORDS; k++) {
        if (0 != head->words[k]) {
            return sizeof(*head);
        }
    }
    return 0 != head->back ? offsetof(struct gr_net_head, words)
                           : offsetof(struct gr_net_head, back);
}

/* A head of which so many bytes have come. Whether they are one. */
static inline int gr_net_head_take(struct gr_net_head *head, const void *from, size_t bytes)
{
    if (bytes < offsetof(struct gr_net_head, back) || bytes > sizeof(*head)) {
        return 0;
    }
    memset(head, 0, sizeof(*head));
    memcpy(head, from, bytes); /* it need not be aligned */
    return 1;
}

/* A message to be sent; it and its data stay as they are until it has been sent. */
struct gr_net_message {
    struct gr_net_head head;
    void *link;      /* the sender's, for sent() */
    void *transport; /* the transport's own */
    int on_gpu;      /* its data lie in a GPU's memory */
};

/* What a transport tells those above. */
struct gr_transport_up {
    void *ctx;
    /* Data come in: where to, and whether that is a GPU's memory. NULL: nobody wants them. */
    void *(*place)(void *ctx, const struct gr_net_head *head, size_t bytes, int *on_gpu);
    /* They are there; or, with a negative error, never will be. */
    void (*placed)(void *ctx, const struct gr_net_head *head, int status);
    /* A message without data has come. */
    void (*noted)(void *ctx, const struct gr_net_head *head);
    /* What send() said 0 to is through: 0 or a negative error. */
    void (*sent)(void *ctx, struct gr_net_message *message, int status);
    /* A connection is broken; peer: as given to connect(). */
    void (*lost)(void *ctx, void *peer, const char *why);
};

/* Increased when what is below changes: a module may be older than who loads it. */
#define GR_TRANSPORT_VERSION 6

struct gr_transport {
    uint32_t version;
    const char *name;
    /*
     * device: the only one that it may use, one of devices(); NULL: as it likes. *up outlives the
     * end. 0 or a negative error, and why.
     */
    int (*open)(void **end, const struct gr_transport_up *up, const char *device, char *why,
                size_t size);
    /*
     * Breaks all connections, after up to `patience` seconds in which what was sent may leave the
     * process. Messages under way are reported as sent or failed before it returns.
     */
    void (*close)(void *end, double patience);
    /*
     * This end's address, for connect() of others; its bytes, which may be more than size (nothing
     * is written then).
     */
    size_t (*address)(void *end, void *address, size_t size);
    /* Connect to another end. 0 or a negative error, and why. */
    int (*connect)(void *end, const void *address, void *peer, void **connection, char *why,
                   size_t size);
    /*
     * 1: it has been sent; 0: sent() will say so; or a negative error. data NULL: there are none.
     * Never waits.
     */
    int (*send)(void *end, void *connection, struct gr_net_message *message, const void *data,
                size_t bytes);
    void (*progress)(void *end);
    /*
     * Names of devices that it may use, up to n, in any order; how many. NULL: it cannot be told
     * which to use.
     */
    int (*devices)(char (*names)[GR_NET_DEVICE_BYTES], int n);
    /*
     * Whether data may lie in the memory of a GPU, which the host cannot touch. NULL: they may not.
     */
    int (*reaches_gpus)(void *end);
};

#endif
