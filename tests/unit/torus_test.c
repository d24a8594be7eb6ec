/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The torus of topo/torus.h, against the plainest idea of it: ranks joined by links, and shortest
 * ways found by walking from neighbour to neighbour (breadth first), for 1 to 4 dimensions, rings
 * and lines.
 */
#include "torus_route.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmocka_test.h"

enum { MAX_P = 6 * 5 * 4 * 3, MAX_HOPS = 64 };

static void good_texts_are_parsed(void **state)
{
    static const struct {
        const char *text;
        struct gr_torus want;
    } rows[] = {
        {"", {.ndims = 0}},
        {"1", {.ndims = 1, .dims = {1}}},
        {"8", {.ndims = 1, .dims = {8}}},
        {"4x4x2", {.ndims = 3, .dims = {4, 4, 2}}},
        {"2x3x4x5", {.ndims = 4, .dims = {2, 3, 4, 5}}},
        {"1x1x1x1", {.ndims = 4, .dims = {1, 1, 1, 1}}},
        {"2147483647", {.ndims = 1, .dims = {INT_MAX}}},
        {"65536x32767", {.ndims = 2, .dims = {65536, 32767}}},
        {"04x2", {.ndims = 2, .dims = {4, 2}}},
    };
    struct gr_torus t;
    size_t k;
    int d, size;

    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        t.mesh = 5;
        assert_int_equal(gr_torus_parse(rows[k].text, &t), 0);
        assert_int_equal(t.ndims, rows[k].want.ndims);
        assert_int_equal(t.mesh, 0);
        for (d = 0, size = t.ndims > 0; d < t.ndims; d++) {
            assert_int_equal(t.dims[d], rows[k].want.dims[d]);
            size *= t.dims[d];
        }
        assert_int_equal(gr_torus_size(&t), size);
    }
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "x",
        "4x",
        "x4",
        "4xx4",
        "4x4x2x2x1",
        "0",
        "4x0",
        "-4",
        "4x-2",
        "+4",
        " 4",
        "4 ",
        "4 x4",
        "4X4",
        "4,4",
        "four",
        "4.0",
        "2147483648",
        "65536x32768",
        "99999999999999999999",
        "4x99999999999999999999",
        "0x4",
    };
    struct gr_torus t;
    size_t k;

    for (k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        t.ndims = 3;
        if (-1 != gr_torus_parse(texts[k], &t) || 0 != t.ndims) {
            fail_msg("\"%s\" was taken for a torus", texts[k]);
        }
    }
}

/*
 * Every torus of 1 to 4 dimensions with extents up to 6, 5, 4, 3, and every choice of lines among
 * its dimensions.
 */
static void for_each_torus(void (*check)(const struct gr_torus *t))
{
    static const int most[GR_MAX_DIMS] = {6, 5, 4, 3};
    struct gr_torus t;
    int d;

    for (t.ndims = 1; t.ndims <= GR_MAX_DIMS; t.ndims++) {
        for (t.mesh = 0; t.mesh < 1u << t.ndims; t.mesh++) {
            for (d = 0; d < GR_MAX_DIMS; d++) {
                t.dims[d] = 1;
            }
            do {
                if (gr_torus_size(&t) <= MAX_P) {
                    check(&t);
                }
                for (d = 0; d < t.ndims && ++t.dims[d] > most[d]; d++) {
                    t.dims[d] = 1;
                }
            } while (d < t.ndims);
        }
    }
}

/* Ranks count up through dimension 0 first; one can be replaced in one dimension. */
static void check_coordinates(const struct gr_torus *t)
{
    int x[GR_MAX_DIMS] = {0}, p = gr_torus_size(t), rank, d, y;

    for (rank = 0; rank < p; rank++) {
        for (d = 0; d < t->ndims; d++) {
            assert_int_equal(gr_torus_coord(t, rank, d), x[d]);
            for (y = 0; y < t->dims[d]; y++) {
                int other = gr_torus_at(t, rank, d, y), k;

                for (k = 0; k < t->ndims; k++) {
                    assert_int_equal(gr_torus_coord(t, other, k), k == d ? y : x[k]);
                }
            }
        }
        for (d = 0; d < t->ndims && ++x[d] == t->dims[d]; d++) {
            x[d] = 0;
        }
    }
}

/*
 * Steps up and down undo each other; several at once are so many single ones; only a line has ends.
 */
static void check_moves(const struct gr_torus *t)
{
    int p = gr_torus_size(t), rank, d, hops, at;

    for (rank = 0; rank < p; rank++) {
        for (d = 0; d < t->ndims; d++) {
            int x = gr_torus_coord(t, rank, d), up = gr_torus_move(t, rank, d, 1);

            assert_int_equal(up < 0, gr_torus_is_line(t, d) && x == t->dims[d] - 1);
            assert_true(up < 0 || (gr_torus_coord(t, up, d) == (x + 1) % t->dims[d] &&
                                   gr_torus_move(t, up, d, -1) == rank));
            assert_int_equal(gr_torus_move(t, rank, d, -1) < 0, gr_torus_is_line(t, d) && 0 == x);
            for (at = rank, hops = 0; at >= 0 && hops < 2 * t->dims[d]; hops++) {
                assert_int_equal(gr_torus_move(t, rank, d, hops), at);
                assert_int_equal(gr_torus_move(t, at, d, -hops), rank);
                at = gr_torus_move(t, at, d, 1);
            }
        }
    }
}

/* Distances from a rank by walking. */
static void walk(const struct gr_torus *t, int from, int *hops)
{
    static int queue[MAX_P];
    int p = gr_torus_size(t), head = 0, tail = 0, k, d;

    for (k = 0; k < p; k++) {
        hops[k] = -1;
    }
    hops[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        int at = queue[head++];

        for (d = 0; d < 2 * t->ndims; d++) {
            int next = gr_torus_move(t, at, d / 2, d % 2 ? -1 : 1);

            if (next >= 0 && hops[next] < 0) {
                hops[next] = hops[at] + 1;
                queue[tail++] = next;
            }
        }
    }
}

/* Follow a route link by link; where it ends. */
static int follow(const struct gr_torus *t, int from, const int *links, int n)
{
    int k, d, last = 0;

    for (k = 0; k < n; k++) {
        assert_in_range(links[k], 0, torus_links(t) - 1);
        for (d = 0; d < 2 * t->ndims && torus_link(t, from, d / 2, d % 2) != links[k]; d++) {
        }
        /* leaves this rank, and in no dimension before the last one */
        assert_in_range(d, 2 * (last / 2), 2 * t->ndims - 1);
        assert_true(k == 0 || d / 2 != last / 2 || d == last); /* and does not turn back */
        last = d;
        from = gr_torus_move(t, from, d / 2, d % 2 ? 1 : -1);
        assert_true(from >= 0);
    }
    return from;
}

static void check_routes(const struct gr_torus *t)
{
    int hops[MAX_P], links[MAX_HOPS], p = gr_torus_size(t), from, to, n;

    for (from = 0; from < p; from += 1 + p / 16) {
        walk(t, from, hops);
        for (to = 0; to < p; to++) {
            assert_int_equal(torus_hops(t, from, to), hops[to]);
            n = torus_route(t, from, to, links);
            assert_int_equal(n, hops[to]);
            assert_int_equal(follow(t, from, links, n), to);
        }
    }
}

/*
 * All routes together load both directions of a ring alike, also where its extent is even and there
 * are two ways.
 */
static void check_shares(const struct gr_torus *t)
{
    static int load[2 * GR_MAX_DIMS * MAX_P];
    int links[MAX_HOPS], p = gr_torus_size(t), from, to, n, d, k, up, down;

    for (k = 0; k < torus_links(t); k++) {
        load[k] = 0;
    }
    for (from = 0; from < p && p <= 150; from++) {
        for (to = 0; to < p; to++) {
            for (n = torus_route(t, from, to, links), k = 0; k < n; k++) {
                load[links[k]]++;
            }
        }
    }
    for (d = 0; d < t->ndims; d++) {
        for (k = up = down = 0; k < p; k++) {
            up += load[torus_link(t, k, d, 1)];
            down += load[torus_link(t, k, d, 0)];
        }
        assert_int_equal(up, down);
    }
}

static void coordinates(void **state)
{
    for_each_torus(check_coordinates);
}

static void moves(void **state)
{
    for_each_torus(check_moves);
}

static void routes_are_shortest_ways_in_the_order_of_dimensions(void **state)
{
    for_each_torus(check_routes);
}

static void routes_load_both_directions_alike(void **state)
{
    for_each_torus(check_shares);
}

static void links_have_numbers_of_their_own(void **state)
{
    struct gr_torus t = {.ndims = 3, .dims = {2, 3, 2}};
    char seen[2 * 3 * 12] = {0};
    int rank, k;

    assert_int_equal(torus_links(&t), sizeof(seen));
    for (rank = 0; rank < 12; rank++) {
        for (k = 0; k < 6; k++) {
            assert_in_range(torus_link(&t, rank, k / 2, k % 2), 0, sizeof(seen) - 1);
            assert_int_equal(seen[torus_link(&t, rank, k / 2, k % 2)]++, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts_are_parsed),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(coordinates),
        cmocka_unit_test(moves),
        cmocka_unit_test(routes_are_shortest_ways_in_the_order_of_dimensions),
        cmocka_unit_test(routes_load_both_directions_alike),
        cmocka_unit_test(links_have_numbers_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
