/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of team_test: the memory of links, and set-ups that fail. */
#include "team_rows.h"

#include "link/team.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/pointer.h"

enum { MIB = 1 << 20 };

static const struct tr_shape small = {.nchannels = 2, .nslots = 2, .slot_bytes = 512};

/* Two slots of 1 MiB: a link does not fit an arena of 2 MiB. */
static const struct tr_shape large = {.nchannels = 2, .nslots = 2, .slot_bytes = MIB};

/* ---- where links lie ---- */

/*
 * Slots lie in the device of their reader, or on the host where the writer cannot map that: by the
 * environment.
 */
static void check_place(const struct tr_team *t, int writer, int reader)
{
    const struct tr_world *w = t->world;
    int reaches = w->ranks[writer].gpu == w->ranks[reader].gpu ||
                  gr_gpu_can_access(w->ranks[writer].gpu, w->ranks[reader].gpu->ordinal);
    const struct gr_gpu_connection *out = &t->ranks[writer]->out[reader],
                                   *in = &t->ranks[reader]->in[writer];
    int k;

    CHECK_INT(out->reply.where, reaches ? GR_ON_DEVICE : GR_ON_HOST);
    CHECK_INT(in->reply.where, out->reply.where);
    CHECK_INT(NULL != in->slab, reaches); /* one that the writer does not want is given back */
    for (k = 0; k < GR_NPROTOCOLS; k++) {
        CHECK(0 != out->ends[k].slots && 0 != in->ends[k].slots);
        if (reaches) {
            CHECK_INT(in->ends[k].slots, out->ends[k].slots);
            CHECK_INT(in->ends[k].mine, out->ends[k].other);
            CHECK_INT(in->ends[k].other, out->ends[k].mine);
        }
    }
}

void links_lie_where_both_ends_reach_them(void)
{
    struct tr_world w;
    struct tr_team t;
    int from, to, round;

    tr_open(&w, 4, NULL);
    for (round = 0; round < 2; round++) { /* the second time with slabs that were in use */
        tr_make(&t, &w, &small);
        CHECK_INT(tr_link(&t, GR_ALGO_FLAT, 0), 0);
        for (from = 0; from < 4; from++) {
            for (to = 0; to < 4; to++) {
                if (from != to) {
                    check_place(&t, from, to);
                }
            }
            CHECK(tr_leased(&w, from) > 0);
        }
        tc_try(&t, GR_ALGO_FLAT);
        tr_leave(&t);
        for (from = 0; from < 4; from++) {
            CHECK_INT(tr_leased(&w, from), 0);
        }
    }
    tr_close(&w);
}

/* Rings are chains, and flat has all links: what is there is not made again. */
void links_of_one_algorithm_serve_another(void)
{
    static const enum gr_algo later[] = {GR_ALGO_RING, GR_ALGO_CHAIN, GR_ALGO_TREE, GR_ALGO_ONESHOT,
                                         GR_ALGO_TWOSHOT};
    struct tr_team t;
    size_t leased, k;

    tr_set_up(&t, 4, &small, GR_ALGO_RING);
    leased = tr_leased(t.world, 1);
    CHECK_INT(tr_link(&t, GR_ALGO_CHAIN, 0), 0);
    CHECK_INT(tr_leased(t.world, 1), leased);
    CHECK_INT(tr_link(&t, GR_ALGO_FLAT, 0), 0);
    CHECK(tr_leased(t.world, 1) > leased);
    leased = tr_leased(t.world, 1);
    for (k = 0; k < sizeof(later) / sizeof(later[0]); k++) {
        CHECK_INT(tr_link(&t, later[k], 3), 0);
        CHECK_INT(tr_leased(t.world, 1), leased);
        tc_try(&t, later[k]);
    }
    /* only trees have other links for another root */
    CHECK_INT(tr_state(&t, 2, GR_ALGO_TREE, 3), GR_LINKS_THERE);
    CHECK_INT(tr_state(&t, 2, GR_ALGO_TREE, 1), GR_LINKS_NONE);
    CHECK_INT(tr_state(&t, 2, GR_ALGO_RING, 1), GR_LINKS_THERE);
    tr_tear_down(&t);
}

void the_fewest_channels_are_used(void)
{
    struct tr_team t;
    int r;

    tr_set_up(&t, 3, &small, TR_NO_LINKS);
    CHECK_INT(t.ranks[0]->usable, 2);
    t.ranks[2]->usable = 1; /* as if its device were smaller */
    CHECK_INT(tr_link(&t, GR_ALGO_RING, 0), 0);
    for (r = 0; r < 3; r++) {
        CHECK_INT(t.ranks[r]->usable, 1);
    }
    tc_try(&t, GR_ALGO_RING);
    tr_tear_down(&t);
}

/* ---- refusals ---- */

/*
 * All ranks see the error, nothing stays leased, the team can be left, and one of a smaller shape
 * works after it.
 */
static void refused(struct tr_team *t, enum gr_algo algo, int error)
{
    struct tr_world *w = t->world;
    int r;

    CHECK_INT(tr_link(t, algo, 0), error);
    for (r = 0; r < w->p; r++) {
        CHECK_INT(tr_state(t, r, algo, 0), GR_LINKS_REFUSED);
        CHECK_INT(tr_leased(w, r), 0);
    }
    t->carried = NULL;
    tr_leave(t);
    tr_make(t, w, &small);
    tc_try(t, algo);
    tr_leave(t);
    tr_close(w);
}

void a_pools_bound_is_reached(void)
{
    static const struct tr_bounds bounds = {16 * MIB, 2 * MIB, TR_THREADS};
    struct tr_world w;
    struct tr_team t;
    int r;

    tr_open(&w, 4, &bounds);
    tr_make(&t, &w, &large);
    refused(&t, GR_ALGO_RING, GR_ERR_GPU_LIMIT);
    /* one rank's pool only: those before and behind it give back what they leased */
    tr_open(&w, 4, NULL);
    gr_gpu_pool_close(w.ranks[2].pool);
    w.ranks[2].pool = gr_gpu_pool_open(w.ranks[2].gpu, w.ranks[2].host, 2 * MIB);
    tr_make(&t, &w, &large);
    CHECK_INT(tr_link(&t, GR_ALGO_CHAIN, 0), GR_ERR_GPU_LIMIT);
    for (r = 0; r < 4; r++) {
        CHECK_INT(t.mine[r].gpu.status, 2 == r ? GR_ERR_GPU_LIMIT : 0);
    }
    refused(&t, GR_ALGO_RING, GR_ERR_GPU_LIMIT);
}

/* FAKECUDA_MEM=10 */
void the_device_is_full(void)
{
    struct tr_team t;

    tr_set_up(&t, 2, &large, TR_NO_LINKS);
    refused(&t, GR_ALGO_RING, GR_ERR_GPU_SPACE);
}

/* All that the device has left, in n allocations. */
static int take_all(struct gr_gpu *gpu, gr_gpu_ptr taken[64])
{
    size_t bytes;
    int n = 0;

    for (bytes = 8 * MIB; bytes >= 256; bytes /= 2) {
        while (n < 64 && 0 == gr_gpu_alloc(gpu, bytes, &taken[n])) {
            n++;
        }
    }
    CHECK(n > 0 && n < 64);
    return n;
}

/* FAKECUDA_MEM=10: the application has it all when the team is made. */
void the_device_has_no_room_for_tables(void)
{
    gr_gpu_ptr taken[64];
    struct tr_world w;
    struct tr_team t;
    int n;

    tr_open(&w, 2, NULL);
    n = take_all(w.ranks[0].gpu, taken);
    tr_make(&t, &w, &small);
    CHECK_INT(t.ranks[0]->status, GR_ERR_GPU_SPACE);
    while (n > 0) {
        gr_gpu_free(w.ranks[0].gpu, taken[--n]);
    }
    refused(&t, GR_ALGO_TREE, GR_ERR_GPU_SPACE);
}

void a_rank_has_no_device(void)
{
    struct tr_shape lacking = small;
    struct tr_team t;

    lacking.lacking = 1;
    tr_set_up(&t, 4, &lacking, TR_NO_LINKS);
    refused(&t, GR_ALGO_FLAT, GR_ERR_NODEVICE);
}

/* What rank 1 was offered, or rank 2 answered, is of a segment that is not there. */
static int spoils_answers;

static void spoil(struct tr_team *t, int answers)
{
    if (answers && spoils_answers) {
        t->joins[2].in.gpu[0].reply.host.segment.token[0]++;
    } else if (!answers && !spoils_answers) {
        t->joins[1].out.gpu[0].handle.host.segment.token[0]++;
    }
}

static void refused_spoilt(int answers, enum gr_algo algo)
{
    struct tr_team t;

    tr_set_up(&t, 4, &small, TR_NO_LINKS);
    spoils_answers = answers;
    t.carried = spoil;
    refused(&t, algo, GR_ERR_FOREIGN);
}

void an_offer_cannot_be_mapped(void)
{
    refused_spoilt(0, GR_ALGO_TREE);
}

void an_answer_cannot_be_mapped(void)
{
    refused_spoilt(1, GR_ALGO_RING);
}

/*
 * The driver fails at one rank: while its slabs are cleaned, first all, then that of an answer;
 * then while it shows its kernels the links.
 */
void the_driver_fails_while_links_are_made(void)
{
    struct tr_team t;
    unsigned after;

    for (after = 0; after < 4; after++) { /* two slabs, and two of answers */
        tr_set_up(&t, 3, &small, TR_NO_LINKS);
        td_fail(TD_ZERO, 1, after, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
        refused(&t, GR_ALGO_RING, GR_ERR_CUDA);
    }
    tr_set_up(&t, 3, &small, TR_NO_LINKS);
    td_fail(TD_COPY, 1, 0, TD_TRIES, CUDA_ERROR_ILLEGAL_ADDRESS);
    refused(&t, GR_ALGO_RING, GR_ERR_CUDA);
}

/*
 * FAKECUDA_DEVICES=2 FAKECUDA_PEER=none: there is no room for links on the host, or it cannot be
 * pinned.
 */
void host_links_are_refused(void)
{
    static const struct tr_bounds bounds = {3 * MIB, 64 * MIB, TR_THREADS};
    struct tr_world w;
    struct tr_team t;
    unsigned after;

    tr_open(&w, 2, &bounds);
    tr_make(&t, &w, &large);
    refused(&t, GR_ALGO_RING, GR_ERR_LIMIT);
    /* at the writer of two links, then at the reader of two */
    for (after = 0; after < 4; after++) {
        tr_open(&w, 2, NULL);
        tr_make(&t, &w, &small);
        td_fail(TD_PIN, 0, after, 1, CUDA_ERROR_OPERATING_SYSTEM);
        refused(&t, GR_ALGO_RING, GR_ERR_CUDA);
    }
}

void a_refusal_leaves_other_links(void)
{
    static const struct tr_bounds bounds = {16 * MIB, 2 * MIB, TR_THREADS};
    static const struct tr_shape half = {.nchannels = 1, .nslots = 2, .slot_bytes = MIB / 2};
    struct tr_world w;
    struct tr_team t;
    int r;

    tr_open(&w, 4, &bounds);
    tr_make(&t, &w, &half);
    CHECK_INT(tr_link(&t, GR_ALGO_RING, 0), 0);
    CHECK_INT(tr_link(&t, GR_ALGO_FLAT, 0), GR_ERR_GPU_LIMIT);
    for (r = 0; r < 4; r++) {
        CHECK_INT(tr_state(&t, r, GR_ALGO_RING, 0), GR_LINKS_THERE);
        CHECK_INT(tr_state(&t, r, GR_ALGO_FLAT, 0), GR_LINKS_REFUSED);
    }
    tc_try(&t, GR_ALGO_RING);
    tr_leave(&t);
    tr_close(&w);
}
