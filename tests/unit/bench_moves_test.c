/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_bench's checks ask for the right data, without MPI: the test pattern, the shapes, and
 * collectives done here as MPI defines them, which must pass, and each with one wrong element,
 * which must not.
 */
#include "common/elements.h"
#include "common/moves.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"

/* S is a whole number of elements for every rank, and at least one. */
static void shapes(void **state)
{
    struct shape s = moves_shape(&moves_reduce_scatter, 1 << 20, 4, 3, 2, 0, false);

    assert_int_equal(s.total * s.element, 1048572);
    assert_int_equal(s.in_count, s.total);
    assert_int_equal(s.out_count, s.total / 3);
    s = moves_shape(&moves_allgather, 4, 8, 4, 3, 0, true);
    assert_int_equal(s.total * s.element, 32);
    assert_int_equal(s.in_at, 3);
    s = moves_shape(&moves_reduce, 64, 8, 4, 1, 0, true);
    assert_int_equal(s.out_count, 0);
    assert_false(s.shared);
    /* S is all of what the root gets, or gives */
    s = moves_shape(&moves_gather, 1 << 20, 4, 3, 1, 1, true);
    assert_int_equal(s.total * s.element, 1048572);
    assert_int_equal(s.in_count, s.total / 3);
    assert_int_equal(s.in_at, s.total / 3);
    s = moves_shape(&moves_gather, 1 << 20, 4, 3, 0, 1, true);
    assert_int_equal(s.out_count, 0);
    assert_false(s.shared);
    s = moves_shape(&moves_scatter, 1 << 20, 4, 3, 2, 1, true);
    assert_int_equal(s.in_count, 0);
    assert_int_equal(s.out_count, s.total / 3);
    assert_false(s.shared);
    /* what is in place is looked at all the same */
    s = moves_shape(&moves_scatter, 1 << 20, 4, 3, 1, 1, true);
    assert_int_equal(s.out_count, s.total);
    s = moves_shape(&moves_exscan, 64, 8, 4, 0, 0, true);
    assert_int_equal(moves_segments(&s), 1);
    s = moves_shape(&moves_exscan, 64, 8, 4, 0, 0, false);
    assert_int_equal(moves_segments(&s), 0);
    assert_int_equal(s.out_count, s.total); /* room */
}

/*
 * Sums and products in single precision, from the last rank to the first, are what the rule says.
 */
static void float_reductions_are_exact(void **state)
{
    static float input[ELEMENT_TILE], reduced[ELEMENT_TILE];

    for (int ranks = 1; ranks <= 40; ranks += 13) {
        float sum[ELEMENT_TILE] = {0}, prod[ELEMENT_TILE];
        struct element_rule rule = {&element_types[ELEMENT_FLOAT], ELEMENT_SUM, ranks, 0};
        for (int r = ranks; r-- > 0;) {
            element_tile_input(&rule, r, input);
            for (int i = 0; i < ELEMENT_TILE; i++) {
                sum[i] += input[i];
            }
        }
        element_tile_reduced(&rule, ranks, reduced);
        assert_memory_equal(sum, reduced, sizeof sum);
        rule.op = ELEMENT_PROD;
        for (int i = 0; i < ELEMENT_TILE; i++) {
            prod[i] = 1;
        }
        for (int r = ranks; r-- > 0;) {
            element_tile_input(&rule, r, input);
            for (int i = 0; i < ELEMENT_TILE; i++) {
                prod[i] *= input[i];
            }
        }
        element_tile_reduced(&rule, ranks, reduced);
        assert_memory_equal(prod, reduced, sizeof prod);
    }
}

/* The reduction over one rank less differs somewhere, so a lost contribution is noticed. */
static void every_rank_matters(void **state)
{
    static int64_t all[ELEMENT_TILE], fewer[ELEMENT_TILE];

    for (int type = 0; type < ELEMENT_TYPES; type++) {
        for (int op = 0; op < ELEMENT_OPS; op++) {
            struct element_rule rule = {&element_types[type], (enum element_op) op, 9, 3};
            size_t bytes = ELEMENT_TILE * rule.type->size;
            element_tile_reduced(&rule, 9, all);
            element_tile_reduced(&rule, 8, fewer);
            assert_int_not_equal(memcmp(all, fewer, bytes), 0);
        }
    }
}

/* All values of a rule, and all results, are whole numbers that the type has. */
static void small_floats_are_exact(void **state)
{
    static const struct {
        enum element_type_id type;
        int64_t value;
        uint16_t bits;
    } known[] = {{ELEMENT_HALF, 0, 0x0000},     {ELEMENT_HALF, 1, 0x3c00},
                 {ELEMENT_HALF, -2, 0xc000},    {ELEMENT_HALF, 3, 0x4200},
                 {ELEMENT_HALF, 2047, 0x67ff},  {ELEMENT_BFLOAT16, 0, 0},
                 {ELEMENT_BFLOAT16, 1, 0x3f80}, {ELEMENT_BFLOAT16, -2, 0xc000},
                 {ELEMENT_BFLOAT16, 3, 0x4040}, {ELEMENT_BFLOAT16, 255, 0x437f}};
    static int16_t half[ELEMENT_TILE];
    struct element_rule rule = {&element_types[ELEMENT_HALF], ELEMENT_MOVE, 2, 0};
    uint16_t stored;

    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        element_types[known[k].type].store(&stored, 0, known[k].value);
        assert_int_equal(stored, known[k].bits);
    }
    element_tile_input(&rule, 1, half);
    for (int i = 0; i < ELEMENT_TILE; i++) { /* 0 to 2047 */
        assert_in_range(half[i], 0, 0x67ff);
    }
}

static void checks_see_errors(void **state)
{
    struct element_rule rule = {&element_types[ELEMENT_INT16], ELEMENT_MOVE, 2, 0};
    struct shape s = moves_shape(&moves_sendrecv, 40000, 2, 2, 0, 0, false);
    struct buffers b;

    assert_int_equal(moves_alloc(&b, &memory_host, &s), 0);
    moves_prepare(&b, &s, &rule);
    /* nothing arrived; some are poison by chance */
    assert_true(moves_check(&b, &s, &rule) > 19900);
    element_tile_input(&rule, 1, b.tile);
    for (size_t i = 0; i < s.total; i++) {
        memcpy(b.recv + 2 * i, b.tile + i % ELEMENT_TILE * 2, 2);
    }
    assert_int_equal(moves_check(&b, &s, &rule), 0);
    moves_corrupt(&b, &s);
    assert_int_equal(moves_check(&b, &s, &rule), 1);
    b.recv[2 * s.total]++; /* one beyond the end */
    assert_int_equal(moves_check(&b, &s, &rule), 2);
    b.send[5]++; /* an input that was written */
    assert_int_equal(moves_check(&b, &s, &rule), 3);
    moves_release(&b);
}

/* ---- collectives by definition, on all ranks at once ---- */

enum { RANKS = 3, BYTES = 4 * RANKS * (ELEMENT_TILE + 100) }; /* blocks of more than a period */

static const struct element_rule int_rule = {&element_types[ELEMENT_INT32], ELEMENT_SUM, RANKS, 1};

struct world {
    struct shape shapes[RANKS];
    struct buffers buffers[RANKS];
    int32_t *in[RANKS]; /* copies of the inputs */
};

static void gather(const struct world *w, int rank, int32_t *out)
{
    size_t block = w->shapes[rank].block;

    for (int r = 0; r < RANKS && rank == w->shapes[rank].root; r++) {
        memcpy(out + (size_t) r * block, w->in[r], block * sizeof *out);
    }
}

/* In place, the root's receive buffer is left out: nothing is written there. */
static void scatter(const struct world *w, int rank, int32_t *out)
{
    const struct shape *s = &w->shapes[rank];

    if (!s->shared) {
        memcpy(out, w->in[s->root] + (size_t) rank * s->block, s->block * sizeof *out);
    }
}

static void alltoall(const struct world *w, int rank, int32_t *out)
{
    size_t block = w->shapes[rank].block;

    for (int r = 0; r < RANKS; r++) {
        memcpy(out + (size_t) r * block, w->in[r] + (size_t) rank * block, block * sizeof *out);
    }
}

static void sum_up_to(const struct world *w, int last, int32_t *out)
{
    for (size_t i = 0; last >= 0 && i < w->shapes[0].total; i++) {
        out[i] = 0;
        for (int r = 0; r <= last; r++) {
            out[i] += w->in[r][i];
        }
    }
}

static void scan(const struct world *w, int rank, int32_t *out)
{
    sum_up_to(w, rank, out);
}

/* Rank 0's is not written. */
static void exscan(const struct world *w, int rank, int32_t *out)
{
    sum_up_to(w, rank - 1, out);
}

static const struct {
    const struct moves *moves;
    void (*define)(const struct world *w, int rank, int32_t *out);
} collectives[] = {
    {&moves_gather, gather}, {&moves_scatter, scatter}, {&moves_alltoall, alltoall},
    {&moves_scan, scan},     {&moves_exscan, exscan},
};

static void world_open(struct world *w, const struct moves *moves, int root, bool in_place)
{
    for (int r = 0; r < RANKS; r++) {
        struct shape *s = &w->shapes[r];
        struct buffers *b = &w->buffers[r];

        *s = moves_shape(moves, BYTES, sizeof(int32_t), RANKS, r, root, in_place);
        assert_int_equal(moves_alloc(b, &memory_host, s), 0);
        moves_prepare(b, s, &int_rule);
        w->in[r] = malloc(BYTES);
        if (s->in_count > 0) {
            memcpy(w->in[r], s->shared ? b->recv + s->in_at * s->element : b->send,
                   s->in_count * s->element);
        }
    }
}

static void world_close(struct world *w)
{
    for (int r = 0; r < RANKS; r++) {
        moves_release(&w->buffers[r]);
        free(w->in[r]);
    }
}

/*
 * Where what belongs to the call ends in the receive buffer: in place, the input may reach further
 * than the output.
 */
static size_t recv_end(const struct shape *s)
{
    size_t in_end = s->shared ? s->in_at + s->in_count : 0;

    return s->element * (in_end > s->out_count ? in_end : s->out_count);
}

/* In the output, in an input of its own, and behind the output. */
static void wrong_elements_are_found(const struct world *w, int rank)
{
    static const size_t places[] = {0, ELEMENT_TILE, 1};
    const struct shape *s = &w->shapes[rank];
    const struct buffers *b = &w->buffers[rank];
    size_t last = s->out_count - 1;

    for (size_t i = 0; i < 4 && moves_segments(s) > 0; i++) {
        int32_t *element = (int32_t *) (void *) b->recv + (i < 3 ? places[i] : last);
        *element ^= 1;
        assert_int_equal(moves_check(b, s, &int_rule), 1);
        *element ^= 1;
    }
    if (!s->shared && s->in_count > 0) {
        b->send[0] ^= 1;
        assert_int_equal(moves_check(b, s, &int_rule), 1);
        b->send[0] ^= 1;
    }
    b->recv[recv_end(s)] ^= 1;
    assert_int_equal(moves_check(b, s, &int_rule), 1);
    b->recv[recv_end(s)] ^= 1;
}

static void checks_ask_for_what_mpi_defines(void **state)
{
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0] * RANKS * 2; i++) {
        size_t c = i / (RANKS * 2);
        struct world w;

        world_open(&w, collectives[c].moves, (int) (i / 2 % RANKS), i % 2);
        for (int r = 0; r < RANKS; r++) {
            if (!w.shapes[r].shared && moves_segments(&w.shapes[r]) > 0) {
                /* nothing arrived yet */
                assert_true(moves_check(&w.buffers[r], &w.shapes[r], &int_rule) > 0);
            }
            collectives[c].define(&w, r, (int32_t *) (void *) w.buffers[r].recv);
            assert_int_equal(moves_check(&w.buffers[r], &w.shapes[r], &int_rule), 0);
            wrong_elements_are_found(&w, r);
        }
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(float_reductions_are_exact),
        cmocka_unit_test(every_rank_matters),
        cmocka_unit_test(small_floats_are_exact),
        cmocka_unit_test(checks_see_errors),
        cmocka_unit_test(checks_ask_for_what_mpi_defines),
    };

    return cmocka_run_group_tests_name("bench moves", tests, NULL, NULL);
}
