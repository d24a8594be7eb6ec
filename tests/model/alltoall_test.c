/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall schedules on tori (sched/alltoall.h): every block is delivered, no link carries two
 * messages in a tick, ticks and blocks are as many as stated; and the checker finds every single
 * edit of an exchange.
 */
#include "sanitizer/sanitizer.h"
#include "alltoall_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SUH_SHIN GR_ALLTOALL_SUH_SHIN
#define ORDERED GR_ALLTOALL_ORDERED

/*
 * One in so many tori, and of the ranks that are edited, is run; a prime, so that all values that
 * take turns come.
 */
enum { THINNING = GR_SANITIZER(1, 5, 5) };

static struct a2a_world world;
static int runs;

/* "suh-shin 8x4|x2": a bar behind a dimension that is a line. */
static const char *describe(const struct gr_alltoall *a)
{
    static char text[120];
    int d, n = snprintf(text, sizeof(text), "%s ", gr_alltoall_name(a->algo));

    for (d = 0; d < a->torus.ndims; d++) {
        n += snprintf(text + n, sizeof(text) - (size_t) n, "%s%d%s", d > 0 ? "x" : "",
                      a->torus.dims[d], gr_torus_is_line(&a->torus, d) ? "|" : "");
    }
    return text;
}

static void run(enum gr_alltoall_algo algo, const struct gr_torus *t)
{
    world = (struct a2a_world) {.a = {.algo = algo, .torus = *t}};
    runs++;
    if (A2A_OK != a2a_run(&world)) {
        fail_msg("%s: %s", describe(&world.a), world.why);
    }
}

/*
 * All tori of so many dimensions with extents 1..most, and, where asked for, all choices of lines.
 */
static void run_all(enum gr_alltoall_algo algo, int ndims, int most, int lines)
{
    struct gr_torus t = {.ndims = ndims, .dims = {1, 1, 1, 1}};
    unsigned turn = 0;
    int d;

    do {
        for (t.mesh = 0; t.mesh < (lines ? 1u << ndims : 1u); t.mesh++) {
            if (gr_alltoall_suits(algo, &t) && 0 == turn++ % THINNING) {
                run(algo, &t);
            }
        }
        t.mesh = 0;
        for (d = 0; d < ndims && ++t.dims[d] > most; d++) {
            t.dims[d] = 1;
        }
    } while (d < ndims);
}

static void ordered_in_one_dimension(void **state)
{
    (void) state;
    run_all(ORDERED, 1, 33, 1);
}

static void ordered_in_two_dimensions_up_to_9(void **state)
{
    (void) state;
    run_all(ORDERED, 2, 9, 1);
}

static void ordered_in_three_dimensions_up_to_8(void **state)
{
    (void) state;
    run_all(ORDERED, 3, 8, 0);
    run_all(ORDERED, 3, 5, 1);
}

static void ordered_in_four_dimensions(void **state)
{
    struct gr_torus t = {.ndims = 4, .dims = {2, 3, 2, 3}};

    (void) state;
    run_all(ORDERED, 4, 3, 1);
    for (t.mesh = 0; t.mesh < 16; t.mesh++) {
        run(ORDERED, &t);
    }
    run(ORDERED, &(struct gr_torus) {.ndims = 4, .dims = {5, 4, 3, 6}});
}

static void suh_shin_in_one_to_four_dimensions(void **state)
{
    (void) state;
    run_all(SUH_SHIN, 1, 64, 0);
    run_all(SUH_SHIN, 2, 16, 0);
    run_all(SUH_SHIN, 3, 8, 0);
    run_all(SUH_SHIN, 4, 4, 0);
    run(SUH_SHIN, &(struct gr_torus) {.ndims = 4, .dims = {8, 4, 8, 4}});
    run(SUH_SHIN, &(struct gr_torus) {.ndims = 4, .dims = {4, 8, 2, 12}});
    run(SUH_SHIN, &(struct gr_torus) {.ndims = 3, .dims = {4, 12, 20}});
    /* a line of 2 is a ring of 2 */
    run(SUH_SHIN, &(struct gr_torus) {.ndims = 3, .dims = {2, 8, 2}, .mesh = 5});
}

/* Which tori Suh-Shin is for. */
static void suh_shin_suits(void **state)
{
    static const struct {
        struct gr_torus t;
        int suits;
    } rows[] = {
        {{.ndims = 3, .dims = {16, 16, 16}}, 1},
        {{.ndims = 3, .dims = {16, 8, 4}}, 1},
        {{.ndims = 2, .dims = {2, 4}}, 1},
        {{.ndims = 2, .dims = {6, 4}}, 0},
        {{.ndims = 1, .dims = {3}}, 0},
        {{.ndims = 2, .dims = {8, 4}, .mesh = 2}, 0},
        {{.ndims = 2, .dims = {8, 2}, .mesh = 2}, 1},
        {{.ndims = 1, .dims = {1}}, 1},
        {{.ndims = 0}, 0},
    };
    size_t k;

    (void) state;
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        assert_int_equal(gr_alltoall_suits(SUH_SHIN, &rows[k].t), rows[k].suits);
        assert_int_equal(gr_alltoall_suits(ORDERED, &rows[k].t), rows[k].t.ndims > 0);
    }
}

/* D(a/4 + 1) ticks; D(a + 4)p/8 blocks sent by each rank; one message per rank and tick. */
static void suh_shin_costs_what_is_published(void **state)
{
    static const int shapes[][2] = {{2, 4}, {2, 8},  {2, 16}, {3, 4},
                                    {3, 8}, {3, 12}, {3, 16}, {4, 4}};
    size_t k;

    (void) state;
    for (k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
        int ndims = shapes[k][0], a = shapes[k][1];
        struct gr_torus t = {.ndims = ndims, .dims = {a, a, a, a}};
        uint64_t p = (uint64_t) gr_torus_size(&t);

        run(SUH_SHIN, &t);
        assert_int_equal(world.ticks, ndims * (a / 4 + 1));
        assert_int_equal(world.blocks, (uint64_t) ndims * (uint64_t) (a + 4) * p / 8);
        assert_int_equal(world.most_ports, 1);
        assert_int_equal(world.messages, p * world.ticks); /* with equal extents nobody is idle */
        assert_int_equal(world.hops, p * (uint64_t) ndims * (uint64_t) (4 * (a / 4 - 1) + 2 + 1));
    }
    /* half of the ranks idle but for the last tick */
    run(SUH_SHIN, &(struct gr_torus) {.ndims = 1, .dims = {16}});
    assert_int_equal(world.ticks, 16 / 2 + 1);
}

/*
 * Sum over dimensions of a/2 ticks (line: a - 1). Blocks sent by each rank: those that a block's
 * way has as hops.
 */
static void ordered_costs_what_is_stated(void **state)
{
    (void) state;
    run(ORDERED, &(struct gr_torus) {.ndims = 3, .dims = {5, 6, 7}});
    assert_int_equal(world.ticks, 2 + 3 + 3);
    assert_int_equal(world.most_ports, 2);
    /*
     * sum of the distances on a ring of 5: 6; of 6: 9; of 7: 12; times the pairs of the other
     * coordinates
     */
    assert_int_equal(world.blocks, 6 * 42 + 9 * 35 + 12 * 30);
    run(ORDERED, &(struct gr_torus) {.ndims = 2, .dims = {5, 4}, .mesh = 3});
    assert_int_equal(world.ticks, 4 + 3);
    assert_int_equal(world.most_ports, 1);
    assert_int_equal(world.blocks, (4 + 3 + 2 + 1) * 4 + (3 + 2 + 1) * 5);
    run(ORDERED, &(struct gr_torus) {.ndims = 1, .dims = {1}});
    assert_int_equal(world.ticks, 0);
}

/* ---- errors that must be found ---- */

enum edit {
    NOTHING,
    OTHER_TO,
    OTHER_FROM,
    OTHER_DIM,
    BACKWARDS,
    TWICE_AS_FAR,
    NEXT_DIGIT,
    OTHER_ORDER,
    ONE_MORE,
    ONE_LESS,
    OTHER_PIECE,
    OTHER_FOLD,
    FALSE_ROUND,
    SILENT,
    DEAF,
    NEDITS
};

static struct {
    enum edit edit;
    int rank, lane;
    uint32_t tick;
    int applied;
} mutant;

/* Whether two runs are the same slots in the same order. */
static int same_slots(const struct gr_alltoall *a, const struct gr_slots *x,
                      const struct gr_slots *y)
{
    int n = gr_slots_count(a, x), k = 0;

    if (gr_slots_count(a, y) != n) {
        return 0;
    }
    while (k < n && gr_slots_at(a, x, k) == gr_slots_at(a, y, k)) {
        k++;
    }
    return k == n;
}

static void edit_slots(const struct gr_alltoall *a, struct gr_exchange *e)
{
    struct gr_slots *s = &e->slots, was = e->slots;

    s->first = NEXT_DIGIT == mutant.edit ? s->first + 1 : s->first;
    if (OTHER_ORDER == mutant.edit && s->count > 1) {
        s->first += s->step * (s->count - 1);
        s->step = -s->step;
    }
    s->count += (ONE_MORE == mutant.edit) - (ONE_LESS == mutant.edit);
    if (OTHER_PIECE == mutant.edit && gr_torus_size(&a->torus) % (s->radix * s->weight * 2) == 0) {
        s->weight *= 2;
    }
    s->fold = OTHER_FOLD == mutant.edit && s->radix > 2 ? !s->fold : s->fold;
    mutant.applied |= !same_slots(a, s, &was);
}

static struct gr_exchange mutated_step(const struct gr_alltoall *a, int lane, uint32_t tick)
{
    struct gr_exchange e = gr_alltoall_step(a, lane, tick), was = e;
    int p = gr_torus_size(&a->torus);

    if (a->rank != mutant.rank || lane != mutant.lane || tick != mutant.tick || e.to < 0) {
        return e;
    }
    edit_slots(a, &e);
    switch (mutant.edit) {
    case OTHER_TO:
        e.to = (e.to + 1) % p;
        break;
    case OTHER_FROM:
        e.from = (e.from + 1) % p;
        break;
    case OTHER_DIM:
        e.dim = (e.dim + 1) % a->torus.ndims;
        break;
    case BACKWARDS: /* in a ring of twice the hops it would be as right */
        e.hops = 2 * abs(e.hops) == a->torus.dims[e.dim] ? e.hops : -e.hops;
        break;
    case TWICE_AS_FAR:
        e.hops *= 2;
        break;
    case FALSE_ROUND:
        e.round += 0 == e.round;
        break;
    case SILENT:
        e.to = -1;
        break;
    case DEAF:
        e.from = -1;
        break;
    default:
        break;
    }
    mutant.applied |= e.to != was.to || e.from != was.from || e.dim != was.dim ||
                      e.hops != was.hops || e.round != was.round;
    return e;
}

static void every_edit_is_found(void **state)
{
    static const struct gr_alltoall subjects[] = {
        {SUH_SHIN, {.ndims = 2, .dims = {8, 4}}, 0},
        {SUH_SHIN, {.ndims = 3, .dims = {4, 4, 12}}, 0},
        {ORDERED, {.ndims = 2, .dims = {5, 6}}, 0},
        {ORDERED, {.ndims = 2, .dims = {3, 5}, .mesh = 3}, 0},
    };
    size_t k;
    int edits = 0, found[A2A_DELIVERY + 1] = {0};

    (void) state;
    for (k = 0; k < sizeof(subjects) / sizeof(subjects[0]); k++) {
        int p = gr_torus_size(&subjects[k].torus), edit;

        for (edit = NOTHING; edit < NEDITS; edit++) {
            mutant.edit = (enum edit) edit;
            for (mutant.rank = 0; mutant.rank < p; mutant.rank += THINNING * (1 + p / 12)) {
                for (mutant.lane = 0; mutant.lane < gr_alltoall_lanes(&subjects[k]);
                     mutant.lane++) {
                    for (mutant.tick = 0; mutant.tick < gr_alltoall_ticks(&subjects[k]);
                         mutant.tick++) {
                        enum a2a_check check;

                        world = (struct a2a_world) {.a = subjects[k], .step = mutated_step};
                        mutant.applied = 0;
                        check = a2a_run(&world);
                        if ((A2A_OK != check) != mutant.applied) {
                            fail_msg("%s: edit %d at rank %d, lane %d, tick %u: %s",
                                     describe(&world.a), edit, mutant.rank, mutant.lane,
                                     mutant.tick, A2A_OK == check ? "not found" : world.why);
                        }
                        edits += mutant.applied;
                        found[check]++;
                    }
                }
            }
        }
    }
    assert_in_range(edits, 1000 / THINNING, 1000000);
    for (k = A2A_PEER; k < A2A_ORIGIN; k++) {
        assert_in_range(found[k], 1, 1000000); /* no check is idle */
    }
}

/*
 * A torus as if it had no edge: patterns A and B of Suh-Shin alike, so that two messages share
 * links.
 */
static struct gr_exchange all_in_x(const struct gr_alltoall *a, int lane, uint32_t tick)
{
    struct gr_alltoall moved = *a;

    moved.rank = gr_torus_at(&a->torus, a->rank, 1, 0);
    struct gr_exchange e = gr_alltoall_step(&moved, lane, tick);
    int up = a->rank - moved.rank;

    e.to += up;
    e.from += up;
    return e;
}

static int input_order(const struct gr_alltoall *a, int slot)
{
    (void) a;
    return slot;
}

static int all_to_zero(const struct gr_alltoall *a, int slot)
{
    (void) a;
    (void) slot;
    return 0;
}

static void errors_of_whole_schedules_are_found(void **state)
{
    (void) state;
    world =
        (struct a2a_world) {.a = {SUH_SHIN, {.ndims = 2, .dims = {12, 12}}, 0}, .step = all_in_x};
    assert_int_not_equal(a2a_run(&world), A2A_OK);
    world = (struct a2a_world) {.a = {SUH_SHIN, {.ndims = 2, .dims = {12, 12}}, 0},
                                .origin = input_order};
    assert_int_equal(a2a_run(&world), A2A_DELIVERY);
    world = (struct a2a_world) {.a = {SUH_SHIN, {.ndims = 2, .dims = {4, 4}}, 0},
                                .origin = all_to_zero};
    assert_int_equal(a2a_run(&world), A2A_ORIGIN);
    /* taken for what it does not suit: 4 hops on a ring of 6 */
    world = (struct a2a_world) {.a = {SUH_SHIN, {.ndims = 2, .dims = {10, 8}}, 0}};
    assert_int_not_equal(a2a_run(&world), A2A_OK);
    world = (struct a2a_world) {.a = {SUH_SHIN, {.ndims = 2, .dims = {8, 8}, .mesh = 1}, 0}};
    assert_int_not_equal(a2a_run(&world), A2A_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordered_in_one_dimension),
        cmocka_unit_test(ordered_in_two_dimensions_up_to_9),
        cmocka_unit_test(ordered_in_three_dimensions_up_to_8),
        cmocka_unit_test(ordered_in_four_dimensions),
        cmocka_unit_test(suh_shin_in_one_to_four_dimensions),
        cmocka_unit_test(suh_shin_suits),
        cmocka_unit_test(suh_shin_costs_what_is_published),
        cmocka_unit_test(ordered_costs_what_is_stated),
        cmocka_unit_test(every_edit_is_found),
        cmocka_unit_test(errors_of_whole_schedules_are_found),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    printf("# %d schedules\n", runs);
    return failed;
}
