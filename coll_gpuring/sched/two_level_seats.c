/* SPDX-License-Identifier: BSD-3-Clause */
/* Who leads a node, and which node folds into which (two_level.h). */
#include "sched/two_level.h"

int gr_seat_node_at(const struct gr_node_position *seat, int place)
{
    return gr_place_at(seat->nodes, seat->rounds, place);
}

int gr_seat_leader(const struct gr_node_position *seat, int node)
{
    return node * seat->ranks + seat->leader;
}

int gr_seat_other(const struct gr_node_position *seat, int n)
{
    return seat->node * seat->ranks + n + (n >= seat->leader);
}

struct gr_node_position gr_seat_of(const struct gr_sched *s)
{
    struct gr_node_position seat;
    int at;

    seat.ranks = GR_ALGO_DOUBLING == s->algo ? 1 : s->torus.dims[0];
    seat.nodes = s->p / seat.ranks;
    seat.local = s->pos % seat.ranks;
    seat.node = s->pos / seat.ranks;
    seat.leader = s->root % seat.ranks;
    seat.rounds = gr_place_bits(seat.nodes);
    seat.place = gr_place_of(seat.nodes, seat.rounds, seat.node);
    at = gr_seat_node_at(&seat, seat.place);
    seat.folded = at != seat.node;
    seat.extra = !seat.folded && gr_seat_node_at(&seat, seat.place + 1) > at + 1 ? at + 1 : -1;
    return seat;
}
