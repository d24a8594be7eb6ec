/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting. A rank that sees no progress for `timeout` seconds says which call of which communicator
 * it is in and for which ranks it waits, and keeps waiting; or it aborts the job, where that was
 * asked for.
 */
#include "comm/watchdog.h"

#include "comm/comm.h"
#include "comm/failure.h"
#include "comm/params.h"
#include "comm/process.h"
#include "comm/runtime.h"

#include "base/errors.h"
#include "base/system.h"
#include "link/public.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* Polls without progress before MPI is progressed; a slot usually comes sooner. */
#define POLLS_PER_PROGRESS 200

/* Seconds of waiting until others can read of it, and between two looks that they can read of. */
#define SHOW_EACH 0.1

/* Most seconds between two checks of a rank that polls. */
#define SLOW 0.5

/* Seconds without a poll after which a rank was not waiting, where it reports nothing. */
#define COMPUTES 30

/* Seconds from a signal until a rank prints the table: lower ranks have got the signal, too. */
#define ANSWER_AFTER 0.2

/* ---- the table ---- */

/* Whether a lower rank of this node prints the table of this wait: it waits, and was asked, too. */
static bool lower_prints(const struct gr_public_rows *group, int rank, double now, double asked)
{
    const struct gr_public_row *row;

    for (row = group->row; row < group->row + group->n && row->comm.rank < rank; row++) {
        if (gr_public_waits(row, now) && row->asked >= asked - 1) {
            return true;
        }
    }
    return false;
}

static void print_line(const char *text)
{
    gr_print("gpuring: %s", text);
}

/* asked: when a signal asked for it; 0: the rank waits too long. */
static void print_table(const struct gr_waiting *w, double asked)
{
    struct gr_public_rows rows = gr_public_read(NULL, 0), group = gr_public_of(&rows, w->shown);
    double now = gr_now();

    if (group.n > 0 && !lower_prints(&group, w->comm->rank, now, asked)) {
        gr_public_print_group(&rows, &group, now, print_line);
    }
    free(rows.row);
}

static struct gr_public_page *signalled; /* page of the process that gets the signal */

static void on_signal(int number)
{
    (void) number;
    signalled->asked = gr_now();
}

void gr_watch_signal(struct gr_process *process, int number)
{
    struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    signalled = 0 == number ? NULL : gr_process_page(process);
    if (NULL != signalled && 0 == sigaction(number, NULL, &before) &&
        SIG_DFL == before.sa_handler) {
        (void) sigaction(number, &action, NULL);
    }
}

void gr_watch_signal_end(int number)
{
    struct sigaction now, action = {.sa_handler = SIG_DFL};

    if (NULL != signalled && 0 == sigaction(number, NULL, &now) && on_signal == now.sa_handler) {
        (void) sigaction(number, &action, NULL);
    }
}

static void answer(const struct gr_waiting *w, double t)
{
    struct gr_process *process = w->comm->process;
    double asked = process->page->asked;

    if (asked != process->answered && t - asked >= ANSWER_AFTER) {
        process->answered = asked;
        print_table(w, asked);
    }
}

/* ---- a wait ---- */

/* Let others read of the wait. */
static void show(struct gr_watch *watch, const struct gr_waiting *w, double t)
{
    struct gr_public_wait wait = {.since = watch->since, .looked = t, .seq = w->seq};

    snprintf(wait.call, sizeof(wait.call), "%s", w->what);
    w->explain(w->ctx, wait.what, sizeof(wait.what));
    gr_public_set_wait(w->shown, gr_comm_name(w->comm), &wait);
    watch->shown = w->shown;
    watch->showed = t;
    answer(w, t);
}

static void report(struct gr_watch *watch, const struct gr_waiting *w, double waited)
{
    const struct gr_comm *comm = w->comm;
    char where[512];

    w->explain(w->ctx, where, sizeof(where));
    gr_print("gpuring: rank %d of %s (id %u) waits %.0f s in %s, sequence %llu: %s", comm->rank,
             gr_comm_name(comm), comm->id, waited, w->what, (unsigned long long) w->seq, where);
    if (NULL == watch->told && NULL != w->shown) {
        print_table(w, 0);
    }
    watch->told = comm;
    if (gr_settings.timeout_abort) {
        gr_print("gpuring: coll_gpuring_timeout_abort is 1: aborting the job");
        gr_runtime_abort();
    }
}

/* After a wait of which the clock was read. */
static void end_wait(struct gr_watch *watch)
{
    const struct gr_comm *comm = watch->told;

    if (NULL != watch->shown) {
        gr_public_end_wait(watch->shown);
    }
    if (NULL != comm && 0 == comm->failed) {
        gr_print("gpuring: rank %d of %s (id %u) goes on after %.0f s", comm->rank,
                 gr_comm_name(comm), comm->id, gr_runtime_now() - watch->since);
    }
    watch->since = 0;
    watch->shown = NULL;
    watch->told = NULL;
}

unsigned gr_polls_per_progress(void)
{
    /* more ranks than cores: give the core away soon */
    return gr_runtime_shares_cores() ? 1 : POLLS_PER_PROGRESS;
}

bool gr_watch_idle(struct gr_watch *watch)
{
    if (watch->moved != watch->before) {
        watch->before = watch->moved;
        watch->idle = watch->checked = 0;
        if (0 != watch->since) {
            end_wait(watch);
        }
        return false;
    }
    watch->idle++;
    return true;
}

/*
 * polls: since the clock was read last. A rank that did not poll for half of the timeout was not
 * waiting: the application computed. Or the polls were slow, since many ranks share a core; then
 * so many polls must not pass again, or the rank would never seem to wait.
 */
static void check_clock(struct gr_watch *watch, unsigned polls, const struct gr_waiting *waiting)
{
    double timeout = gr_settings.timeout, t = gr_runtime_now(), gap = t - watch->last,
           computes = timeout > 0 ? timeout / 2 : COMPUTES;

    watch->last = t;
    if (0 != watch->since && gap > SLOW) {
        watch->most = 1 + (unsigned) (polls * (SLOW / 2) / gap);
    }
    if (0 == watch->since || gap > computes) {
        watch->since = t;
        watch->next = timeout;
    }
    if (NULL != waiting->shown && t - watch->since >= SHOW_EACH && t - watch->showed >= SHOW_EACH) {
        show(watch, waiting, t);
    }
    if (timeout > 0 && t - watch->since >= watch->next) {
        report(watch, waiting, t - watch->since);
        watch->next += timeout;
    }
    if (gap < SLOW / 4 && watch->most <= polls) {
        watch->most *= 2; /* polls are fast again */
    }
}

int gr_watch_vain(struct gr_watch *watch, unsigned each, const struct gr_waiting *waiting)
{
    unsigned polls = watch->idle - watch->checked;
    int rc;

    if (polls < gr_watch_polls(watch, each)) {
        return gr_failure_check(waiting->comm, false);
    }
    watch->checked = watch->idle;
    rc = gr_failure_check(waiting->comm, true);
    if (0 == rc) {
        check_clock(watch, polls, waiting);
    }
    return rc;
}

int gr_poll_to_end(int (*poll)(void *ctx, uint64_t *moved), const struct gr_waiting *waiting)
{
    unsigned polls = gr_polls_per_progress();
    struct gr_watch watch = {0};
    int rc;

    for (;;) {
        rc = poll(waiting->ctx, &watch.moved);
        if (GR_AGAIN != rc) {
            rc = GR_DONE == rc ? 0 : rc;
            break;
        }
        if (!gr_watch_idle(&watch)) {
            continue;
        }
        if (0 == watch.idle % polls) {
            gr_runtime_progress();
        }
        rc = gr_watch_vain(&watch, GR_POLLS_PER_CHECK_BLOCKING, waiting);
        if (0 != rc) {
            break;
        }
    }
    watch.told = 0 == rc ? watch.told : NULL;
    if (0 != watch.since) {
        end_wait(&watch);
    }
    return rc;
}
