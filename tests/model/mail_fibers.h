/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of a mailbox world as fibers of one thread. A fiber is suspended at fiber_pause() only,
 * and in a repeatable order.
 */
#ifndef GR_TESTS_MAIL_FIBERS_H
#define GR_TESTS_MAIL_FIBERS_H

#include "mail_ranks.h"

/* As mail_run(). */
int fibers_run(struct mail_world *w, const struct ex_case *cases, size_t n);

/* Now and then let others go on. Outside of a run: nothing. */
void fiber_pause(void);

/* Whether that lies on a board of the world that runs. */
int fiber_on_board(const void *at);

#endif
