/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes what an op waits for: its phase, and the ranks. */
#include "engine/diagnose.h"

#include "engine/call_agreement.h"
#include "engine/collectives.h"
#include "engine/executor.h"
#include "engine/network_probe.h"
#include "engine/op.h"
#include "engine/setup_diagnose.h"

#include <stdio.h>

/* What all ranks must have equal in the call: where calls do not match, ranks wait for each other. */
static size_t describe_call(const struct gr_op *op, char *text, size_t size)
{
    size_t used = 0;

    if (gr_call_has_buffers(op->id)) {
        used = (size_t) snprintf(text, size, "%zu bytes, ", op->data.bytes);
    }
    if (gr_calls[op->id].has_root && used < size) {
        used += (size_t) snprintf(text + used, size - used, "root %d, ", op->root);
    }
    return used < size ? used : size - 1;
}

void mca_coll_gpuring_op_explain(void *ctx, char *text, size_t size)
{
    struct gr_op *op = ctx;
    size_t used;

    text[0] = '\0';
    used = describe_call(op, text, size);
    text += used;
    size -= used;
    switch (op->phase) {
    case GR_OP_NETWORK:
        mca_coll_gpuring_network_explain(op->probe, text, size);
        break;
    case GR_OP_RECORD_LINKS:
    case GR_OP_SETUP:
        mca_coll_gpuring_setup_explain(op->setup, text, size);
        break;
    case GR_OP_AGREEMENT:
        mca_coll_gpuring_agreement_explain(op, text, size);
        break;
    case GR_OP_RUNNING:
    case GR_OP_LEAVING:
        op->exec->explain(op, text, size);
        break;
    default:
        snprintf(text, size, "not begun");
    }
}
