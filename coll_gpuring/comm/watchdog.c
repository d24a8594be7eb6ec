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
#include "comm/runtime.h"

#include "base/errors.h"

/* Polls without progress before MPI is progressed; a slot usually comes sooner. */
#define POLLS_PER_PROGRESS 200

static void report(const struct gr_waiting *w, double waited)
{
    const struct gr_comm *comm = w->comm;
    char where[512];

    w->explain(w->ctx, where, sizeof(where));
    gr_print("gpuring: rank %d of %s (id %u) waits %.0f s in %s, sequence %llu: %s", comm->rank,
             gr_comm_name(comm), comm->id, waited, w->what, (unsigned long long) w->seq, where);
    if (gr_settings.timeout_abort) {
        gr_print("gpuring: coll_gpuring_timeout_abort is 1: aborting the job");
        gr_runtime_abort();
    }
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
        watch->since = 0;
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
    double timeout = gr_settings.timeout, t = gr_runtime_now(), gap = t - watch->last;

    if (timeout <= 0) {
        return;
    }
    watch->last = t;
    if (0 != watch->since && gap > timeout / 2) {
        watch->most = 1 + (unsigned) (polls * (timeout / 4) / gap);
        watch->since = 0;
    }
    if (0 == watch->since) {
        watch->since = t;
        watch->next = timeout;
    } else if (t - watch->since >= watch->next) {
        report(waiting, t - watch->since);
        watch->next += timeout;
    }
    if (gap < timeout / 8 && watch->most <= polls) {
        watch->most *= 2; /* polls are fast again */
    }
}

int gr_watch_vain(struct gr_watch *watch, unsigned each, const struct gr_waiting *waiting)
{
    unsigned most = 0 != watch->most && watch->most < each ? watch->most : each,
             polls = watch->idle - watch->checked;
    int rc;

    if (polls < most) {
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
            return GR_DONE == rc ? 0 : rc;
        }
        if (!gr_watch_idle(&watch)) {
            continue;
        }
        if (0 == watch.idle % polls) {
            gr_runtime_progress();
        }
        rc = gr_watch_vain(&watch, GR_POLLS_PER_CHECK_BLOCKING, waiting);
        if (0 != rc) {
            return rc;
        }
    }
}
