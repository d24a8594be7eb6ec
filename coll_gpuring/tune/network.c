/* SPDX-License-Identifier: BSD-3-Clause */
/* What network.h offers. */
#include "tune/network.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct gr_network gr_network_built_in = {.latency = 20, .mbit = 10000};

/* Nominal rates of links in Mbit/s. */
static const float rates[] = {10, 100, 200, 1000, 10000, 25000, 40000, 100000, 200000, 400000};

/*
 * A link is in the class of the lowest nominal rate that is not exceeded by more than a quarter:
 * what a program reaches is some percent below the nominal rate, or, with one stream on a fast
 * link, far below, but never much above.
 */
#define ABOVE_NOMINAL 1.25

/*
 * Latencies are in coarse classes: powers of four times the first one, with boundaries at its
 * doubles: 1.25, 5, 20, 80 ... 20480 us.
 */
#define LEAST_LATENCY 1.25
#define MOST_LATENCY 20480.0

/* No network is outside of these, in microseconds and in Mbit/s. */
#define FASTEST_US 0.05
#define SLOWEST_US 1e6
#define SLOWEST_MBIT 0.1
#define FASTEST_MBIT 1e7

int gr_network_good(const struct gr_network *n)
{
    return n->latency >= FASTEST_US && n->latency <= SLOWEST_US && n->mbit >= SLOWEST_MBIT &&
           n->mbit <= FASTEST_MBIT && n->wire >= 0 && n->wire <= SLOWEST_US;
}

static float class_of_latency(double us)
{
    double class = LEAST_LATENCY;

    while (class < MOST_LATENCY && us > 2 * class) {
        class *= 4;
    }
    return (float) class;
}

static float class_of_rate(double mbit)
{
    size_t last = sizeof(rates) / sizeof(rates[0]) - 1, k = 0;

    while (k < last && mbit > ABOVE_NOMINAL * (double) rates[k]) {
        k++;
    }
    return rates[k];
}

struct gr_network gr_network_class(const struct gr_network *n, struct gr_network_use use)
{
    struct gr_network class = gr_network_built_in;
    float wire;

    if (!gr_network_good(n)) {
        return class;
    }
    class.mbit = (float) use.rails * class_of_rate(n->mbit);
    if (!use.shares_cores) {
        class.latency = class_of_latency(n->latency);
    } else {
        wire = class_of_latency(n->wire);
        class.latency = wire > class.latency ? wire : class.latency;
    }
    return class;
}

/* The times that were measured, and their classes. */
static void times_text(const struct gr_network *n, const struct gr_network *class,
                       bool shares_cores, char *buf, size_t size)
{
    if (!shares_cores) {
        snprintf(buf, size, "latency %.1f us (class %g)", n->latency, class->latency);
    } else if (n->wire > 0) {
        snprintf(buf, size, "latency %.1f us by the round trip of TCP (used: %g)", n->wire,
                 class->latency);
    } else {
        snprintf(buf, size, "no latency, since ranks share cores (used: %g us)", class->latency);
    }
}

const char *gr_network_text(const struct gr_network *n, struct gr_network_use use, char *buf,
                            size_t size)
{
    struct gr_network class = gr_network_class(n, use);
    char times[120];

    if (gr_network_good(n)) {
        times_text(n, &class, use.shares_cores, times, sizeof(times));
        snprintf(buf, size, "measured: %s, %.*f Mbit/s (class %.0f%s)", times, n->mbit < 10 ? 1 : 0,
                 n->mbit, class.mbit, use.rails > 1 ? ", all rails" : "");
    } else {
        snprintf(buf, size, "built in: latency %g us, %.0f Mbit/s", class.latency, class.mbit);
    }
    return buf;
}
