/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of a set-up on devices: which device each rank uses, and the order in which they form
 * rings.
 */
#ifndef GR_ENGINE_GPU_ORDER_H
#define GR_ENGINE_GPU_ORDER_H

struct gr_setup;

/* At the end of the component: forget the order that was found last. */
void mca_coll_gpuring_order_close(void);

/* ---- the phases of the first set-up on devices; each returns 0, or GR_ERR_... ---- */

/* Pick this rank's device, and post the messages that tell rank 0 of it. */
int mca_coll_gpuring_setup_devices(struct gr_setup *s);

/* Rank 0 has all devices: it decides the order. Post the messages that tell it to all ranks. */
int mca_coll_gpuring_setup_order(struct gr_setup *s);

/* The order is known: create the team of the queue, without links. */
int mca_coll_gpuring_setup_team(struct gr_setup *s);

#endif
