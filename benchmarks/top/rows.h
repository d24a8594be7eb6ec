/* SPDX-License-Identifier: BSD-3-Clause */
/* What gpuring_top does with the rows of all processes (link/public.h). */
#ifndef GR_BENCHMARKS_TOP_ROWS_H
#define GR_BENCHMARKS_TOP_ROWS_H

#include "link/public.h"

/*
 * For who looks again and again: since when the rows' ranks have begun no call. before: the rows of
 * the look before this one, or none.
 */
static inline void rows_compare(struct gr_public_rows *rows, const struct gr_public_rows *before,
                                double now)
{
    struct gr_public_row *row;
    size_t k;

    for (row = rows->row; row < rows->row + rows->n; row++) {
        for (k = 0; k < before->n && (before->row[k].pid != row->pid ||
                                      0 != gr_public_compare(&before->row[k], row));
             k++) {
        }
        row->still = k < before->n && before->row[k].seq == row->seq ? before->row[k].still : now;
    }
}

/* Whether some rank of the group waits. */
static inline bool some_waits(const struct gr_public_rows *group, double now)
{
    size_t k;

    for (k = 0; k < group->n && !gr_public_waits(&group->row[k], now); k++) {
    }
    return k < group->n;
}

/*
 * Print a table for each communicator and kind of calls in which some rank waits; where none does,
 * or all is set, for all that are not persistent.
 */
static inline void rows_print(const struct gr_public_rows *rows, double now, bool all,
                              void (*line)(const char *text))
{
    struct gr_public_rows group;
    size_t begin;

    all = all || !some_waits(rows, now);
    for (begin = 0; begin < rows->n; begin += group.n) {
        group = gr_public_group_at(rows, begin);
        if (some_waits(&group, now) || (all && GR_PUBLIC_PERSISTENT != group.row[0].kind)) {
            gr_public_print_group(rows, &group, now, line);
        }
    }
}

#endif
