/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions that the saved collective does segment by segment, while others are copied. */
#ifndef GR_STAGING_SEGMENTS_H
#define GR_STAGING_SEGMENTS_H

#include "mpi/ompi.h"

#include "mpi/module.h"

BEGIN_C_DECLS

struct gr_call;
struct gr_form;
struct gr_stage;

/* Whether the call is one that is cut where some buffer is on a device: the same on all ranks. */
bool mca_coll_gpuring_segments_fit(const struct gr_call *call, const struct gr_form *form);

/*
 * Call the saved function with one segment after the other. stage NULL: no buffer of this rank is
 * on a device.
 */
int mca_coll_gpuring_segments_do(mca_coll_gpuring_module_t *module, struct gr_stage *stage,
                                 const struct gr_call *call, const struct gr_form *form);

END_C_DECLS

#endif
