/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks for step timing: CLOCK_MONOTONIC, or the processor's time stamp counter (TSC) if it is
 * invariant. Not CLOCK_REALTIME, which can be set.
 *
 * CLOCK_MONOTONIC is the same for all processes of a host, so they can exchange its times. Each
 * process measures the TSC's rate itself, so the TSC is for durations only.
 */
#ifndef GR_TIMING_CLOCK_H
#define GR_TIMING_CLOCK_H

#include <stdint.h>

enum gr_clock_kind { GR_CLOCK_MONOTONIC, GR_CLOCK_TSC };

/* A clock. With the TSC, ns = (tsc - base) * mult / 2^32. */
struct gr_clock {
    enum gr_clock_kind kind;
    uint64_t mult; /* TSC: ns per tick, times 2^32 */
    uint64_t base; /* TSC: its value at time 0 */
};

/*
 * Whether the TSC is a usable clock: it ticks at one rate in all power states (CPUID 80000007h, EDX
 * bit 8), and the kernel uses it, having compared the TSCs of all processors. source: the text of
 * /sys/devices/system/clocksource/clocksource0/current_clocksource.
 */
int gr_clock_tsc_is_good(const char *source);

/*
 * Open a clock of the wanted kind, or CLOCK_MONOTONIC without a usable TSC. Takes a millisecond for
 * the TSC's calibration. Returns 0, or -1: the clock's resolution is coarser than a microsecond.
 */
int gr_clock_open(struct gr_clock *clock, enum gr_clock_kind wanted);

/* Time in ns since an arbitrary moment. */
int64_t gr_clock_now(const struct gr_clock *clock);

#endif
