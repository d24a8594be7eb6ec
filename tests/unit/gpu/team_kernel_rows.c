/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of team_test about gr_gpu_kernel(): each type and operation, by results that have one bit
 * pattern only; and about kernels that count bytes where the caller counts elements.
 */
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "exec/gpu/op.h"
#include "team_rows.h"

/* ---- elements ---- */

/* What elements consist of; the second part begins in the middle. */
static const char *const parts[GR_TYPE_OTHER][2] = {
    [GR_TYPE_I8] = {"i8"},
    [GR_TYPE_I16] = {"i16"},
    [GR_TYPE_I32] = {"i32"},
    [GR_TYPE_I64] = {"i64"},
    [GR_TYPE_U8] = {"u8"},
    [GR_TYPE_U16] = {"u16"},
    [GR_TYPE_U32] = {"u32"},
    [GR_TYPE_U64] = {"u64"},
    [GR_TYPE_F32] = {"f32"},
    [GR_TYPE_F64] = {"f64"},
    [GR_TYPE_F16] = {"f16"},
    [GR_TYPE_BF16] = {"bf16"},
    [GR_TYPE_C64] = {"f32", "f32"},
    [GR_TYPE_C128] = {"f64", "f64"},
    [GR_TYPE_F32_I32] = {"f32", "i32"},
    [GR_TYPE_F64_I32] = {"f64", "i32"},
    [GR_TYPE_I64_I32] = {"i64", "i32"},
    [GR_TYPE_I32_I32] = {"i32", "i32"},
    [GR_TYPE_I16_I32] = {"i16", "i32"},
    [GR_TYPE_F32_F32] = {"f32", "f32"},
    [GR_TYPE_F64_F64] = {"f64", "f64"},
};

/* A number of one or two parts: real and imaginary, or value and index. */
struct number {
    int64_t a, b;
};

/* A half, of a small number. */
static uint16_t half(int64_t x)
{
    uint64_t m = (uint64_t) (x < 0 ? -x : x);
    uint16_t sign = x < 0 ? 0x8000 : 0;
    int e = 0;

    if (0 == m) {
        return 0;
    }
    while (m >> (e + 1)) {
        e++;
    }
    return (uint16_t) (sign | (15 + e) << 10 | ((m << 10 >> e) & 0x3ff));
}

static void put(const char *part, int64_t x, unsigned char *to)
{
    double d = (double) x;
    float f = (float) x;
    uint32_t bits;
    uint16_t h = half(x);

    if (0 == strcmp(part, "f16")) {
        memcpy(to, &h, 2);
    } else if (0 == strcmp(part, "bf16")) {
        memcpy(&bits, &f, 4);
        h = (uint16_t) (bits >> 16);
        memcpy(to, &h, 2);
    } else if (0 == strcmp(part, "f32")) {
        memcpy(to, &f, 4);
    } else if (0 == strcmp(part, "f64")) {
        memcpy(to, &d, 8);
    } else {
        /* of unsigned types: x modulo what they hold */
        memcpy(to, &x, (size_t) atoi(part + 1) / 8);
    }
}

/* A small number as an element of the type, with such bytes in the gap. */
static void element(enum gr_type type, struct number x, int gap, unsigned char *to)
{
    size_t bytes = gr_type_bytes(type);

    memset(to, gap, bytes);
    put(parts[type][0], x.a, to);
    if (NULL != parts[type][1]) {
        put(parts[type][1], x.b, to + bytes / 2);
    }
}

/* ---- operations ---- */

static int is_located(enum gr_type type)
{
    return type >= GR_TYPE_F32_I32;
}

static int is_complex(enum gr_type type)
{
    return GR_TYPE_C64 == type || GR_TYPE_C128 == type;
}

static int exists(enum gr_type type, enum gr_redop op)
{
    if (is_located(type)) {
        return GR_OP_MINLOC == op || GR_OP_MAXLOC == op;
    }
    if (is_complex(type)) {
        return op <= GR_OP_PROD;
    }
    return op <= (type <= GR_TYPE_U64 ? GR_OP_LXOR : GR_OP_MAX);
}

/*
 * What rank contributes to element i: no 0 of floats, since that has two signs. Values of some
 * ranks are alike.
 */
static struct number contribution(enum gr_redop op, int rank, size_t i)
{
    static const int64_t values[] = {1, -3, 2, 3, -1, -2, 1}, bits[] = {4, -3, 0, 2, -1, 0, 1};
    size_t at = i + 3 * (size_t) rank;

    return (struct number) {
        .a = op >= GR_OP_BAND && op <= GR_OP_LXOR ? bits[at % 7] : values[at % 7],
        .b = GR_OP_MINLOC == op || GR_OP_MAXLOC == op ? (int64_t) ((7 * (size_t) rank + i) % 5)
                                                      : values[at % 5],
    };
}

static int64_t combine_integers(int is_unsigned, enum gr_redop op, int64_t a, int64_t b)
{
    int less = is_unsigned ? (uint64_t) a < (uint64_t) b : a < b;

    switch (op) {
    case GR_OP_SUM:
        return a + b;
    case GR_OP_PROD:
        return a * b;
    case GR_OP_MIN:
        return less ? a : b;
    case GR_OP_MAX:
        return less ? b : a;
    case GR_OP_BAND:
        return a & b;
    case GR_OP_BOR:
        return a | b;
    case GR_OP_BXOR:
        return a ^ b;
    case GR_OP_LAND:
        return a && b;
    case GR_OP_LOR:
        return a || b;
    default:
        return !a != !b;
    }
}

static struct number combine(enum gr_type type, enum gr_redop op, struct number x, struct number y)
{
    if (is_complex(type)) {
        return GR_OP_SUM == op ? (struct number) {x.a + y.a, x.b + y.b}
                               : (struct number) {x.a * y.a - x.b * y.b, x.a * y.b + x.b * y.a};
    }
    if (!is_located(type)) {
        return (struct number) {
            combine_integers(type >= GR_TYPE_U8 && type <= GR_TYPE_U64, op, x.a, y.a), 0};
    }
    if (x.a == y.a) {
        return x.b < y.b ? x : y;
    }
    return (x.a < y.a) == (GR_OP_MINLOC == op) ? x : y;
}

/* ---- every type and operation ---- */

enum { KERNEL_RANKS = 3, KERNEL_COUNT = 45, KERNEL_BYTES = 16 * KERNEL_COUNT };

struct kernel_call {
    struct tr_team *team;
    enum gr_type type;
    enum gr_redop op;
};

/* The elements from `begin` on that all ranks together have. */
static void all_of(const struct kernel_call *k, size_t begin, size_t n, unsigned char *want)
{
    size_t i;
    int r;

    for (i = begin; i < begin + n; i++) {
        struct number x = contribution(k->op, 0, i);

        for (r = 1; r < KERNEL_RANKS; r++) {
            x = combine(k->type, k->op, x, contribution(k->op, r, i));
        }
        element(k->type, x, 0, want + (i - begin) * gr_type_bytes(k->type));
    }
}

/*
 * Run the spec on what the rank contributes; the result must be the n elements from `begin` on.
 */
static void run_request(const struct kernel_call *k, int rank, const struct gr_plan_spec *spec,
                        size_t begin, size_t n)
{
    struct gr_gpu *gpu = k->team->world->ranks[rank].gpu;
    struct tc_call call = {
        .team = k->team, .rank = rank, .c = &(struct ex_case) {.count = KERNEL_COUNT}};
    unsigned char data[KERNEL_BYTES], want[KERNEL_BYTES];
    gr_gpu_ptr space[3] = {0, 0, 0};
    int kernel = gr_gpu_kernel(k->type, k->op);
    size_t i, each = gr_type_bytes(k->type);

    for (i = 0; i < KERNEL_COUNT; i++) {
        element(k->type, contribution(k->op, rank, i), 0xee, data + i * each);
    }
    all_of(k, begin, n, want);
    CHECK(kernel >= 0);
    CHECK_INT(gr_gpu_alloc(gpu, KERNEL_COUNT * each, &space[GR_IN]), 0);
    CHECK_INT(gr_gpu_alloc(gpu, n * each, &space[GR_OUT]), 0);
    CHECK_INT(gr_gpu_copy(gpu, (void *) space[GR_IN], data, KERNEL_COUNT * each), 0);
    CHECK_INT(gr_gpu_stream_follow(k->team->ranks[rank]->stream), 0);
    CHECK_INT(
        gr_gpu_op_begin(&call.op, k->team->ranks[rank], spec, (enum gr_kernel) kernel, space, NULL),
        0);
    tc_finish(&call);
    CHECK_INT(gr_gpu_copy(gpu, data, (void *) space[GR_OUT], n * each), 0);
    if (0 != memcmp(data, want, n * each)) {
        fprintf(stderr, "# type %d operation %d: a wrong result\n", (int) k->type, (int) k->op);
        _exit(1);
    }
    gr_gpu_free(gpu, space[GR_IN]);
    gr_gpu_free(gpu, space[GR_OUT]);
}

static void run_allreduce(void *ctx, int rank)
{
    const struct kernel_call *k = ctx;
    struct gr_plan_spec spec = {.coll = GR_COLL_ALLREDUCE,
                                .algo = GR_ALGO_FLAT,
                                .nchannels = 1,
                                .elem_bytes = gr_type_bytes(k->type),
                                .total = KERNEL_COUNT};

    run_request(k, rank, &spec, 0, KERNEL_COUNT);
}

static void open_team(struct tr_world *w, struct tr_team *t)
{
    static const struct tr_shape shape = {.nchannels = 1, .nslots = 2, .slot_bytes = 512};

    tr_open(w, KERNEL_RANKS, NULL);
    tr_make(t, w, &shape);
    CHECK_INT(tr_link(t, GR_ALGO_FLAT, 0), 0);
}

void every_type_and_operation_has_its_kernel(void)
{
    struct kernel_call k;
    struct tr_world w;
    struct tr_team t;
    int type, op;

    if (tr_few_kernels()) {
        printf("# few kernels: not run\n");
        return;
    }
    open_team(&w, &t);
    for (type = 0; type < GR_TYPE_OTHER; type++) {
        for (op = 0; op < GR_OP_OTHER; op++) {
            k = (struct kernel_call) {&t, (enum gr_type) type, (enum gr_redop) op};
            if (exists(k.type, k.op)) {
                tr_each(KERNEL_RANKS, run_allreduce, &k);
            } else {
                CHECK_INT(gr_gpu_kernel(k.type, k.op), -1);
            }
        }
    }
    CHECK_INT(gr_gpu_kernel(GR_TYPE_OTHER, GR_OP_SUM), -1);
    CHECK_INT(gr_gpu_kernel(GR_TYPE_I32, GR_OP_OTHER), -1);
    CHECK_INT(gr_gpu_kernel((enum gr_type) - 1, (enum gr_redop) - 1), -1);
    tr_leave(&t);
    tr_close(&w);
}

/* ---- kernels that count bytes ---- */

/* The rank's block of a bitwise reduce_scatter, with counts of elements. */
static void run_reduce_scatter(void *ctx, int rank)
{
    static const size_t counts[KERNEL_RANKS] = {20, 3, KERNEL_COUNT - 23},
                        begins[KERNEL_RANKS] = {0, 20, 23};
    const struct kernel_call *k = ctx;
    struct gr_plan_spec spec = {.coll = GR_COLL_REDUCE_SCATTER,
                                .algo = GR_ALGO_FLAT,
                                .nchannels = 1,
                                .elem_bytes = gr_type_bytes(k->type),
                                .counts = counts};

    run_request(k, rank, &spec, begins[rank], counts[rank]);
}

/* What is copied, with counts and displacements of elements. */
static void run_allgather(void *ctx, int rank)
{
    static const size_t counts[KERNEL_RANKS] = {7, 0, 5}, displs[KERNEL_RANKS] = {6, 6, 0};
    const struct kernel_call *k = ctx;
    struct gr_gpu *gpu = k->team->world->ranks[rank].gpu;
    struct gr_plan_spec spec = {.coll = GR_COLL_ALLGATHER,
                                .algo = GR_ALGO_FLAT,
                                .nchannels = 1,
                                .elem_bytes = 4,
                                .counts = counts,
                                .displs = displs};
    struct tc_call call = {
        .team = k->team, .rank = rank, .c = &(struct ex_case) {.count = KERNEL_COUNT}};
    int32_t data[14], want[14] = {2, 2, 2, 2, 2, -1, 0, 0, 0, 0, 0, 0, 0, -1};
    gr_gpu_ptr space[3] = {0, 0, 0};
    size_t i;

    memset(data, 0xff, sizeof(data));
    for (i = 0; i < counts[rank]; i++) {
        data[displs[rank] + i] = rank;
    }
    CHECK_INT(gr_gpu_alloc(gpu, sizeof(data), &space[GR_OUT]), 0);
    CHECK_INT(gr_gpu_copy(gpu, (void *) space[GR_OUT], data, sizeof(data)), 0);
    space[GR_IN] = space[GR_OUT] + displs[rank] * sizeof(data[0]);
    CHECK_INT(gr_gpu_stream_follow(k->team->ranks[rank]->stream), 0);
    CHECK_INT(gr_gpu_op_begin(&call.op, k->team->ranks[rank], &spec, GR_KERNEL_copy, space, NULL),
              0);
    tc_finish(&call);
    CHECK_INT(gr_gpu_copy(gpu, data, (void *) space[GR_OUT], sizeof(data)), 0);
    CHECK_INT(memcmp(data, want, sizeof(data)), 0);
    gr_gpu_free(gpu, space[GR_OUT]);
}

void kernels_that_count_bytes_take_elements(void)
{
    struct kernel_call k = {.type = GR_TYPE_I32, .op = GR_OP_BXOR};
    struct tr_world w;
    struct tr_team t;

    if (tr_few_kernels()) {
        printf("# few kernels: not run\n");
        return;
    }
    open_team(&w, &t);
    k.team = &t;
    tr_each(KERNEL_RANKS, run_reduce_scatter, &k);
    tr_each(KERNEL_RANKS, run_allgather, &k);
    tr_leave(&t);
    tr_close(&w);
}
