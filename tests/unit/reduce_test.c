/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Combining elements (exec/reduce.h): every type and operation against a scalar reference, in all
 * the ways in which buffers may coincide, and the order in which several sources are combined.
 * Seed: GPURING_SEED.
 */
#include "reduce_reference.h"

enum { MAX_N = 4099 };

static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 1000, MAX_N};
enum { NSIZES = sizeof(sizes) / sizeof(sizes[0]) };

static const int int_ops[] = {GR_OP_SUM, GR_OP_PROD, GR_OP_MIN,  GR_OP_MAX, GR_OP_BAND,
                              GR_OP_BOR, GR_OP_BXOR, GR_OP_LAND, GR_OP_LOR, GR_OP_LXOR};

/* ---- one loop at a time ---- */

/* Which buffers coincide. */
enum alias { ALIAS_NONE, ALIAS_D1_A, ALIAS_D1_B, ALIAS_D2_A, ALIAS_D2_B, ALIAS_A_B, NALIASES };

static void check_loop(int type, int op, size_t n, size_t offset, enum alias alias, int two)
{
    size_t bytes = n * gr_type_bytes((enum gr_type) type);
    struct buf a = buf_new(bytes, offset, 0), b = buf_new(bytes, offset, 0);
    struct buf d1 = buf_new(bytes, offset, 1), d2 = buf_new(bytes, offset, 1),
               want = buf_new(bytes, 0, 0);
    unsigned char *pb = ALIAS_A_B == alias ? a.data : b.data;
    unsigned char *p1 = ALIAS_D1_A == alias ? a.data : ALIAS_D1_B == alias ? b.data : d1.data;
    unsigned char *p2 = ALIAS_D2_A == alias ? a.data : ALIAS_D2_B == alias ? b.data : d2.data;

    fill(type, a.data, n);
    fill(type, b.data, n);
    reference_all(type, op, want.data, a.data, pb, n);
    gr_reduce_find((enum gr_type) type, (enum gr_redop) op)(p1, two ? p2 : NULL, a.data, pb, n);
    assert_same(type, op, n, p1, want.data, bytes);
    if (two) {
        assert_same(type, op, n, p2, want.data, bytes);
    }
    buf_free(&a);
    buf_free(&b);
    buf_free(&d1);
    buf_free(&d2);
    buf_free(&want);
}

static void check_pair(int type, int op)
{
    int k, alias;

    for (k = 0; k < NSIZES; k++) {
        for (alias = 0; alias < NALIASES; alias++) {
            check_loop(type, op, sizes[k], (size_t) (k + alias) % 2, (enum alias) alias, 0);
            check_loop(type, op, sizes[k], (size_t) (k + alias) % 2, (enum alias) alias, 1);
        }
        check_loop(type, op, sizes[k], gr_type_bytes((enum gr_type) type), ALIAS_NONE, 0);
        check_loop(type, op, sizes[k], gr_type_bytes((enum gr_type) type), ALIAS_NONE, 1);
    }
}

static void every_type_and_op_matches_the_reference(void **state)
{
    size_t k;
    int type;

    for (type = 0; type < GR_TYPE_F16; type++) {
        for (k = 0; k < (is_float(type) ? 4 : sizeof(int_ops) / sizeof(int_ops[0])); k++) {
            assert_non_null(gr_reduce_find((enum gr_type) type, (enum gr_redop) int_ops[k]));
            check_pair(type, int_ops[k]);
        }
    }
}

static void what_has_no_loop_is_not_found(void **state)
{
    static const size_t bytes[] = {1, 2, 4,  8, 1,  2,  4, 8, 4, 8,  2,
                                   2, 8, 16, 8, 16, 16, 8, 8, 8, 16, 0};
    int k, op;

    for (k = GR_OP_BAND; k <= GR_OP_OTHER; k++) {
        assert_null(gr_reduce_find(GR_TYPE_F32, (enum gr_redop) k));
        assert_null(gr_reduce_find(GR_TYPE_F64, (enum gr_redop) k));
    }
    for (k = GR_TYPE_F16; k <= GR_TYPE_OTHER; k++) {
        for (op = 0; op <= GR_OP_OTHER; op++) {
            assert_null(gr_reduce_find((enum gr_type) k, (enum gr_redop) op));
        }
    }
    for (op = GR_OP_MINLOC; op <= GR_OP_OTHER; op++) {
        assert_null(gr_reduce_find(GR_TYPE_I32, (enum gr_redop) op));
    }
    assert_null(gr_reduce_find((enum gr_type) 99, GR_OP_SUM));
    for (k = 0; k <= GR_TYPE_OTHER; k++) {
        assert_int_equal(gr_type_bytes((enum gr_type) k), bytes[k]);
    }
}

/*
 * min and max take the right operand when unordered or equal, in vectors and in what remains of
 * them.
 */
static void float_min_and_max_take_the_right_operand_when_unordered(void **state)
{
    static const enum gr_redop ops[] = {GR_OP_MIN, GR_OP_MAX};
    float nan_a[19], one[19], zero[19], minus_zero[19], d[19];
    uint32_t bits;
    int i, k;

    for (i = 0; i < 19; i++) {
        nan_a[i] = __builtin_nanf("");
        one[i] = 1.0f;
        zero[i] = 0.0f;
        minus_zero[i] = -0.0f;
    }
    for (k = 0; k < 2; k++) {
        gr_reduce_fn f = gr_reduce_find(GR_TYPE_F32, ops[k]);

        f(d, NULL, nan_a, one, 19);
        for (i = 0; i < 19; i++) {
            assert_true(1.0f == d[i]);
        }
        f(d, NULL, one, nan_a, 19);
        for (i = 0; i < 19; i++) {
            assert_true(d[i] != d[i]);
        }
        f(d, NULL, zero, minus_zero, 19);
        for (i = 0; i < 19; i++) {
            memcpy(&bits, &d[i], sizeof(bits));
            assert_true(0x80000000u == bits);
        }
    }
}

/* ---- several sources and destinations ---- */

/*
 * One call; in_place: the number of the destination that is the operand itself, or -1; over: that
 * of the source where the first destination lies, or -1.
 */
static void check_fan(const struct gr_reducer *r, int type, int op, size_t n, int nsrc, int ndst,
                      int in_place, int over)
{
    size_t bytes = n * r->elem_bytes;
    struct buf operand = buf_new(bytes, 1, 0), want = buf_new(bytes, 0, 0), src[3], dst[4];
    const void *srcs[3];
    void *dsts[4];
    int k;

    fill(type, operand.data, n);
    memcpy(want.data, operand.data, bytes);
    for (k = 0; k < nsrc; k++) {
        src[k] = buf_new(bytes, (size_t) k % 2, 0);
        srcs[k] = src[k].data;
        fill(type, src[k].data, n);
        reference_all(type, op, want.data, want.data, src[k].data, n);
    }
    for (k = 0; k < ndst; k++) {
        dst[k] = buf_new(bytes, (size_t) k, 1);
        dsts[k] = k == in_place ? operand.data : dst[k].data;
    }
    dsts[0] = over >= 0 ? src[over].data : dsts[0];
    gr_reduce(r, dsts, ndst, operand.data, srcs, nsrc, n);
    for (k = 0; k < ndst; k++) {
        assert_same(type, op, n, dsts[k], want.data, bytes);
        buf_free(&dst[k]);
    }
    for (k = 0; k < nsrc; k++) {
        buf_free(&src[k]);
    }
    buf_free(&operand);
    buf_free(&want);
}

static void check_fans(const struct gr_reducer *r, int type, int op)
{
    int k, nsrc, ndst, in_place, over;

    for (k = 0; k < NSIZES; k++) {
        for (nsrc = 1; nsrc <= 3; nsrc++) {
            for (ndst = 1; ndst <= 4; ndst++) {
                for (in_place = -1; in_place < ndst; in_place++) {
                    check_fan(r, type, op, sizes[k], nsrc, ndst, in_place, -1);
                }
                for (over = 0; over < nsrc; over++) {
                    check_fan(r, type, op, sizes[k], nsrc, ndst, -1, over);
                }
            }
        }
    }
}

static struct gr_reducer fused(enum gr_type type, enum gr_redop op)
{
    struct gr_reducer r = {.elem_bytes = gr_type_bytes(type), .fused = gr_reduce_find(type, op)};

    return r;
}

static void sources_are_combined_from_the_left(void **state)
{
    struct gr_reducer f32 = fused(GR_TYPE_F32, GR_OP_SUM), f64 = fused(GR_TYPE_F64, GR_OP_PROD);
    struct gr_reducer u16 = fused(GR_TYPE_U16, GR_OP_MAX), i8 = fused(GR_TYPE_I8, GR_OP_SUM);
    float operand = 1e8f, src[3] = {1.0f, 1.0f, -1e8f}, sum;
    const void *srcs[3] = {&src[0], &src[1], &src[2]};
    void *dst = &sum;

    check_fans(&f32, GR_TYPE_F32, GR_OP_SUM);
    check_fans(&f64, GR_TYPE_F64, GR_OP_PROD);
    check_fans(&u16, GR_TYPE_U16, GR_OP_MAX);
    check_fans(&i8, GR_TYPE_I8, GR_OP_SUM);
    /* any other order gives 1 or 2 */
    gr_reduce(&f32, &dst, 1, &operand, srcs, 3, 1);
    assert_true(0.0f == sum);
}

/* The path through a function: float sums, noting what it was called with. */
struct recorder {
    unsigned calls;
    size_t elems;
    const char *last_in;
};

static void record_sum(void *ctx, const void *in, void *inout, size_t n)
{
    struct recorder *rec = ctx;
    size_t i;

    rec->calls++;
    rec->elems += n;
    rec->last_in = in;
    assert_true(n > 0);
    for (i = 0; i < 4 * n; i += 4) {
        reference(GR_TYPE_F32, GR_OP_SUM, (unsigned char *) inout + i,
                  (const unsigned char *) in + i, (unsigned char *) inout + i);
    }
}

static void a_function_combines_in_the_same_order(void **state)
{
    struct recorder rec = {0};
    struct gr_reducer r = {.elem_bytes = 4, .other = record_sum, .ctx = &rec};
    static float operand[MAX_N], src[3][MAX_N], d0[MAX_N], d1[MAX_N];
    const void *srcs[3] = {src[0], src[1], src[2]};
    void *dsts[2] = {d0, d1};

    check_fans(&r, GR_TYPE_F32, GR_OP_SUM);
    memset(&rec, 0, sizeof(rec));
    gr_reduce(&r, dsts, 2, operand, srcs, 3, MAX_N);
    assert_int_equal(rec.elems, 3 * MAX_N);
    assert_true(rec.calls >= 3 && 0 == rec.calls % 3);
    assert_true(rec.last_in >= (char *) src[2] && rec.last_in < (char *) (src[2] + MAX_N));
    memset(&rec, 0, sizeof(rec));
    gr_reduce(&r, dsts, 2, operand, srcs, 3, 0);
    assert_int_equal(rec.calls, 0);
}

/* Elements of 10000 bytes, of which the first is the value. */
static void sum_first_byte(void *ctx, const void *in, void *inout, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        ((unsigned char *) inout)[i * *(size_t *) ctx] +=
            ((const unsigned char *) in)[i * *(size_t *) ctx];
    }
}

static void elements_may_be_larger_than_a_block(void **state)
{
    static unsigned char operand[30000], src[2][30000], d[2][30000];
    size_t size = 10000, i;
    struct gr_reducer r = {.elem_bytes = size, .other = sum_first_byte, .ctx = &size};
    const void *srcs[2] = {src[0], src[1]};
    void *dsts[2] = {d[0], d[1]};

    memset(operand, 1, sizeof(operand));
    memset(src, 2, sizeof(src));
    gr_reduce(&r, dsts, 2, operand, srcs, 2, 3);
    for (i = 0; i < 30000; i++) {
        assert_int_equal(d[0][i], 0 == i % size ? 5 : 1);
        assert_int_equal(d[1][i], d[0][i]);
    }
}

static void copy_leaves_out_the_source(void **state)
{
    unsigned char src[100], d0[100] = {0}, d1[100] = {0};
    void *dsts[3] = {d0, src, d1};
    void *nothing[1] = {NULL};

    memset(src, 7, sizeof(src));
    gr_copy(dsts, 3, src, 99);
    assert_memory_equal(d0, src, 99);
    assert_memory_equal(d1, src, 99);
    assert_int_equal(d0[99], 0);
    assert_int_equal(d1[99], 0);
    gr_copy(nothing, 1, src, 0);
    gr_copy(nothing, 0, src, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_op_matches_the_reference),
        cmocka_unit_test(what_has_no_loop_is_not_found),
        cmocka_unit_test(float_min_and_max_take_the_right_operand_when_unordered),
        cmocka_unit_test(sources_are_combined_from_the_left),
        cmocka_unit_test(a_function_combines_in_the_same_order),
        cmocka_unit_test(elements_may_be_larger_than_a_block),
        cmocka_unit_test(copy_leaves_out_the_source),
    };

    seed = rng_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
