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

#endif
