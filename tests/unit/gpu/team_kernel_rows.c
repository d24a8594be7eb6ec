/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of team_test about gr_gpu_kernel(): each type and operation, by the kernel's name (what the
 * kernels compute: kernel_test.c); and about kernels that count bytes where the caller counts
 * elements.
 */
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "exec/gpu/op.h"
#include "team_rows.h"

/* ---- every type and operation ---- */

static const char *const types[GR_TYPE_OTHER] = {
    [GR_TYPE_I8] = "i8",           [GR_TYPE_I16] = "i16",         [GR_TYPE_I32] = "i32",
    [GR_TYPE_I64] = "i64",         [GR_TYPE_U8] = "u8",           [GR_TYPE_U16] = "u16",
    [GR_TYPE_U32] = "u32",         [GR_TYPE_U64] = "u64",         [GR_TYPE_F32] = "f32",
    [GR_TYPE_F64] = "f64",         [GR_TYPE_F16] = "f16",         [GR_TYPE_BF16] = "bf16",
    [GR_TYPE_C64] = "c64",         [GR_TYPE_C128] = "c128",       [GR_TYPE_F32_I32] = "f32_i32",
    [GR_TYPE_F64_I32] = "f64_i32", [GR_TYPE_I64_I32] = "i64_i32", [GR_TYPE_I32_I32] = "i32_i32",
    [GR_TYPE_I16_I32] = "i16_i32", [GR_TYPE_F32_F32] = "f32_f32", [GR_TYPE_F64_F64] = "f64_f64",
};

static const char *const ops[GR_OP_OTHER] = {"sum",  "prod", "min", "max",  "band",   "bor",
                                             "bxor", "land", "lor", "lxor", "minloc", "maxloc"};

static int exists(int type, int op)
{
    if (type >= GR_TYPE_F32_I32) {
        return GR_OP_MINLOC == op || GR_OP_MAXLOC == op;
    }
    if (GR_TYPE_C64 == type || GR_TYPE_C128 == type) {
        return op <= GR_OP_PROD;
    }
    return op <= (type <= GR_TYPE_U64 ? GR_OP_LXOR : GR_OP_MAX);
}

/*
 * The name of a kernel that gives the right bits: a sum of integers has the same in signed and
 * unsigned ones, and so has a test for 0.
 */
static void name_of(int type, int op, char *name, size_t size)
{
    int is_integer = type <= GR_TYPE_U64;

    snprintf(name, size, "%s_%s", types[type], ops[op]);
    if (is_integer && op >= GR_OP_BAND && op <= GR_OP_BXOR) {
        snprintf(name, size, "bits_%s", ops[op]);
    } else if (is_integer && GR_OP_MIN != op && GR_OP_MAX != op) {
        name[0] = op <= GR_OP_PROD ? 'i' : 'u';
    }
}

void every_type_and_operation_has_its_kernel(void)
{
    static const char *const kernels[] = {
#define NAME(type, op) #type "_" #op,
        GR_KERNELS(NAME)
#undef NAME
    };
    char name[20];
    int type, op, kernel;

    for (type = 0; type < GR_TYPE_OTHER; type++) {
        for (op = 0; op < GR_OP_OTHER; op++) {
            kernel = gr_gpu_kernel((enum gr_type) type, (enum gr_redop) op);
            if (exists(type, op)) {
                name_of(type, op, name, sizeof(name));
                CHECK(kernel >= 0 && kernel < GR_KERNEL_copy);
                CHECK_INT(strcmp(name, kernels[kernel]), 0);
            } else {
                CHECK_INT(kernel, -1);
            }
        }
        CHECK_INT(gr_gpu_kernel((enum gr_type) type, GR_OP_OTHER), -1);
    }
    CHECK_INT(gr_gpu_kernel(GR_TYPE_OTHER, GR_OP_SUM), -1);
    CHECK_INT(gr_gpu_kernel((enum gr_type) - 1, (enum gr_redop) - 1), -1);
}

/* ---- kernels that count bytes ---- */

enum { RANKS = 3, COUNT = 45 };

/*
 * Run the spec, of elements of int32_t, from a buffer on the device to another, or inside of one
 * where there is no input; both hold what is at `data` before, and the output must hold `want` then.
 */
static void run_spec(struct tr_team *t, int rank, struct gr_plan_spec *spec, enum gr_kernel kernel,
                     size_t in, const int32_t data[COUNT], const int32_t want[COUNT])
{
    struct gr_gpu *gpu = t->world->ranks[rank].gpu;
    struct tc_call call = {.team = t, .rank = rank, .c = &(struct ex_case) {.count = COUNT}};
    gr_gpu_ptr space[3] = {0, 0, 0}, buffers[2];
    int32_t got[COUNT];
    int k;

    for (k = 0; k < 2; k++) {
        CHECK_INT(gr_gpu_alloc(gpu, sizeof(got), &buffers[k]), 0);
        CHECK_INT(gr_gpu_copy(gpu, (void *) buffers[k], data, sizeof(got)), 0);
    }
    space[GR_IN] = buffers[GR_COLL_ALLGATHER == spec->coll] + in * sizeof(got[0]);
    space[GR_OUT] = buffers[1];
    spec->algo = GR_ALGO_FLAT;
    spec->nchannels = 1;
    spec->elem_bytes = sizeof(got[0]);
    CHECK_INT(gr_gpu_stream_follow(t->ranks[rank]->stream), 0);
    CHECK_INT(gr_gpu_op_begin(&call.op, t->ranks[rank], spec, kernel, space, NULL), 0);
    tc_finish(&call);
    CHECK_INT(gr_gpu_copy(gpu, got, (void *) buffers[1], sizeof(got)), 0);
    CHECK_INT(memcmp(got, want, sizeof(got)), 0);
    gr_gpu_free(gpu, buffers[0]);
    gr_gpu_free(gpu, buffers[1]);
}

/* The rank's block of a bitwise reduce_scatter, with counts of elements. */
static void run_reduce_scatter(void *t, int rank)
{
    static const size_t counts[RANKS] = {20, 3, COUNT - 23}, begins[RANKS] = {0, 20, 23};
    struct gr_plan_spec spec = {.coll = GR_COLL_REDUCE_SCATTER, .counts = counts};
    int32_t data[RANKS][COUNT], want[COUNT];
    size_t i;
    int r;

    for (i = 0; i < RANKS * COUNT; i++) {
        data[i / COUNT][i % COUNT] = (int32_t) (i * 0x01234567u);
    }
    memcpy(want, data[rank], sizeof(want));
    memset(want, 0, counts[rank] * sizeof(want[0]));
    for (i = 0; i < counts[rank]; i++) {
        for (r = 0; r < RANKS; r++) {
            want[i] ^= data[r][begins[rank] + i];
        }
    }
    run_spec(t, rank, &spec, GR_KERNEL_bits_bxor, 0, data[rank], want);
}

/* What is copied, with counts and displacements of elements. */
static void run_allgather(void *t, int rank)
{
    static const size_t counts[RANKS] = {7, 0, 5}, displs[RANKS] = {6, 6, 0};
    struct gr_plan_spec spec = {.coll = GR_COLL_ALLGATHER, .counts = counts, .displs = displs};
    int32_t data[COUNT], want[COUNT];
    size_t i;
    int r;

    memset(data, 0xff, sizeof(data));
    memset(want, 0xff, sizeof(want));
    for (r = 0; r < RANKS; r++) {
        for (i = displs[r]; i < displs[r] + counts[r]; i++) {
            want[i] = r;
            data[i] = r == rank ? r : -1;
        }
    }
    run_spec(t, rank, &spec, GR_KERNEL_copy, displs[rank], data, want);
}

void kernels_that_count_bytes_take_elements(void)
{
    static const struct tr_shape shape = {.nchannels = 1, .nslots = 2, .slot_bytes = 512};
    struct tr_team t;

    if (tr_few_kernels()) {
        printf("# few kernels: not run\n");
        return;
    }
    tr_set_up(&t, RANKS, &shape, GR_ALGO_FLAT);
    tr_each(RANKS, run_reduce_scatter, &t);
    tr_each(RANKS, run_allgather, &t);
    tr_tear_down(&t);
}
