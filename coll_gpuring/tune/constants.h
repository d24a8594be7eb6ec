/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The constants of a node (tune/machine.h) at each distance of processors, and where each comes
 * from: a parameter comes before a tuning file, that before a measurement, that before what is
 * built in.
 */
#ifndef GR_TUNE_CONSTANTS_H
#define GR_TUNE_CONSTANTS_H

#include "topo/cpus.h"
#include "tune/machine.h"

#include <stddef.h>
#include <stdint.h>

/* Each comes before those above it. */
enum gr_constant_source {
    GR_FROM_BUILD,       /* not known: the cost model's own constant */
    GR_FROM_MEASUREMENT, /* in this job: must not decide in which order ranks reduce */
    GR_FROM_FILE,        /* a tuning file */
    GR_FROM_PARAMETER,   /* coll_gpuring_cost_... */
    GR_CONSTANT_SOURCES
};

/* Processes send this to each other as bytes: no padding, no pointers. All zero: nothing known. */
struct gr_constants {
    struct gr_machine at[GR_CPU_DISTANCES];
    uint8_t from[GR_CPU_DISTANCES][GR_MACHINE_ROWS]; /* enum gr_constant_source */
    int32_t not_measured; /* GR_ERR_...: why the measurement gave nothing; 0: it did, or none was */
};

/* Whether a process can have sent this. */
int gr_constants_good(const struct gr_constants *c);

/* At one distance, take what m knows and what did not come from a better source. */
void gr_constants_take(struct gr_constants *c, int distance, const struct gr_machine *m,
                       enum gr_constant_source source);

/* Whether a file or parameters say all at that distance, so that nothing need be measured. */
int gr_constants_complete(const struct gr_constants *c, int distance);

/*
 * What is known of processors at that distance, by sources from `least` on. Where neither a file
 * nor a measurement says anything of the distance, that of the next nearer one of which they do;
 * else of the next farther one. from: set to the sources, by row; may be NULL.
 */
struct gr_machine gr_constants_at(const struct gr_constants *c, int distance,
                                  enum gr_constant_source least, const uint8_t **from);

/* Where that comes from, as words joined by "+": "built-in", or the best first. */
const char *gr_constants_sources(const struct gr_constants *c, int distance);

/*
 * What ranks at that distance use, and where it comes from, for messages. file: the tuning file's
 * name, or NULL. Returns buf.
 */
const char *gr_constants_text(const struct gr_constants *c, int distance, const char *file,
                              char *buf, size_t size);

#endif
