/* SPDX-License-Identifier: BSD-3-Clause */
/* A row of team_test about gr_gpu_kernel(): each type and operation, by results that have one bit pattern only. */
#include "team_rows.h"

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

/* A small number as an element of the type. */
static void element(enum gr_type type, int64_t x, void *to)
{
    double d = (double) x;
    float f = (float) x;
    uint32_t bits;
    uint16_t h = half(x);

    if (GR_TYPE_F16 == type) {
        memcpy(to, &h, 2);
    } else if (GR_TYPE_BF16 == type) {
        memcpy(&bits, &f, 4);
        h = (uint16_t) (bits >> 16);
        memcpy(to, &h, 2);
    } else if (GR_TYPE_F32 == type) {
        memcpy(to, &f, 4);
    } else if (GR_TYPE_F64 == type) {
        memcpy(to, &d, 8);
    } else {
        memcpy(to, &x, gr_type_bytes(type)); /* of unsigned types: x modulo what they hold */
    }
}

/* What rank contributes to element i: no 0, since that has two signs. */
static int64_t contribution(int rank, size_t i)
{
    static const int64_t values[] = {1, -3, 2, 3, -1, -2, 1};

    return values[(i + 3 * (size_t) rank) % 7];
}

static int64_t combine(enum gr_type type, enum gr_redop op, int64_t a, int64_t b)
{
    int is_unsigned = type >= GR_TYPE_U8 && type <= GR_TYPE_U64;
    int less = is_unsigned ? (uint64_t) a < (uint64_t) b : a < b;

    switch (op) {
    case GR_OP_SUM:
        return a + b;
    case GR_OP_PROD:
        return a * b;
    case GR_OP_MIN:
        return less ? a : b;
    default:
        return less ? b : a;
    }
}

enum { KERNEL_RANKS = 3, KERNEL_COUNT = 45 };

struct kernel_call {
    struct tr_team *team;
    enum gr_type type;
    enum gr_redop op;
};

static void run_kernel(void *ctx, int rank)
{
    const struct kernel_call *k = ctx;
    struct gr_gpu *gpu = k->team->world->ranks[rank].gpu;
    struct gr_request request = {.coll = GR_COLL_ALLREDUCE, .algo = GR_ALGO_FLAT, .nchannels = 1,
                                 .elem_bytes = gr_type_bytes(k->type), .total = KERNEL_COUNT};
    struct tc_call call = {.team = k->team, .rank = rank, .c = &(struct ex_case) {.count = KERNEL_COUNT}};
    unsigned char data[8 * KERNEL_COUNT], want[8 * KERNEL_COUNT];
    gr_gpu_ptr space[3] = {0, 0, 0};
    int kernel = gr_gpu_kernel(k->type, k->op), r;
    size_t i, each = request.elem_bytes, bytes = KERNEL_COUNT * each;

    for (i = 0; i < KERNEL_COUNT; i++) {
        int64_t x = contribution(0, i);

        for (r = 1; r < KERNEL_RANKS; r++) {
            x = combine(k->type, k->op, x, contribution(r, i));
        }
        element(k->type, x, want + i * each);
        element(k->type, contribution(rank, i), data + i * each);
    }
    CHECK(kernel >= 0);
    CHECK_INT(gr_gpu_alloc(gpu, bytes, &space[GR_OUT]), 0);
    CHECK_INT(gr_gpu_copy(gpu, (void *) space[GR_OUT], data, bytes), 0);
    space[GR_IN] = space[GR_OUT];
    CHECK_INT(gr_gpu_op_begin(&call.op, k->team->ranks[rank], &request, (enum gr_kernel) kernel, space), 0);
    tc_finish(&call);
    CHECK_INT(gr_gpu_copy(gpu, data, (void *) space[GR_OUT], bytes), 0);
    if (0 != memcmp(data, want, bytes)) {
        fprintf(stderr, "# type %d operation %d: a wrong result\n", (int) k->type, (int) k->op);
        _exit(1);
    }
    gr_gpu_free(gpu, space[GR_OUT]);
}

void every_type_and_operation_has_its_kernel(void)
{
    static const struct tr_shape shape = {.nchannels = 1, .nslots = 2, .slot_bytes = 512};
    struct kernel_call k;
    struct tr_world w;
    struct tr_team t;
    int type, op;

    tr_open(&w, KERNEL_RANKS, NULL);
    tr_make(&t, &w, &shape);
    CHECK_INT(tr_link(&t, GR_ALGO_FLAT, 0), 0);
    for (type = 0; type < GR_TYPE_OTHER; type++) {
        for (op = 0; op <= GR_OP_MAX; op++) {
            k = (struct kernel_call) {&t, (enum gr_type) type, (enum gr_redop) op};
            tr_each(KERNEL_RANKS, run_kernel, &k);
        }
        CHECK_INT(gr_gpu_kernel((enum gr_type) type, GR_OP_BAND), -1);
    }
    CHECK_INT(gr_gpu_kernel(GR_TYPE_OTHER, GR_OP_SUM), -1);
    tr_leave(&t);
    tr_close(&w);
}
