/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks for step timing: CLOCK_MONOTONIC, or the processor's time stamp counter where it is
 * invariant. Clocks that can be set (CLOCK_REALTIME) or stand still in deep sleep are not for
 * timing.
 *
 * CLOCK_MONOTONIC has one zero for all processes of a host, so deadlines in it can be published.
 * The TSC is scaled here by a factor that each process measures for itself: use it for durations.
 */
#ifndef GR_TIMING_CLOCK_H
#define GR_TIMING_CLOCK_H

#include <stdint.h>

enum gr_clock_kind { GR_CLOCK_MONOTONIC, GR_CLOCK_TSC };

struct gr_clock {
    enum gr_clock_kind kind;
    uint64_t mult, base; /* TSC: ns = (tsc - base) * mult / 2^32 */
};

/*
 * Whether the TSC can be a clock: the processor says that it ticks at one rate in all states of
 * power (CPUID 80000007h, EDX bit 8), and the kernel, which compares those of all processors, keeps
 * time by it (source: the text of
 * /sys/devices/system/clocksource/clocksource0/current_clocksource).
 */
int gr_clock_tsc_is_good(const char *source);

/*
 * A clock of that kind, or CLOCK_MONOTONIC where there is no good TSC. Measures the TSC's rate for
 * a millisecond. 0, or -1 where the clock is no good: it does not tick, or in steps of more than a
 * microsecond.
 */
int gr_clock_open(struct gr_clock *clock, enum gr_clock_kind wanted);

/* ns since some moment. */
int64_t gr_clock_now(const struct gr_clock *clock);

#endif
