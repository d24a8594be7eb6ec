/* SPDX-License-Identifier: BSD-3-Clause */
/* The optional progress thread. */
#ifndef GR_ENGINE_PROGRESS_THREAD_H
#define GR_ENGINE_PROGRESS_THREAD_H

#include <stdbool.h>

struct gr_process;

/*
 * Start it at the first nonblocking call (device: that may be on devices), where the parameter
 * wants it.
 */
void mca_coll_gpuring_thread_need(struct gr_process *process, bool device);

/* At the end of the component: stop the thread, if it runs, and wait for its end. */
void mca_coll_gpuring_thread_close(struct gr_process *process);

#endif
