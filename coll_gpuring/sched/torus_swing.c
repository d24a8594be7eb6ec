/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Swing allreduce: as recursive halving and doubling, but with partners that stay near on a ring.
 *
 *      step s of a dimension: coordinate x exchanges with x + rho(s) (x even) or x - rho(s) (x odd),
 *      rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ...       farther than ever needed: none
 *
 *      0 <-> 1   2 <-> 3   4 <-> 5   6 <-> 7       s = 0
 *      7 <-> 0   1 <-> 2   3 <-> 4   5 <-> 6       s = 1
 *      0 <-> 3   2 <-> 5   4 <-> 7   6 <-> 1       s = 2
 *
 * A torus takes its dimensions by turns: X 0, Y 0, Z 0, X 1, Y 1, ...; those that are through are left out. Channels
 * begin with another dimension, or go the other way (x -> -x), so that all ports are busy.
 *
 * Numbers of blocks. In step j of all a rank keeps half of its blocks and sends the other half. Let bit j of a block's
 * number say who keeps it: then both are runs with stride 2^(j+1), and after all log2 p steps a rank has the block
 * with its own number. That needs numbers whose bits below j are the same for partners of step j and all later ones.
 * In one dimension partners of steps from s on reach, from an even x, all even coordinates that differ from it by
 * multiples of 2^(s+1): so x / 2 mod 2^s it is, for odd x that of a partner, and the last bit is the parity.
 *
 * Cost: 2 log2 p steps; (p-1)/p 2n b / 2D x a congestion of 1.2 (2D), 1.04 (3D), 1.01 (4D), as messages of one step
 * share links. Order of reduction: mine + (the partner's), step by step.
 * Source: De Sensi, Bonato, Saam, Hoefler: Swing: Short-cutting Rings for Higher Bandwidth Allreduce, NSDI 2024.
 */
#include "algos.h"

#include "alltoall.h" /* gr_wrap() */
#include "torus.h"

GR_HD static int log2_of(int n)
{
    int l = 0;

    while (1 << l < n) {
        l++;
    }
    return l;
}

GR_HD static int rho(int s)
{
    int power = 1 << (s + 1);

    return (1 - (s % 2 ? power : -power)) / 3;
}

/* The dimension of step j of all, and which of its steps it is. */
GR_HD static int find_step(const struct gr_sched *s, const struct gr_torus_lane *lane, int j, int *of_dim)
{
    int k;

    for (*of_dim = 0;; ++*of_dim) {
        for (k = 0; k < lane->n; k++) {
            if (*of_dim < log2_of(s->torus.dims[gr_lane_dim(lane, k)]) && 0 == j--) {
                return gr_lane_dim(lane, k);
            }
        }
    }
}

/* The partner's coordinate among n, seen in the channel's direction. */
GR_HD static int partner(int n, int x, int step)
{
    return gr_wrap(0 == x % 2 ? x + rho(step) : x - rho(step), n);
}

/* The number of a coordinate among n: see above. */
GR_HD static int number_of(int n, int x)
{
    int bits = log2_of(n);

    return 0 == x % 2 ? x / 2 : partner(n, x, bits - 1) / 2 + n / 2;
}

/* My coordinate as the channel sees it. Lines are rings to Swing, whose wrap-around is a long way. */
GR_HD static int seen_coord(const struct gr_sched *s, const struct gr_torus_lane *lane, int d)
{
    int x = gr_torus_coord(&s->torus, s->pos, d);

    return lane->up ? x : gr_wrap(-x, s->torus.dims[d]);
}

/* My number in the channel: the bits of the coordinates' numbers, in the order of the steps. */
GR_HD static int my_number(const struct gr_sched *s, const struct gr_torus_lane *lane, int steps)
{
    int number = 0, j, d, of_dim;

    for (j = 0; j < steps; j++) {
        d = find_step(s, lane, j, &of_dim);
        number |= (number_of(s->torus.dims[d], seen_coord(s, lane, d)) >> of_dim & 1) << j;
    }
    return number;
}

GR_HD static int peer_of(const struct gr_sched *s, const struct gr_torus_lane *lane, int j)
{
    int of_dim, d = find_step(s, lane, j, &of_dim), n = s->torus.dims[d];
    int y = partner(n, seen_coord(s, lane, d), of_dim);

    return gr_torus_at(&s->torus, s->pos, d, lane->up ? y : gr_wrap(-y, n));
}

GR_HD uint32_t gr_swing_len(const struct gr_sched *s)
{
    int p = gr_torus_stride(&s->torus, s->torus.ndims);

    return 1 == p ? 1 : 4 * (uint32_t) log2_of(p);
}

/* Steps come in pairs: send one half, take the other. */
GR_HD struct gr_step gr_swing_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_torus_lane lane = gr_torus_lane_of(s);
    struct gr_step t = gr_step_make(GR_STORE | GR_FINAL, GR_IN, GR_OUT, 0, 0);
    int p = gr_torus_stride(&s->torus, s->torus.ndims), steps = log2_of(p);
    int round = (int) i / 2, receives = (int) (i % 2), gather = round >= steps;
    int j = gather ? 2 * steps - 1 - round : round, mine, peer, kept;

    if (1 == p) {
        return t;
    }
    mine = my_number(s, &lane, steps);
    peer = peer_of(s, &lane, j);
    kept = receives != gather; /* of the two halves that I keep on the way there is received, and sent on the way back */
    t.first = (uint32_t) ((mine & ((1 << j) - 1)) | ((mine >> j & 1) == kept ? 1 << j : 0));
    t.stride = (uint32_t) (2 << j);
    t.count = (uint32_t) (p >> (j + 1));
    t.operand = (uint8_t) (0 == round ? GR_IN : GR_OUT);
    t.phase = (uint8_t) gather;
    t.tick = (uint32_t) (round + receives);
    if (receives) {
        t.bits = (uint8_t) (gather ? GR_RECV | GR_STORE : GR_RECV | GR_REDUCE | GR_STORE);
        t.from[0] = peer;
        t.nfrom = 1;
    } else {
        t.bits = GR_SEND;
        t.to[0] = peer;
        t.nto = 1;
    }
    t.bits |= gather || (receives && round == steps - 1) ? GR_FINAL : 0;
    return t;
}
