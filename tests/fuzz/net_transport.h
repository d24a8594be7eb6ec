/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport for net.c: a message stays in flight until the input completes it. Included by one
 * file.
 */
#ifndef GR_TESTS_FUZZ_NET_TRANSPORT_H
#define GR_TESTS_FUZZ_NET_TRANSPORT_H

#include "fuzz.h"

#include "net/transport.h"

enum { ENDS = 6, COMING = 16, GOING = 64 };

/* Data that are being received: place() said where. */
struct coming {
    struct gr_net_head head;
    unsigned char *to; /* NULL: none */
    size_t bytes;
};

static const struct gr_transport_up *up;
static struct coming coming[COMING];
static struct gr_net_message *going[GOING]; /* messages that are being sent; NULL: none */
static void *peers[ENDS];                   /* as given to connect() */
static int npeers, connection;

static int fake_open(void **end, const struct gr_transport_up *above, const char *device, char *why,
                     size_t size)
{
    (void) device;
    (void) why;
    (void) size;
    up = above;
    *end = &connection;
    return 0;
}

static void fake_close(void *end, double patience)
{
    int k;

    (void) end;
    (void) patience;
    for (k = 0; k < GOING; k++) {
        if (NULL != going[k]) {
            up->sent(up->ctx, going[k], GR_ERR_LOST);
            going[k] = NULL;
        }
    }
    for (k = 0; k < COMING; k++) {
        if (NULL != coming[k].to) {
            up->recv_done(up->ctx, &coming[k].head, GR_ERR_LOST);
            coming[k].to = NULL;
        }
    }
}

static size_t fake_address(void *end, void *address, size_t size)
{
    int rank = 0;

    (void) end;
    FUZZ_NEED(size >= sizeof(rank));
    memcpy(address, &rank, sizeof(rank));
    return sizeof(rank);
}

/* Reads as much of an address as there is in one of the transport's own. */
static int fake_connect(void *end, const void *address, void *peer, void **to, char *why,
                        size_t size)
{
    int rank;

    (void) end;
    memcpy(&rank, address, sizeof(rank));
    if (rank < 0 || npeers == ENDS) {
        snprintf(why, size, "rank %d", rank);
        return GR_ERR_UNREACHED;
    }
    peers[npeers++] = peer;
    *to = &connection;
    return 0;
}

static int fake_send(void *end, void *to, struct gr_net_message *message, const void *data,
                     size_t bytes)
{
    volatile unsigned char sum = 0;
    size_t b;
    int k;

    (void) end;
    FUZZ_NEED(to == &connection);
    for (b = 0; NULL != data && b < bytes; b++) {
        sum ^= ((const unsigned char *) data)[b]; /* readable */
    }
    for (k = 0; k < GOING && NULL != going[k]; k++) {
        FUZZ_NEED(message != going[k]);
    }
    if (GOING == k) {
        return 1;
    }
    going[k] = message;
    return 0;
}

static void fake_progress(void *end)
{
    (void) end;
}

static const struct gr_transport fake = {
    GR_TRANSPORT_VERSION, "fake",    fake_open,     fake_close, fake_address,
    fake_connect,         fake_send, fake_progress, NULL,       NULL,
};

#endif
