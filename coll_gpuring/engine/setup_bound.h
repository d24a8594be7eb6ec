/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bound of what a set-up of links in host memory may need (link/team.h): coll_gpuring_setup_mib
 * per rank, or more where the bytes of the call justify it. It depends only on what all ranks know
 * alike, and holds before any message is sent.
 *
 *      justified       the links' memory is at most GR_JUSTIFIED times the bytes of the call
 *      within bound    the memory is at most the bound; of an algorithm whose links depend on the
 *                      root: for the first roots, as many as half of the bound has room for
 *      free            some call has asked for these links before; not for a reduction, and not
 *                      where calls may be chosen in another order on each rank
 */
#ifndef GR_ENGINE_SETUP_BOUND_H
#define GR_ENGINE_SETUP_BOUND_H

#include "tune/select.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gr_comm;
struct gr_op;

/* With the default of four slots: a call that fills a slot of each link. */
#define GR_JUSTIFIED 4

/* Whether the links of a choice for `bytes` may be made, whatever the root and the calls before. */
bool mca_coll_gpuring_setup_always(const struct gr_comm *comm, const struct gr_choice *choice,
                                   size_t bytes);

/* Whether the links of a choice may be made for an op, or need not be. */
bool mca_coll_gpuring_setup_allowed(const struct gr_comm *comm, const struct gr_op *op,
                                    const struct gr_choice *choice);

/*
 * The algorithms, as bits, whose links may not be made for an op, with as many channels and
 * messages as small as in that choice.
 */
uint32_t mca_coll_gpuring_setup_denied(const struct gr_comm *comm, const struct gr_op *op,
                                       const struct gr_choice *choice);

/* The memory per rank that a choice's links need, in bytes. */
size_t mca_coll_gpuring_setup_need(const struct gr_comm *comm, const struct gr_choice *choice);

#endif
