/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the algorithm of a call: the questions to the cost model (tune/select.h). */
#ifndef GR_ENGINE_CHOOSE_H
#define GR_ENGINE_CHOOSE_H

#include "mpi/ompi.h"

#include "mpi/module.h"

#include "sched/protocol.h"
#include "tune/select.h"

BEGIN_C_DECLS

struct gr_op;

/* What was chosen last: calls of one size follow each other. */
struct gr_chosen {
    size_t bytes, post_bytes; /* on which it depends; 0: none yet; */
    enum gr_path path;        /* and, on devices, on this; */
    bool fetches;             /* in host memory, on this */
    struct gr_choice choice;
};

/*
 * Where ranks look for buffers on devices: whether the call begins with lines. Between nodes these
 * take a round trip, which short calls would feel: without them the host does it, and each rank
 * stages what it has on devices.
 */
bool mca_coll_gpuring_op_agrees(mca_coll_gpuring_module_t *module, struct gr_op *op);

/*
 * Why a call whose buffers are all in host memory, as far as is known, is left to others: an enum
 * gr_fallback_reason, or -1. By what all ranks know alike, so not by whether this rank packs.
 */
#define GR_PACK_LEAST ((size_t) 1 << 20) /* a call of no more bytes is never too large */
int mca_coll_gpuring_op_unwanted(const mca_coll_gpuring_module_t *module, const struct gr_op *op);

/*
 * Choose the way; that of lines between nodes; and, once the links of a way between devices are
 * there and it is known what they are like, what else there is to choose.
 */
void mca_coll_gpuring_op_choose(mca_coll_gpuring_module_t *module, struct gr_op *op);
struct gr_choice mca_coll_gpuring_choose_agreement(const mca_coll_gpuring_module_t *module);
void mca_coll_gpuring_op_reselect(mca_coll_gpuring_module_t *module, struct gr_op *op);

END_C_DECLS

#endif
