/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links between processes that share no memory (net.h): what each process does for its end.
 *
 * To make a link, each process opens its end and sends gr_net_link_export()'s handle to the other,
 * by its own means; then each joins its end to the other's handle.
 *
 * A broken connection fails all links to that peer, and no others. A failed link moves no data;
 * gr_net_link_status() says so.
 */
#ifndef GR_NET_LINK_H
#define GR_NET_LINK_H

#include "net/net_state.h"

/*
 * Open an end of a link. *fifo is copied; its memory is the caller's, and the network uses it until
 * it leaves the FIFO's lease. The link is freed by gr_net_link_close(). Returns 0 or GR_ERR_NOMEM.
 */
int gr_net_link_open(struct gr_net *net, enum gr_net_side side, const struct gr_fifo *fifo,
                     struct gr_net_link **link);

/* The handle of an end. */
void gr_net_link_export(const struct gr_net_link *link, struct gr_net_handle *handle);

/*
 * Join an end to the other end. peer: name of the other process for error messages, as "rank 3 on
 * node7". Data may arrive before. Returns 0, GR_ERR_NOMEM, GR_ERR_UNREACHED, GR_ERR_LOST, or
 * GR_ERR_NET: the ends do not fit together. On error the link has failed.
 */
int gr_net_link_join(struct gr_net_link *link, const struct gr_net_handle *theirs,
                     const char *peer);

/*
 * 0, or why the link has failed: GR_ERR_LOST, GR_ERR_UNREACHED, GR_ERR_NET, GR_ERR_NOMEM. Does not
 * lock.
 */
int gr_net_link_status(const struct gr_net_link *link);

/* Write the reason of the failure, with the peer's name; "" if the link has not failed. */
void gr_net_link_error(const struct gr_net_link *link, char *text, size_t size);

/*
 * Take back the memory that slots are sent from (gr_fifo.data_at), when a call is stopped. Data
 * that the transport has not started to send are copied into their slots. Returns the number of
 * messages that are still being sent from there: call it again after gr_net_progress(). The writer
 * must not push meanwhile.
 */
int gr_net_link_reclaim(struct gr_net_link *link);

/*
 * Close an end; the link must not be used any more. Later calls of gr_net_progress() send the slots
 * that have been pushed, and drop what arrives. Then the network leaves the FIFO's leases.
 */
void gr_net_link_close(struct gr_net_link *link);

#endif
