/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of the ranks of a node, for small messages among many ranks (exec/grouped.h).
 *
 *      level 2                         0 64 ...
 *      level 1           0 8 16 ... 56           64 72 ...
 *      level 0     0 1 ... 7   8 9 ... 15   ...  64 65 ...
 *
 * Ranks form groups of GR_GROUP_RANKS consecutive ones. The first rank of a group is its leader,
 * and a member of a group of the next level, until one group is left. Neighbours are in one group,
 * which mostly share a cache, and a reduction in groups keeps the order of ranks. A last group of
 * one rank joins the group before it, so a group has 2 to GR_GROUP_MOST ranks. A rank that leads at
 * all levels reads O(log p) boards.
 *
 * An Alltoall goes through a grid instead: rank r is in row r / columns and in column r % columns.
 *
 * All of this depends on p only, and so does the order of reduction.
 */
#ifndef GR_SCHED_GROUPS_H
#define GR_SCHED_GROUPS_H

#include "sched/types.h"

#define GR_GROUP_RANKS 8
#define GR_GROUP_MOST 9     /* most ranks of a group */
#define GR_GROUP_LEVELS 3   /* most levels */
#define GR_GROUPED_MOST 512 /* most ranks that groups are made for */
#define GR_GRID_SIDE 32     /* most rows, and most columns, of a grid */

/*
 * The ranks first, first + step, ...: n of them. In a group of a level each member speaks for the
 * ranks of the groups that it leads: gr_group_next(), gr_group_member().
 */
struct gr_group {
    int first, step;
    int n;   /* 0: there is no group */
    int me;  /* number among them of the rank that was asked for */
    int end; /* the last member speaks for the ranks below this one */
};

/* Whether p ranks form several groups. */
static inline int gr_is_grouped(int p)
{
    return p > GR_GROUP_MOST;
}

/* Levels of p ranks; 1: all are in one group. */
int gr_group_levels(int p);

/* The group of a rank at a level; n 0: it is in none there. */
struct gr_group gr_group_at(int p, int rank, int level);

/* The rank after those that member k of a group speaks for. */
static inline int gr_group_next(const struct gr_group *g, int k)
{
    return k + 1 < g->n ? g->first + (k + 1) * g->step : g->end;
}

/* The member that speaks for a rank; -1: none does. */
static inline int gr_group_member(const struct gr_group *g, int rank)
{
    int k = (rank - g->first) / g->step;

    return rank < g->first || rank >= g->end ? -1 : k < g->n ? k : g->n - 1;
}

/* Columns of the grid of p ranks, at least as many as rows; 0: there is no grid. */
int gr_grid_columns(int p);

/* The row of a rank, and its column; n 0: there is no grid, or it has only one row. */
struct gr_group gr_grid_row(int p, int rank);
struct gr_group gr_grid_column(int p, int rank);

/* The collectives that mailboxes can do (exec/mailbox.c, exec/grouped.c). */
#define GR_MAILBOX_COLLS \
    (GR_BLOCK_COLLS | GR_ROOTED_COLLS | GR_BIT(GR_COLL_ALLTOALL) | GR_BIT(GR_COLL_BARRIER))

/* Whose boards a call of mailboxes takes: GR_ALGO_MAILBOX or GR_USE_GRID; -1: there are none. */
static inline int gr_mailbox_use(enum gr_coll coll, int p)
{
    if (0 == (GR_MAILBOX_COLLS & GR_BIT(coll))) {
        return -1;
    }
    if (GR_COLL_ALLTOALL == coll && gr_is_grouped(p)) {
        return gr_grid_columns(p) > 0 ? GR_USE_GRID : -1;
    }
    return p <= GR_GROUPED_MOST ? GR_ALGO_MAILBOX : -1;
}

#endif
