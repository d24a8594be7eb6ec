/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up: makes the links of an algorithm, the first time that a call needs them. setup.c has the
 * state machine, gpu_order.c its first phases on devices, net_links.c the links to other nodes.
 */
#ifndef GR_EXEC_SETUP_H
#define GR_EXEC_SETUP_H

#include <stddef.h>
#include <stdint.h>

struct gr_op;
struct gr_op_queue;
struct gr_setup;

/*
 * Create a set-up; it sends nothing yet. In host memory: of what `way` needs for a call with
 * nchannels channels (link/team.h). On devices: of what op's algorithm needs; op's buffers
 * determine the device of the first set-up, and op must outlive it. number: from gr_setup_number()
 * at the time of the call, so that it is the same on all ranks. NULL: no memory.
 */
struct gr_setup *mca_coll_gpuring_setup_new(struct gr_op_queue *queue, int way, int root,
                                            uint32_t nchannels, uint32_t number);
struct gr_setup *mca_coll_gpuring_setup_new_gpu(struct gr_op_queue *queue, const struct gr_op *op,
                                                uint32_t number);

/*
 * Progress a set-up; the first call begins the exchange. Adds the number of completed phases to
 * *moved. Returns an enum gr_status, or a negative error code. For mca_coll_gpuring_wait().
 */
int mca_coll_gpuring_setup_poll(void *setup, uint64_t *moved);

/* After GR_DONE: the team takes the links, or, on all ranks, none. Frees the set-up. */
void mca_coll_gpuring_setup_end(struct gr_setup *setup);

#endif
