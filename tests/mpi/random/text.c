/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes steps as text. */
#include <stdarg.h>
#include <stdio.h>

#include "program.h"
#include "values.h"

const char *const collective_names[NUM_COLLECTIVES] = {"barrier",
                                                       "bcast",
                                                       "reduce",
                                                       "allreduce",
                                                       "scan",
                                                       "exscan",
                                                       "reduce_scatter",
                                                       "reduce_scatter_block",
                                                       "allgather",
                                                       "allgatherv",
                                                       "gather",
                                                       "gatherv",
                                                       "scatter",
                                                       "scatterv",
                                                       "alltoall",
                                                       "alltoallv",
                                                       "alltoallw",
                                                       "neighbor_allgather",
                                                       "neighbor_allgatherv",
                                                       "neighbor_alltoall",
                                                       "neighbor_alltoallv",
                                                       "neighbor_alltoallw"};

static const char *const pattern_names[NUM_PATTERNS] = {
    "each to another rank", "each to another rank, any tag", "all to one, any source",
    "all to one, any source and tag, and a barrier"};
static const char *const origin_names[NUM_ORIGINS] = {
    "dup",         "split",      "create",           "create_group",   "split_type",
    "cart_create", "dist_graph", "intercomm_create", "intercomm_merge"};
static const char *const form_words[NUM_CALL_FORMS] = {"", "nonblocking ", "persistent "};

struct text {
    char *at;
    int room;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->at, (size_t) t->room, format, args);
    va_end(args);
    n = n < t->room ? n : t->room - 1;
    t->at += n;
    t->room -= n;
}

static void add_data(struct text *t, const struct step *s)
{
    add(t, ", about %d x %s", s->count, basics[s->basic].name);
    if (OP_NONE != s->op) {
        add(t, ", %s", operations[s->op].name);
    }
    add(t, ", root %d%s%s%s", s->root, s->in_place ? ", in place" : "",
        s->derived ? ", derived types" : "", s->nonsense ? ", nonsense where ignored" : "");
}

const char *step_text(const struct program *p, int k, char *text, int room)
{
    const struct step *s = &p->steps[k];
    struct text t = {text, room};

    add(&t, "%d: ", k);
    switch (s->kind) {
    case STEP_COLLECTIVE:
        add(&t, "comm %d: %s%s%s", s->comm, form_words[s->form], collective_names[s->what],
            PERSISTENT == s->form ? " is made" : "");
        if (C_BARRIER != s->what) {
            add_data(&t, s);
        }
        break;
    case STEP_MESSAGES:
        add(&t, "comm %d: %smessages, %s", s->comm, form_words[s->form], pattern_names[s->what]);
        add_data(&t, s);
        break;
    case STEP_COMM:
        add(&t, "comm %d = %s of comm %d", k + 1, origin_names[s->what], s->comm);
        break;
    case STEP_IDUP:
        add(&t, "comm %d = idup of comm %d", k + 1, s->comm);
        break;
    case STEP_IDUP_WAIT:
        add(&t, "wait for the idup of %d", s->target);
        break;
    case STEP_FREE:
        add(&t, "free comm %d", s->comm);
        break;
    case STEP_RELEASE:
        add(&t, "free the request of %d", s->target);
        break;
    case STEP_START:
        add(&t, "start");
        for (int j = 0; j < k; j++) {
            if (0 != (s->starts >> j & 1)) {
                add(&t, " %d", j);
            }
        }
        break;
    default:
        break;
    }
    return text;
}
