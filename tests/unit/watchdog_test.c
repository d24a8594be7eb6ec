/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a rank that waits says so (comm/watchdog.h), with a clock of the test's own: polls may take
 * a microsecond, or milliseconds where many ranks share a core; and the application may compute
 * between polls.
 */
#include "comm/watchdog.h"

#include "comm/comm.h"
#include "comm/failure.h"
#include "comm/params.h"
#include "comm/runtime.h"

#include "link/public.h"

#include <string.h>

#include "cmocka_test.h"

static struct {
    double now; /* seconds */
    int reads;  /* of the clock */
    int reports;
    double reported; /* when the last report was made */
} sim;

/* ---- what the watchdog calls ---- */

double gr_runtime_now(void)
{
    sim.reads++;
    return sim.now;
}

void gr_print(const char *format, ...)
{
    (void) format;
    sim.reports++;
    sim.reported = sim.now;
}

int gr_failure_check(struct gr_comm *comm, bool thorough)
{
    (void) comm;
    (void) thorough;
    return 0;
}

void gr_runtime_abort(void)
{
    fail_msg("the job was aborted");
}

bool gr_runtime_shares_cores(void)
{
    return true;
}

void gr_runtime_progress(void)
{
}

struct gr_peer_id gr_runtime_self(void)
{
    fail_msg("waiting opens no pool");
    return (struct gr_peer_id) {.job = 0};
}

static const bool no_threads;
const bool *const gr_runtime_threads = &no_threads;

/* ---- a rank that waits ---- */

static void explain(void *ctx, char *text, size_t size)
{
    (void) ctx;
    memset(text, 0, size);
}

static void poll_as(const struct gr_waiting *waiting, struct gr_watch *watch, double seconds,
                    double each)
{
    double end = sim.now + seconds;

    while (sim.now < end) {
        sim.now += each;
        assert_true(gr_watch_idle(watch));
        assert_int_equal(gr_watch_vain(watch, GR_POLLS_PER_CHECK_BLOCKING, waiting), 0);
    }
}

/* Poll in vain for so many seconds; a poll takes `each` seconds. */
static void poll_for(struct gr_watch *watch, double seconds, double each)
{
    static struct gr_comm comm = {.name = "waiting"};
    const struct gr_waiting waiting = {.comm = &comm, .what = "bcast", .explain = explain};

    poll_as(&waiting, watch, seconds, each);
}

static int begin(void **state)
{
    memset(&sim, 0, sizeof(sim));
    sim.now = 1000;
    gr_settings.timeout = 1;
    gr_settings.timeout_abort = 0;
    return 0;
}

static void fast_polls_report_once_a_timeout(void **state)
{
    struct gr_watch watch = {0};

    poll_for(&watch, 0.9, 1e-6);
    assert_int_equal(sim.reports, 0);
    poll_for(&watch, 4.5, 1e-6);
    assert_int_equal(sim.reports, 5);
}

/* 1024 polls take 10 s, and 100 s. */
static void slow_polls_report_too(void **state)
{
    static const double each[] = {0.01, 0.1};
    size_t k;

    for (k = 0; k < 2; k++) {
        struct gr_watch watch = {0};

        begin(state);
        poll_for(&watch, 3 * 1024 * each[k], each[k]);
        assert_true(sim.reports > 0);
        assert_true(sim.now - sim.reported < 2);
    }
}

static void polls_that_are_fast_again_read_the_clock_seldom(void **state)
{
    struct gr_watch watch = {0};

    poll_for(&watch, 200, 0.1);
    poll_for(&watch, 0.1, 1e-6);
    sim.reads = 0;
    poll_for(&watch, 1, 1e-6);
    assert_true(sim.reads < 2000);
}

/* Between polls it computes for longer than half of the timeout. */
static void an_application_that_computes_does_not_wait(void **state)
{
    struct gr_watch watch = {0};
    int k;

    for (k = 0; k < 1000; k++) {
        poll_for(&watch, 0.1, 1e-4);
        sim.now += 0.6;
    }
    assert_int_equal(sim.reports, 0);
}

static void progress_begins_the_time_anew(void **state)
{
    struct gr_watch watch = {0};
    int k;

    for (k = 0; k < 10; k++) {
        poll_for(&watch, 0.9, 1e-6);
        watch.moved++;
        assert_false(gr_watch_idle(&watch));
    }
    assert_int_equal(sim.reports, 0);
}

/* Readers do not have to know that MPI gives some communicators no name. */
static void others_read_of_a_wait(void **state)
{
    static struct gr_public_page page;
    static struct gr_process process = {.page = &page};
    static struct gr_comm comm = {.name = "", .process = &process};
    struct gr_public_queue shown = {.seq = 7};
    const struct gr_waiting waiting = {
        .comm = &comm, .what = "bcast", .explain = explain, .shown = &shown};
    struct gr_watch watch = {0};

    poll_as(&waiting, &watch, 0.5, 1e-6);
    assert_true(shown.wait.since > 0);
    assert_string_equal(shown.wait.call, "bcast");
    assert_string_equal(shown.comm.name, "a communicator without name");
    watch.moved++;
    assert_false(gr_watch_idle(&watch));
    assert_true(0 == shown.wait.since);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(others_read_of_a_wait, begin),
        cmocka_unit_test_setup(fast_polls_report_once_a_timeout, begin),
        cmocka_unit_test_setup(slow_polls_report_too, begin),
        cmocka_unit_test_setup(polls_that_are_fast_again_read_the_clock_seldom, begin),
        cmocka_unit_test_setup(an_application_that_computes_does_not_wait, begin),
        cmocka_unit_test_setup(progress_begins_the_time_anew, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
