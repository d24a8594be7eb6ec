/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on staged data: right results from copies that land whenever they like, each byte copied
 * once, bands under way while steps run. GPURING_SEED.
 */
#include "staged_streams.h"

#include <stdio.h>

#include "cmocka_test.h"

#include "exec_helpers.h"

/* ---- ranks ---- */

struct staged_rank {
    struct ex_buffers device;
    unsigned char *in, *out; /* rooms */
    struct gr_gpu_stream *streams;
    struct gr_host_op op;
    struct gr_plan plan;
    struct gr_stepper stepper;
    struct gr_staged staged;
    uint64_t moved;
    int rc;
};

static struct staged_rank ranks[EX_MAX_RANKS];
/* slots moved while copies in were under way; copies out begun before the last slot */
static size_t overlapped[2];

static unsigned char *room(size_t bytes)
{
    unsigned char *at = malloc(bytes + 1);

    assert_non_null(at);
    memset(at, 0x5d, bytes + 1);
    return at;
}

/* Of a bcast the root writes nothing, whether it has a buffer for it or not. */
static int has_output(const struct ex_case *c, int rank, const struct ex_buffers *b)
{
    return NULL != b->out && (GR_COLL_BCAST != c->coll || rank != c->root);
}

static void begin(struct staged_rank *r, const struct ex_world *w, const struct ex_case *c,
                  int rank)
{
    const struct gr_team *team = w->ranks[rank].team;
    struct gr_plan_spec spec = ex_spec(c);
    struct ex_buffers *b = &r->device;
    struct gr_staged_copy in = {NULL, 0}, out = {NULL, 0};

    ex_buffers_make(b, c, w->params.p, rank);
    r->streams = calloc(2, sizeof(*r->streams));
    r->out = room(b->out_bytes);
    r->in = NULL == b->in_base && NULL != b->in ? r->out + (b->in - b->out) : room(b->in_bytes);
    r->op = (struct gr_host_op) {.in = team->data.in,
                                 .out = team->data.out,
                                 .p = team->p,
                                 .space = {r->in, r->out, NULL},
                                 .reducer = ex_reducer(c)};
    if (NULL != b->in) {
        in = (struct gr_staged_copy) {&r->streams[0], b->in - r->in};
    }
    if (has_output(c, rank, b)) {
        out = (struct gr_staged_copy) {&r->streams[1], b->out - r->out};
    }
    r->moved = 0;
    r->rc = GR_AGAIN;
    gr_plan_build(&r->plan, team, &spec);
    gr_stepper_start(&r->stepper, &r->plan, &tested_backend, &r->staged);
    r->stepper.burst = (uint32_t) (rng_below(&seed, 2) * (1 + rng_below(&seed, 4)));
    assert_int_equal(
        tested_begin(&r->staged, &r->op, &r->stepper, &in, &out, 1 + rng_below(&seed, 1500)), 0);
}

/* All ranks, anyone next. 0, or -1: it does not end. */
static int run_ranks(int p)
{
    uint64_t before;
    int left = p, idle;

    for (idle = 0; left > 0 && idle < 100000; idle++) {
        struct staged_rank *r = &ranks[rng_below(&seed, p)];

        if (GR_AGAIN != r->rc) {
            continue;
        }
        before = r->moved;
        r->rc = gr_stepper_run(&r->stepper, &r->moved);
        left -= GR_AGAIN != r->rc;
        idle = before != r->moved || GR_AGAIN != r->rc ? 0 : idle;
        overlapped[0] += r->streams[0].landed < r->streams[0].n ? r->moved - before : 0;
        overlapped[1] += r->stepper.running > 0 ? r->streams[1].n : 0;
    }
    return left > 0 ? -1 : 0;
}

/* Whether the rank's result is right, and no byte was copied twice. */
static int is_right(const struct ex_case *c, int p, int rank, const unsigned char *want, char *why,
                    size_t size)
{
    const struct staged_rank *r = &ranks[rank];
    size_t elem = ex_kinds[c->kind].elem_bytes, all = 0;
    int k, out = has_output(c, rank, &r->device);

    if (GR_DONE != r->rc || 0 != ex_buffers_check(&r->device, c, p, rank, want, why, size)) {
        return 0;
    }
    for (k = 0; out && k < p; k++) {
        all += (c->has_counts ? c->counts[k] : c->count) * elem;
    }
    all = GR_COLL_ALLGATHER == c->coll || !out ? all : r->device.out_bytes;
    if (r->streams[1].bytes != all ||
        (NULL != r->device.in && r->streams[0].bytes != ex_input_count(c, p, rank) * elem)) {
        snprintf(why, size, "%zu bytes in, %zu of %zu out", r->streams[0].bytes,
                 r->streams[1].bytes, all);
        return 0;
    }
    return 1;
}

/* Run a case; 0 when all ranks are right. */
static int run_case(struct ex_world *w, const struct ex_case *c, char *why, size_t size)
{
    unsigned char *want = ex_want(c, w->params.p);
    int rc, r;

    assert_int_equal(ex_link(w, c->algo, c->root), 0);
    for (r = 0; r < w->params.p; r++) {
        begin(&ranks[r], w, c, r);
    }
    rc = run_ranks(w->params.p);
    snprintf(why, size, "it does not end");
    for (r = 0; r < w->params.p; r++) {
        rc |= 0 != tested_end(&ranks[r].staged);
        rc |= 0 == rc && !is_right(c, w->params.p, r, want, why, size);
        if (NULL != ranks[r].device.in_base || NULL == ranks[r].device.in) {
            free(ranks[r].in);
        }
        free(ranks[r].out);
        free(ranks[r].streams);
        ex_buffers_free(&ranks[r].device);
    }
    free(want);
    return rc;
}

/* ---- tests ---- */

enum { MOST = 1200 }; /* elements of a block or vector */

static void add_cases(struct ex_batch *b, const struct ex_world *w, int way, enum gr_coll coll)
{
    struct ex_case *c;
    int k;

    if (GR_ALGO_MAILBOX == way || gr_algo_is_by_rank((enum gr_algo) way)) {
        return; /* of these the component copies all first */
    }
    for (k = 0; k < 4; k++) {
        c = ex_add(b, w, way, coll);
        c->count = rng_below(b->random, MOST);
        c->in_place = k % 2;
        c->halved = 0;
        c->chunk_bytes = 1 == c->chunk_bytes ? 128 : c->chunk_bytes;
        if (3 == k && (GR_COLL_ALLGATHER == coll || GR_COLL_REDUCE_SCATTER == coll)) {
            ex_make_counts(b, c, w->params.p, w->params.slot_bytes / 4, GR_COLL_ALLGATHER == coll);
        }
    }
}

/* Random cases on p ranks, up to the first that goes wrong: 0 when none does. */
static int run_random(int p, struct ex_case *first_bad, char *why, size_t size)
{
    struct ex_batch b = {.random = &seed};
    struct ex_world w;
    size_t k;
    int bad = 0;

    memset(&w, 0, sizeof(w));
    open_world(&w, p, 1 + (uint32_t) rng_below(&seed, 3), 4, 256, "");
    ex_for_each_mode(&b, &w, add_cases);
    for (k = 0; k < b.n && 0 == bad; k++) { /* behind a bad one, links are not empty */
        bad = run_case(&w, &b.cases[k], why, size);
        *first_bad = b.cases[k];
    }
    free(b.cases);
    ex_close(&w);
    return bad;
}

static void all_calls_are_right(void **state)
{
    struct ex_case bad;
    char why[200], text[200];
    int p, again;

    for (again = 0; again < 6; again++) {
        for (p = 1; p <= 12; p++) {
            if (0 != run_random(p, &bad, why, sizeof(why))) {
                fail_msg("%s: %s", ex_describe(&bad, p, text, sizeof(text)), why);
            }
        }
    }
    printf(
        "# %zu slots moved while input was under way, %zu copies of output begun before the end\n",
        overlapped[0], overlapped[1]);
    assert_true(overlapped[0] > 10000 && overlapped[1] > 10000);
}

/* A schedule that does not say what is a result: its output is copied in the end. */
static void no_results_are_no_error(void **state)
{
    struct ex_case bad;
    char why[200], text[200];
    int p;

    no_results = true;
    for (p = 1; p <= 12; p++) {
        if (0 != run_random(p, &bad, why, sizeof(why))) {
            fail_msg("%s: %s", ex_describe(&bad, p, text, sizeof(text)), why);
        }
    }
    no_results = false;
}

/* A copy that fails ends the call with an error, whenever it does; nothing is under way then. */
static void a_failed_copy_is_an_error(void **state)
{
    struct ex_case c = {
        .coll = GR_COLL_ALLREDUCE, .algo = GR_ALGO_RING, .nchannels = 1, .count = 1000};
    const struct gr_staged_copy none = {NULL, 0};
    struct ex_world w;
    int k, rc;

    memset(&w, 0, sizeof(w));
    open_world(&w, 1, 1, 4, 256, "");
    assert_int_equal(ex_link(&w, GR_ALGO_RING, 0), 0);
    for (k = 1; k < 3; k++) {
        struct staged_rank *r = &ranks[0];

        begin(r, &w, &c, 0);
        r->streams[1].fails = k;
        while (GR_AGAIN == (rc = gr_stepper_run(&r->stepper, &r->moved))) {
        }
        assert_true(GR_ERR_CUDA == rc || GR_DONE == rc);
        assert_int_equal(tested_end(&r->staged), GR_ERR_CUDA);
        r->streams[0].fails = 1;
        assert_int_equal(tested_begin(&r->staged, &r->op, &r->stepper,
                                      &(struct gr_staged_copy) {&r->streams[0], 0}, &none, 512),
                         GR_ERR_CUDA);
        assert_int_equal(tested_end(&r->staged), GR_ERR_CUDA);
        free(r->in);
        free(r->out);
        free(r->streams);
        ex_buffers_free(&r->device);
    }
    ex_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_calls_are_right),
        cmocka_unit_test(no_results_are_no_error),
        cmocka_unit_test(a_failed_copy_is_an_error),
    };
    int k, rc;

    seed = chance = rng_seed();
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (k = 0; k < EX_MAX_RANKS; k++) {
        tested_free(&ranks[k].staged);
    }
    return rc;
}
