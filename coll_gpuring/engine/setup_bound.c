/* SPDX-License-Identifier: BSD-3-Clause */
/* The bound of what set-ups may need (choose.h). */
#include "comm/collectives.h"
#include "comm/comm.h"
#include "comm/params.h"
#include "engine/choose.h"
#include "exec/op.h"

#include "link/team.h"
#include "sched/sched.h"

_Static_assert(GR_NALGOS <= 32, "a set of algorithms has 32 bits");

/* The same links of another algorithm. */
static struct gr_choice of_algo(const struct gr_choice *choice, int algo)
{
    struct gr_choice other = *choice;

    other.algo = algo;
    return other;
}

/* Of the links for one root. */
size_t gr_setup_need(const struct gr_comm *comm, const struct gr_choice *choice)
{
    /* all queues have the same numbers of channels and slots; this one is always there */
    const struct gr_team *team = comm->queues[GR_ORDER_BLOCKING]->team;
    int use = gr_choice_use(choice);

    return gr_team_need(team, use, gr_team_channels(team, use, choice->nchannels)).bytes;
}

/* The bound in bytes. One link per channel is always allowed: no algorithm needs less. */
static size_t bound_of(const struct gr_comm *comm, const struct gr_choice *choice)
{
    struct gr_choice ring = of_algo(choice, GR_ALGO_RING);
    size_t bound = (size_t) comm->params.value[GR_PARAM_SETUP_MIB] << 20,
           least = gr_setup_need(comm, &ring);

    return bound > least ? bound : least;
}

/* Roots for which the links may be made, whatever the calls before. */
static int roots_allowed(const struct gr_comm *comm, const struct gr_choice *choice, size_t bytes)
{
    struct gr_choice flat = of_algo(choice, GR_ALGO_FLAT);
    size_t need = gr_setup_need(comm, choice), bound = bound_of(comm, choice);

    if (need <= GR_JUSTIFIED * bytes) {
        return comm->size;
    }
    if (need > bound) {
        return 0;
    }
    /* no number of roots needs more than links between all ranks */
    if (!gr_algo_is_rooted((enum gr_algo) choice->algo) || 0 == need ||
        gr_setup_need(comm, &flat) <= bound) {
        return comm->size;
    }
    /* the first ones, whose trees take half of the bound: other links, and boards, take the rest */
    return bound / 2 / need < 1 ? 1 : (int) (bound / 2 / need);
}

/*
 * Whether a call has asked for these links before. Not where the choice may be made at another
 * point of the order of calls on some rank, nor where it determines the order of a reduction: the
 * same call would have other bits later.
 */
static bool is_free(const struct gr_comm *comm, const struct gr_op *op,
                    const struct gr_choice *choice)
{
    bool in_turn = comm->gpu || (comm->measures_network && op->nonblocking);

    if (in_turn || NULL == op->queue || gr_calls[op->id].reduces) {
        return false;
    }
    return GR_LINKS_NONE !=
           gr_team_links(op->queue->team, gr_choice_use(choice), op->root, choice->nchannels);
}

bool gr_setup_always(const struct gr_comm *comm, const struct gr_choice *choice, size_t bytes)
{
    return choice->algo >= GR_NALGOS || comm->size == roots_allowed(comm, choice, bytes);
}

bool gr_setup_allowed(const struct gr_comm *comm, const struct gr_op *op,
                      const struct gr_choice *choice)
{
    return choice->algo >= GR_NALGOS || op->root < roots_allowed(comm, choice, op->data.bytes) ||
           is_free(comm, op, choice);
}

uint32_t gr_setup_denied(const struct gr_comm *comm, const struct gr_op *op,
                         const struct gr_choice *choice)
{
    uint32_t denied = 0;
    int a;

    for (a = 0; a < GR_NALGOS; a++) {
        struct gr_choice other = of_algo(choice, a);

        denied |= gr_setup_allowed(comm, op, &other) ? 0 : (uint32_t) 1 << a;
    }
    return denied;
}
