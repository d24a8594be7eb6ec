/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Swing allreduce: as recursive halving and doubling, but with partners that stay near on a ring.
 *
 *      step s of a dimension: coordinate x exchanges with x + rho(s) (x even), x - rho(s) (x odd),
 *      rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ...       farther than ever needed: none
 *
 *      0 <-> 1   2 <-> 3   4 <-> 5   6 <-> 7       s = 0
 *      7 <-> 0   1 <-> 2   3 <-> 4   5 <-> 6       s = 1
 *      0 <-> 3   2 <-> 5   4 <-> 7   6 <-> 1       s = 2
 *
 * A torus takes its dimensions by turns: X 0, Y 0, Z 0, X 1, Y 1, ...; those that are through are
 * left out. Channels begin with another dimension, or go the other way (x -> -x), so that all ports
 * are busy.
 *
 * Other extents than powers of two. Of a ranks in a dimension b have a place in its steps, the
 * greatest power of two: place i is at coordinate i a / b, rounded down, so that at most one other
 * rank comes after each:
 *
 *      coordinate   0   1   2   3   4   5          a = 6, b = 4
 *      place        0 <--   1   2 <--   3
 *
 * Before the dimension's first step a rank without a place folds its data into the rank before it.
 * It gets the result at the end, after all later steps.
 *
 * The first step of a dimension halves what is left, so the fold of the next costs half as much.
 *
 * Numbers of blocks. In step j of all a rank keeps half of its blocks and sends the other half. Let
 * bit j of a block's number say who keeps it: then both are runs with stride 2^(j+1), and after all
 * steps a rank has the blocks that agree with its own number in as many bits: one where all extents
 * are powers of two. That needs numbers whose bits below j are the same for partners of step j and
 * all later ones. In one dimension partners of steps from s on reach, from an even x, all even
 * coordinates that differ from it by multiples of 2^(s+1): so x / 2 mod 2^s it is, for odd x that
 * of a partner, and the last bit is the parity.
 *
 * Cost: 2 log2 p steps; (p-1)/p 2n b / 2D x a congestion of 1.2 (2D), 1.04 (3D), 1.01 (4D), as
 * messages of one step share links. Each extent that is no power of two: two steps more, and 2n b /
 * 2D the first time, half of it the next. Order of reduction: mine + (the partner's), step by step,
 * and before a dimension's first step place + (who folds). Source: De Sensi, Bonato, Saam, Hoefler:
 * Swing: Short-cutting Rings for Higher Bandwidth Allreduce, NSDI 2024, which for such extents
 * sends some blocks by themselves; the fold is that of recursive halving (Thakur, Rabenseifner,
 * Gropp: Optimization of collective communication operations in MPICH, 2005), and keeps each
 * message one run of blocks.
 */
#include "sched/algorithm.h"

#include "sched/torus.h"

static int rho(int s)
{
    int power = 1 << (s + 1);

    return (1 - (s % 2 ? power : -power)) / 3;
}

/*
 * What happens at one time of the way there: step `step` of dimension d, the j-th of all, or the
 * fold before it.
 */
struct swing_event {
    int d, turn; /* the dimension, the turn-th of the channel */
    int step, j, fold;
};

/*
 * How many dimensions are folded, and how many steps there are; each both on the way there and on
 * the way back.
 */
static int count_events(const struct gr_sched *s, int *steps)
{
    int d, folds = 0;

    for (d = 0, *steps = 0; d < s->torus.ndims; d++) {
        int bits = gr_place_bits(s->torus.dims[d]);

        *steps += bits;
        folds += s->torus.dims[d] > 1 << bits;
    }
    return folds + *steps;
}

/* Event e of the way there. */
static struct swing_event find_event(const struct gr_sched *s, const struct gr_torus_lane *lane,
                                     int e)
{
    struct swing_event at = {0, 0, 0, 0, 0};

    for (;; at.step++) {
        for (at.turn = 0; at.turn < lane->n; at.turn++) {
            int bits = gr_place_bits(s->torus.dims[at.d = lane->dims[at.turn]]);

            if (at.step >= bits) {
                continue;
            }
            at.fold = 0 == at.step && s->torus.dims[at.d] > 1 << bits;
            if (at.fold && 0 == e--) {
                return at;
            }
            at.fold = 0;
            if (0 == e--) {
                return at;
            }
            at.j++;
        }
    }
}

/* The partner's place among 2^bits. */
static int partner(int bits, int place, int step)
{
    return gr_wrap(0 == place % 2 ? place + rho(step) : place - rho(step), 1 << bits);
}

/* The number of a place among 2^bits, bits >= 1: see above. */
static int number_of(int bits, int place)
{
    return 0 == place % 2 ? place / 2 : partner(bits, place, bits - 1) / 2 + (1 << bits) / 2;
}

/*
 * My coordinate as the channel sees it. Lines are rings to Swing, whose wrap-around is a long way.
 */
static int seen_coord(const struct gr_sched *s, const struct gr_torus_lane *lane, int d)
{
    int x = gr_torus_coord(&s->torus, s->pos, d);

    return lane->up ? x : gr_wrap(-x, s->torus.dims[d]);
}

/* My place in dimension d; *extra: I have none, and it is that of the one that I fold into. */
static int my_place(const struct gr_sched *s, const struct gr_torus_lane *lane, int d, int *extra)
{
    int n = s->torus.dims[d], bits = gr_place_bits(n), x = seen_coord(s, lane, d),
        place = gr_place_of(n, bits, x);

    *extra = gr_place_at(n, bits, place) != x;
    return place;
}

/* Whether I am there at an event: I have been folded away by none of the folds before it. */
static int is_there(const struct gr_sched *s, const struct gr_torus_lane *lane,
                    const struct swing_event *at)
{
    int k, extra, away = 0;

    for (k = 0; k < lane->n; k++) {
        my_place(s, lane, lane->dims[k], &extra);
        away |= extra && (at->step > 0 || k < at->turn || (k == at->turn && !at->fold));
    }
    return !away;
}

/*
 * The lowest bits of my number in the channel: of the coordinates' numbers, in the order of the
 * steps.
 */
static int my_number(const struct gr_sched *s, const struct gr_torus_lane *lane, int nbits)
{
    int number = 0, j = 0, k, d, step, extra;

    for (step = 0; j < nbits; step++) {
        for (k = 0; k < lane->n; k++) {
            int bits = gr_place_bits(s->torus.dims[d = lane->dims[k]]);

            if (step < bits) {
                number |= (number_of(bits, my_place(s, lane, d, &extra)) >> step & 1) << j++;
            }
        }
    }
    return number & ((1 << nbits) - 1);
}

/* The rank with another coordinate in dimension d, as the channel sees it. */
static int rank_at(const struct gr_sched *s, const struct gr_torus_lane *lane, int d, int seen)
{
    return gr_torus_at(&s->torus, s->pos, d, lane->up ? seen : gr_wrap(-seen, s->torus.dims[d]));
}

/* The other rank of an event, or -1; *gives: on the way there I fold into it. */
static int peer_of(const struct gr_sched *s, const struct gr_torus_lane *lane,
                   const struct swing_event *at, int *gives)
{
    int n = s->torus.dims[at->d], bits = gr_place_bits(n), place = my_place(s, lane, at->d, gives);
    int x = gr_place_at(n, bits, place);

    if (!is_there(s, lane, at)) {
        return -1;
    }
    if (!at->fold) {
        return rank_at(s, lane, at->d, gr_place_at(n, bits, partner(bits, place, at->step)));
    }
    if (*gives) {
        return rank_at(s, lane, at->d, x);
    }
    return gr_place_at(n, bits, place + 1) > x + 1 ? rank_at(s, lane, at->d, x + 1) : -1;
}

/*
 * Whether the output has what I know when event e of the way there begins: I have received before.
 */
static int has_stored(const struct gr_sched *s, const struct gr_torus_lane *lane, int e)
{
    struct swing_event before;
    int gives;

    if (0 == e) {
        return 0;
    }
    before = find_event(s, lane, 0);
    return e > 1 || !before.fold || peer_of(s, lane, &before, &gives) >= 0;
}

/*
 * The run of the blocks whose numbers agree with mine in `bits` bits, but in the last of them where
 * `other`.
 */
static void set_run(const struct gr_sched *s, const struct gr_torus_lane *lane, int bits, int other,
                    struct gr_step *t)
{
    int first = my_number(s, lane, bits) ^ (other ? 1 << (bits - 1) : 0);

    t->first = (uint32_t) first;
    t->stride = 1u << bits;
    t->count = ((uint32_t) s->p - t->first + t->stride - 1) / t->stride;
}

static uint32_t swing_len(const struct gr_sched *s)
{
    int steps;

    return 4 * (uint32_t) count_events(s, &steps);
}

/*
 * Steps come in pairs: send one half, take the other. In a fold one does the first, the other one
 * the second.
 */
static struct gr_step swing_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_torus_lane lane = gr_torus_lane_of(s, GR_MAX_DIMS);
    struct gr_step t = gr_step_make(0, GR_IN, GR_OUT, 0, 0);
    struct swing_event at;
    int steps, events = count_events(s, &steps), time = (int) i / 2, receives = (int) (i % 2),
               gather = time >= events;
    int e = gather ? 2 * events - 1 - time : time, peer, gives;

    at = find_event(s, &lane, e);
    peer = peer_of(s, &lane, &at, &gives);
    t.tick = (uint32_t) (time + receives);
    if (peer < 0 || (at.fold && receives == (gives != gather))) {
        return t; /* nothing to do, but all ranks' steps have the same numbers */
    }
    if (at.fold) {
        set_run(s, &lane, at.j, 0, &t);
    } else { /* the half that this rank keeps: received on the way there, sent on the way back */
        set_run(s, &lane, at.j + 1, receives == gather, &t);
    }
    t.operand = (uint8_t) (gather || has_stored(s, &lane, e) ? GR_OUT : GR_IN);
    if (receives) {
        t.bits = (uint8_t) (gather ? GR_RECV | GR_STORE : GR_RECV | GR_REDUCE | GR_STORE);
        gr_step_from(s, &t, peer);
    } else {
        t.bits = GR_SEND;
        gr_step_to(s, &t, peer);
    }
    t.bits |= gather || (receives && e == events - 1) ? GR_FINAL : 0;
    return t;
}

static double swing_cost(const struct gr_cost_terms *t)
{
    double p = t->p, s = t->bytes;

    return 2 * gr_cost_torus_rounds(t->torus) * gr_cost_messages(t, ceil(s / 2 / t->most)) +
           2 * (p - 1) / p * s * t->byte;
}

const struct gr_algorithm gr_algorithm_swing = {
    .name = "swing",
    .help = "halving and doubling with partners that are near on a torus",
    .colls = GR_BIT(GR_COLL_ALLREDUCE),
    .traits = GR_TRAIT_BY_RANK,
    .fits = gr_torus_fits,
    .len = swing_len,
    .step = swing_step,
    .links = gr_links_torus_doubling,
    .message_chunks = gr_halving_message_chunks,
    .channels = gr_torus_all_channels,
    .cost = swing_cost,
    .internode_cost = gr_cost_halves_by_nodes,
};
