/* SPDX-License-Identifier: BSD-3-Clause */
/* The links and mailbox boards of a team, in shared host memory (connect.h). */
#ifndef GR_LINK_HOST_LINKS_H
#define GR_LINK_HOST_LINKS_H

#include "link/connect.h"
#include "link/team.h"

/*
 * Connection of a link in host memory, until its gr_link exists; or of this rank's use of a peer's
 * board, or a peer's of its own.
 */
struct gr_host_connection {
    struct gr_connection end;
    struct gr_slab *slab; /* this rank's: incoming links, inter-node links, this rank's board */
    void *base;           /* the peer's slab, mapped: outgoing links, boards that are read */
    struct gr_slab_handle handle; /* of the slab: sent by its owner (in), received (out) */
};

extern const struct gr_link_memory gr_host_links;  /* slots in the reader's slab */
extern const struct gr_link_memory gr_host_boards; /* one slab per rank, which all others map */

/*
 * Begin a set-up of what `way` needs: links of the first nchannels channels, from
 * gr_team_channels(), or the boards of a way that has some. Slabs are leased from the pool, which
 * must outlive the team. 0, or GR_ERR_NOMEM: there is no join.
 */
int gr_team_join(struct gr_join *join, struct gr_team *team, struct gr_pool *pool, int way,
                 int root, uint32_t nchannels);

#endif
