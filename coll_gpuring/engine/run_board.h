/* SPDX-License-Identifier: BSD-3-Clause */
/* Executor: small messages through the boards of a node (exec/mail.h). */
#ifndef GR_ENGINE_RUN_BOARD_H
#define GR_ENGINE_RUN_BOARD_H

#include "engine/executor.h"

#include "exec/mail.h"

#include <stddef.h>

extern const struct gr_executor mca_coll_gpuring_run_board;

/* Describe what `mail` waits for on the boards of box. what: its name in the text. */
void mca_coll_gpuring_mail_explain(const struct gr_mailbox *box, const struct gr_mail *mail,
                                   const char *what, char *text, size_t size);

#endif
