/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small messages among many ranks: a call is a sequence of calls on the mailboxes of groups
 * (sched/groups.h), each as in mailbox.h. With L levels:
 *
 *      allreduce       reduce to the leader at levels 0 .. L-2, allreduce at L-1, bcast from the
 *                      leader at L-2 .. 0
 *      barrier         the same with a token: a leader waits for its members, those for it
 *      reduce_scatter  the same with all blocks; each rank copies its own out
 *      reduce          up as an allreduce, at level L-1 to the member that speaks for the root;
 *                      then down to the root, in those groups that hold it
 *      allgather       each leader gathers the blocks of its group, packed in the order of ranks;
 *                      allgather at L-1; then bcasts of all blocks
 *      bcast           up from the root by the groups that hold it, then down in all others
 *      alltoall        in the rows of a grid, all that is for each column; then in its columns
 *
 * So a rank reads at most GR_GROUP_MOST boards at each level. All members of a group make the same
 * calls of its mailbox, some of them with an empty message. Among up to GR_GROUP_MOST ranks there
 * is one group, and the sequence is that one call.
 */
#ifndef GR_EXEC_GROUPED_H
#define GR_EXEC_GROUPED_H

#include "exec/mailbox.h"
#include "link/team.h"
#include "sched/groups.h"

struct gr_grouped_call {
    struct gr_mailbox_call whole; /* set by the caller; kept until the call is done */

    /* Private, from here on. */
    struct gr_mailbox_call now; /* of several steps: the present step's call on its mailbox */
    struct gr_team *team;       /* borrowed */
    struct gr_boards *boards;   /* of the team: [level], or row and column. Borrowed */
    unsigned char *acc;         /* where results come together: whole.out or the team's scratch */
    int levels;                 /* that the team's groups have; 1: the call is `whole`, one step */
    int mine;   /* levels, or dimensions of the grid, that have a group of this rank */
    int nsteps; /* calls of mailboxes in the sequence */
    int step;   /* number of the present one, from 0 */
    int at;     /* its mailbox is boards[at] */
    /* blocks of the members of a group, for the present call */
    size_t counts[GR_GROUP_MOST], displs[GR_GROUP_MOST];
};

/* Find the steps of the call whose `whole` is set, but for its buffers. Boards may come later. */
void gr_grouped_prepare(struct gr_grouped_call *call, struct gr_team *team);

/*
 * Begin a call that was prepared, perhaps with other buffers than the last time. The team has the
 * boards, and no other call of them is begun and not done, but for calls on single mailboxes that
 * were posted early.
 */
void gr_grouped_begin(struct gr_grouped_call *call);

/*
 * Go on. 1: the call is done; 0: it waits for the ranks of gr_mailbox_waits_for(). Negative: as
 * gr_mailbox_take() of the present step. *moved is increased by the number of boards that were
 * taken.
 */
int gr_grouped_poll(struct gr_grouped_call *call, uint64_t *moved);

/*
 * Begin a call that was prepared, and go on as far as possible: as gr_grouped_begin() and
 * gr_grouped_poll(), inline for the one step of a call among few.
 */
int gr_grouped_run_steps(struct gr_grouped_call *call);
static GR_INLINE int gr_grouped_run(struct gr_grouped_call *call)
{
    struct gr_mailbox *box = &call->boards->box;

    if (1 != call->levels) {
        return gr_grouped_run_steps(call);
    }
    gr_mailbox_begin_again(box, &call->whole);
    return gr_mailbox_post(box, &call->whole) ? gr_mailbox_try_take(box, &call->whole) : 0;
}

/* Let `to` go on with a call that was begun, in the place of `from`, which may begin another. */
void gr_grouped_hand_over(struct gr_grouped_call *to, const struct gr_grouped_call *from);

/* The present step, and its boards. */
static inline const struct gr_mailbox_call *gr_grouped_now(const struct gr_grouped_call *call)
{
    return 1 == call->levels ? &call->whole : &call->now;
}
static inline const struct gr_boards *gr_grouped_at(const struct gr_grouped_call *call)
{
    return &call->boards[call->at];
}

/* After an error of a poll: the post that is not of the present step, by the team's rank. */
struct gr_label_pair gr_grouped_difference(const struct gr_grouped_call *call);

/* What a call waits for, in words; of one on the boards of a mailbox: what: its name there. */
void gr_mailbox_explain(const struct gr_boards *boards, const struct gr_mailbox_call *call,
                        const char *what, char *text, size_t size);
void gr_grouped_explain(const struct gr_grouped_call *call, char *text, size_t size);

#endif
