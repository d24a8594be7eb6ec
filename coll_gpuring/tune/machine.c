/* SPDX-License-Identifier: BSD-3-Clause */
/* What machine.h offers. */
#include "tune/machine.h"

#include "tune/terms.h"

#include <math.h>
#include <stdio.h>

const size_t gr_machine_bytes[GR_MACHINE_SIZES] = {16 << 10, 128 << 10, 512 << 10, 2 << 20};

/*
 * The exchange of a line on the machine on which the constants of steps and boards were set (a
 * Xeon): those are as many times longer as an exchange is.
 */
#define EXCHANGE_OF_BASE 0.2

/* No computer is faster or slower than that, in microseconds and in bytes per microsecond. */
#define LEAST_US 0.005
#define MOST_US 100.0
#define LEAST_RATE 10.0
#define MOST_RATE 1e6

static int is_rate(double us, size_t bytes)
{
    return us * MOST_RATE >= (double) bytes && us * LEAST_RATE <= (double) bytes;
}

static int is_time(double us)
{
    return us >= LEAST_US && us <= MOST_US;
}

int gr_machine_good(const struct gr_machine *m)
{
    int good = is_time(m->exchange) && is_rate(m->reduce, gr_machine_bytes[0]), k;

    good = good && (0 == m->call || is_time(m->call));
    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        good = good && is_rate(m->one_way[k], gr_machine_bytes[k]) &&
               is_rate(m->two_way[k], gr_machine_bytes[k]);
        good = good && (0 == m->call || (is_rate(m->fetch[k], gr_machine_bytes[k]) &&
                                         is_rate(m->fetch_new[k], gr_machine_bytes[k])));
    }
    return good;
}

/* Time per byte at that many bytes, of times that were measured at the sizes. */
static double per_byte(const float us[GR_MACHINE_SIZES], double fixed, double bytes)
{
    double rate[GR_MACHINE_SIZES], share;
    int k;

    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        rate[k] = fmax(us[k] - fixed, us[k] / 8) / (double) gr_machine_bytes[k];
    }
    for (k = 0; k < GR_MACHINE_SIZES - 1 && bytes > (double) gr_machine_bytes[k + 1];) {
        k++;
    }
    if (GR_MACHINE_SIZES - 1 == k || bytes <= (double) gr_machine_bytes[0]) {
        return rate[k];
    }
    share = log2(bytes / (double) gr_machine_bytes[k]) /
            log2((double) gr_machine_bytes[k + 1] / (double) gr_machine_bytes[k]);
    return rate[k] + share * (rate[k + 1] - rate[k]);
}

/*
 * Of the messages that pass one rank after the other, the share that lies in a user's buffer, which
 * is not written in between: the first one. Others were written by the rank before.
 */
static double share_of_first(const struct gr_select_args *q)
{
    double hops = q->p > 1 ? q->p - 1 : 1;

    return 1 / (GR_COLL_ALLREDUCE == q->coll ? 2 * hops : hops);
}

/* Whether no rank both sends and receives. */
static int is_one_way(const struct gr_select_args *q)
{
    return q->p <= 2 && (GR_COLL_BCAST == q->coll || GR_COLL_REDUCE == q->coll);
}

static double per_byte_of_reduce(const struct gr_machine *m)
{
    return m->reduce / (double) gr_machine_bytes[0];
}

/*
 * Bytes of the measured copies, each with a source and a destination, that use as much of a cache
 * as the call does: what reduces has its own input besides.
 */
static double footprint(const struct gr_select_args *q)
{
    return (double) q->bytes * (GR_COLL_REDUCE == q->coll ? 1.5 : 1);
}

struct gr_costs gr_machine_costs(const struct gr_machine *m, const struct gr_costs *base,
                                 const struct gr_select_args *q)
{
    struct gr_costs costs = *base;
    struct gr_copy_costs *slots = &costs.by[GR_BY_SLOTS], *fetching = &costs.by[GR_BY_FETCHING];
    double slower = m->exchange / EXCHANGE_OF_BASE, bytes = footprint(q), first;

    if (!gr_machine_good(m)) {
        return costs;
    }
    slots->step *= slower;
    costs.mailbox *= slower;
    slots->byte = per_byte(is_one_way(q) ? m->one_way : m->two_way, slots->step, bytes);
    costs.combine = 0; /* to combine with what is in a slot takes the place of copying it */
    /* both ranks wrote that size and read it, as gr_cost_mailbox() counts it */
    costs.mailbox_byte = per_byte(m->two_way, 2 * costs.mailbox, 0) / (2 * GR_MAILBOX_BOTH_WAYS);
    if (m->call > 0) {
        first = share_of_first(q);
        fetching->step = m->call + 2 * slots->step;
        fetching->byte = first * per_byte(m->fetch, m->call, bytes) +
                         (1 - first) * per_byte(m->fetch_new, m->call, bytes) +
                         (gr_terms_combines(q->coll) ? per_byte_of_reduce(m) : 0);
    }
    return costs;
}

/* Appends rates of a method to text of that length; returns the new length. */
static size_t add_rates(char *buf, size_t size, size_t used, const char *method,
                        const float us[GR_MACHINE_SIZES])
{
    int k;

    used += (size_t) snprintf(buf + used, size - used, "; %s", method);
    for (k = 0; k < GR_MACHINE_SIZES && used < size; k++) {
        used += (size_t) snprintf(buf + used, size - used, "%s%.1f", 0 == k ? " " : "/",
                                  (double) gr_machine_bytes[k] / us[k] * 1e-3);
    }
    return used < size ? used : size - 1;
}

const char *gr_machine_text(const struct gr_machine *m, char *buf, size_t size)
{
    size_t used;

    if (!gr_machine_good(m)) {
        snprintf(buf, size, "built in");
        return buf;
    }
    used = (size_t) snprintf(buf, size, "measured: exchange %.3f us", m->exchange);
    used = used < size ? used : size - 1;
    used = add_rates(buf, size, used, "16K/128K/512K/2M in GB/s: slots", m->one_way);
    used = add_rates(buf, size, used, "both ways", m->two_way);
    if (m->call > 0) {
        used = add_rates(buf, size, used, "single copy", m->fetch);
        used = add_rates(buf, size, used, "of new data", m->fetch_new);
        snprintf(buf + used, size - used, ", %.2f us a call", m->call);
    } else {
        snprintf(buf + used, size - used, "; no single copy");
    }
    return buf;
}
