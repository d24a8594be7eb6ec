/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages by which rank 0 and its partner on another node measure the network between them:
 * requests of rank 0 (network_questions.h), trains of messages, and replies.
 *
 *      request of rank 0                     the partner replies
 *      ping                                  at once
 *      train (count, bytes), and messages    when it has received all the messages
 *      end                                   where ranks share cores: its TCP connections
 *
 * A request goes out when the reply to the one before is there. Where ranks share cores rank 0 then
 * asks the kernel for the round trip of the connections that it has with its partner.
 */
#ifndef GR_ENGINE_NETWORK_EXCHANGE_H
#define GR_ENGINE_NETWORK_EXCHANGE_H

#include "engine/network_questions.h"

#include "tune/network.h"

#include <stdbool.h>
#include <stdint.h>

struct gr_comm;
struct gr_message;

/* Tags of an exchange, from the highest down. */
#define GR_NETWORK_EXCHANGE_TAGS 2

/* The messages of a train that rank 0 sends and its partner receives. */
struct gr_network_train {
    unsigned char *buffer;                          /* [request.window][request.bytes]; owned */
    struct gr_message *messages[GR_NETWORK_WINDOW]; /* in flight, by number modulo the window */
    int posted;                                     /* messages that were posted */
    int over;                                       /* messages that are complete */
};

/* One end of the exchange. */
struct gr_network_exchange {
    const struct gr_comm *comm;               /* borrowed */
    int peer;                                 /* rank of the other end */
    int tag;                                  /* the highest of its tags */
    struct gr_network_questions questions;    /* rank 0's */
    struct gr_network_request request, reply; /* in flight */
    struct gr_message *messages[2];           /* received, sent: a request and a reply */
    struct gr_network_train train;            /* that follows the request */
    bool listed;                              /* the partner has sent its connections */
    struct gr_tcp_connections connections;    /* the partner's; in flight after the end */
};

/* Begin, on rank 0 or its partner. *x is zeroed before. 0, GR_ERR_NOMEM or GR_ERR_FAILED. */
int mca_coll_gpuring_network_exchange_begin(struct gr_network_exchange *x,
                                            const struct gr_comm *comm, int peer, int tag);

/*
 * Progress. Adds the number of requests that are done to *moved. An enum gr_status, or
 * GR_ERR_FAILED. After GR_DONE rank 0 has x->questions.result.
 */
int mca_coll_gpuring_network_exchange_poll(struct gr_network_exchange *x, uint64_t *moved);

/* After GR_DONE, or without a beginning. */
void mca_coll_gpuring_network_exchange_free(struct gr_network_exchange *x);

#endif
