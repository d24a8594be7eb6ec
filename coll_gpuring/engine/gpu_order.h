/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of a set-up on devices: which device each rank uses, and the order in which they form
 * rings.
 */
#ifndef GR_ENGINE_GPU_ORDER_H
#define GR_ENGINE_GPU_ORDER_H

struct gr_setup;

/* At the end of the component. */
void mca_coll_gpuring_order_close(void);

/*
 * The phases of the first set-up on devices: this rank's device to rank 0; the order to all; the
 * team.
 */
int mca_coll_gpuring_setup_devices(struct gr_setup *s);
int mca_coll_gpuring_setup_order(struct gr_setup *s);
int mca_coll_gpuring_setup_team(struct gr_setup *s);

#endif
