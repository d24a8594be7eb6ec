/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The multi-link bucket: a ring in each dimension, one dimension after the other, and as many
 * channels as there are links, each with another dimension at a time (torus.h).
 *
 *      reduce_scatter of one channel, dimensions X Y of a 3 x 3 torus, at rank (x, y):
 *
 *      phase 0, in X   the ring of sched/ring.c, whose blocks are columns: all blocks of ranks with
 *                      the same x. After it: sums over my row, of the blocks of my column
 *      phase 1, in Y   the same with the blocks of my column, by y. After it: my block, summed over
 *                      all ranks
 *
 * Allgather is the way back, Y first. Allreduce is both; in between, the step that receives my
 * block also sends it. Partial sums lie in the output (allreduce) or in scratch (reduce_scatter)
 * between phases.
 *
 * In phase i a dimension of extent a has a steps, in a - 1 ticks from tick i (A - 1) on, A the
 * longest extent: all channels change dimension at the same time, so that in no tick two of them
 * use one link.
 *
 * Cost per half: latency sum (a_d - 1) a; with all 2D channels (p-1)/p n b / 2D. Order of
 * reduction: in phase 0, of the ranks of a ring x_q + (x_{q-1} + (... + x_{q+1})), q the position
 * of the block's owner on it, in the channel's direction; in phase 1 of such sums, and so on.
 * Sources: Chan, Heimlich, Purkayastha, van de Geijn: Collective communication: theory, practice
 * and experience, 2007; Sack, Gropp: Collective algorithms for multiported torus networks, 2015.
 */
#include "sched/algorithm.h"

#include "sched/torus.h"

/*
 * The blocks of a message are those of the ranks that agree with some coordinates, and a step has
 * one run of chunks for them. In allgather and reduce_scatter, where a chunk's number is a rank,
 * the dimensions that are still free must then lie side by side: they can only be fixed from one
 * end or the other, in two rows of channels.
 */
static int most_rows(enum gr_coll coll)
{
    return GR_COLL_ALLREDUCE == coll ? GR_MAX_DIMS : 2;
}

/* Where step i of the schedule lies. */
struct bucket_place {
    int phase;  /* number of the dimension in the channel's order */
    int gather; /* on the way back */
    int k;      /* step of the ring */
};

/* Steps of a half; those of a ring in each dimension. */
static uint32_t half_len(const struct gr_sched *s, const struct gr_torus_lane *lane)
{
    uint32_t n = 0;
    int i;

    for (i = 0; i < lane->n; i++) {
        n += (uint32_t) s->torus.dims[lane->dims[i]];
    }
    return n;
}

static uint32_t bucket_len(const struct gr_sched *s)
{
    struct gr_torus_lane lane = gr_torus_lane_of(s, most_rows(s->coll));

    /* the last step of the first half is the first of the second */
    return GR_COLL_ALLREDUCE == s->coll ? 2 * half_len(s, &lane) - 1 : half_len(s, &lane);
}

static struct bucket_place find_bucket_place(const struct gr_sched *s,
                                             const struct gr_torus_lane *lane, uint32_t i)
{
    struct bucket_place at = {0, 0, 0};
    uint32_t half = half_len(s, lane);

    at.gather = GR_COLL_ALLGATHER == s->coll;
    if (GR_COLL_ALLREDUCE == s->coll && i >= half) {
        at.gather = 1;
        i -= half - 1;
    }
    at.phase = at.gather ? lane->n - 1 : 0;
    while (i >= (uint32_t) s->torus.dims[lane->dims[at.phase]]) {
        i -= (uint32_t) s->torus.dims[lane->dims[at.phase]];
        at.phase += at.gather ? -1 : 1;
    }
    at.k = (int) i;
    return at;
}

/*
 * The blocks with coordinate x in the phase's dimension, my coordinates in those of the phases
 * before, any in those after. An allreduce numbers blocks by the channel's dimensions, the first
 * one fastest; else it is the rank's.
 */
static void set_run(const struct gr_sched *s, const struct gr_torus_lane *lane, int phase, int x,
                    struct gr_step *t)
{
    int own = GR_COLL_ALLREDUCE == s->coll, stride = 1, first = 0, least = 0, count = 1, i;

    for (i = 0; i < lane->n; i++) {
        int d = lane->dims[i], weight = own ? stride : gr_torus_stride(&s->torus, d);

        if (i <= phase) {
            first += weight * (i == phase ? x : gr_torus_coord(&s->torus, s->pos, d));
        } else {
            least = 1 == count || weight < least ? weight : least;
            count *= s->torus.dims[d];
        }
        stride *= s->torus.dims[d];
    }
    t->first = (uint32_t) first;
    t->stride = (uint32_t) least;
    t->count = (uint32_t) count;
}

/*
 * A rank's position on the ring that a dimension is, in the channel's direction, and the coordinate
 * at a position.
 */
static int position_of(const struct gr_torus *t, int d, int up, int x)
{
    if (gr_torus_is_line(t, d)) {
        return gr_unfold(t->dims[d], x);
    }
    return up ? x : (t->dims[d] - x) % t->dims[d];
}

static int coord_at(const struct gr_torus *t, int d, int up, int position)
{
    int q = gr_wrap(position, t->dims[d]);

    if (gr_torus_is_line(t, d)) {
        return gr_fold(t->dims[d], q);
    }
    return up ? q : (t->dims[d] - q) % t->dims[d];
}

/* What step k of a ring of n ranks does: bits, and whose set by position after mine. */
static int scatter_bits(int k, int n)
{
    return 0 == k      ? GR_SEND
           : k < n - 1 ? GR_RECV | GR_REDUCE | GR_SEND
                       : GR_RECV | GR_REDUCE | GR_STORE;
}

static int gather_bits(int k, int n)
{
    return 0 == k ? GR_SEND : k < n - 1 ? GR_RECV | GR_STORE | GR_SEND : GR_RECV | GR_STORE;
}

static struct gr_step bucket_step(const struct gr_sched *s, uint32_t i)
{
    const struct gr_torus *t = &s->torus;
    struct gr_torus_lane lane = gr_torus_lane_of(s, most_rows(s->coll));
    struct gr_step step = gr_step_make(0, GR_IN, GR_OUT, 0, 0);
    struct bucket_place at = find_bucket_place(s, &lane, i);
    int d = lane.dims[at.phase], n = t->dims[d];
    int q = position_of(t, d, lane.up, gr_torus_coord(t, s->pos, d));
    int bits, middle = GR_COLL_ALLREDUCE == s->coll ? GR_OUT : GR_TMP, ticks = lane.longest - 1;

    bits = at.gather ? gather_bits(at.k, n) : scatter_bits(at.k, n);
    step.tick = (uint32_t) ((at.gather ? lane.n - 1 - at.phase : at.phase) * ticks + at.k);
    step.tick += (uint32_t) (GR_COLL_ALLREDUCE == s->coll && at.gather ? lane.n * ticks : 0);
    step.operand = (uint8_t) (at.gather ? GR_OUT : 0 == at.phase ? GR_IN : middle);
    step.dest = (uint8_t) (at.gather || at.phase == lane.n - 1 ? GR_OUT : middle);
    if (at.phase == lane.n - 1 && GR_COLL_ALLREDUCE == s->coll && !at.gather && at.k == n - 1) {
        bits |= GR_SEND; /* the whole sum, on its way back */
        step.tick = (uint32_t) (lane.n * ticks);
    }
    if (at.phase == lane.n - 1 && GR_COLL_ALLGATHER == s->coll && 0 == at.k) {
        bits |= GR_STORE;
        step.operand = GR_IN;
    }
    if (at.gather || (at.phase == lane.n - 1 && at.k == n - 1)) {
        bits |= GR_FINAL;
    }
    step.bits = (uint8_t) bits;
    set_run(s, &lane, at.phase, coord_at(t, d, lane.up, at.gather ? q - at.k : q - 1 - at.k),
            &step);
    if (bits & GR_RECV) {
        gr_step_from(s, &step, gr_torus_at(t, s->pos, d, coord_at(t, d, lane.up, q - 1)));
    }
    if (bits & GR_SEND) {
        gr_step_to(s, &step, gr_torus_at(t, s->pos, d, coord_at(t, d, lane.up, q + 1)));
    }
    return step;
}

static int bucket_channels(enum gr_coll coll, const struct gr_torus *torus)
{
    return gr_torus_channels(torus, most_rows(coll));
}

/* Any dimension may be the first of some channel. */
static uint32_t bucket_message_chunks(int p, const struct gr_torus *t)
{
    uint32_t most = 1;
    int d;

    for (d = 0; d < t->ndims; d++) {
        if (t->dims[d] > 1 && (uint32_t) (p / t->dims[d]) > most) {
            most = (uint32_t) (p / t->dims[d]);
        }
    }
    return most;
}

static double bucket_cost(const struct gr_cost_terms *t)
{
    double p = t->p, s = t->bytes, halves = GR_COLL_ALLREDUCE == t->coll ? 2 : 1;

    return (halves * gr_cost_torus_hops(t->torus) + 0.5) *
               gr_cost_messages(t, ceil(s / p / t->most)) +
           halves * (p - 1) / p * s * t->byte;
}

/* A ring along each dimension. */
static struct gr_links_count bucket_links(int p, const struct gr_torus *torus)
{
    int d, n = 0;

    (void) p;
    for (d = 0; d < torus->ndims; d++) {
        n += torus->dims[d] > 1;
    }
    return (struct gr_links_count) {n, n};
}

const struct gr_algorithm gr_algorithm_bucket = {
    .name = "bucket",
    .help = "rings along one dimension of a torus after the other, on all links at once",
    .colls = GR_BLOCK_COLLS,
    .scratch = GR_BIT(GR_COLL_REDUCE_SCATTER),
    .traits = GR_TRAIT_BY_RANK,
    .fits = gr_torus_fits,
    .len = bucket_len,
    .step = bucket_step,
    .links = bucket_links,
    .message_chunks = bucket_message_chunks,
    .channels = bucket_channels,
    .cost = bucket_cost,
    .internode_cost = gr_cost_halves_by_nodes,
    .auto_ranks = gr_cost_ranks_with_nodes,
};
