/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes what an op waits for: its phase, and the ranks. */
#include "engine/diagnose.h"

#include "engine/call_agreement.h"
#include "engine/executor.h"
#include "engine/network_probe.h"
#include "engine/op.h"
#include "engine/setup_diagnose.h"

#include <stdio.h>

void mca_coll_gpuring_op_explain(void *ctx, char *text, size_t size)
{
    struct gr_op *op = ctx;

    text[0] = '\0';
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
