/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The eight collectives x datatypes x operations x sizes x roots x in-place x communicators. Parts,
 * chosen by GPURING_MATRIX (default "types,big,random"):
 *
 *     types    every type with every operation that MPI allows, in every collective, small
 *     big      each collective once with 4 MiB
 *     random   any case, for GPURING_BUDGET seconds (default 2), but LEAST of them at least
 *
 * GPURING_THRESHOLDS: sizes in bytes around which things change (default
 * 4096,65536,262144,1048576).
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "dtypes.h"
#include "guard.h"
#include "matrix_case.h"
#include "mpit_counts.h"
#include "rng.h"
#include "tap.h"

#define MAX_SIZES 64
#define MAX_KINDS 64
#define NUM_COMMS 5
#define BIG_BYTES (4l << 20)
#define LEAST \
    100 /* random cases, however slow the machine is: some calls of each kind are among them */

enum factor { F_COLL, F_KIND, F_SIZE, F_ROOT, F_IN_PLACE, F_COMM, NUM_FACTORS };

/* A class of types with an operation: one level of that factor. */
struct kind {
    enum dtype_class class;
    int op;
};

static struct matrix_comm comms[NUM_COMMS];
static struct size_level sizes[MAX_SIZES];
static int num_sizes;
static struct kind kinds[MAX_KINDS];
static int num_kinds;
static bool *usable; /* [type][op] */
static bool right[NUM_COLLS];
static long cases;

static bool is_usable(int type, int op)
{
    return usable[type * num_dtype_ops + op];
}

static void add_kind(enum dtype_class class, int op)
{
    for (int k = 0; k < num_kinds; k++) {
        if (kinds[k].class == class && kinds[k].op == op) {
            return;
        }
    }
    if (num_kinds < MAX_KINDS) {
        kinds[num_kinds++] = (struct kind) {class, op};
    }
}

static void find_kinds(void)
{
    int pairs = 0, types = 0;

    dtypes_init();
    usable = calloc((size_t) (num_dtypes * num_dtype_ops), sizeof *usable);
    for (int t = 0; t < num_dtypes; t++) {
        for (int op = 0; op < num_dtype_ops; op++) {
            if (dtype_takes(&dtypes[t], op)) {
                usable[t * num_dtype_ops + op] = true;
                add_kind(dtypes[t].class, op);
                *(0 == op ? &types : &pairs) += 1;
            }
        }
        if (!is_usable(t, 0)) {
            tap_note("%s: not in this Open MPI", dtypes[t].name);
        }
    }
    tap_note("%d types, %d pairs of type and operation", types, pairs);
}

static void add_size(bool is_bytes, long value, int delta)
{
    if (num_sizes < MAX_SIZES) {
        sizes[num_sizes++] = (struct size_level) {is_bytes, value, delta};
    }
}

static void find_sizes(void)
{
    static const long elements[] = {0, 1, 3, 17};
    const char *text = getenv("GPURING_THRESHOLDS");
    char *end;

    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        add_size(false, elements[i], 0);
    }
    for (const char *s = text ? text : "4096,65536,262144,1048576"; *s; s = *end ? end + 1 : end) {
        long bytes = strtol(s, &end, 0);

        if (end == s) {
            break;
        }
        for (int delta = -1; delta <= 1; delta++) {
            add_size(true, bytes, delta);
        }
    }
}

static void add_comm(int i, const char *name, int color, int key)
{
    comms[i].name = name;
    if (color < 0) {
        comms[i].comm = MPI_COMM_WORLD;
    } else {
        MPI_Comm_split(MPI_COMM_WORLD, color, key, &comms[i].comm);
    }
}

static void make_comms(void)
{
    uint64_t shuffle = rng_key(test_seed, 77, (uint64_t) test_rank);

    add_comm(0, "world", -1, 0);
    add_comm(1, "reversed", 0, -test_rank);
    add_comm(2, "odd-even", test_rank % 2, test_rank);
    add_comm(3, "shuffled", 0, rng_below(&shuffle, 1 << 20));
    add_comm(4, "alone", test_rank, 0);
}

static void free_comms(void)
{
    for (int i = 0; i < NUM_COMMS; i++) {
        if (MPI_COMM_WORLD != comms[i].comm) {
            MPI_Comm_free(&comms[i].comm);
        }
    }
}

static void run(const struct matrix_case *c)
{
    cases++;
    if (!matrix_case_run(c)) {
        right[c->coll] = false;
    }
}

static void begin_part(void)
{
    cases = 0;
    for (int c = 0; c < NUM_COLLS; c++) {
        right[c] = true;
    }
}

static void end_part(const char *part)
{
    tap_note("%s: %ld cases", part, cases);
    for (int c = 0; c < NUM_COLLS; c++) {
        tap_check(right[c], "%s: %s, %d ranks", part, coll_infos[c].name, test_size);
    }
}

/* Any level of each factor; of kinds, any that the collective takes: each is as frequent. */
static void draw_levels(uint64_t *rng, int *level)
{
    const int levels[NUM_FACTORS] = {NUM_COLLS, num_kinds, num_sizes, NUM_ROOTS, 2, NUM_COMMS};

    for (int f = 0; f < NUM_FACTORS; f++) {
        level[f] = rng_below(rng, levels[f]);
    }
    while (coll_infos[level[F_COLL]].reduces != (0 != kinds[level[F_KIND]].op)) {
        level[F_KIND] = rng_below(rng, num_kinds);
    }
}

/* Any type of the class that takes the operation. */
static int type_of_kind(const struct kind *k, uint64_t key)
{
    int start = (int) (key % (uint64_t) num_dtypes);

    for (int i = 0; i < num_dtypes; i++) {
        int t = (start + i) % num_dtypes;

        if (dtypes[t].class == k->class && is_usable(t, k->op)) {
            return t;
        }
    }
    abort();
}

static void run_levels(const int *level, uint64_t key)
{
    const struct kind *k = &kinds[level[F_KIND]];
    struct matrix_case c = {
        .coll = (enum coll) level[F_COLL],
        .type = type_of_kind(k, key),
        .op = k->op,
        .size = sizes[level[F_SIZE]],
        .root = (enum root_level) level[F_ROOT],
        .in_place = 1 == level[F_IN_PLACE],
        .comm = &comms[level[F_COMM]],
        .key = key,
    };

    run(&c);
}

/* Whether the maximum of all ranks' value is that. */
static bool max_is(const void *value, const void *expected, size_t bytes, MPI_Datatype type)
{
    struct guarded in = guarded_alloc(bytes, 0), out = guarded_alloc(bytes, 0);
    char *send = guarded_lend(&in), *recv = guarded_lend(&out);
    bool ok;

    memcpy(in.data, value, bytes);
    guarded_put(&in);
    guarded_put(&out);
    MPI_Allreduce(send, recv, 1, type, MPI_MAX, MPI_COMM_WORLD);
    guarded_get(&out);
    ok = 0 == memcmp(out.data, expected, bytes);
    guarded_free(&in);
    guarded_free(&out);
    return ok;
}

/* What MPI_Reduce_local gets wrong in some versions: gpuring orders by the type's own sign. */
static void check_signs(void)
{
    const unsigned long u = 0 == test_rank ? ~0ul : 1ul, umax = ~0ul;
    const MPI_Offset s = 0 == test_rank ? -1 : 1, smax = 1;
    bool ok;

    if (0 == mpit_counts_read().calls || 1 == test_size) {
        tap_skip("gpuring is not at work", "types: order of unsigned long and MPI_Offset");
        return;
    }
    ok = max_is(&u, &umax, sizeof u, MPI_UNSIGNED_LONG);
    tap_check(max_is(&s, &smax, sizeof s, MPI_OFFSET) && ok,
              "types: order of unsigned long and MPI_Offset");
}

static void part_types(void)
{
    static const long lengths[] = {1, 2, 5, 8, 13, 31, 64, 100};
    uint64_t state = rng_key(test_seed, 10, 0);

    begin_part();
    for (int coll = 0; coll < NUM_COLLS; coll++) {
        for (int i = 0; i < num_dtypes * num_dtype_ops; i++) {
            int op = i % num_dtype_ops;
            struct matrix_case c = {
                .coll = (enum coll) coll,
                .type = i / num_dtype_ops,
                .op = op,
                .size = {false, lengths[rng_below(&state, 8)], 0},
                .root = (enum root_level) rng_below(&state, NUM_ROOTS),
                .in_place = rng_below(&state, 2),
                .comm = &comms[rng_below(&state, 2)],
                .key = rng_next(&state),
            };

            if (usable[i] && coll_infos[coll].reduces == (0 != op)) {
                run(&c);
            }
        }
    }
    end_part("types");
    check_signs();
}

static void part_big(void)
{
    begin_part();
    for (int coll = 0; coll < NUM_COLLS; coll++) {
        struct matrix_case c = {
            .coll = (enum coll) coll,
            .op = coll_infos[coll].reduces ? DTYPE_OP_SUM : 0,
            .size = {true, BIG_BYTES, 1},
            .root = ROOT_MIDDLE,
            .comm = &comms[0],
            .key = rng_key(test_seed, 12, (uint64_t) coll),
        };

        while (MPI_FLOAT != dtypes[c.type].type) {
            c.type++;
        }
        run(&c);
    }
    end_part("big");
}

static void part_random(double seconds)
{
    uint64_t rng = rng_key(test_seed, 9, 0);
    double end = seconds_now() + seconds;
    int level[NUM_FACTORS];

    begin_part();
    while (tap_share(cases < LEAST || seconds_now() < end)) {
        for (int i = 0; i < 10; i++) {
            draw_levels(&rng, level);
            run_levels(level, rng_key(test_seed, 13, (uint64_t) cases));
        }
    }
    end_part("random");
}

int main(int argc, char **argv)
{
    const char *parts = getenv("GPURING_MATRIX");
    double start;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    parts = parts ? parts : "types,big,random";
    find_kinds();
    find_sizes();
    make_comms();
    start = seconds_now();
    if (strstr(parts, "types")) {
        part_types();
        tap_note("%.1f s", seconds_now() - start);
    }
    if (strstr(parts, "big")) {
        part_big();
        tap_note("%.1f s", seconds_now() - start);
    }
    if (strstr(parts, "random")) {
        part_random((double) env_long("GPURING_BUDGET", 2));
    }
    free_comms();
    free(usable);
    return test_end();
}
