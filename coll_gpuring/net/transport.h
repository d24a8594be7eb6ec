/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface of transports, which carry the messages of links (net.h) between processes: UCX
 * (ucx.h), and Open MPI's point-to-point messages (mpi/net_pml.c).
 *
 * One thread at a time calls a transport. A transport calls back from progress() only; lost() and
 * sent() also from send() and close(); ready() at any time.
 */
#ifndef GR_NET_TRANSPORT_H
#define GR_NET_TRANSPORT_H

#include "base/errors.h"
#include "link/fifo.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GR_NET_DEVICE_BYTES 64 /* longest name of a network device, with its end */

enum gr_net_kind {
    GR_NET_DATA,   /* the data of a slot */
    GR_NET_CREDIT, /* seq: the number of slots that have been read */
    GR_NET_GONE    /* the reader has left the link */
};

/*
 * The header of a message. The last members are 0 in most messages, and are not sent then:
 * gr_net_head_bytes().
 */
struct gr_net_head {
    uint64_t link;                   /* number of the receiver's end */
    uint64_t seq;                    /* data: the slot, from 0 for the first one of the link */
    uint32_t kind;                   /* an enum gr_net_kind */
    uint32_t unused;                 /* 0 */
    uint64_t credit_link;            /* data: link of the receiver that gets a credit; 0: none */
    uint64_t credit;                 /* its number of slots that have been read */
    uint64_t sideband[GR_NSIDEBAND]; /* data: of the writer (link/fifo.h) */
};

/* Bytes of a header that must be sent; the rest is 0. */
static inline size_t gr_net_head_bytes(const struct gr_net_head *head)
{
    int k;

    for (k = 0; k < GR_NSIDEBAND; k++) {
        if (0 != head->sideband[k]) {
            return sizeof(*head);
        }
    }
    return 0 != head->credit_link ? offsetof(struct gr_net_head, sideband)
                                  : offsetof(struct gr_net_head, credit_link);
}

/* Read a header of `bytes`, unaligned. Returns 1, or 0: its length is wrong. */
static inline int gr_net_head_take(struct gr_net_head *head, const void *from, size_t bytes)
{
    if (bytes < offsetof(struct gr_net_head, credit_link) || bytes > sizeof(*head)) {
        return 0;
    }
    memset(head, 0, sizeof(*head));
    memcpy(head, from, bytes);
    return 1;
}

/* A message to send. It and its data must not change until it has been sent. */
struct gr_net_message {
    struct gr_net_head head;
    void *link;      /* the sender's link, for sent() */
    void *transport; /* for the transport's use */
    int on_gpu;      /* its data lie in device memory */
};

/* Callbacks of a transport. */
struct gr_transport_up {
    void *ctx; /* their first argument */
    /*
     * Data arrive: where to store them. *on_gpu: whether that is device memory. NULL: drop the
     * message.
     */
    void *(*get_recv_buffer)(void *ctx, const struct gr_net_head *head, size_t bytes, int *on_gpu);
    /* They are stored, or, if status is negative, will not be. */
    void (*recv_done)(void *ctx, const struct gr_net_head *head, int status);
    /* A message without data has arrived. */
    void (*on_control)(void *ctx, const struct gr_net_head *head);
    /* A message is sent for which send() returned 0; status: 0 or a negative error. */
    void (*sent)(void *ctx, struct gr_net_message *message, int status);
    /* A connection is broken. peer: the argument of connect(). */
    void (*lost)(void *ctx, void *peer, const char *why);
    /*
     * Something is complete. Calls progress(), unless a thread, perhaps this one, is using the end:
     * then the next progress() must find it. From any thread.
     */
    void (*ready)(void *ctx);
};

/* How a transport moves data in device memory. */
enum gr_net_gpus {
    GR_NET_GPUS_NONE,   /* not at all */
    GR_NET_GPUS_COPIED, /* through host memory of its own */
    GR_NET_GPUS_DIRECT  /* the network may read and write it */
};

/* Version of struct gr_transport and of the types above. A loaded module may be older. */
#define GR_TRANSPORT_VERSION 8

/* A transport. Functions return 0 or a negative error, with the reason in why[size]. */
struct gr_transport {
    uint32_t version; /* GR_TRANSPORT_VERSION */
    const char *name;
    /*
     * Open an end. device: the only devices to use, of devices(), separated by commas; NULL: any.
     * *up must outlive the end.
     */
    int (*open)(void **end, const struct gr_transport_up *up, const char *device, char *why,
                size_t size);
    /*
     * Close all connections and free the end. What was sent has `patience` seconds to leave the
     * process. Every message in flight is reported as sent or failed first.
     */
    void (*close)(void *end, double patience);
    /* Write this end's address and return its length. Longer than size: nothing is written. */
    size_t (*address)(void *end, void *address, size_t size);
    /* Connect to another end. peer: for lost(). */
    int (*connect)(void *end, const void *address, void *peer, void **connection, char *why,
                   size_t size);
    /*
     * Send a message, without waiting. data: NULL if there are none. Returns 1: it is sent; 0:
     * sent() will be called; negative: an error.
     */
    int (*send)(void *end, void *connection, struct gr_net_message *message, const void *data,
                size_t bytes);
    /* Send and receive what can be moved. */
    void (*progress)(void *end);
    /*
     * Write the names of up to n devices that it can use, in any order, and return their number.
     * *chosen: the user has restricted the transport itself to these. NULL: it cannot be restricted
     * to a device.
     */
    int (*devices)(char (*names)[GR_NET_DEVICE_BYTES], int n, int *chosen);
    /* How it moves data in device memory. NULL: not at all. */
    enum gr_net_gpus (*reaches_gpus)(void *end);
};

/*
 * Load the transport over UCX, for the life of the process. dir: folder of the module; NULL: that
 * of the library or program that contains this function. NULL: it cannot be loaded; the reason is
 * written to why[size].
 */
const struct gr_transport *gr_net_load(const char *dir, char *why, size_t size);

#endif
