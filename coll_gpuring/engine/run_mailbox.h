/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: small messages through the boards of a node (exec/mailbox.h). */
#ifndef GR_ENGINE_RUN_MAILBOX_H
#define GR_ENGINE_RUN_MAILBOX_H

#include "engine/executor.h"

#include "exec/mailbox.h"

#include <stddef.h>

extern const struct gr_executor mca_coll_gpuring_run_mailbox;

/* Describe what `call` waits for on the boards of box. what: its name in the text. */
void mca_coll_gpuring_mailbox_explain(const struct gr_boards *boards,
                                      const struct gr_mailbox_call *call, const char *what,
                                      char *text, size_t size);

#endif
