/* SPDX-License-Identifier: BSD-3-Clause */
/* Constants by relation and source (constants.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "tune/constants.h"

#include "base/errors.h"
#include "base/system.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct gr_constants) ==
                   GR_RELATIONS * (sizeof(struct gr_machine) + GR_MACHINE_ROWS) + GR_DEVICE_MODEL +
                       sizeof(((struct gr_constants *) 0)->pad) + sizeof(int32_t),
               "no padding");

const char *gr_relation_name(int relation)
{
    static const char *const paths[GR_NPATHS] = {
        [GR_PATH_SAME] = "one_device",    [GR_PATH_NVLINK] = "nvlink", [GR_PATH_PCIE] = "pcie",
        [GR_PATH_PINNED] = "host_memory", [GR_PATH_NET] = "network",
    };

    return relation < GR_CPU_DISTANCES ? gr_cpu_distance_name(relation)
                                       : paths[relation - GR_CPU_DISTANCES];
}

int gr_relation_has(int relation, int row)
{
    return (relation >= GR_CPU_DISTANCES) == gr_machine_rows[row].is_device;
}

/* Copy a row's values. */
static void copy_row(struct gr_machine *to, const struct gr_machine *from, int row)
{
    const struct gr_machine_row *r = &gr_machine_rows[row];

    memcpy((char *) to + r->offset, (const char *) from + r->offset,
           (size_t) r->values * sizeof(float));
}

int gr_constants_good(const struct gr_constants *c)
{
    int at, row, good = NULL != memchr(c->device, '\0', sizeof(c->device));

    for (at = 0; at < GR_RELATIONS; at++) {
        good = good && gr_machine_good(&c->at[at]);
        for (row = 0; row < GR_MACHINE_ROWS; row++) {
            good = good && c->from[at][row] < GR_CONSTANT_SOURCES &&
                   (GR_FROM_BUILD != c->from[at][row]) == gr_machine_knows(&c->at[at], row);
        }
    }
    return good;
}

void gr_constants_take(struct gr_constants *c, int relation, const struct gr_machine *m,
                       enum gr_constant_source source)
{
    int row;

    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        if (gr_relation_has(relation, row) && gr_machine_knows(m, row) &&
            c->from[relation][row] <= source) {
            copy_row(&c->at[relation], m, row);
            c->from[relation][row] = (uint8_t) source;
        }
    }
}

int gr_constants_complete(const struct gr_constants *c, int distance)
{
    int row, complete = 1;

    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        complete = complete && (!gr_relation_has(distance, row) ||
                                c->from[distance][row] > GR_FROM_MEASUREMENT);
    }
    return complete;
}

/* Whether a row comes from that source. */
static int has_source(const uint8_t *from, int source)
{
    int row, has = 0;

    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        has = has || from[row] == source;
    }
    return has;
}

/* Whether a file or a measurement says something of a distance. */
static int is_known(const struct gr_constants *c, int distance, enum gr_constant_source least)
{
    return has_source(c->from[distance], GR_FROM_FILE) ||
           (least <= GR_FROM_MEASUREMENT && has_source(c->from[distance], GR_FROM_MEASUREMENT));
}

/* The distance whose constants stand for those of this one; no path stands for another. */
static int stands_for(const struct gr_constants *c, int distance, enum gr_constant_source least)
{
    int d;

    if (distance >= GR_CPU_DISTANCES) {
        return distance;
    }
    for (d = distance; d >= 0; d--) {
        if (is_known(c, d, least)) {
            return d;
        }
    }
    for (d = distance; d < GR_CPU_DISTANCES; d++) {
        if (is_known(c, d, least)) {
            return d;
        }
    }
    return distance;
}

struct gr_machine gr_constants_at(const struct gr_constants *c, int relation,
                                  enum gr_constant_source least, const uint8_t **from)
{
    int d = stands_for(c, relation, least), row;
    struct gr_machine m;

    memset(&m, 0, sizeof(m));
    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        if (c->from[d][row] >= least) {
            copy_row(&m, &c->at[d], row);
        }
    }
    if (NULL != from) {
        *from = c->from[d];
    }
    return m;
}

/* Appends the rows of a source. */
static void add_rows(char *buf, size_t size, const struct gr_machine *m, const uint8_t *from,
                     int source)
{
    const char *comma = " ";
    char values[96];
    int row;

    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        if (from[row] == source) {
            gr_text_add(buf, size, "%s%s %s %s", comma, gr_machine_rows[row].name,
                        gr_machine_print(m, row, values, sizeof(values)), gr_machine_unit(row));
            comma = ", ";
        }
    }
}

const char *gr_constants_sources(const struct gr_constants *c, int relation,
                                 enum gr_constant_source least)
{
    static const char *const words[4] = {"built-in", "measured", "file", "file+measured"};
    const uint8_t *from = c->from[stands_for(c, relation, least)];
    int source, word = 0;

    for (source = GR_FROM_MEASUREMENT; source < GR_CONSTANT_SOURCES; source++) {
        if (source >= (int) least && has_source(from, source)) {
            word |= 1 << (source - GR_FROM_MEASUREMENT);
        }
    }
    return words[word];
}

/* Why a measurement gave nothing. */
static const char *not_measured(const struct gr_constants *c)
{
    switch (c->not_measured) {
    case 0:
        return "";
    case GR_ERR_NOT_SUPPORTED:
        return " (rank 0 may use one processor only)";
    case GR_ERR_TIMEOUT:
        return " (measuring took too long)";
    default:
        return " (no memory to measure)";
    }
}

const char *gr_constants_text(const struct gr_constants *c, int relation,
                              enum gr_constant_source least, const char *file, char *buf,
                              size_t size)
{
    static const char *const names[GR_CONSTANT_SOURCES] = {
        [GR_FROM_MEASUREMENT] = "measured",
        [GR_FROM_FILE] = "file",
    };
    const char *semicolon = "";
    const uint8_t *from;
    struct gr_machine m = gr_constants_at(c, relation, least, &from);
    int source, processes = relation < GR_CPU_DISTANCES;

    buf[0] = '\0';
    for (source = GR_CONSTANT_SOURCES - 1; source > GR_FROM_BUILD; source--) {
        if (source >= (int) least && has_source(from, source)) {
            gr_text_add(buf, size, "%s%s", semicolon, names[source]);
            if (GR_FROM_FILE == source && NULL != file) {
                gr_text_add(buf, size, " %s", file);
            }
            gr_text_add(buf, size, ":");
            add_rows(buf, size, &m, from, source);
            semicolon = "; ";
        }
    }
    if ('\0' == buf[0]) {
        gr_text_add(buf, size, "built in%s", processes ? not_measured(c) : "");
    } else if (processes && 0 == m.call && is_known(c, stands_for(c, relation, least), least)) {
        gr_text_add(buf, size, "; no single copy"); /* refused where the rest was measured */
    }
    return buf;
}

/* ---- measuring: which distances of a node, and how thoroughly ---- */

/* The distance that most calls will have; -1: there is no other processor. */
static int main_distance(const int partners[GR_CPU_DISTANCES], int ranks)
{
    int d, found = -1;

    for (d = 0; d < GR_CPU_DISTANCES; d++) {
        if (partners[d] >= 0 && (found < 0 || ranks > 2)) {
            found = d;
        }
    }
    return found;
}

/*
 * Measure one distance, until `end` at most, by gr_now(). whole: one that was measured; NULL: this
 * is the first one.
 */
static int measure_distance(const struct gr_measure_node_args *args, int partner,
                            const struct gr_machine *whole, double end, struct gr_machine *m)
{
    struct gr_measure_args two = {.cpus = {args->cpu, partner},
                                  .effort = NULL == whole ? GR_EFFORT_QUICK : GR_EFFORT_BRIEF,
                                  .whole = whole,
                                  .limit = end - gr_now(),
                                  .sum = args->sum};

    return gr_machine_measure(&two, m);
}

int gr_constants_measure(struct gr_constants *c, const struct gr_measure_node_args *args)
{
    int partners[GR_CPU_DISTANCES], first, d, rc = GR_ERR_NOT_SUPPORTED;
    double end = gr_now() + args->limit;
    struct gr_machine whole, m;

    gr_cpu_partners(args->folder, args->cpu, &args->allowed, partners);
    first = main_distance(partners, args->ranks);
    if (first >= 0 && gr_constants_complete(c, first)) {
        return 0;
    }
    if (first >= 0) {
        rc = measure_distance(args, partners[first], NULL, end, &whole);
    }
    if (0 != rc) {
        c->not_measured = rc;
        return rc;
    }
    gr_constants_take(c, first, &whole, GR_FROM_MEASUREMENT);
    for (d = 0; d < GR_CPU_DISTANCES; d++) {
        if (d != first && partners[d] >= 0 && !gr_constants_complete(c, d) &&
            0 == measure_distance(args, partners[d], &whole, end, &m)) {
            gr_constants_take(c, d, &m, GR_FROM_MEASUREMENT);
        }
    }
    return 0;
}
