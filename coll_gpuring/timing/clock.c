/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks (clock.h). */
#include "timing/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SOURCE_FILE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define CALIBRATION_NS 1000000 /* duration of the TSC calibration */
#define MAX_RESOLUTION_NS 1000 /* a clock of coarser resolution is refused */

static int64_t monotonic(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

#if defined(__x86_64__)

static uint64_t read_tsc(void)
{
    return __builtin_ia32_rdtsc();
}

static uint32_t cpuid(uint32_t leaf, int edx)
{
    uint32_t a = leaf, b, c = 0, d;

    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return edx ? d : a;
}

static int tsc_is_invariant(void)
{
    return cpuid(0x80000000u, 0) >= 0x80000007u && 0 != (cpuid(0x80000007u, 1) & 1u << 8);
}

#else

static uint64_t read_tsc(void)
{
    return 0;
}

static int tsc_is_invariant(void)
{
    return 0;
}

#endif

int gr_clock_tsc_is_good(const char *source)
{
    return 0 == strcmp(source, "tsc") && tsc_is_invariant();
}

static int kernel_uses_tsc(void)
{
    char source[32] = "";
    FILE *f = fopen(SOURCE_FILE, "r");

    if (NULL == f) {
        return 0;
    }
    if (NULL == fgets(source, sizeof(source), f)) {
        source[0] = '\0';
    }
    fclose(f);
    source[strcspn(source, "\n")] = '\0';
    return gr_clock_tsc_is_good(source);
}

/* Measure the TSC's rate against CLOCK_MONOTONIC. Returns 0, or -1: the TSC does not tick. */
static int calibrate(struct gr_clock *clock)
{
    int64_t t0 = monotonic(), t = t0;
    uint64_t c0 = read_tsc(), c;

    while (t - t0 < CALIBRATION_NS) {
        t = monotonic();
    }
    c = read_tsc();
    if (c <= c0) {
        return -1;
    }
    clock->base = c0;
    clock->mult = (uint64_t) (((unsigned __int128) (uint64_t) (t - t0) << 32) / (c - c0));
    return 0;
}

int gr_clock_open(struct gr_clock *clock, enum gr_clock_kind wanted)
{
    struct timespec step;

    memset(clock, 0, sizeof(*clock));
    if (0 != clock_getres(CLOCK_MONOTONIC, &step) || 0 != step.tv_sec ||
        step.tv_nsec > MAX_RESOLUTION_NS) {
        return -1;
    }
    if (GR_CLOCK_TSC == wanted && kernel_uses_tsc() && 0 == calibrate(clock)) {
        clock->kind = GR_CLOCK_TSC;
    }
    return 0;
}

int64_t gr_clock_now(const struct gr_clock *clock)
{
    if (GR_CLOCK_TSC == clock->kind) {
        return (int64_t) ((unsigned __int128) (read_tsc() - clock->base) * clock->mult >> 32);
    }
    return monotonic();
}
