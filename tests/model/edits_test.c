/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The symbolic checker catches broken schedules: a mutant for each of its checks. The stepper is
 * compiled into this file with a hook in the place of gr_sched_step(), through which it sees the
 * edited schedule; the schedules themselves are the real ones.
 */
#include "sched/sched.h"

static struct gr_step edited_step(const struct gr_sched *s, uint32_t i);

#define gr_sched_step edited_step
#include "exec/stepper.c"
#undef gr_sched_step

#include "symbolic.h"

#include "cmocka_test.h"

static struct sym world;

/* Edits of one step of one rank's channel 0. */
enum edit {
    NO_EDIT,
    DROP_STEP,
    DROP_SEND,
    DROP_STORE,
    DROP_REDUCE,
    NEXT_CHUNK,
    LONGER,
    OTHER_PEER,
    OTHER_OPERAND,
    OTHER_FINAL,
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
} mutant;

/* What the step does to which data. */
static void edit_bits(struct gr_step *t)
{
    switch (mutant.edit) {
    case DROP_STEP:
        t->bits = t->nfrom = t->nto = t->before = 0;
        break;
    case DROP_SEND: /* and says still to whom */
        t->bits &= (uint8_t) ~GR_SEND;
        break;
    case DROP_STORE:
        t->bits &= (uint8_t) ~GR_STORE;
        break;
    case DROP_REDUCE:
        t->bits &= (uint8_t) ~GR_REDUCE;
        t->before = 0;
        break;
    case OTHER_OPERAND:
        t->operand = GR_OUT == t->operand ? GR_IN : GR_OUT;
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
    int from;

    switch (mutant.edit) {
    case NEXT_CHUNK:
        t->first = (t->first + 1) % chunks;
        break;
    case LONGER:
        t->count++;
        break;
    case OTHER_PEER:
        t->to[0] = (t->to[0] + 1) % s->p;
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
    }
    t.tick += down ? ticks : 0;
    return t;
}

static struct gr_step edited_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t;

    if (UP_THEN_DOWN == mutant.edit) {
        return up_then_down(s, i);
    }
    t = gr_sched_step(s, i);
    if (s->pos == mutant.rank && i == mutant.index && 0 == s->channel) {
        edit_bits(&t);
        edit_places(s, &t);
    }
    return t;
}

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
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 5, 1, 2, 1, 1, DROP_SEND, SYM_MALFORMED},
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 5, 1, 2, 1, 1, OTHER_PEER, SYM_PEER},
    {GR_ALGO_CHAIN, GR_COLL_BCAST, 4, 2, 2, 1, 1, OTHER_OPERAND, SYM_READ_OUTSIDE},
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 5, 1, 2, 1, 1, OTHER_OPERAND, SYM_POISON},
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 5, 1, 2, 1, 1, NEXT_CHUNK, SYM_ELEMENT},
    {GR_ALGO_DOUBLING, GR_COLL_ALLGATHER, 5, 3, 2, 1, 3, LONGER, SYM_MESSAGE},
    {GR_ALGO_RING, GR_COLL_ALLREDUCE, 5, 1, 2, 1, 4, OTHER_FINAL, SYM_FINAL},
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

/* As small as it can be, with room for the algorithm's messages. */
static struct sym_case case_of(const struct row *row)
{
    struct sym_case c = sym_smallest(row->algo, row->coll, row->p);
    size_t most = gr_algo_message_chunks(row->algo, row->coll, row->p, &c.torus);

    c.slots = row->slots;
    c.slot_elems = most < GR_DIRECT_PIECES ? most : GR_DIRECT_PIECES;
    c.root = GR_PIPE == gr_algo_layout(row->algo, row->coll);
    c.in_place = c.from_buffers = SYM_OVERWRITTEN == row->caught_by;
    sym_set_slots(&c);
    sym_size(&c, row->chunks, 0);
    return c;
}

static void each_check_finds_its_error(void **state)
{
    char found[SYM_NCHECKS] = {[SYM_OK] = 1};
    size_t k;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const struct row *row = &rows[k];
        struct sym_case c = case_of(row);
        enum sym_check check;

        mutant.edit = row->edit;
        mutant.rank = row->rank;
        mutant.index = row->index;
        world.trace = UP_THEN_DOWN == row->edit;
        check = sym_run(&world, &c);
        if (world.trace && SYM_OK == check) {
            sym_check_both_ways(&world);
            check = world.failed;
        }
        if (check != row->caught_by) {
            fail_msg("row %zu: found %s, not %s", k, sym_check_name(check),
                     sym_check_name(row->caught_by));
        }
        found[check] = 1;
    }
    for (k = 0; k < SYM_NCHECKS; k++) {
        assert_true(found[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_check_finds_its_error)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    sym_free(&world);
    return failed;
}
