/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host executor: the step machine's mover over links in shared memory, with data in host memory.
 */
#ifndef GR_EXEC_HOST_H
#define GR_EXEC_HOST_H

#include "link.h"
#include "machine.h"
#include "reduce.h"

/* One call's data. Buffers belong to the caller, links to the team; both outlive the call. */
struct gr_host_op {
    struct gr_link *in, *out;    /* [channel * p + rank]: the link from, to that rank */
    int p;
    unsigned char *space[3];     /* by enum gr_space: where its element 0 lies */
    struct gr_reducer reducer;   /* elem_bytes is needed always, the functions where steps reduce */
};

/* For struct gr_machine; ctx is a struct gr_host_op. Its functions never fail. */
extern const struct gr_mover gr_host_mover;

/*
 * The ranks that the step waits for at this moment: the from-links without a full slot and the to-links
 * without a free one. Up to 2 * GR_FAN entries, each rank once; returns how many.
 */
int gr_host_waits_for(struct gr_host_op *op, uint32_t channel, const struct gr_step *step, int *ranks);

#endif
