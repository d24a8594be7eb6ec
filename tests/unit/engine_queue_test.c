/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue of ops on ranks as threads: small calls post before their turn, as far as the boards have
 * room, and no op is touched after its end.
 */

#include "cmocka_test.h"

#include "engine_calls.h"
#include "rank_runtime.h"

#include "comm/failure.h"
#include "comm/runtime.h"
#include "engine/op_queue.h"
#include "exec/executor.h"

#include "base/errors.h"
#include "exec/mailbox.h"
#include "link/board.h"
#include "link/team.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Rank 0 starts its calls before all others. */
#define SMALL (3 * GR_SETS) /* its small calls: more than the boards have sets */
#define LARGE 2             /* large ones; the small ones are behind the first and the second */
#define CALLS (LARGE + SMALL)

static atomic_int started; /* ranks that have started their calls */

/* Call k of the row: all ranks count alike. */
static struct what call_at(size_t k, unsigned salt)
{
    bool large = 0 == k || CALLS / 2 == k;

    return (struct what) {
        .id = large ? GR_CALL_ALLREDUCE : GR_CALL_ALLGATHER,
        .type = GR_TYPE_I32,
        .count = large ? 20000 : 1 + k % 5,
        .salt = salt + (unsigned) k,
    };
}

static struct gr_mailbox *mailbox_of(struct rr_rank *rank)
{
    return &gr_queue_of(&rank->comm, GR_ORDER_NONBLOCKING)->team->boards[GR_BOARDS_MAILBOX].box;
}

/* Make the links of both kinds, so that the calls after these need no set-up. */
static void make_links(struct rr_rank *rank, struct call *call)
{
    size_t k;

    for (k = 0; k < 2; k++) {
        struct what what = call_at(k, 1000);

        call_start(rank, call, &what);
        call_finish_right(rank, call);
    }
}

static void start_all(struct rr_rank *rank, struct call *calls[CALLS])
{
    size_t k;

    for (k = 0; k < CALLS; k++) {
        struct what what = call_at(k, 0);

        call_start(rank, calls[k], &what);
    }
}

static void make_calls(struct call *calls[CALLS])
{
    size_t k;

    for (k = 0; k < CALLS; k++) {
        calls[k] = call_new(true);
    }
}

static void free_calls(struct call *calls[CALLS])
{
    size_t k;

    for (k = 0; k < CALLS; k++) {
        call_free(calls[k]);
    }
}

/* ---- posts run ahead ---- */

static void run_ahead(struct rr_rank *rank)
{
    struct call *calls[CALLS];
    uint64_t before;
    size_t k;

    make_calls(calls);
    make_links(rank, calls[0]);
    before = mailbox_of(rank)->posted;
    while (0 != rank->rank && 0 == started) {
        sched_yield();
    }
    start_all(rank, calls);
    if (0 == rank->rank) {
        /*
         * The first call waits for the other ranks. The small ones behind it have posted; how many
         * sets are free depends on when the others have last told what they took.
         */
        uint64_t ahead = mailbox_of(rank)->posted - before;

        if (calls[0]->complete || ahead < GR_SETS / 2 || ahead > GR_SETS) {
            print_error("%d small calls have posted\n", (int) ahead);
            abort();
        }
    }
    started++;
    for (k = CALLS; k > 0; k--) {
        call_finish_right(rank, calls[k - 1]);
    }
    free_calls(calls);
}

static void posts_run_ahead(void **state)
{
    int n;

    for (n = 2; n <= 4; n++) {
        started = 0;
        run_world(n, run_ahead, CALLS + 2);
    }
}

/* ---- progress while a call waits ---- */

#define LOOKS 1000 /* calls of gr_runtime_progress() */

static const struct gr_executor *counted; /* rank 0's executor, */
static int polls;                         /* and how often it was polled */

static int poll_counted(struct gr_op *op, uint64_t *moved)
{
    polls++;
    return counted->poll(op, moved);
}

/*
 * An application looks again and again: until something has come, the executor is polled for the
 * checks only.
 */
static void run_looking(struct rr_rank *rank)
{
    struct what what = {.id = GR_CALL_ALLREDUCE, .type = GR_TYPE_I32, .count = 3, .salt = 5};
    struct call *call = call_new(true);
    struct gr_executor executor;
    int k;

    make_links(rank, call);
    call_start(rank, call, &what);
    call_finish_right(rank, call);
    while (0 != rank->rank && 0 == started) {
        sched_yield();
    }
    call_start(rank, call, &what);
    if (0 == rank->rank) {
        counted = call->op->exec;
        executor = *counted;
        executor.poll = poll_counted;
        polls = 0;
        call->op->exec = &executor;
        for (k = 0; k < LOOKS; k++) {
            gr_runtime_progress();
        }
        call->op->exec = counted;
        if (call->complete || polls > LOOKS / 16 || polls < LOOKS / 128) {
            print_error("%d polls in %d calls of gr_runtime_progress()\n", polls, LOOKS);
            abort();
        }
        started++;
    }
    call_finish_right(rank, call);
    call_free(call);
}

static void progress_of_a_waiting_call_polls_rarely(void **state)
{
    int n, k;

    for (n = 2; n <= 12; n += 5) { /* 12: in groups */
        for (k = 0; k < 2; k++) {
            rr_threads = 0 != k;
            started = 0;
            run_world(n, run_looking, 4);
        }
    }
}

/* ---- a communicator that fails while calls are queued ---- */

static void run_failing(struct rr_rank *rank)
{
    struct call *calls[CALLS];
    size_t k;

    make_calls(calls);
    make_links(rank, calls[0]);
    /* the last rank never comes, so no call is done, and not all have posted */
    if (rank->world->n - 1 == rank->rank) {
        while (started < rank->rank) {
            sched_yield();
        }
        (void) gr_fail_here(&rank->comm, GR_ERR_FAILED, "as the test asks");
    } else {
        start_all(rank, calls);
        started++;
        for (k = 0; k < CALLS; k++) {
            if (GR_ERR_FAILED != call_finish(calls[k])) {
                abort();
            }
        }
    }
    free_calls(calls);
}

static void failed_communicator(void **state)
{
    int n;

    for (n = 2; n <= 4; n++) {
        struct rr_world *world = new_world(n);

        started = 0;
        rr_run(world, run_failing);
        end_world(world, 2 * n, n); /* each rank says so once */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(posts_run_ahead),
        cmocka_unit_test(progress_of_a_waiting_call_polls_rarely),
        cmocka_unit_test(failed_communicator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
