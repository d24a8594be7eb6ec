/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending and receiving of one link. Internal to net/. The caller has locked the network
 * (net_state.h).
 */
#ifndef GR_NET_LINK_PROGRESS_H
#define GR_NET_LINK_PROGRESS_H

#include "net/net_state.h"
#include "net/transport.h"

#include <stddef.h>
#include <stdint.h>

/* Whether a writer has a slot that can be sent now. */
int gr_net_can_send(const struct gr_net_link *l);

/* Send what the link has to send. Frees a link that is closed and needs nothing more. */
void gr_net_link_progress(struct gr_net_link *l);

/* Leave the leases of the link's FIFO and free the link. */
void gr_net_link_free(struct gr_net_link *l);

/* Callbacks of the transport, see struct gr_transport_up; ctx: the network. */
void *gr_net_get_recv_buffer(void *ctx, const struct gr_net_head *head, size_t bytes, int *on_gpu);
void gr_net_recv_done(void *ctx, const struct gr_net_head *head, int status);
void gr_net_on_control(void *ctx, const struct gr_net_head *head);
void gr_net_sent(void *ctx, struct gr_net_message *message, int status);

#endif
