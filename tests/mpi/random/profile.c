/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of profiles. */
#include "profile.h"

#include <string.h>

const struct profile profile_usual = {.forms = "bnp",
                                      .messages = 12,
                                      .comms = 10,
                                      .frees = 5,
                                      .starts = 15,
                                      .releases = 2,
                                      .derived = 1,
                                      .in_place = 1,
                                      .nonsense = 1,
                                      .users = 1};

/* What is 0 stays as it was; `which` adds up. */
static const struct profile rows[] = {
    {.name = "blocking", .forms = "b"},
    {.name = "nonblocking", .forms = "bnnn"},
    {.name = "persistent", .forms = "npppp", .starts = 45},
    {.name = "eight", .which = WHICH_EIGHT},
    {.name = "others", .which = WHICH_OTHERS, .comms = 20},
    {.name = "every", .every = true},
    {.name = "big", .big = true},
    {.name = "types", .which = WHICH_MOVES, .derived = 3},
    {.name = "users", .which = WHICH_REDUCTIONS, .users = 2},
    {.name = "nonsense", .in_place = 2, .nonsense = 3},
    {.name = "comms", .comms = 30, .frees = 10},
    {.name = "orders", .forms = "bnnp", .messages = 4, .comms = 30, .frees = 3},
    {.name = "freed", .forms = "nnp", .comms = 25, .frees = 20},
    {.name = "again", .forms = "bbn", .again = 75},
};

static void change(int *weight, int by)
{
    *weight = 0 != by ? by : *weight;
}

static void apply(struct profile *p, const struct profile *row)
{
    p->forms = NULL != row->forms ? row->forms : p->forms;
    p->which |= row->which;
    p->every = p->every || row->every;
    p->big = p->big || row->big;
    change(&p->messages, row->messages);
    change(&p->comms, row->comms);
    change(&p->frees, row->frees);
    change(&p->starts, row->starts);
    change(&p->releases, row->releases);
    change(&p->derived, row->derived);
    change(&p->in_place, row->in_place);
    change(&p->nonsense, row->nonsense);
    change(&p->users, row->users);
    change(&p->again, row->again);
}

bool profile_apply(struct profile *p, const char *names)
{
    bool found = true;

    for (size_t n; found && '\0' != *names; names += n + (',' == names[n])) {
        n = strcspn(names, ",");
        found = false;
        for (size_t k = 0; k < sizeof rows / sizeof rows[0] && !found; k++) {
            found = strlen(rows[k].name) == n && 0 == strncmp(rows[k].name, names, n);
            if (found) {
                apply(p, &rows[k]);
            }
        }
    }
    return found;
}

bool collective_is_of_eight(enum collective what)
{
    switch (what) {
    case C_BCAST:
    case C_REDUCE:
    case C_ALLREDUCE:
    case C_REDUCE_SCATTER:
    case C_REDUCE_SCATTER_BLOCK:
    case C_ALLGATHER:
    case C_ALLGATHERV:
    case C_ALLTOALL:
        return true;
    default:
        return false;
    }
}

bool profile_has(const struct profile *p, enum collective what, bool inter)
{
    const bool reduces = what >= C_REDUCE && what <= C_REDUCE_SCATTER_BLOCK;

    const bool eight = !inter && collective_is_of_eight(what);

    return (0 == (p->which & WHICH_EIGHT) || eight) && (0 == (p->which & WHICH_OTHERS) || !eight) &&
           (0 == (p->which & WHICH_MOVES) || (!reduces && C_BARRIER != what)) &&
           (0 == (p->which & WHICH_REDUCTIONS) || reduces);
}
