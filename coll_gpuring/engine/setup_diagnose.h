/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about set-ups: what they wait for, and why they failed. */
#ifndef GR_ENGINE_SETUP_DIAGNOSE_H
#define GR_ENGINE_SETUP_DIAGNOSE_H

#include <stddef.h>

struct gr_setup;

/* Write to text[size] what a set-up waits for. For mca_coll_gpuring_wait(). */
void mca_coll_gpuring_setup_explain(void *setup, char *text, size_t size);

/* Log what a set-up of links in host memory is going to need, before it sends anything: rank 0. */
void mca_coll_gpuring_setup_announce(const struct gr_setup *s);

/*
 * Log the result of a set-up: why it failed, or that links are slow. Once per process and reason,
 * on one rank.
 */
void mca_coll_gpuring_setup_log(const struct gr_setup *s);

#endif
