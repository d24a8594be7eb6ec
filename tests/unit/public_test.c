/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page that other processes read (link/public.h): what its owner writes is found; a reader never
 * sees half of a change, waits for no owner that has stopped, and survives any content.
 */
#include "../../benchmarks/top/rows.h"

#include "base/system.h"

#include "rng.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"

static const struct gr_public_comm comm = {
    .members = 1, .id = 2, .count = 3, .rank = 1, .size = 4, .name = "a name"};

/* All texts of this letter, and a seq that goes with it. */
static struct gr_public_wait wait_of(char letter)
{
    struct gr_public_wait wait = {.since = 1, .looked = 1, .seq = (uint64_t) letter};

    memset(wait.call, letter, sizeof(wait.call) - 1);
    memset(wait.what, letter, sizeof(wait.what) - 1);
    return wait;
}

static void what_the_owner_writes_is_found(void **state)
{
    struct gr_public_page *page = gr_public_open();
    struct gr_public_queue *queue = gr_public_take(page, GR_PUBLIC_BLOCKING, &comm);
    struct gr_public_wait wait = {.since = gr_now() - 1, .looked = gr_now(), .seq = 7};
    int self = (int) getpid(), nobody = 1 << 30;
    struct gr_public_rows rows;

    assert_non_null(queue);
    if (!page->shared) {
        skip(); /* no System V segments here */
    }
    queue->seq = 9;
    strcpy(wait.call, "bcast");
    strcpy(wait.what, "waits\x1b[2J for rank 0");
    gr_public_set_wait(queue, "a new name", &wait);

    rows = gr_public_read(&self, 1);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.row->pid, self);
    assert_false(rows.row->stopped);
    assert_int_equal(rows.row->seq, 9);
    assert_int_equal(rows.row->wait.seq, 7);
    assert_int_equal(rows.row->comm.rank, 1);
    assert_string_equal(rows.row->comm.name, "a new name");
    assert_string_equal(rows.row->wait.call, "bcast");
    assert_string_equal(rows.row->wait.what, "waits?[2J for rank 0");
    assert_true(gr_public_waits(rows.row, wait.looked));
    assert_false(gr_public_waits(rows.row, wait.looked + 2));
    assert_int_equal(gr_public_of(&rows, queue).n, 1);
    free(rows.row);

    gr_public_end_wait(queue);
    rows = gr_public_read(&self, 1);
    assert_int_equal(rows.n, 1);
    assert_false(gr_public_waits(rows.row, wait.looked));
    free(rows.row);
    assert_int_equal(gr_public_read(&nobody, 1).n, 0);

    gr_public_give(page, queue);
    assert_int_equal(gr_public_read(&self, 1).n, 0);
    gr_public_close(page);
}

/* A reader that looks again and again knows since when a rank has begun no call. */
static void the_last_call_is_found(void **state)
{
    static struct gr_public_row rows[GR_PUBLIC_QUEUES];
    struct gr_public_page *page = gr_public_open();
    struct gr_public_queue *queue = gr_public_take(page, GR_PUBLIC_BLOCKING, &comm);
    struct gr_public_row looked[3];
    struct gr_public_rows looks[3], none = {NULL, 0};
    int k;

    gr_public_set_name(page, 3, "bcast\t");
    for (k = 0; k < 3; k++) {
        assert_int_equal(gr_public_copy(page, gr_now(), rows), 1);
        looked[k] = rows[0];
        looked[k].pid = 1;
        looks[k] = (struct gr_public_rows) {&looked[k], 1};
        rows_compare(&looks[k], 0 == k ? &none : &looks[k - 1], 10 + k);
        if (0 == k) {
            assert_int_equal(gr_public_begin_call(queue, 3), 1);
        }
    }
    assert_string_equal(looked[0].last, "");
    assert_string_equal(looked[1].last, "bcast?");
    assert_true(10 == looked[0].still && 11 == looked[1].still && 11 == looked[2].still);
    looked[1].pid = 2;
    rows_compare(&looks[2], &looks[1], 13);
    assert_true(13 == looked[2].still);

    queue->call = GR_PUBLIC_NAMES; /* any content */
    assert_int_equal(gr_public_copy(page, gr_now(), rows), 1);
    assert_string_equal(rows[0].last, "");
    gr_public_give(page, queue);
    gr_public_close(page);
}

static void queues_beyond_the_page_have_private_records(void **state)
{
    static struct gr_public_row rows[GR_PUBLIC_QUEUES];
    struct gr_public_queue *taken[GR_PUBLIC_QUEUES + 2];
    struct gr_public_page *page = gr_public_open();
    size_t k;

    for (k = 0; k < GR_PUBLIC_QUEUES + 2; k++) {
        taken[k] = gr_public_take(page, GR_PUBLIC_PERSISTENT, &comm);
        assert_non_null(taken[k]);
        assert_int_equal(taken[k]->seq, 0);
        taken[k]->seq = k;
    }
    assert_int_equal(gr_public_copy(page, gr_now(), rows), GR_PUBLIC_QUEUES);
    assert_true(taken[k - 1] < page->queues || taken[k - 1] >= page->queues + GR_PUBLIC_QUEUES);
    gr_public_give(page, taken[5]);
    assert_ptr_equal(gr_public_take(page, GR_PUBLIC_BLOCKING, &comm), taken[5]);
    assert_int_equal(taken[5]->seq, 0);
    for (k = 0; k < GR_PUBLIC_QUEUES + 2; k++) {
        gr_public_give(page, taken[k]);
    }
    assert_int_equal(gr_public_copy(page, gr_now(), rows), 0);
    gr_public_close(page);
}

/* A process that changes a record all the time; what is read is of one change. */
static void a_change_is_read_as_a_whole(void **state)
{
    static struct gr_public_row rows[GR_PUBLIC_QUEUES];
    struct gr_public_wait waits[2] = {wait_of('a'), wait_of('b')}, nothing = {.since = 0};
    struct gr_public_page *own = gr_public_open(), *page;
    struct gr_public_queue *queue;
    bool seen[2] = {false, false};
    int k, letter;
    pid_t writer;

    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page, own, sizeof(*page));
    gr_public_close(own);
    queue = gr_public_take(page, GR_PUBLIC_BLOCKING, &comm);
    writer = fork();
    if (0 == writer) {
        for (k = 0; 1 != getppid(); k++) { /* as long as there is a reader */
            gr_public_set_wait(queue, "a name", &waits[k % 2]);
        }
        _exit(0);
    }
    assert_true(writer > 0);
    for (k = 0; k < 20000 || !seen[0] || !seen[1]; k++) {
        assert_int_equal(gr_public_copy(page, gr_now(), rows), 1);
        letter = rows[0].wait.call[0];
        if ('\0' == letter) { /* not written yet, or written all the time */
            assert_memory_equal(&rows[0].wait, &nothing, sizeof(nothing));
            continue;
        }
        seen['b' == letter] = true;
        assert_memory_equal(&rows[0].wait, &waits['b' == letter], sizeof(nothing));
    }
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(waitpid(writer, NULL, 0), writer);
    munmap(page, sizeof(*page));
}

static void an_owner_that_stops_in_the_middle_stops_no_reader(void **state)
{
    static struct gr_public_row rows[GR_PUBLIC_QUEUES];
    struct gr_public_page *page = gr_public_open();
    struct gr_public_queue *queue = gr_public_take(page, GR_PUBLIC_BLOCKING, &comm);
    struct gr_public_wait wait = wait_of('a');

    gr_public_set_wait(queue, "a name", &wait);
    atomic_fetch_add(&queue->version, 1);
    assert_int_equal(gr_public_copy(page, gr_now(), rows), 1);
    assert_int_equal(rows[0].comm.rank, 1);
    assert_true(0 == rows[0].wait.since);
    gr_public_give(page, queue);
    gr_public_close(page);
}

static size_t printed;

static void count_line(const char *text)
{
    size_t k;

    printed++;
    for (k = 0; '\0' != text[k]; k++) {
        assert_true(text[k] >= ' ' && text[k] <= '~');
    }
}

static void no_content_harms_a_reader(void **state)
{
    static struct gr_public_row row[GR_PUBLIC_QUEUES];
    struct gr_public_rows rows = {.row = row, .n = 0};
    struct gr_public_page *page = gr_public_open();
    uint64_t rng = rng_key(1, 2, 3);
    unsigned char *bytes = (unsigned char *) page->queues;
    size_t k, found = 0;
    int round;

    for (round = 0; round < 200; round++) {
        for (k = 0; k < sizeof(page->queues); k++) {
            bytes[k] = (unsigned char) rng_next(&rng);
        }
        memset(page->host, 0xff, sizeof(page->host));
        for (k = 0; k < GR_PUBLIC_QUEUES; k++) {
            page->queues[k].kind = (uint32_t) rng_below(&rng, GR_NPUBLIC + 1);
            page->queues[k].version &= ~1u;
        }
        rows.n = gr_public_copy(page, gr_now(), row);
        assert_true(rows.n <= GR_PUBLIC_QUEUES);
        found += rows.n;
        for (k = 0; k < rows.n; k++) {
            assert_true(row[k].comm.rank >= 0 && row[k].comm.rank < row[k].comm.size);
            assert_true(row[k].wait.since >= 0 && row[k].wait.since <= gr_now());
        }
        rows_print(&rows, gr_now(), true, count_line);
    }
    assert_true(found > 0 && printed > found);
    memset(page->queues, 0, sizeof(page->queues));
    page->queues[0].kind = GR_PUBLIC_BLOCKING;
    page->queues[0].comm.size = 1;
    assert_int_equal(gr_public_copy(page, gr_now(), row), 1);
    page->bytes++;
    assert_int_equal(gr_public_copy(page, gr_now(), row), 0);
    page->bytes--;
    page->magic++;
    assert_int_equal(gr_public_copy(page, gr_now(), row), 0);
    gr_public_close(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_owner_writes_is_found),
        cmocka_unit_test(the_last_call_is_found),
        cmocka_unit_test(queues_beyond_the_page_have_private_records),
        cmocka_unit_test(a_change_is_read_as_a_whole),
        cmocka_unit_test(an_owner_that_stops_in_the_middle_stops_no_reader),
        cmocka_unit_test(no_content_harms_a_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
