/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The number of links that each algorithm says it needs (gr_algo_links()), beside the peers that
 * follow from its steps: for many numbers of ranks, tori, roots and channels.
 */
#include "sched/sched.h"
#include "topo/torus.h"

#include <stdlib.h>

#include "cmocka_test.h"

#define MAX_P 96

static const char *const tori[] = {"8",    "16",   "5",     "12",    "4x4",   "2x8",
                                   "8x2",  "5x7",  "6x3",   "2x3x5", "4x4x4", "1x8",
                                   "8x1",  "3x5",  "2x20",  "2x2x3", "1x4x2", "12x4",
                                   "16x4", "4x16", "3x3x3", "9x9",   "8x8"};

/* What set-ups make: over all ranks, roots and channels. */
struct made {
    int most; /* of a rank, incoming or outgoing */
    int all;  /* incoming ones of all ranks together, of the root and channel with most */
};

static void add_channel(const struct gr_sched *of, struct made *made)
{
    static int in[MAX_P], out[MAX_P];
    struct gr_sched s = *of;
    int nin, nout, all = 0;

    for (s.pos = 0; s.pos < s.p; s.pos++) {
        gr_sched_peers(&s, in, &nin, out, &nout);
        made->most = nin > made->most ? nin : made->most;
        made->most = nout > made->most ? nout : made->most;
        all += nin;
    }
    made->all = all > made->all ? all : made->all;
}

static struct made count(enum gr_algo algo, int p, const struct gr_torus *torus)
{
    struct gr_sched s = {.algo = algo, .p = p, .torus = *torus};
    struct made made = {0, 0};
    int roots = gr_algo_is_rooted(algo) ? (p < 9 ? p : 2) : 1;

    for (s.root = 0; s.root < roots; s.root++) {
        for (s.channel = 0; s.channel < (gr_algo_is_by_rank(algo) ? 4 : 1); s.channel++) {
            add_channel(&s, &made);
        }
    }
    return made;
}

/* Links to all others take long to count, and are the same for all numbers of ranks. */
static int is_counted(enum gr_algo algo, int p)
{
    return p <= 12 || 1 == p % 11 ||
           (p < 64 && GR_ALGO_FLAT != algo && GR_ALGO_TWOSHOT != algo && GR_ALGO_PAIRWISE != algo);
}

/* Whether the formula is exact: no rank that has links has fewer of them than another one. */
static int is_exact(enum gr_algo algo, const struct gr_torus *torus)
{
    switch (algo) {
    case GR_ALGO_TREE:
    case GR_ALGO_NODE_TREE: /* 4, but where there are few ranks or nodes */
    case GR_ALGO_TWO_LEVEL: /* partners of both trees between leaders may be the same */
    case GR_ALGO_PAT:       /* partners above and below may be the same */
        return 0;
    case GR_ALGO_DISSEMINATION: /* nodes are known by the dimension that is nested */
        return 0 == torus->ndims;
    default:
        return 1;
    }
}

static void compare(enum gr_algo algo, int p, const struct gr_torus *torus)
{
    struct gr_links_count n = gr_algo_links(algo, p, torus);
    struct made made = count(algo, p, torus);

    if (made.most > n.most || made.all > n.mean * p || n.mean > n.most ||
        (is_exact(algo, torus) && made.most != n.most)) {
        fail_msg("%s, %d ranks, %d dimensions: %d links at most, %d in all; said: %d, %d each",
                 gr_algo_name(algo), p, torus->ndims, made.most, made.all, n.most, n.mean);
    }
}

static void without_a_torus(void **state)
{
    const struct gr_torus none = {.ndims = 0};
    int a, p;

    for (a = 0; a < GR_NALGOS; a++) {
        for (p = 2; p <= MAX_P; p++) {
            if (!gr_algo_fits((enum gr_algo) a, p, &none)) {
                assert_int_equal(gr_algo_links((enum gr_algo) a, p, &none).most, 0);
            } else if (is_counted((enum gr_algo) a, p)) {
                compare((enum gr_algo) a, p, &none);
            }
        }
        assert_int_equal(gr_algo_links((enum gr_algo) a, 1, &none).most, 0);
    }
}

static void along_tori(void **state)
{
    struct gr_torus torus;
    size_t k;
    int a, d, p;

    for (k = 0; k < sizeof(tori) / sizeof(tori[0]); k++) {
        assert_int_equal(gr_torus_parse(tori[k], &torus), 0);
        for (d = 0, p = 1; d < torus.ndims; d++) {
            p *= torus.dims[d];
        }
        for (torus.nested = 0; torus.nested <= (2 == torus.ndims ? 2 : 0); torus.nested++) {
            for (a = 0; a < GR_NALGOS; a++) {
                if (gr_algo_is_by_rank((enum gr_algo) a) &&
                    gr_algo_fits((enum gr_algo) a, p, &torus)) {
                    compare((enum gr_algo) a, p, &torus);
                }
            }
        }
    }
}

/* On many ranks only algorithms that join each rank to each other need more than O(log p). */
static void few_links_on_many_ranks(void **state)
{
    struct gr_torus nodes = {.ndims = 2, .dims = {8, 128}, .nested = 1};
    int a;

    for (a = 0; a < GR_NALGOS; a++) {
        struct gr_links_count n = gr_algo_links((enum gr_algo) a, 1024, &nodes);

        if (GR_ALGO_FLAT == a || GR_ALGO_TWOSHOT == a || GR_ALGO_PAIRWISE == a) {
            assert_int_equal(n.mean, 1023);
        } else {
            assert_true(n.most <= 2 * 10 + 8);
        }
    }
    /* of a leader's links each other rank of its node has one */
    assert_int_equal(gr_algo_links(GR_ALGO_TWO_LEVEL, 1024, &nodes).most, 7 + 14);
    assert_int_equal(gr_algo_links(GR_ALGO_TWO_LEVEL, 1024, &nodes).mean, (7 + 14 + 7 + 7) / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_torus),
        cmocka_unit_test(along_tori),
        cmocka_unit_test(few_links_on_many_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
