/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedules of sched/torus.h in the symbolic checker: right results in the stated order, no deadlock; then, tick by
 * tick, no link used twice by all channels together (bucket, mst); and edits of steps are found. The machine is compiled
 * into this file with hooks in the place of gr_sched_step() and gr_sched_len(), as struct gr_sched knows no torus.
 */
#include "torus_expect.h"

static uint32_t torus_len(const struct gr_sched *s);
static struct gr_step torus_step(const struct gr_sched *s, uint32_t i);

#define gr_sched_len torus_len
#define gr_sched_step torus_step
#include "exec/machine.c"
#undef gr_sched_len
#undef gr_sched_step

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct sym world;
static struct gr_torus torus;     /* of the run */
static enum gr_torus_algo algo;

/* An edit of one step of one rank's channel 0. */
enum edit { NO_EDIT, DROP_STEP, DROP_SEND, DROP_STORE, DROP_REDUCE, NEXT_CHUNK, LONGER, SHORTER, OTHER_STRIDE, OTHER_PEER, OTHER_OPERAND, NEDITS };
static struct {
    enum edit edit;
    int rank;
    uint32_t index;
    int applied;
} mutant;

static struct gr_torus_sched sched_of(enum gr_coll coll, int rank, int root, int channel, uint32_t nchunks)
{
    return (struct gr_torus_sched){algo, coll, torus, rank, root, channel, nchunks};
}

/* gr_sched has no channel: which order of ranks it refers to says it. */
static struct gr_torus_sched hooked(const struct gr_sched *s)
{
    return sched_of(s->coll, s->pos, s->root, (int) ((s->order - world.order) / s->p), s->nchunks);
}

static uint32_t torus_len(const struct gr_sched *s)
{
    struct gr_torus_sched h = hooked(s);

    return gr_torus_sched_len(&h);
}

static void edit_step(const struct gr_sched *s, struct gr_step *t)
{
    uint32_t chunks = GR_TORUS_MST == algo ? s->nchunks : (uint32_t) s->p;
    struct gr_step was = *t;

    switch (mutant.edit) {
    case DROP_STEP:
        t->bits = t->nfrom = t->nto = 0;
        break;
    case DROP_SEND:
        t->bits &= (uint8_t) ~GR_SEND;
        t->nto = 0;
        break;
    case DROP_STORE:
    case DROP_REDUCE:
        t->bits &= (uint8_t) ~(DROP_STORE == mutant.edit ? GR_STORE : GR_REDUCE);
        break;
    case NEXT_CHUNK:
        t->first = (t->first + 1) % chunks;
        break;
    case LONGER: /* by a chunk that there is */
        t->count += t->first + t->count * t->stride < chunks && t->stride > 0;
        break;
    case SHORTER:
    case OTHER_STRIDE:
        t->count -= SHORTER == mutant.edit && t->count > 1;
        t->stride += OTHER_STRIDE == mutant.edit && t->count > 1;
        break;
    case OTHER_PEER:
        t->to[0] = t->nto > 0 ? (t->to[0] + 1) % s->p : t->to[0];
        t->from[0] = t->nto > 0 || 0 == t->nfrom ? t->from[0] : (t->from[0] + 1) % s->p;
        break;
    case OTHER_OPERAND:
        if (0 == t->nfrom || 0 != (t->bits & GR_REDUCE)) {
            t->operand = GR_IN == t->operand ? GR_OUT : GR_IN;
        }
        break;
    default:
        return;
    }
    mutant.applied |= was.bits != t->bits || was.first != t->first || was.count != t->count || was.stride != t->stride ||
                      was.to[0] != t->to[0] || was.from[0] != t->from[0] || was.operand != t->operand;
}

static struct gr_step torus_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_torus_sched h = hooked(s);
    struct gr_step t = gr_torus_sched_step(&h, i);

    if (NO_EDIT != mutant.edit && s->pos == mutant.rank && i == mutant.index && 0 == h.channel) {
        edit_step(s, &t);
    }
    return t;
}

static void peers(const struct sym_case *c, uint32_t channel, int rank, int *in, int *nin, int *out, int *nout)
{
    struct gr_torus_sched s = sched_of(c->coll, rank, c->root, (int) channel, 1);

    gr_torus_sched_peers(&s, in, nin, out, nout);
}

static uint64_t order(const struct sym_case *c, uint32_t channel, int block, size_t elem)
{
    return torus_expect(algo, &torus, c, channel, block, elem);
}

static const char *describe(void)
{
    static char text[80];

    snprintf(text, sizeof(text), "%s %dD %dx%dx%dx%d lines %x", gr_torus_algo_name(algo), torus.ndims, torus.dims[0], torus.dims[1],
             torus.dims[2], torus.dims[3], torus.mesh);
    return text;
}

/* ---- links ---- */

/* Mark the way of a message; how many of its links were marked. */
static int use_links(const struct gr_torus_sched *s, const struct gr_step *t, uint8_t *used)
{
    int hops[GR_MAX_DIMS], at = s->rank, d, again = 0;

    gr_torus_sched_way(s, t->to[0], hops);
    for (d = 0; d < torus.ndims; d++) {
        for (; 0 != hops[d]; hops[d] -= hops[d] > 0 ? 1 : -1) {
            again += used[gr_torus_link(&torus, at, d, hops[d] > 0)]++;
            at = gr_torus_move(&torus, at, d, hops[d] > 0 ? 1 : -1);
            assert_true(at >= 0);
        }
    }
    assert_int_equal(at, t->to[0]);
    return again;
}

/* How often a link is used again in a tick, by all ranks and channels; all of these as channel 0 where `alike`. */
static int clashes(enum gr_coll coll, int root, int alike)
{
    int p = gr_torus_size(&torus), channels = gr_torus_channels(algo, coll, &torus), rank, channel, again = 0;
    size_t nlinks = (size_t) gr_torus_links(&torus), ticks = 4096;
    uint8_t *used = calloc(nlinks * ticks, 1);

    assert_non_null(used);
    for (rank = 0; rank < p; rank++) {
        for (channel = 0; channel < channels; channel++) {
            struct gr_torus_sched s = sched_of(coll, rank, root, alike ? 0 : channel, 2);
            uint32_t len = gr_torus_sched_len(&s), i;

            for (i = 0; i < len; i++) {
                struct gr_step t = gr_torus_sched_step(&s, i);

                assert_in_range(t.tick, 0, ticks - 1);
                again += t.nto > 0 ? use_links(&s, &t, used + (size_t) t.tick * nlinks) : 0;
            }
        }
    }
    free(used);
    return again;
}

/* ---- running ---- */

static const enum gr_coll colls[GR_NTORUS_ALGOS][3] = {{GR_COLL_ALLREDUCE, GR_COLL_ALLGATHER, GR_COLL_REDUCE_SCATTER},
                                                        {GR_COLL_ALLREDUCE}, {GR_COLL_BCAST, GR_COLL_REDUCE}};
static const int ncolls[GR_NTORUS_ALGOS] = {3, 1, 2};

static enum sym_check run_case(enum gr_coll coll, int root, uint32_t pieces, enum sym_policy policy, int in_place)
{
    struct sym_foreign foreign = {gr_torus_algo_name(algo), gr_torus_algo_layout(algo), GR_COLL_ALLREDUCE != coll && GR_COLL_REDUCE != coll,
                                  peers, order};
    size_t most = 1;
    int channel;
    struct sym_case c = {.foreign = &foreign, .coll = coll, .p = gr_torus_size(&torus), .root = root, .max_piece = 1,
                         .align = 1, .policy = policy, .in_place = in_place, .seed = sym_seed()};

    c.nchannels = (uint32_t) gr_torus_channels(algo, coll, &torus);
    for (channel = 0; channel < (int) c.nchannels; channel++) {
        struct gr_torus_sched s = sched_of(coll, 0, root, channel, 1);

        most = gr_torus_sched_most(&s) > most ? gr_torus_sched_most(&s) : most;
    }
    c.slot_elems = most < GR_DIRECT_PIECES ? most : GR_DIRECT_PIECES;
    c.slots = 1 + (uint32_t) ((most + c.slot_elems - 1) / c.slot_elems); /* as torus.h says, and no more */
    sym_size(&c, pieces, pieces > 1 ? 1 : 0);
    return sym_run(&world, &c);
}

static void run(enum gr_torus_algo which)
{
    int p = gr_torus_size(&torus), k, root;

    algo = which;
    for (k = 0; k < ncolls[algo]; k++) {
        enum gr_coll coll = colls[algo][k];

        if (!gr_torus_algo_has(algo, coll, &torus)) {
            continue;
        }
        for (root = 0; root < (GR_TORUS_MST == algo ? p : 1); root += 1 + p / 5) {
            int policy = p > 128 ? SYM_ROUND : (p + root) % SYM_NPOLICIES;

            if (SYM_OK != run_case(coll, root, 1 + (uint32_t) (p + root) % 2, (enum sym_policy) policy, (p + root) % 3 == 0)) {
                fail_msg("%s %s root %d: %s", describe(), gr_coll_name(coll), root, world.why);
            }
            if (GR_TORUS_SWING != algo && 0 != clashes(coll, root, 0)) {
                fail_msg("%s %s root %d: a link is used twice in a tick", describe(), gr_coll_name(coll), root);
            }
        }
    }
}

/* All tori of so many dimensions with extents 1..most and at most p ranks, lines included where asked for. */
static void run_all(enum gr_torus_algo which, int ndims, int most, int p, int lines)
{
    int dims[GR_MAX_DIMS] = {1, 1, 1, 1}, d;
    unsigned mesh;

    do {
        for (mesh = 0; mesh < (lines ? 1u << ndims : 1u); mesh++) {
            torus = (struct gr_torus){.ndims = ndims, .dims = {dims[0], dims[1], dims[2], dims[3]}, .mesh = mesh};
            if (gr_torus_size(&torus) <= p) {
                run(which);
            }
        }
        for (d = 0; d < ndims && ++dims[d] > most; d++) {
            dims[d] = 1;
        }
    } while (d < ndims);
}

static void run_some(enum gr_torus_algo which, int ndims, const int (*rows)[4], int n)
{
    int k;

    for (k = 0; k < n; k++) {
        torus = (struct gr_torus){.ndims = ndims, .dims = {rows[k][0], rows[k][1], rows[k][2], rows[k][3]}};
        run(which);
    }
}

static void one_and_two_dimensions(void **state)
{
    enum gr_torus_algo which = *(enum gr_torus_algo *) *state;

    run_all(which, 1, 17, 17, 1);
    run_all(which, 2, 9, 81, 1);
}

static void three_dimensions(void **state)
{
    static const int large[][4] = {{8, 8, 8}, {8, 7, 6}, {4, 8, 8}, {8, 2, 8}, {7, 7, 7}, {8, 8, 1}};
    enum gr_torus_algo which = *(enum gr_torus_algo *) *state;
    const char *ranks = getenv("TORUS_RANKS"); /* 512: all tori up to 8x8x8, in a minute */

    run_all(which, 3, 8, NULL != ranks ? atoi(ranks) : 64, 0);
    run_all(which, 3, 4, 36, 1);
    run_some(which, 3, large, 6);
}

static void four_dimensions(void **state)
{
    static const int some[][4] = {{2, 3, 2, 3}, {4, 2, 4, 2}, {3, 4, 2, 5}, {2, 2, 8, 4}, {4, 4, 4, 4}};
    enum gr_torus_algo which = *(enum gr_torus_algo *) *state;

    run_all(which, 4, 3, 24, 1);
    run_some(which, 4, some, 5);
}

/* Channels: two for each dimension above extent 1, one where there is a line; allgather and reduce_scatter, see torus.h. */
static void channels_are_as_stated(void **state)
{
    struct gr_torus t = {.ndims = 3, .dims = {4, 1, 4}}, cube = {.ndims = 3, .dims = {4, 4, 4}}, line = {.ndims = 3, .dims = {4, 3, 4}, .mesh = 2};

    (void) state;
    assert_int_equal(gr_torus_channels(GR_TORUS_BUCKET, GR_COLL_ALLREDUCE, &t), 4);
    assert_int_equal(gr_torus_channels(GR_TORUS_BUCKET, GR_COLL_ALLREDUCE, &cube), 6);
    assert_int_equal(gr_torus_channels(GR_TORUS_BUCKET, GR_COLL_ALLGATHER, &cube), 4);
    assert_int_equal(gr_torus_channels(GR_TORUS_BUCKET, GR_COLL_ALLREDUCE, &line), 3);
    assert_int_equal(gr_torus_channels(GR_TORUS_SWING, GR_COLL_ALLREDUCE, &cube), 6);
    assert_false(gr_torus_algo_has(GR_TORUS_SWING, GR_COLL_ALLREDUCE, &line) || gr_torus_algo_has(GR_TORUS_MST, GR_COLL_ALLREDUCE, &cube));
}

/* The bucket keeps every link of the torus busy in every tick of an allreduce, where all extents are equal. */
static void a_bucket_uses_all_links(void **state)
{
    int rank, channel, sends = 0;
    uint32_t i, last = 0;

    torus = (struct gr_torus){.ndims = 3, .dims = {4, 4, 4}};
    algo = GR_TORUS_BUCKET;
    (void) state;
    for (rank = 0; rank < 64; rank++) {
        for (channel = 0; channel < 6; channel++) {
            struct gr_torus_sched s = sched_of(GR_COLL_ALLREDUCE, rank, 0, channel, 1);

            for (i = 0; i < gr_torus_sched_len(&s); i++) {
                struct gr_step t = gr_torus_sched_step(&s, i);

                sends += t.nto;
                last = t.nto > 0 && t.tick > last ? t.tick : last;
            }
        }
    }
    assert_int_equal(last + 1, 2 * 3 * 3); /* 2 sum (a_d - 1) ticks */
    assert_int_equal(sends, gr_torus_links(&torus) * (int) (last + 1));
}

/* The check of links finds channels that are all the same, and what Swing does not promise. */
static void shared_links_are_found(void **state)
{
    (void) state;
    torus = (struct gr_torus){.ndims = 2, .dims = {8, 4}};
    for (algo = GR_TORUS_BUCKET; algo < GR_NTORUS_ALGOS; algo++) {
        assert_true(clashes(colls[algo][0], 0, 1) > 0);
        assert_int_equal(clashes(colls[algo][0], 0, 0) > 0, GR_TORUS_SWING == algo);
    }
}

/* ---- edits ---- */

static void edits_are_found(void **state)
{
    static const struct gr_torus tori[] = {{.ndims = 2, .dims = {3, 4}}, {.ndims = 3, .dims = {2, 3, 2}, .mesh = 2}, {.ndims = 2, .dims = {4, 4}}};
    int k, coll, edits = 0, found[SYM_NCHECKS] = {0};

    (void) state;
    for (k = 0; k < 9; k++) {
        algo = (enum gr_torus_algo) (k / 3);
        torus = tori[k % 3];
        for (coll = 0; coll < ncolls[algo]; coll++) {
            int p = gr_torus_size(&torus);

            if (!gr_torus_algo_has(algo, colls[algo][coll], &torus)) {
                continue;
            }
            for (mutant.edit = DROP_STEP; mutant.edit < NEDITS; mutant.edit++) {
                for (mutant.rank = 0; mutant.rank < p; mutant.rank += 3) {
                    struct gr_torus_sched s = sched_of(colls[algo][coll], mutant.rank, 1, 0, 2);

                    for (mutant.index = 0; mutant.index < gr_torus_sched_len(&s); mutant.index++) {
                        enum sym_check check;

                        mutant.applied = 0;
                        check = run_case(s.coll, GR_TORUS_MST == algo, 2, SYM_ROUND, 0);
                        if (mutant.applied && SYM_OK == check) {
                            fail_msg("%s %s: edit %d of step %u of rank %d is not found", describe(), gr_coll_name(s.coll), (int) mutant.edit,
                                     mutant.index, mutant.rank);
                        }
                        edits += mutant.applied;
                        found[check]++;
                    }
                }
            }
        }
    }
    mutant.edit = NO_EDIT;
    assert_in_range(edits, 1500, 1000000);
    assert_true(found[SYM_DEADLOCK] > 0 && found[SYM_MESSAGE] > 0 && found[SYM_ELEMENT] > 0 && found[SYM_PEER] > 0 && found[SYM_POISON] > 0);
}

int main(void)
{
    static enum gr_torus_algo which[] = {GR_TORUS_BUCKET, GR_TORUS_SWING, GR_TORUS_MST};
    static const struct CMUnitTest tests[] = {
        {"bucket: 1 and 2 dimensions, extents up to 9, rings and lines", one_and_two_dimensions, NULL, NULL, &which[0]},
        {"bucket: 3 dimensions up to 8x8x8", three_dimensions, NULL, NULL, &which[0]},
        {"bucket: 4 dimensions", four_dimensions, NULL, NULL, &which[0]},
        {"swing: 1 and 2 dimensions", one_and_two_dimensions, NULL, NULL, &which[1]},
        {"swing: 3 dimensions up to 8x8x8", three_dimensions, NULL, NULL, &which[1]},
        {"swing: 4 dimensions", four_dimensions, NULL, NULL, &which[1]},
        {"mst: 1 and 2 dimensions, extents up to 9, rings and lines", one_and_two_dimensions, NULL, NULL, &which[2]},
        {"mst: 3 dimensions up to 8x8x8", three_dimensions, NULL, NULL, &which[2]},
        {"mst: 4 dimensions", four_dimensions, NULL, NULL, &which[2]},
        {"channels are as stated", channels_are_as_stated, NULL, NULL, NULL},
        {"a bucket uses all links in all ticks", a_bucket_uses_all_links, NULL, NULL, NULL},
        {"shared links are found", shared_links_are_found, NULL, NULL, NULL},
        {"edits of steps are found", edits_are_found, NULL, NULL, NULL},
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    printf("# %llu schedules\n", (unsigned long long) world.runs);
    sym_free(&world);
    return failed;
}
