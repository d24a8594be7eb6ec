/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a set-up of links in shared host memory needs, by formula: a function of what all ranks know
 * alike, so that they refuse a set-up that needs too much before they send anything for it.
 */
#ifndef GR_LINK_NEED_H
#define GR_LINK_NEED_H

#include "link/team.h"

#include <stddef.h>
#include <stdint.h>

struct gr_need {
    int links;         /* incoming links of a rank in all channels, at most */
    size_t bytes;      /* of all ranks together over their number, rounded up, at most */
    size_t most_bytes; /* of one rank, at most */
    int messages;      /* that a rank sends, at most */
};

/*
 * The need of a team that has no links yet. way: not mailboxes and call records, which have boards.
 * nchannels: from gr_team_channels().
 */
struct gr_need gr_team_need(const struct gr_team *team, int way, uint32_t nchannels);

#endif
