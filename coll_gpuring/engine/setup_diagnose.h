/* SPDX-License-Identifier: BSD-3-Clause */
/* What set-ups say: what they wait for, and why they failed. */
#ifndef GR_ENGINE_SETUP_DIAGNOSE_H
#define GR_ENGINE_SETUP_DIAGNOSE_H

#include <stddef.h>

struct gr_setup;

/* For mca_coll_gpuring_wait(): what the set-up waits for. */
void mca_coll_gpuring_setup_explain(void *setup, char *text, size_t size);

/*
 * Report the agreement: why it failed, or that links are slow; once per
 * kind of reason.
 */
void mca_coll_gpuring_setup_log(const struct gr_setup *s);

#endif
