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

/* All queues have the same numbers of channels and slots; this one is always there. */
static const struct gr_team *team_of(const struct gr_comm *comm)
{
    return comm->queues[GR_ORDER_BLOCKING]->team;
}

static int use_of(int algo, int small)
{
    return small ? GR_USE_SMALL + algo : algo;
}

/* Memory per rank of the links that an algorithm needs for one root. */
static size_t need_of(const struct gr_team *team, int algo, int small, uint32_t nchannels)
{
    int use = use_of(algo, small);

    return gr_team_need(team, use, gr_team_channels(team, use, nchannels)).bytes;
}

/* The bound in bytes. One link per channel is always allowed: no algorithm needs less. */
static size_t bound_of(const struct gr_comm *comm, int small, uint32_t nchannels)
{
    size_t bound = (size_t) comm->params.value[GR_PARAM_SETUP_MIB] << 20,
           least = need_of(team_of(comm), GR_ALGO_RING, small, nchannels);

    return bound > least ? bound : least;
}

/*
 * Roots whose links may be made: the first ones, whose trees take half of the bound. Other links,
 * and boards, take the rest.
 */
static int count_roots(const struct gr_comm *comm, size_t need, size_t bound, int small,
                       uint32_t nchannels)
{
    /* no number of roots needs more than links between all ranks */
    if (need_of(team_of(comm), GR_ALGO_FLAT, small, nchannels) <= bound) {
        return comm->size;
    }
    return 0 == need ? comm->size : (int) (bound / 2 / need < 1 ? 1 : bound / 2 / need);
}

/* Roots for which the links may be made, whatever the calls before. */
static int roots_allowed(const struct gr_comm *comm, int algo, int small, uint32_t nchannels,
                         size_t bytes)
{
    size_t need = need_of(team_of(comm), algo, small, nchannels),
           bound = bound_of(comm, small, nchannels);

    if (need <= GR_JUSTIFIED * bytes) {
        return comm->size;
    }
    if (need > bound) {
        return 0;
    }
    return gr_algo_is_rooted((enum gr_algo) algo) ? count_roots(comm, need, bound, small, nchannels)
                                                  : comm->size;
}

/*
 * Whether a call has asked for these links before. Not where the choice may be made at another
 * point of the order of calls on some rank, nor where it determines the order of a reduction: the
 * same call would have other bits later.
 */
static bool is_free(const struct gr_comm *comm, const struct gr_op *op, int algo, int small,
                    uint32_t nchannels)
{
    bool in_turn = comm->gpu || (comm->measures_network && op->nonblocking);

    if (in_turn || NULL == op->queue || gr_calls[op->id].reduces) {
        return false;
    }
    return GR_LINKS_NONE !=
           gr_team_links(op->queue->team, use_of(algo, small), op->root, nchannels);
}

static bool is_allowed(const struct gr_comm *comm, const struct gr_op *op, int algo, int small,
                       uint32_t nchannels)
{
    return op->root < roots_allowed(comm, algo, small, nchannels, op->data.bytes) ||
           is_free(comm, op, algo, small, nchannels);
}

bool gr_setup_always(const struct gr_comm *comm, const struct gr_choice *choice, size_t bytes)
{
    return choice->algo >= GR_NALGOS ||
           comm->size == roots_allowed(comm, choice->algo, choice->small, choice->nchannels, bytes);
}

bool gr_setup_allowed(const struct gr_comm *comm, const struct gr_op *op,
                      const struct gr_choice *choice)
{
    return choice->algo >= GR_NALGOS ||
           is_allowed(comm, op, choice->algo, choice->small, choice->nchannels);
}

uint32_t gr_setup_denied(const struct gr_comm *comm, const struct gr_op *op,
                         const struct gr_choice *choice)
{
    uint32_t denied = 0;
    int a;

    for (a = 0; a < GR_NALGOS; a++) {
        denied |= is_allowed(comm, op, a, choice->small, choice->nchannels) ? 0 : (uint32_t) 1 << a;
    }
    return denied;
}

size_t gr_setup_need(const struct gr_comm *comm, const struct gr_choice *choice)
{
    return need_of(team_of(comm), choice->algo, choice->small, choice->nchannels);
}
