/* SPDX-License-Identifier: BSD-3-Clause */
/* What machine.h offers. */
#include "tune/machine.h"

#include "tune/select.h"
#include "tune/terms.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const size_t gr_machine_bytes[GR_MACHINE_SIZES] = {16 << 10, 128 << 10, 512 << 10, 2 << 20};

/*
 * The exchange of a line on the machine on which the constants of steps and boards were set (a
 * Xeon): those are as many times longer as an exchange is.
 */
#define EXCHANGE_OF_BASE 0.2

/*
 * No computer is faster or slower than that, in microseconds and in bytes per microsecond. Kernels
 * that take turns on a device are slower than processes, and the memory of a device is faster.
 */
#define LEAST_US 0.005
#define MOST_US(is_device) ((is_device) ? 1e4 : 100.0)
#define LEAST_RATE 10.0
#define MOST_RATE(is_device) ((is_device) ? 2e7 : 1e6)

#define ONE(member) offsetof(struct gr_machine, member), 1
#define US 0
#define RATE 1
#define BY_SIZE(member) offsetof(struct gr_machine, member), GR_MACHINE_SIZES

const struct gr_machine_row gr_machine_rows[GR_MACHINE_ROWS] = {
    {"exchange", ONE(exchange), US, 0},
    {"reduce", ONE(reduce), RATE, 0},
    {"slots", BY_SIZE(one_way), RATE, 0},
    {"slots_both_ways", BY_SIZE(two_way), RATE, 0},
    {"single_copy_call", ONE(call), US, 0},
    {"single_copy", BY_SIZE(fetch), RATE, 0},
    {"single_copy_new", BY_SIZE(fetch_new), RATE, 0},
    {"device_own", ONE(device_own), US, 1},
    {"device_step", ONE(device_step[GR_PROTOCOL_SIMPLE]), US, 1},
    {"device_rate", ONE(device_bytes[GR_PROTOCOL_SIMPLE]), RATE, 1},
    {"device_ll_step", ONE(device_step[GR_PROTOCOL_LL]), US, 1},
    {"device_ll_rate", ONE(device_bytes[GR_PROTOCOL_LL]), RATE, 1},
    {"device_ll128_step", ONE(device_step[GR_PROTOCOL_LL128]), US, 1},
    {"device_ll128_rate", ONE(device_bytes[GR_PROTOCOL_LL128]), RATE, 1},
};

const char *gr_machine_unit(int row)
{
    return gr_machine_rows[row].is_rate ? "GB/s" : "us";
}

float *gr_machine_values(struct gr_machine *m, int row)
{
    return (float *) (void *) ((char *) m + gr_machine_rows[row].offset);
}

static const float *values_of(const struct gr_machine *m, int row)
{
    return (const float *) (const void *) ((const char *) m + gr_machine_rows[row].offset);
}

int gr_machine_knows(const struct gr_machine *m, int row)
{
    return 0 != values_of(m, row)[0];
}

static int is_possible(int row, const float *us)
{
    int device = gr_machine_rows[row].is_device, k, good = 1;

    for (k = 0; k < gr_machine_rows[row].values; k++) {
        double bytes = (double) gr_machine_bytes[k];

        good = good && (gr_machine_rows[row].is_rate
                            ? us[k] * MOST_RATE(device) >= bytes && us[k] * LEAST_RATE <= bytes
                            : us[k] >= LEAST_US && us[k] <= MOST_US(device));
    }
    return good;
}

int gr_machine_good(const struct gr_machine *m)
{
    int row, good = 1;

    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        good = good && (!gr_machine_knows(m, row) || is_possible(row, values_of(m, row)));
    }
    return good;
}

/* Read a row's values, as times. Returns 0 or -1. */
static int read_values(float us[GR_MACHINE_SIZES], int row, const char *text)
{
    const struct gr_machine_row *r = &gr_machine_rows[row];
    char *end;
    double value;
    int k;

    for (k = 0; k < r->values; k++, text = end) {
        text += strspn(text, k > 0 ? ", \t" : " \t");
        value = strtod(text, &end);
        if (end == text || !(value > 0)) {
            return -1;
        }
        us[k] = (float) (r->is_rate ? (double) gr_machine_bytes[k] / value * 1e-3 : value);
    }
    return '\0' == text[strspn(text, " \t\r\n")] && is_possible(row, us) ? 0 : -1;
}

int gr_machine_parse(struct gr_machine *m, int row, const char *text)
{
    struct gr_c_locale locale = gr_c_locale_enter();
    float us[GR_MACHINE_SIZES];
    int rc = read_values(us, row, text);

    gr_c_locale_leave(locale);
    if (0 == rc) {
        memcpy(gr_machine_values(m, row), us, (size_t) gr_machine_rows[row].values * sizeof(us[0]));
    }
    return rc;
}

const char *gr_machine_print(const struct gr_machine *m, int row, char *buf, size_t size)
{
    const struct gr_machine_row *r = &gr_machine_rows[row];
    struct gr_c_locale locale = gr_c_locale_enter();
    const float *us = values_of(m, row);
    int k;

    buf[0] = '\0';
    for (k = 0; k < r->values; k++) {
        double value = r->is_rate ? (double) gr_machine_bytes[k] / us[k] * 1e-3 : us[k];

        gr_text_add(buf, size, "%s%.4g", k > 0 ? " " : "", value);
    }
    gr_c_locale_leave(locale);
    return buf;
}

/*
 * Time per byte at that many bytes, of times that were measured at the sizes; `unknown` where they
 * are not known.
 */
static double per_byte(const float us[GR_MACHINE_SIZES], double fixed, double bytes, double unknown)
{
    double rate[GR_MACHINE_SIZES];
    int k;

    if (0 == us[0]) {
        return unknown;
    }
    for (k = 0; k < GR_MACHINE_SIZES; k++) {
        rate[k] = fmax(us[k] - fixed, us[k] / 8) / (double) gr_machine_bytes[k];
    }
    return gr_interpolate(gr_machine_bytes, rate, GR_MACHINE_SIZES, bytes);
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
    return q->p <= 2 && gr_coll_is_rooted(q->coll);
}

/*
 * Bytes of the measured copies, each with a source and a destination, that use as much of a cache
 * as the call does: what reduces has its own input besides.
 */
static double footprint(const struct gr_select_args *q)
{
    return (double) q->bytes * (GR_COLL_REDUCE == q->coll ? 1.5 : 1);
}

/* Of a byte that is fetched, where the times of single copy, or one of them, are known. */
static double per_byte_fetched(const struct gr_machine *m, double unknown,
                               const struct gr_select_args *q)
{
    double bytes = footprint(q), first = share_of_first(q);

    return first * per_byte(m->fetch, m->call, bytes, unknown) +
           (1 - first) * per_byte(m->fetch_new, m->call, bytes, unknown);
}

struct gr_costs gr_machine_costs(const struct gr_machine *m, const struct gr_costs *base,
                                 const struct gr_select_args *q)
{
    const float *us = is_one_way(q) ? m->one_way : m->two_way;
    struct gr_costs costs = *base;
    struct gr_copy_costs *slots = &costs.by[GR_BY_SLOTS], *fetching = &costs.by[GR_BY_FETCHING];
    double combine = base->combine;

    if (m->exchange > 0) {
        slots->step *= m->exchange / EXCHANGE_OF_BASE;
        costs.mailbox *= m->exchange / EXCHANGE_OF_BASE;
    }
    if (0 != us[0]) {
        slots->byte = per_byte(us, slots->step, footprint(q), 0);
        costs.combine = 0; /* to combine with what is in a slot takes the place of copying it */
    }
    if (0 != m->two_way[0]) {
        /* both ranks wrote that size and read it, as gr_cost_mailbox() counts it */
        costs.mailbox_byte =
            per_byte(m->two_way, 2 * costs.mailbox, 0, 0) / (2 * GR_MAILBOX_BOTH_WAYS);
    }
    if (m->call > 0) {
        fetching->step = m->call + 2 * slots->step;
    }
    if (0 != m->fetch[0] || 0 != m->fetch_new[0]) {
        fetching->byte = per_byte_fetched(m, fetching->byte, q);
        combine = m->reduce > 0 ? m->reduce / (double) gr_machine_bytes[0] : combine;
        /* what is fetched is combined afterwards; the model adds costs.combine itself */
        fetching->byte += gr_terms_combines(q->coll) ? combine - costs.combine : 0;
    }
    return costs;
}

struct gr_costs gr_machine_device_costs(const struct gr_machine *m, const struct gr_costs *base)
{
    struct gr_costs costs = *base;
    int protocol;

    for (protocol = 0; protocol < GR_NPROTOCOLS; protocol++) {
        struct gr_copy_costs *by = &costs.by[gr_copy_through_links(protocol)];

        if (by->step > 0 && m->device_step[protocol] > 0) {
            by->step = m->device_step[protocol];
        }
        if (by->step > 0 && m->device_bytes[protocol] > 0) {
            by->byte = m->device_bytes[protocol] / (double) gr_machine_bytes[0];
        }
    }
    if (m->device_own > 0) {
        costs.own = m->device_own;
    }
    return costs;
}
