/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call moves, in the terms of schedules and executors. */
#ifndef GR_ENGINE_OP_DATA_H
#define GR_ENGINE_OP_DATA_H

#include "exec/plan.h"
#include "exec/reduce.h"

#include <stddef.h>

struct gr_data {
    struct gr_plan_spec spec;  /* algorithm, channels and chunks follow from the choice */
    size_t bytes;              /* as bandwidth is counted */
    size_t post_bytes;         /* most that a rank posts to a mailbox */
    unsigned char *in;         /* GR_IN: the input, perhaps packed in scratch */
    unsigned char *out;        /* GR_OUT: the output, perhaps in scratch */
    unsigned char *tmp;        /* GR_TMP of the schedule, or NULL */
    struct gr_reducer reducer; /* type and operation */
};

#endif
