/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of a way between devices (tune/select.h): algorithm, protocol, channels and threads. */
#include "tune/select.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* From 1 byte to 8 GiB, two and a bit sizes per doubling. */
static size_t next_bytes(size_t bytes)
{
    return bytes + bytes / 3 + 1;
}
#define MOST_BYTES ((size_t) 8 << 30)

enum { THREADS = 512, LL_BYTES = 8192, LL128_BYTES = 7680 };

/* As the component asks: lines of 128 bytes only over NVLink. */
static struct gr_question device_question(enum gr_coll coll, int p, size_t bytes, enum gr_path path)
{
    struct gr_question q = {.coll = coll, .p = p, .bytes = bytes, .forced = -1, .nchannels = 16, .slot_bytes = 131072,
                            .post_bytes = 1, .protocol = -1, .line_bytes = {[GR_PROTOCOL_LL] = LL_BYTES},
                            .threads = THREADS};

    q.line_bytes[GR_PROTOCOL_LL128] = GR_PATH_NVLINK == path ? LL128_BYTES : 0;
    return q;
}

static void check_device_choice(const struct gr_question *q, enum gr_path path)
{
    struct gr_choice c = gr_select(&gr_costs_device[path], q);
    int lines = GR_PROTOCOL_SIMPLE != c.protocol, possible = q->protocol <= 0 || q->line_bytes[q->protocol] > 0;

    assert_true(c.way < GR_NALGOS && gr_algo_has((enum gr_algo) c.way, q->coll));
    assert_true(gr_algo_fits((enum gr_algo) c.way, q->p, &q->torus));
    assert_in_range(c.protocol, 0, GR_NPROTOCOLS - 1);
    assert_true(q->protocol < 0 || !possible || c.protocol == q->protocol);
    assert_true(!lines || q->line_bytes[c.protocol] > 0);
    assert_in_range(c.chunk_bytes, 1, lines ? q->line_bytes[c.protocol] : q->slot_bytes);
    assert_in_range(c.nchannels, 1, q->nchannels);
    assert_in_range(c.threads, 32, THREADS);
    assert_int_equal(c.threads % 32, 0);
    assert_true(lines || THREADS == c.threads);
    assert_true(!c.direct && isfinite(c.us) && c.us > 0);
}

static void for_each_device_question(void (*visit)(const struct gr_question *q, enum gr_path path))
{
    struct gr_question q;
    int coll, path, p, protocol, way;
    size_t bytes;

    for (path = 0; path < GR_NPATHS_NEAR; path++) {
        for (coll = 0; coll < GR_NCOLLS; coll++) {
            for (p = 2; p <= 40; p += 1 + p / 5) {
                for (bytes = 1; bytes < MOST_BYTES; bytes = next_bytes(bytes)) {
                    q = device_question((enum gr_coll) coll, p, bytes, (enum gr_path) path);
                    for (protocol = -1; protocol < GR_NPROTOCOLS; protocol++) {
                        for (way = -1; way < GR_NALGOS; way++) {
                            q.protocol = protocol;
                            q.forced = way < 0 || gr_algo_has((enum gr_algo) way, q.coll) ? way : -1;
                            visit(&q, (enum gr_path) path);
                        }
                    }
                }
            }
        }
    }
}

static void devices_choices_are_in_bounds(void **state)
{
    (void) state;
    for_each_device_question(check_device_choice);
}

/* Small messages in lines of flags, large ones in slots, whatever links are like; and few threads for few bytes. */
static void lines_are_for_small_messages(void **state)
{
    int path, p, coll;

    (void) state;
    for (path = 0; path < GR_NPATHS_NEAR; path++) {
        for (p = 2; p <= 16; p++) {
            for (coll = 0; coll < GR_NCOLLS; coll++) {
                struct gr_question small = device_question((enum gr_coll) coll, p, 8, (enum gr_path) path);
                struct gr_question large = device_question((enum gr_coll) coll, p, (size_t) 1 << 30, (enum gr_path) path);
                struct gr_choice c = gr_select(&gr_costs_device[path], &small);

                assert_int_equal(c.protocol, GR_PROTOCOL_LL);
                assert_int_equal(c.threads, 32);
                assert_int_equal(c.nchannels, 1);
                c = gr_select(&gr_costs_device[path], &large);
                assert_int_equal(c.protocol, GR_PROTOCOL_SIMPLE);
                assert_int_equal(c.threads, THREADS);
                assert_int_equal(c.nchannels, 16);
            }
        }
    }
}

/* Over NVLink there are sizes for lines of 128 bytes; nowhere else, not even where they are asked for. */
static void lines_of_128_bytes_are_never_a_guess(void **state)
{
    int path, taken[GR_NPATHS] = {0};
    size_t bytes;

    (void) state;
    for (path = 0; path < GR_NPATHS_NEAR; path++) {
        for (bytes = 1; bytes < MOST_BYTES; bytes = next_bytes(bytes)) {
            struct gr_question q = device_question(GR_COLL_ALLREDUCE, 8, bytes, (enum gr_path) path);
            struct gr_choice c = gr_select(&gr_costs_device[path], &q), forced;

            taken[path] += GR_PROTOCOL_LL128 == c.protocol;
            q.protocol = GR_PROTOCOL_LL128;
            forced = gr_select(&gr_costs_device[path], &q);
            assert_int_equal(forced.protocol, GR_PATH_NVLINK == path ? GR_PROTOCOL_LL128 : c.protocol);
        }
        assert_true(GR_PATH_NVLINK == path ? taken[path] > 0 : 0 == taken[path]);
    }
}

/* One hop for the smallest allreduce in a node, while it needs no more links than a step has. */
static void the_smallest_allreduce_takes_one_shot(void **state)
{
    int path, p;

    (void) state;
    for (path = 0; path < GR_NPATHS_NEAR; path++) {
        for (p = 3; p <= 16; p++) {
            struct gr_question q = device_question(GR_COLL_ALLREDUCE, p, 8, (enum gr_path) path);
            int way = gr_select(&gr_costs_device[path], &q).way;

            assert_int_equal(GR_ALGO_ONESHOT == way, p <= GR_FAN + 1);
            q.forced = GR_ALGO_ONESHOT;
            way = gr_select(&gr_costs_device[path], &q).way;
            assert_int_equal(GR_ALGO_ONESHOT == way, p <= GR_FAN + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_choices_are_in_bounds),
        cmocka_unit_test(lines_are_for_small_messages),
        cmocka_unit_test(lines_of_128_bytes_are_never_a_guess),
        cmocka_unit_test(the_smallest_allreduce_takes_one_shot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
