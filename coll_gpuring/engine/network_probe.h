/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the network between the nodes of a communicator, for the cost model (tune/network.h):
 * part of the first call of each order of calls. All ranks take part, and then choose by the same
 * values.
 */
#ifndef GR_ENGINE_NETWORK_PROBE_H
#define GR_ENGINE_NETWORK_PROBE_H

#include "sched/cost.h"
#include "tune/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_comm;
struct gr_network_probe;
struct gr_op_queue;

/*
 * Whether the next call of the queue's order must measure: then the probe for it, which sends
 * nothing yet. number: from gr_setup_number(). NULL: no memory.
 */
bool gr_network_wanted(const struct gr_op_queue *queue);
struct gr_network_probe *gr_network_new(struct gr_op_queue *queue, uint32_t number);

/*
 * Progress a probe; only where messages may be sent. Adds the number of completed messages to
 * *moved. Returns an enum gr_status, or a negative error code. For gr_poll_to_end().
 */
int gr_network_poll(void *probe, uint64_t *moved);

/* After GR_DONE: the order's calls know the network. Frees the probe. */
void gr_network_end(struct gr_network_probe *probe);

/* Describe what the probe waits for. */
void gr_network_explain(void *probe, char *text, size_t size);

/*
 * The links between a communicator's nodes, for the cost model: by parameters, and for what they do
 * not say by the classes of `measured`. nodes 0: all ranks are on one node.
 */
struct gr_internode gr_network_terms(const struct gr_comm *comm, const struct gr_network *measured);

/* The same, and where the values come from, as text for messages. Returns text. */
const char *gr_comm_network_text(const struct gr_comm *comm, const struct gr_network *measured,
                                 char *text, size_t size);

/*
 * ---- the questions (network_questions.c) ----
 *
 * What rank 0 asks its partner on another node, to measure the network between them, and what
 * follows from the times of the replies. No messages and no clock: those are network_probe.c's.
 *
 *      ping            one message each way: the latency
 *      trains          of growing length, one reply each: the rate. A link may let a first burst
 *                      pass faster, which the trains before the last ones use up
 *
 * A rank that computes, or has no core, replies late. So the least time of several requests counts,
 * where there is time for several, and a request whose reply was late is repeated, a few times at
 * most. When all has taken too long, nothing more is asked and nothing is known of the network.
 */
/* A train's messages in flight, at most, and their bytes. */
enum { GR_NETWORK_WINDOW = 32, GR_NETWORK_IN_FLIGHT = 512 << 10 };

/* The `count` of a request after which there is no other. */
#define GR_NETWORK_END (-1)

/* From rank 0 to its partner; a reply has the same form. */
struct gr_network_request {
    int32_t count;  /* messages that follow the request; 0: a ping */
    int32_t bytes;  /* of each of them */
    int32_t window; /* of them in flight */
};

struct gr_network_questions {
    struct gr_network_request request; /* to send next */
    struct gr_network result;          /* so far; at the end all zero: not measured */

    /* private */
    bool shares_cores; /* ranks share cores */
    int asked;         /* requests of this kind and length that were replied to in time */
    int late;          /* late replies, to all questions */
    double first;      /* seconds: when the first request went out */
    double begin;      /* the same, later by what late replies took */
    double asked_at;   /* seconds: when the request in flight went out */
    double least;      /* seconds: least time of the replies counted in `asked` */
    double round_trip; /* seconds: least time of a ping; 0: not known yet */
};

/* Ask the first question; now: seconds, when the request is sent. */
void gr_network_ask_first(struct gr_network_questions *q, bool shares_cores, double now);

/* The reply to q->request came at `now`: set the next request, which is sent at once. */
void gr_network_ask_next(struct gr_network_questions *q, double now);

#endif
