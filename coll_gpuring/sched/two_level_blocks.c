/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two levels, in blocks (two_level.h): between nodes what a message holds doubles, or is halved,
 * from round to round.
 *
 *      allgather                                              reduce_scatter, the way back
 *      gather     others of the node  - their block -> leader     spread   the block of each
 *      fold       node without place  - its blocks --> place      unfold   the node's blocks
 *      round j    the blocks of 2^j places <--> the next 2^j      halve    the farthest first
 *      unfold     all but its own --> node without place          fold     all blocks, summed
 *      spread     all blocks --> the others of the node           reduce   all blocks, summed
 *
 * Blocks of neighbouring nodes lie side by side, and so do those of 2^j places from a multiple of
 * 2^j on. Leaders all have as many steps; those that do not concern one do nothing.
 *
 * Cost: log2 Q crossings (one or two more where Q is no power of two), (Q-1)/Q n bytes into and out
 * of a node. Order of reduction: ((x + v_1) + v_2) + ..., v_k the others of the node, then the
 * folded leader; then mine + (the partner's), the farthest first. Sums lie in scratch.
 */
#include "sched/two_level.h"

/* The blocks of the nodes from `first` to before `end`. */
static void set_run(const struct gr_node_position *me, int first, int end, struct gr_step *t)
{
    t->first = (uint32_t) (first * me->ranks);
    t->stride = 1;
    t->count = (uint32_t) ((end - first) * me->ranks);
}

/*
 * Those of the 2^j places that mine is among; of the next such, which the partner of round j is
 * among.
 */
static void set_group(const struct gr_node_position *me, int j, int others, struct gr_step *t)
{
    int first = (me->place >> j ^ others) << j;

    set_run(me, gr_node_at_place(me, first), gr_node_at_place(me, first + (1 << j)), t);
}

static int partner(const struct gr_node_position *me, int j)
{
    return gr_node_leader(me, gr_node_at_place(me, me->place ^ 1 << j));
}

/* A message: to or from one. */
static void send_to(const struct gr_sched *s, struct gr_step *t, int bits, int pos)
{
    t->bits = (uint8_t) (GR_SEND | bits);
    gr_step_to(s, t, pos);
}

static void take_from(const struct gr_sched *s, struct gr_step *t, int bits, int pos)
{
    t->bits = (uint8_t) (GR_RECV | GR_STORE | bits);
    gr_step_from(s, t, pos);
}

/* ---- allgather ---- */

/* My block, then those of my node. */
static void gather(const struct gr_sched *s, const struct gr_node_position *me, int i,
                   struct gr_step *t)
{
    t->tick = (uint32_t) i;
    if (0 == i) {
        t->bits = GR_STORE | GR_FINAL;
        t->first = (uint32_t) s->pos;
        return;
    }
    t->first = (uint32_t) gr_node_other(me, i - 1);
    take_from(s, t, GR_FINAL, (int) t->first);
}

/* A node without a place gives its blocks. */
static void fold_blocks(const struct gr_sched *s, const struct gr_node_position *me,
                        struct gr_step *t)
{
    if (me->folded) {
        set_run(me, me->node, me->node + 1, t);
        send_to(s, t, GR_FINAL, gr_node_leader(me, me->node - 1));
    } else if (me->extra >= 0) {
        t->tick++;
        set_run(me, me->extra, me->extra + 1, t);
        take_from(s, t, GR_FINAL, gr_node_leader(me, me->extra));
    }
}

/* Send what I have, then take as much. */
static void double_blocks(const struct gr_sched *s, const struct gr_node_position *me, int j,
                          int receives, struct gr_step *t)
{
    if (me->folded) {
        return;
    }
    t->tick += (uint32_t) (j + receives);
    set_group(me, j, receives, t);
    if (receives) {
        take_from(s, t, GR_FINAL, partner(me, j));
    } else {
        send_to(s, t, GR_FINAL, partner(me, j));
    }
}

/* The node without a place, mine or the one that folds into it; -1: there is none. */
static int folded_node(const struct gr_node_position *me)
{
    return me->folded ? me->node : me->extra;
}

/* It gets the blocks of the nodes from `first` to before `end`, if any. */
static void unfold(const struct gr_sched *s, const struct gr_node_position *me, int bits, int first,
                   int end, struct gr_step *t)
{
    int node = folded_node(me);

    if (node < 0 || first >= end) {
        return;
    }
    t->tick += (uint32_t) me->folded;
    set_run(me, first, end, t);
    if (me->folded) {
        take_from(s, t, bits, gr_node_leader(me, node - 1));
    } else {
        send_to(s, t, bits, gr_node_leader(me, node));
    }
}

/* All blocks, to fan f of the others of my node. */
static void spread_blocks(const struct gr_sched *s, const struct gr_node_position *me, int f,
                          struct gr_step *t)
{
    int n;

    t->tick += (uint32_t) f;
    t->bits = GR_SEND | GR_FINAL;
    set_run(me, 0, me->nodes, t);
    for (n = f * GR_FAN; n < (f + 1) * GR_FAN && n < me->ranks - 1; n++) {
        gr_step_to(s, t, gr_node_other(me, n));
    }
}

/*
 * A leader's steps. fold, round, back, here and in reduce_scatter: steps since the fold, the
 * rounds, the way back began; negative: not yet. t.tick: when the steps of a part begin; its
 * messages are taken a tick later.
 */
static struct gr_step allgather_leader(const struct gr_sched *s, const struct gr_node_position *me,
                                       int i)
{
    int fold = i - me->ranks, round = fold - 1, back = round - 2 * me->rounds;
    struct gr_step t = gr_step_make(0, GR_OUT, GR_OUT, 0, (uint32_t) me->ranks);

    if (fold < 0) {
        t.operand = GR_IN;
        gather(s, me, i, &t);
    } else if (0 == fold) {
        fold_blocks(s, me, &t);
    } else if (back < 0) {
        t.tick += 1;
        double_blocks(s, me, round / 2, round % 2, &t);
    } else if (back < 2) { /* what lies before its own blocks, then what lies behind */
        int node = folded_node(me);
        int first = 0 == back ? 0 : node + 1, end = 0 == back ? node : me->nodes;

        t.tick += (uint32_t) (me->rounds + 1 + back);
        unfold(s, me, GR_FINAL, first, end, &t);
    } else {
        t.tick += (uint32_t) me->rounds + 4;
        spread_blocks(s, me, back - 2, &t);
    }
    return t;
}

static struct gr_step allgather_other(const struct gr_sched *s, const struct gr_node_position *me,
                                      int i)
{
    struct gr_step t = gr_step_make(0, GR_IN, GR_OUT, (uint32_t) s->pos, 0);

    if (0 == i) {
        send_to(s, &t, GR_FINAL, gr_node_leader(me, me->node));
        return t;
    }
    t.tick = (uint32_t) (me->ranks + me->rounds + 4 + gr_fans(me->ranks - 1));
    set_run(me, 0, me->nodes, &t);
    take_from(s, &t, GR_FINAL, gr_node_leader(me, me->node));
    return t;
}

/* ---- reduce_scatter ---- */

/* Fans of those who send all they have to a leader at most, one being folded. */
static int sum_fans(const struct gr_node_position *me)
{
    return gr_fans(me->ranks);
}

/* How many they are. */
static int count_sources(const struct gr_node_position *me)
{
    return me->ranks - 1 + (me->extra >= 0);
}

/* Sum what fan f of them sends. */
static void sum_fan(const struct gr_sched *s, const struct gr_node_position *me, int f,
                    struct gr_step *t)
{
    int n;

    if (f * GR_FAN >= count_sources(me)) {
        return;
    }
    t->bits = GR_RECV | GR_REDUCE | GR_STORE;
    t->operand = (uint8_t) (0 == f ? GR_IN : GR_TMP);
    t->tick += (uint32_t) f;
    set_run(me, 0, me->nodes, t);
    for (n = f * GR_FAN; n < (f + 1) * GR_FAN && n < count_sources(me); n++) {
        gr_step_from(s, t,
                     n < me->ranks - 1 ? gr_node_other(me, n) : gr_node_leader(me, me->extra));
    }
}

/* A node without a place gives all it has. */
static void fold_sums(const struct gr_sched *s, const struct gr_node_position *me,
                      struct gr_step *t)
{
    if (me->folded) {
        set_run(me, 0, me->nodes, t);
        send_to(s, t, 0, gr_node_leader(me, me->node - 1));
    }
}

/* Send the half that I do not keep, then take the other's of what I do. */
static void halve_sums(const struct gr_sched *s, const struct gr_node_position *me, int r,
                       int receives, struct gr_step *t)
{
    int j = me->rounds - 1 - r;

    if (me->folded) {
        return;
    }
    t->tick += (uint32_t) (r + receives);
    t->operand = (uint8_t) (0 == r && 0 == count_sources(me) ? GR_IN : GR_TMP);
    set_group(me, j, !receives, t);
    if (!receives) {
        send_to(s, t, 0, partner(me, j));
        return;
    }
    take_from(s, t, GR_REDUCE, partner(me, j));
    if (0 == j && 1 == t->count) { /* my own */
        t->dest = GR_OUT;
        t->bits |= GR_FINAL;
    }
}

/* My block, then to each other of my node its own. */
static void spread_sums(const struct gr_sched *s, const struct gr_node_position *me, int i,
                        struct gr_step *t)
{
    t->tick += (uint32_t) i;
    t->operand = GR_TMP;
    t->dest = GR_OUT;
    if (i > 0) {
        t->first = (uint32_t) gr_node_other(me, i - 1);
        send_to(s, t, GR_FINAL, (int) t->first);
    } else if (me->ranks > 1 || me->folded || me->extra >= 0) { /* not there yet */
        t->first = (uint32_t) s->pos;
        t->bits = GR_STORE | GR_FINAL;
    }
}

static struct gr_step reduce_scatter_leader(const struct gr_sched *s,
                                            const struct gr_node_position *me, int i)
{
    int fans = sum_fans(me), fold = i - fans, round = fold - 1, back = round - 2 * me->rounds;
    struct gr_step t = gr_step_make(0, me->ranks > 1 ? GR_TMP : GR_IN, GR_TMP, 0, 1);

    if (fold < 0) { /* those with a place wait for the folded ones, which have fans of their own */
        t.tick += me->folded ? 0 : (uint32_t) fans + 1;
        sum_fan(s, me, i, &t);
    } else if (0 == fold) {
        t.tick += (uint32_t) fans;
        fold_sums(s, me, &t);
    } else if (back < 0) {
        t.tick += (uint32_t) (2 * fans + 1);
        halve_sums(s, me, round / 2, round % 2, &t);
    } else if (0 == back) {
        int first = folded_node(me), end = first + 1;

        t.operand = GR_TMP;
        t.tick += (uint32_t) (2 * fans + me->rounds + 2);
        unfold(s, me, 0, first, end, &t);
    } else {
        t.tick += (uint32_t) (2 * fans + me->rounds + 4);
        spread_sums(s, me, back - 1, &t);
    }
    return t;
}

static struct gr_step reduce_scatter_other(const struct gr_sched *s,
                                           const struct gr_node_position *me, int i)
{
    struct gr_step t = gr_step_make(0, GR_IN, GR_OUT, (uint32_t) s->pos, 0);

    if (0 == i) {
        set_run(me, 0, me->nodes, &t);
        send_to(s, &t, 0, gr_node_leader(me, me->node));
        return t;
    }
    t.tick = (uint32_t) (2 * sum_fans(me) + me->rounds + me->ranks + 5);
    take_from(s, &t, GR_FINAL, gr_node_leader(me, me->node));
    return t;
}

/* ---- both ---- */

uint32_t gr_two_level_blocks_len(const struct gr_sched *s)
{
    struct gr_node_position me = gr_node_position_of(s);
    int gathers = GR_COLL_ALLGATHER == s->coll;

    if (me.local != me.leader) {
        return 2;
    }
    return (uint32_t) (me.ranks + 1 + 2 * me.rounds +
                       (gathers ? 2 + gr_fans(me.ranks - 1) : 1 + sum_fans(&me)));
}

struct gr_step gr_two_level_blocks_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_node_position me = gr_node_position_of(s);

    if (GR_COLL_ALLGATHER == s->coll) {
        return me.local == me.leader ? allgather_leader(s, &me, (int) i)
                                     : allgather_other(s, &me, (int) i);
    }
    return me.local == me.leader ? reduce_scatter_leader(s, &me, (int) i)
                                 : reduce_scatter_other(s, &me, (int) i);
}
