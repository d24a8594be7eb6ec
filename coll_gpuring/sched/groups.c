/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups and grids of the ranks of a node. */
#include "sched/groups.h"

/* Ranks of a group. Of up to 16 ranks, groups of 4 leave fewer boards to be read. */
static int group_size(int p)
{
    return p > GR_GROUP_MOST && p <= 2 * GR_GROUP_RANKS ? GR_GROUP_RANKS / 2 : GR_GROUP_RANKS;
}

/* Groups that n ranks form, or that n leaders do. */
static int groups_of(int n, int size)
{
    return n <= size + 1 ? 1 : n / size + (n % size > 1);
}

int gr_group_levels(int p)
{
    int size = group_size(p), levels = 1, n;

    for (n = groups_of(p, size); n > 1; n = groups_of(n, size)) {
        levels++;
    }
    return levels;
}

struct gr_group gr_group_at(int p, int rank, int level)
{
    int size = group_size(p), members = p, step = 1, l, groups, unit, number;

    for (l = 0; l < level && members > 1; l++) {
        members = groups_of(members, size);
        step *= size;
    }
    unit = rank / step;
    if ((level > 0 && 1 == members) || 0 != rank % step || unit >= members) {
        return (struct gr_group) {.n = 0};
    }
    groups = groups_of(members, size);
    number = unit / size < groups ? unit / size : groups - 1;
    return (struct gr_group) {
        .first = number * size * step,
        .step = step,
        .n = number + 1 < groups ? size : members - number * size,
        .me = unit - number * size,
        .end = number + 1 < groups ? (number + 1) * size * step : p,
    };
}

int gr_grid_columns(int p)
{
    int rows, columns = 0;

    for (rows = 1; rows <= GR_GRID_SIDE && rows * rows <= p; rows++) {
        columns = 0 == p % rows && p / rows <= GR_GRID_SIDE ? p / rows : columns;
    }
    return columns;
}

struct gr_group gr_grid_row(int p, int rank)
{
    int columns = gr_grid_columns(p);

    if (0 == columns) {
        return (struct gr_group) {.n = 0};
    }
    return (struct gr_group) {.first = rank - rank % columns,
                              .step = 1,
                              .n = columns,
                              .me = rank % columns,
                              .end = rank - rank % columns + columns};
}

struct gr_group gr_grid_column(int p, int rank)
{
    int columns = gr_grid_columns(p);

    if (0 == columns || columns == p) {
        return (struct gr_group) {.n = 0};
    }
    return (struct gr_group) {
        .first = rank % columns, .step = columns, .n = p / columns, .me = rank / columns, .end = p};
}
