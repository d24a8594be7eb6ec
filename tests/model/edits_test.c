/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The symbolic checker catches broken schedules: every edit of every step of every algorithm, and
 * one mutant for each check that these do not reach. The stepper is compiled into this file with a
 * hook in the place of gr_sched_step(), through which it sees the edited schedule; the schedules
 * themselves are the real ones.
 */
#include "sched/sched.h"

static struct gr_step edited_step(const struct gr_sched *s, uint32_t i);

#define gr_sched_step edited_step
#include "exec/stepper.c"
#undef gr_sched_step

#include "sanitizer/sanitizer.h"
#include "symbolic.h"
#include "depth.h"

#include <stdio.h>
#include <string.h>

#include "cmocka_test.h"

/*
 * One in so many steps is edited; each edit begins at another one, so that all steps come for some
 * edit.
 */
static uint32_t thinning;

static struct sym world;

/* Edits of one step of one rank's channel 0. Each leaves a well-formed step. */
enum edit {
    NO_EDIT,
    DROP_STEP,
    DROP_SEND,
    DROP_STORE,
    DROP_REDUCE,
    NEXT_CHUNK,
    LONGER,
    SHORTER,
    OTHER_STRIDE,
    OTHER_PEER,
    OTHER_OPERAND,
    OTHER_SHIFT,
    OTHER_FINAL,
    NEDITS, /* up to here each edit makes an error of any step that it changes; below, of some */
    ADD_REDUCE,
    ADD_STORE,
    SWAP_FROM,
    OPERAND_LATER,
    DEST_INPUT,
    TICK_LATER,
    UP_THEN_DOWN /* of the whole schedule */
};

/* In effect. */
static struct {
    enum edit edit;
    int rank;
    uint32_t index;
    int applied; /* whether the edit changed a step */
} mutant;

/*
 * Whether a step only sends a rank's input, or only takes its output, which is one block by any
 * number.
 */
static int is_numberless(const struct gr_sched *s, const struct gr_step *t)
{
    int bits = t->bits & ~GR_FINAL;

    return (GR_COLL_ALLGATHER == s->coll && GR_SEND == bits && GR_IN == t->operand) ||
           (GR_COLL_REDUCE_SCATTER == s->coll && (GR_RECV | GR_STORE) == bits && GR_OUT == t->dest);
}

/* Whether it sends a rank's own block of an allgather and no more, which lies in its output, too. */
static int is_own(const struct gr_sched *s, const struct gr_step *t)
{
    return GR_COLL_ALLGATHER == s->coll && 0 == t->nfrom && 1 == t->count &&
           (uint32_t) s->pos == t->first;
}

static int has_chunk(const struct gr_step *t, uint32_t chunk)
{
    uint32_t k;

    for (k = 0; k < t->count; k++) {
        if (t->first + k * (uint32_t) t->stride == chunk) {
            return 1;
        }
    }
    return 0;
}

/* Whether the output's chunk is a copy of this rank's input before that step, and no more. */
static int is_copied(const struct gr_sched *s, uint32_t index, uint32_t chunk)
{
    int copied = 0;
    uint32_t i;

    for (i = 0; i < index; i++) {
        struct gr_step t = gr_sched_step(s, i);

        if (0 != (t.bits & GR_STORE) && GR_OUT == t.dest && has_chunk(&t, chunk)) {
            copied = 0 == t.nfrom && GR_IN == t.operand;
        }
    }
    return copied;
}

/* Whether the step only sends such chunks: the input would do. */
static int sends_copies(const struct gr_sched *s, const struct gr_step *t)
{
    uint32_t k;

    for (k = 0; k < t->count; k++) {
        if (!is_copied(s, mutant.index, t->first + k * (uint32_t) t->stride)) {
            return 0;
        }
    }
    return 0 == t->nfrom && GR_OUT == t->operand && GR_COLL_ALLREDUCE == s->coll;
}

/* What the step does to which data. */
static void edit_bits(const struct gr_sched *s, struct gr_step *t)
{
    switch (mutant.edit) {
    case DROP_STEP:
        t->bits = t->nfrom = t->nto = t->before = 0;
        break;
    case DROP_SEND:
        t->bits &= (uint8_t) ~GR_SEND;
        t->nto = 0;
        break;
    case DROP_STORE:
        t->bits &= (uint8_t) ~GR_STORE;
        break;
    case DROP_REDUCE:
        if (0 != (t->bits & GR_REDUCE)) {
            t->bits &= (uint8_t) ~GR_REDUCE;
            t->nfrom = 1;
            t->before = 0;
        }
        break;
    case OTHER_OPERAND:
        if ((0 == t->nfrom && !(is_own(s, t) && GR_OUT == t->operand) && !sends_copies(s, t)) ||
            0 != (t->bits & GR_REDUCE)) {
            t->operand = GR_OUT == t->operand ? GR_IN : GR_OUT;
        }
        break;
    case OTHER_FINAL:
        t->bits ^= GR_FINAL;
        break;
    case ADD_REDUCE:
    case ADD_STORE:
        t->bits |= ADD_REDUCE == mutant.edit ? GR_REDUCE : GR_STORE;
        break;
    case DEST_INPUT:
        t->dest = GR_IN;
        break;
    default:
        break;
    }
}

/* Which chunks, of whom, when. */
static void edit_places(const struct gr_sched *s, struct gr_step *t)
{
    uint32_t chunks = GR_PIPE == gr_algo_layout(s->algo, s->coll) ? s->nchunks : (uint32_t) s->p;
    /* another message is there to be mistaken for this one */
    int parallel = s->p > 2 && t->count < chunks, from;

    switch (mutant.edit) {
    case NEXT_CHUNK:
        t->first += is_numberless(s, t) || t->count >= chunks ? 0 : 1;
        t->first %= chunks;
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
        t->to[0] = t->nto > 0 && parallel ? (t->to[0] + 1) % s->p : t->to[0];
        t->from[0] =
            t->nto > 0 || 0 == t->nfrom || !parallel ? t->from[0] : (t->from[0] + 1) % s->p;
        break;
    case OTHER_SHIFT:
        t->shift += t->bits & GR_STORE && GR_COLL_ALLTOALL == s->coll && 1 == t->count
                        ? (0 == t->first ? 1 : -1)
                        : 0;
        break;
    case SWAP_FROM:
        from = t->from[0];
        t->from[0] = t->from[1];
        t->from[1] = from;
        break;
    case OPERAND_LATER:
        t->before = (uint8_t) ((t->before + 1) % (t->nfrom + 1));
        break;
    case TICK_LATER:
        t->tick++;
        break;
    default:
        break;
    }
}

/* All chunks up, then all chunks down: right, but each link carries data in one direction only. */
static struct gr_step up_then_down(const struct gr_sched *s, uint32_t i)
{
    uint32_t half = gr_sched_len(s) / 2, ticks = half / 2, k = i % half;
    int down = i >= half, centre = s->pos == s->root;
    struct gr_step t = gr_sched_step(s, k / 2 * 4 + (down && !centre ? 0 : 2) + k % 2);

    if (centre) { /* what it did in one step becomes two */
        t.bits &= GR_FINAL | (down ? GR_SEND : GR_RECV | GR_REDUCE | GR_STORE);
        t.nfrom = down ? 0 : t.nfrom;
        t.nto = down ? t.nto : 0;
        t.operand = down ? GR_OUT : GR_IN;
        t.phase = (uint8_t) down;
    }
    t.tick += down ? ticks : 0;
    return t;
}

static struct gr_step edited_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t, was;

    if (UP_THEN_DOWN == mutant.edit) {
        return up_then_down(s, i);
    }
    t = gr_sched_step(s, i);
    memcpy(&was, &t, sizeof(was));
    if (NO_EDIT != mutant.edit && 0 != t.bits && s->pos == mutant.rank && i == mutant.index &&
        0 == s->channel) {
        edit_bits(s, &t);
        edit_places(s, &t);
        mutant.applied |= 0 != memcmp(&t, &was, sizeof(t));
    }
    return t;
}

/* ---- every edit ---- */

/* Every edit of the steps of every third rank, of two slices or chunks. */
static void edit_all(const struct sym_case *c, int *found)
{
    struct gr_sched s = {.coll = c->coll,
                         .algo = c->algo,
                         .p = c->p,
                         .root = c->root,
                         .nchunks = 2,
                         .torus = c->torus};
    int edit;

    for (edit = DROP_STEP; edit < NEDITS; edit++) {
        for (s.pos = 0; s.pos < s.p; s.pos += 3) {
            for (mutant.index = (uint32_t) edit % thinning; mutant.index < gr_sched_len(&s);
                 mutant.index += thinning) {
                enum sym_check check;

                mutant.edit = (enum edit) edit;
                mutant.rank = s.pos;
                mutant.applied = 0;
                check = sym_run(&world, c);
                if (mutant.applied && SYM_OK == check) {
                    fail_msg(
                        "%s %s p=%d, %d dimensions: edit %d of step %u of rank %d is not found",
                        gr_algo_name(c->algo), gr_coll_name(c->coll), c->p, c->torus.ndims, edit,
                        mutant.index, s.pos);
                }
                found[check] += mutant.applied;
            }
        }
    }
    mutant.edit = NO_EDIT;
}

static struct sym_case case_of(enum gr_algo algo, enum gr_coll coll, int p,
                               const struct gr_torus *torus)
{
    size_t most = gr_algo_message_chunks(algo, coll, p, torus);
    struct sym_case c = {.algo = algo,
                         .coll = coll,
                         .p = p,
                         .nchannels = 1,
                         .slot_elems = most < GR_DIRECT_PIECES ? most : GR_DIRECT_PIECES,
                         .chunk_elems = 1,
                         .align = 1,
                         .slots = 2};

    if (gr_algo_is_by_rank(algo)) {
        c.torus = *torus;
        c.nchannels = gr_algo_schedules(algo, coll, torus);
    }
    c.root =
        GR_PIPE == gr_algo_layout(algo, coll) || GR_COLL_BCAST == coll || GR_COLL_REDUCE == coll;
    sym_set_slots(&c);
    sym_size(&c, 2, 0);
    return c;
}

static void every_edit_of_every_step_is_found(void **state)
{
    static const struct gr_torus tori[] = {
        {.ndims = 2, .dims = {3, 4}}, {.ndims = 3, .dims = {2, 3, 2}, .mesh = 2},
        {.ndims = 2, .dims = {4, 4}}, {.ndims = 2, .dims = {8, 2}},
        {.ndims = 1, .dims = {7}},    {.ndims = 2, .dims = {6, 3}}};
    int pair, edits = 0, found[SYM_NCHECKS] = {0};
    size_t k;

    for (pair = 0; pair < GR_NALGOS * GR_NCOLLS; pair++) {
        enum gr_algo algo = (enum gr_algo)(pair / GR_NCOLLS);
        enum gr_coll coll = (enum gr_coll)(pair % GR_NCOLLS);

        for (k = 0; k < (size_t) depth(3, sizeof(tori) / sizeof(tori[0])); k++) {
            int p = gr_algo_is_by_rank(algo) ? gr_torus_size(&tori[k]) : 4 + (int) k;

            if (gr_algo_has(algo, coll) && gr_algo_fits(algo, p, &tori[k])) {
                struct sym_case c = case_of(algo, coll, p, &tori[k]);

                edit_all(&c, found);
            }
        }
    }
    for (k = 0; k < SYM_NCHECKS; k++) {
        printf("# %d: %s\n", found[k], sym_check_name((enum sym_check) k));
        edits += found[k];
    }
    assert_in_range(edits, 1000 / thinning, 1000000);
    assert_true(found[SYM_DEADLOCK] > 0 && found[SYM_MESSAGE] > 0 && found[SYM_ELEMENT] > 0 &&
                found[SYM_PEER] > 0 && found[SYM_POISON] > 0 && found[SYM_FINAL] > 0);
}

/* ---- each check ---- */

static struct row {
    enum gr_algo algo;
    enum gr_coll coll;
    int p;
    uint32_t chunks, slots;
    int rank;       /* whose step */
    uint32_t index; /* which */
    enum edit edit;
    enum sym_check caught_by;
} rows[] = {
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 5, 1, 2, 0, 5, ADD_REDUCE, SYM_TWICE},
    {GR_ALGO_RING, GR_COLL_REDUCE_SCATTER, 5, 1, 2, 2, 1, DROP_REDUCE, SYM_MISSING},
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 5, 1, 2, 1, 8, DROP_STEP, SYM_UNREAD},
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 5, 1, 2, 3, 1, ADD_STORE, SYM_STORES},
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 5, 1, 8, 2, 1, TICK_LATER, SYM_TICK_CLASH},
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 3, 1, 1, 0, 0, NO_EDIT, SYM_DEADLOCK}, /* one slot */
    {GR_ALGO_CHAIN, GR_COLL_BCAST, 4, 3, 2, 2, 1, DEST_INPUT, SYM_WROTE_INPUT},
    {GR_ALGO_CHAIN, GR_COLL_BCAST, 4, 1, 2, 1, 0, TICK_LATER, SYM_TICK_CAUSE},
    {GR_ALGO_CHAIN, GR_COLL_REDUCE, 4, 3, 2, 3, 1, ADD_STORE, SYM_WROTE_OUTSIDE},
    {GR_ALGO_FLAT, GR_COLL_ALLREDUCE, 5, 1, 2, 1, 0, SWAP_FROM, SYM_ORDER},
    {GR_ALGO_TREE, GR_COLL_REDUCE, 8, 2, 2, 5, 4, SWAP_FROM, SYM_ORDER},
    {GR_ALGO_ONESHOT, GR_COLL_ALLREDUCE, 5, 1, 2, 2, 1, OPERAND_LATER, SYM_ORDER},
    {GR_ALGO_TREE, GR_COLL_BCAST, 5, 2, 2, 2, 6, DROP_STORE, SYM_UNWRITTEN},
    /* not said to overwrite what it has sent */
    {GR_ALGO_ONESHOT, GR_COLL_ALLREDUCE, 4, 1, 2, 0, 0, NO_EDIT, SYM_OVERWRITTEN},
    {GR_ALGO_TREE, GR_COLL_ALLREDUCE, 8, 64, 2, 0, 0, UP_THEN_DOWN, SYM_IDLE},
};

static void each_check_finds_its_error(void **state)
{
    size_t k;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const struct row *row = &rows[k];
        struct sym_case c = case_of(row->algo, row->coll, row->p, &(struct gr_torus) {.ndims = 0});
        enum sym_check check;

        c.slots = row->slots;
        c.in_place = c.from_buffers = SYM_OVERWRITTEN == row->caught_by;
        sym_size(&c, row->chunks, 0);
        mutant.edit = row->edit;
        mutant.rank = row->rank;
        mutant.index = row->index;
        world.trace = UP_THEN_DOWN == row->edit;
        check = sym_run(&world, &c);
        if (world.trace && SYM_OK == check) {
            sym_check_both_ways(&world);
            check = world.failed;
        }
        world.trace = 0;
        mutant.edit = NO_EDIT;
        if (check != row->caught_by) {
            fail_msg("row %zu: found %s, not %s", k, sym_check_name(check),
                     sym_check_name(row->caught_by));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_edit_of_every_step_is_found),
        cmocka_unit_test(each_check_finds_its_error),
    };
    int failed;

    thinning = (uint32_t) GR_SANITIZER(depth(3, 1), 11, 11);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    sym_free(&world);
    return failed;
}
