/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts about the step timer, and sums of its statistics. */
#ifndef GR_TIMING_TIMER_TEXT_H
#define GR_TIMING_TIMER_TEXT_H

#include "timing/timer.h"

#include <stddef.h>

/* Name of a mode, as "timed"; NULL: out of range. */
const char *gr_sync_name(int mode);

/* Describe what the timer waits for, for messages; "": it does not wait. */
void gr_timer_explain(const struct gr_timer *t, char *text, size_t size);

/* Add another timer's statistics. */
void gr_timing_report_add(struct gr_timing_report *sum, const struct gr_timing_report *other);

#endif
