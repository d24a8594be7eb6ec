/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Same inputs, same bits: determinism [RUNS]. Floating-point inputs whose sums depend on the order
 * of addition; every run has other delays, drawn from GPURING_DELAYS. Prints a hash of all results,
 * to be compared between jobs with one GPURING_SEED. Blocking, nonblocking and persistent forms
 * give the same bits where gpuring does them, in place, too.
 */
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "forms.h"
#include "mpit_counts.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

struct shape {
    MPI_Datatype type;
    const char *name;
    int count; /* elements; in the scattering ones for each rank */
};

static const struct shape shapes[] = {
    {MPI_FLOAT, "float", 1},   {MPI_FLOAT, "float", 1001},  {MPI_FLOAT, "float", 300000},
    {MPI_DOUBLE, "double", 1}, {MPI_DOUBLE, "double", 257}, {MPI_DOUBLE, "double", 100003},
    {MPI_FLOAT, "float", 2},   {MPI_FLOAT, "float", 15},    {MPI_FLOAT, "float", 16},
    {MPI_FLOAT, "float", 64},  {MPI_FLOAT, "float", 2048},  {MPI_DOUBLE, "double", 7},
    {MPI_DOUBLE, "double", 8}, {MPI_DOUBLE, "double", 511}, {MPI_DOUBLE, "double", 1024},
};

static const enum coll colls[] = {COLL_ALLREDUCE, COLL_REDUCE, COLL_REDUCE_SCATTER,
                                  COLL_REDUCE_SCATTER_BLOCK};

static uint64_t delays;

/* FNV-1a by 64-bit words, the rest by bytes. */
static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t word;

    for (; bytes >= sizeof word; bytes -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = rng_mix(h ^ word);
    }
    for (; bytes > 0; bytes--, p++) {
        h = rng_mix(h ^ *p);
    }
    return h;
}

/* Numbers of very different size: almost every order of addition rounds differently. */
static void fill(const struct shape *s, void *buf, int count, uint64_t key)
{
    for (int i = 0; i < count; i++) {
        double x =
            ldexp((double) (rng_next(&key) >> 11) / 9007199254740992.0 - 0.5, rng_below(&key, 20));

        if (MPI_FLOAT == s->type) {
            ((float *) buf)[i] = (float) x;
        } else {
            ((double *) buf)[i] = x;
        }
    }
}

/* What of a call does not change from run to run. */
struct sum {
    struct form_call call;
    size_t bytes;   /* of the result on this rank */
    const void *in; /* an input for calls in place, of in_bytes; else NULL */
    size_t in_bytes;
    MPI_Request request; /* the persistent one, made by its first run */
    uint64_t hash;       /* of the first result */
    bool same;           /* all others were like it */
};

static void sum_begin(struct sum *sum, enum coll coll, const struct shape *s, const char *in,
                      char *out, int *counts)
{
    size_t size = MPI_FLOAT == s->type ? sizeof(float) : sizeof(double);
    int got = COLL_REDUCE_SCATTER == coll ? counts[test_rank] : s->count;

    *sum = (struct sum) {.request = MPI_REQUEST_NULL, .same = true};
    sum->call = (struct form_call) {
        .shape = {.coll = coll},
        .comm = MPI_COMM_WORLD,
        .type = s->type,
        .op = MPI_SUM,
        .rank = test_rank,
        .size = test_size,
        .root = test_size - 1,
        .send = in,
        .recv = out,
        .counts = counts,
        .count = s->count,
    };
    sum->bytes = COLL_REDUCE == coll && test_rank != test_size - 1 ? 0 : (size_t) got * size;
}

static void sum_run(struct sum *sum, enum form form, bool first, uint64_t key)
{
    MPI_Request once = MPI_REQUEST_NULL, *request = FORM_PERSISTENT == form ? &sum->request : &once;
    uint64_t h;

    memset(sum->call.recv, 0, sum->bytes);
    if (NULL != sum->in) {
        memcpy(sum->call.recv, sum->in, sum->in_bytes);
    }
    quick_delay(&delays, 1000);
    form_start(&sum->call, form, request);
    quick_delay(&delays, 300);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    h = hash(key, sum->call.recv, sum->bytes);
    sum->hash = first ? h : sum->hash;
    sum->same = sum->same && h == sum->hash;
}

/* Runs are in place from now on, in a reduce at the root, with this input. */
static void sum_in_place(struct sum *sum, const void *in, size_t bytes)
{
    if (COLL_REDUCE != sum->call.shape.coll || test_rank == sum->call.root) {
        sum->call.send = MPI_IN_PLACE;
        sum->in = in;
        sum->in_bytes = bytes;
    }
}

static void sum_end(struct sum *sum)
{
    if (MPI_REQUEST_NULL != sum->request) {
        MPI_Request_free(&sum->request);
    }
}

/*
 * Hashes of this rank's result of the first run in each form; *same when all runs of a form gave
 * it.
 */
static void repeat(enum coll coll, const struct shape *s, int runs, uint64_t key, uint64_t *hashes,
                   bool *same)
{
    bool scatters = COLL_REDUCE_SCATTER == coll || COLL_REDUCE_SCATTER_BLOCK == coll;
    size_t size = MPI_FLOAT == s->type ? sizeof(float) : sizeof(double);
    int total = s->count * (scatters ? test_size : 1);
    int *counts = malloc((size_t) test_size * sizeof *counts);
    char *in = malloc((size_t) total * size), *out = malloc((size_t) total * size);

    for (int r = 0; r < test_size; r++) { /* uneven, the sum as in the even case */
        counts[r] = s->count + (r % 2 ? -1 : r + 1 < test_size ? 1 : 0);
    }
    fill(s, in, total, rng_key(key, (uint64_t) test_rank, 0));
    for (int form = 0; form < forms_here; form++) {
        struct sum sum;

        sum_begin(&sum, coll, s, in, out, counts);
        for (int i = 0; i < runs; i++) {
            sum_run(&sum, (enum form) form, 0 == i, key);
        }
        sum_end(&sum);
        if (mpit_counts_read().calls > 0) { /* of gpuring; other components need not be alike */
            sum_in_place(&sum, in, (size_t) total * size);
            sum_run(&sum, (enum form) form, false, key);
            sum_end(&sum);
        }
        hashes[form] = sum.hash;
        *same = *same && sum.same;
    }
    free(counts);
    free(in);
    free(out);
}

/* What was seen of one collective on this rank, and the hash of everything. */
struct verdict {
    bool same;          /* in every run of a form */
    bool judged;        /* gpuring does them; other components need not be alike in every form */
    bool like_blocking; /* in every form */
    bool like_rank0;    /* on every rank; of allreduce */
    uint64_t all;
};

static void judge(enum coll coll, const struct shape *s, int runs, uint64_t key, struct verdict *v)
{
    uint64_t hashes[NUM_FORMS];

    repeat(coll, s, s->count > 10000 ? (runs + 3) / 4 : runs, key, hashes, &v->same);
    v->judged = mpit_counts_read().calls > 0;
    for (int form = 0; form < forms_here; form++) {
        if (v->judged && hashes[form] != hashes[FORM_BLOCKING]) {
            tap_fault("%s: other bits than blocking: %d of %s", form_names[form], s->count,
                      s->name);
            v->like_blocking = false;
        }
        if (COLL_ALLREDUCE == coll &&
            hashes[form] != (uint64_t) tap_share((int64_t) hashes[form])) {
            tap_fault("%s: other bits than rank 0: %d of %s", form_names[form], s->count, s->name);
            v->like_rank0 = false;
        }
        v->all = rng_mix(
            v->all + (uint64_t) tap_sum((int64_t) rng_key(hashes[form], (uint64_t) test_rank, 0)));
    }
}

int main(int argc, char **argv)
{
    struct verdict v = {.all = 0};
    int runs;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    runs = argc > 1 ? atoi(argv[1]) : 20;
    delays = rng_key((uint64_t) env_long("GPURING_DELAYS", 1), 0, (uint64_t) test_rank);
    for (size_t c = 0; c < sizeof colls / sizeof colls[0]; c++) {
        const char *name = coll_infos[colls[c]].name;

        v.same = v.like_blocking = v.like_rank0 = true;
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            judge(colls[c], &shapes[s], runs, rng_key(test_seed, c, s), &v);
        }
        tap_check(v.same, "%s: same bits in every run", name);
        if (COLL_ALLREDUCE == colls[c]) {
            tap_check(v.like_rank0, "allreduce: same bits on every rank");
        }
        if (tap_agree(v.judged)) {
            tap_check(v.like_blocking, "%s: same bits in every form", name);
        } else {
            tap_skip("gpuring is not at work", "%s: same bits in every form", name);
        }
    }
    tap_note("hash %016llx", (unsigned long long) v.all);
    return test_end();
}
