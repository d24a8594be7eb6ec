/* SPDX-License-Identifier: BSD-3-Clause */
/* Who leads a node, and which node folds into which (two_level.h). */
#include "sched/two_level.h"

int gr_node_at_place(const struct gr_node_position *me, int place)
{
    return gr_place_at(me->nodes, me->rounds, place);
}

int gr_node_leader(const struct gr_node_position *me, int node)
{
    return node * me->ranks + me->leader;
}

int gr_node_other(const struct gr_node_position *me, int n)
{
    return me->node * me->ranks + n + (n >= me->leader);
}

struct gr_node_position gr_node_position_of(const struct gr_sched *s)
{
    struct gr_node_position me;
    int at;

    me.ranks = GR_ALGO_DOUBLING == s->algo ? 1 : s->torus.dims[0];
    me.nodes = s->p / me.ranks;
    me.local = s->pos % me.ranks;
    me.node = s->pos / me.ranks;
    me.leader = s->root % me.ranks;
    me.rounds = gr_place_bits(me.nodes);
    me.place = gr_place_of(me.nodes, me.rounds, me.node);
    at = gr_node_at_place(&me, me.place);
    me.folded = at != me.node;
    me.extra = !me.folded && gr_node_at_place(&me, me.place + 1) > at + 1 ? at + 1 : -1;
    return me;
}
