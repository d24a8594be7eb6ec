/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The symbolic checker catches broken schedules: one mutant for each kind of error, and then every
 * edit of every step. The machine is compiled into this file with hooks in the place of
 * gr_sched_step(), gr_sched_len() and gr_split_at(), through which it sees the mutated schedule;
 * the schedules themselves are the real ones.
 */
#include "sched/split.h"

static uint32_t mutated_sched_len(const struct gr_sched *s);
static struct gr_step mutated_sched_step(const struct gr_sched *s, uint32_t i);
static struct gr_range mutated_split_at(const struct gr_split *split, enum gr_space space,
                                        uint32_t channel, uint32_t slice, uint32_t chunk);

#define gr_sched_len mutated_sched_len
#define gr_sched_step mutated_sched_step
#define gr_split_at mutated_split_at
#include "exec/stepper.c"
#undef gr_sched_len
#undef gr_sched_step
#undef gr_split_at

#include "symbolic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "symbolic_mutants.h"

static struct sym world;
static struct mutant mutant; /* in effect */
static int applied;          /* whether its edit changed a step */

static int edit_bits(const struct gr_sched *s, enum edit edit, struct gr_step *t)
{
    static const int needs[] = {[DROP_RECV] = GR_RECV,
                                [DROP_REDUCE] = GR_REDUCE,
                                [DROP_STORE] = GR_STORE,
                                [DROP_SEND] = GR_SEND};
    static const int adds[] = {[ADD_RECV] = GR_RECV,
                               [ADD_REDUCE] = GR_REDUCE,
                               [ADD_STORE] = GR_STORE,
                               [ADD_SEND] = GR_SEND};

    if (DROP_STEP == edit) {
        edit = 0 == t->bits ? NO_EDIT : edit;
        t->bits = t->nfrom = t->nto = t->before = 0;
        return NO_EDIT != edit;
    }
    if (edit <= DROP_SEND) {
        if (0 == (t->bits & needs[edit])) {
            return 0;
        }
        t->bits &= (uint8_t) ~(needs[edit] | (DROP_RECV == edit ? GR_REDUCE : 0));
        t->nfrom = DROP_RECV == edit ? 0 : DROP_REDUCE == edit ? 1 : t->nfrom;
        t->before = DROP_RECV == edit || DROP_REDUCE == edit ? 0 : t->before;
        t->nto = DROP_SEND == edit ? 0 : t->nto;
        return 1;
    }
    if (0 != (t->bits & adds[edit]) || (ADD_REDUCE == edit && 1 != t->nfrom)) {
        return 0;
    }
    t->bits |= (uint8_t) adds[edit];
    if (ADD_RECV == edit) {
        t->from[t->nfrom++] = (s->pos + s->p - 1) % s->p;
    } else if (ADD_SEND == edit) {
        t->to[t->nto++] = (s->pos + 1) % s->p;
    }
    return 1;
}

/* Another rank than that, and not me. */
static int other_rank(const struct gr_sched *s, int rank)
{
    rank = (rank + 1) % s->p;
    return rank == s->pos ? (rank + 1) % s->p : rank;
}

static int edit_places(const struct gr_sched *s, enum edit edit, struct gr_step *t)
{
    int reads = 0 != t->bits && (0 == t->nfrom || 0 != (t->bits & GR_REDUCE)),
        stores = 0 != (t->bits & GR_STORE), swap;

    switch (edit) {
    case NEXT_CHUNK:
        t->first = (t->first + 1) %
                   (GR_PIPE == gr_algo_layout(s->algo, s->coll) ? s->nchunks : (uint32_t) s->p);
        return 0 != t->bits;
    case NEXT_FROM:
        t->from[0] = other_rank(s, t->from[0]);
        return t->nfrom > 0;
    case NEXT_TO:
        t->to[0] = other_rank(s, t->to[0]);
        return t->nto > 0;
    case SWAP_FROM:
        swap = t->from[0];
        t->from[0] = t->from[1];
        t->from[1] = swap;
        return t->nfrom > 1;
    case OPERAND_LATER:
        t->before = (uint8_t) ((t->before + 1) % (t->nfrom + 1));
        return 0 != (t->bits & GR_REDUCE);
    case OTHER_FINAL:
        t->bits ^= GR_FINAL;
        return 0 != (t->bits & (GR_STORE | GR_SEND));
    case OTHER_OPERAND:
        t->operand = GR_IN == t->operand ? GR_OUT : GR_IN;
        return reads;
    case OPERAND_TMP:
        t->operand = GR_TMP;
        return reads;
    case DEST_INPUT:
        t->dest = GR_IN;
        return stores;
    case DEST_TMP:
        t->dest = GR_TMP;
        return stores;
    case TICK_LATER:
        t->tick++;
        return 1;
    case TWO_CHUNKS:
        t->count = 2;
        t->stride = 1;
        return 1;
    default:
        return 0;
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

/* A chain whose steps move three chunks each, packed into one message. */
static struct gr_step run_of_chunks(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t = gr_sched_step(s, 3 * i);

    t.stride = 1;
    t.count = s->nchunks - 3 * i < 3 ? s->nchunks - 3 * i : 3;
    return t;
}

static uint32_t mutated_sched_len(const struct gr_sched *s)
{
    return RUNS_OF_CHUNKS == mutant.whole ? (gr_sched_len(s) + 2) / 3 : gr_sched_len(s);
}

static struct gr_step mutated_sched_step(const struct gr_sched *s, uint32_t i)
{
    struct gr_step t;

    switch (mutant.whole) {
    case UP_THEN_DOWN:
        return up_then_down(s, i);
    case RUNS_OF_CHUNKS:
        return run_of_chunks(s, i);
    default:
        t = gr_sched_step(s, i);
    }
    if (s->pos == mutant.pos && i == mutant.index && NO_EDIT != mutant.edit) {
        applied |= mutant.edit <= ADD_SEND ? edit_bits(s, mutant.edit, &t)
                                           : edit_places(s, mutant.edit, &t);
    }
    return t;
}

static struct gr_range mutated_split_at(const struct gr_split *split, enum gr_space space,
                                        uint32_t channel, uint32_t slice, uint32_t chunk)
{
    struct gr_range r = gr_split_at(split, space, channel, slice, chunk);

    r.offset -= SHIFTED_OUTPUT == mutant.whole && GR_OUT == space ? 1 : 0;
    return r;
}

static struct sym_case mutant_case(const struct mutant *m)
{
    struct sym_case c = {.algo = m->algo,
                         .coll = m->coll,
                         .p = m->p,
                         .nchannels = 1,
                         .slots = m->slots,
                         .slot_elems = 1,
                         .chunk_elems = 1,
                         .align = 1};

    c.root = GR_PIPE == gr_algo_layout(m->algo, m->coll) && m->p > 1 ? 1 : 0;
    sym_size(&c, m->chunks, 0);
    c.in_place = c.from_buffers = NOT_SAID_TO_OVERWRITE == m->whole;
    c.slot_elems = TWO_CHUNKS == m->edit || RUNS_OF_CHUNKS == m->whole ? 3 : 1;
    return c;
}

static enum sym_check run_mutant(const struct mutant *m)
{
    static const size_t counts[] = {1, 2, 3, 4, 5, 6}, displs[] = {1, 3, 6, 10, 15, 21};
    struct sym_case c = mutant_case(m);
    enum sym_check check;

    if (m->chunks > 1 && (GR_COLL_ALLGATHER == c.coll || GR_COLL_REDUCE_SCATTER == c.coll)) {
        assert_in_range(m->p, 1, 6);
        /* uneven: where equal ones lie in one's own buffer, another's chunk is the same */
        c.counts = counts;
        c.displs = displs;
    }
    mutant = *m;
    applied = ONE_STEP != m->whole;
    world.trace = UP_THEN_DOWN == m->whole;
    check = sym_run(&world, &c);
    if (world.trace && SYM_OK == check) {
        sym_check_both_ways(&world);
        check = world.failed;
    }
    world.trace = 0;
    return check;
}

static void test_mutant(void **state)
{
    const struct mutant *m = *state;
    enum sym_check check = run_mutant(m);

    printf("# %s: %s\n", m->name, SYM_OK == check ? "not caught" : world.why);
    if (check != m->caught_by) {
        fail_msg("%s: found %s, not %s", m->name, sym_check_name(check),
                 sym_check_name(m->caught_by));
    }
}

/* Edits that may leave a schedule right, and as cheap. */
static int harmless(const struct mutant *m)
{
    if (GR_ALGO_FLAT != m->algo) {
        return 0;
    }
    /*
     * the centre stores partial sums anyway; and after step 0 an allgather's own block is in the
     * output as well
     */
    return ADD_STORE == m->edit ||
           (GR_COLL_ALLGATHER == m->coll && m->index > 0 && OTHER_OPERAND == m->edit);
}

/* All edits of all steps of all ranks, p = 4..6. Returns the mutants that were not caught. */
static uint32_t edit_all(enum gr_algo algo, enum gr_coll coll, uint32_t *tried,
                         uint32_t by[SYM_NCHECKS])
{
    struct mutant m = {"", algo, coll, 0, 4, 2, 0, 0, NO_EDIT, ONE_STEP, SYM_OK};
    struct gr_sched s = {.algo = algo, .coll = coll, .nchunks = 4};
    uint32_t missed = 0, edit;
    enum sym_check check;

    for (m.p = s.p = 4; m.p <= 6; m.p = ++s.p) {
        s.root = GR_PIPE == gr_algo_layout(algo, coll) ? 1 : 0;
        for (m.pos = s.pos = 0; m.pos < m.p; m.pos = ++s.pos) {
            for (m.index = 0; m.index < gr_sched_len(&s); m.index++) {
                for (edit = 0; edit < NEDITS; edit++) {
                    m.edit = (enum edit) edit;
                    if (harmless(&m)) {
                        continue;
                    }
                    check = run_mutant(&m);
                    *tried += (uint32_t) applied;
                    by[check] += (uint32_t) applied;
                    if (applied && SYM_OK == check) {
                        missed++;
                        printf("# not caught: %s %s p=%d: edit %u of step %u at %d\n",
                               gr_algo_name(algo), gr_coll_name(coll), m.p, edit, m.index, m.pos);
                    }
                }
            }
        }
    }
    return missed;
}

static void test_every_edit(void **state)
{
    uint32_t by[SYM_NCHECKS] = {0}, tried = 0, missed = 0;
    int algo, coll, k;

    (void) state;
    for (algo = 0; algo < GR_ALGO_BUCKET; algo++) { /* along a torus: torus_sched_test.c */
        for (coll = 0; coll < GR_NCOLLS; coll++) {
            if (gr_algo_has((enum gr_algo) algo, (enum gr_coll) coll)) {
                missed += edit_all((enum gr_algo) algo, (enum gr_coll) coll, &tried, by);
            }
        }
    }
    for (k = 1; k < SYM_NCHECKS; k++) {
        if (by[k] > 0) {
            printf("# %u of %u mutants caught by: %s\n", by[k], tried,
                   sym_check_name((enum sym_check) k));
        }
    }
    assert_true(tried > 1000);
    assert_int_equal(missed, 0);
}

/*
 * Not an error: the machine packs the chunks of a run, empty ones left out, also where a message
 * takes more slots.
 */
static void test_runs_of_chunks(void **state)
{
    struct mutant m = {"", GR_ALGO_CHAIN, GR_COLL_BCAST,  0,     1, 4, 0,
                       0,  NO_EDIT,       RUNS_OF_CHUNKS, SYM_OK};
    struct sym_case c;
    int coll;

    (void) state;
    mutant = m;
    for (coll = GR_COLL_BCAST; coll <= GR_COLL_REDUCE; coll++) {
        m.coll = (enum gr_coll) coll;
        for (m.p = 1; m.p <= 9; m.p++) {
            c = mutant_case(&m);
            c.chunk_elems = 4;
            c.align = 3;
            for (c.slot_elems = 3; c.slot_elems <= 14; c.slot_elems++) {
                for (c.total = 0; c.total < 70; c.total++) {
                    if (SYM_OK != sym_run(&world, &c)) {
                        fail_msg("p=%d total=%zu slot=%zu: %s", c.p, c.total, c.slot_elems,
                                 world.why);
                    }
                }
            }
        }
    }
}

int main(void)
{
    static struct CMUnitTest tests[NMUTANTS + 2];
    static char names[NMUTANTS][128];
    size_t k;
    int failed;

    for (k = 0; k < NMUTANTS; k++) {
        snprintf(names[k], sizeof(names[k]), "mutant caught: %s (%s %s)", mutants[k].name,
                 gr_algo_name(mutants[k].algo), gr_coll_name(mutants[k].coll));
        tests[k] = (struct CMUnitTest) {names[k], test_mutant, NULL, NULL, &mutants[k]};
    }
    tests[k++] = (struct CMUnitTest) {"mutants caught: every edit of every step, p=4..6",
                                      test_every_edit, NULL, NULL, NULL};
    tests[k++] = (struct CMUnitTest) {"runs of chunks are packed into slots", test_runs_of_chunks,
                                      NULL, NULL, NULL};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = _cmocka_run_group_tests("mutants", tests, k, NULL, NULL);
    sym_free(&world);
    return failed;
}
