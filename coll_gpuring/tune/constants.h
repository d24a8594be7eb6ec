/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constants of the cost model (tune/machine.h) for each relation of two ranks, and where each comes
 * from: a tuning file comes before a measurement, that before what is built in.
 */
#ifndef GR_TUNE_CONSTANTS_H
#define GR_TUNE_CONSTANTS_H

#include "sched/protocol.h"
#include "topo/cpus.h"
#include "tune/machine.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* Each comes before those above it. */
enum gr_constant_source {
    GR_FROM_BUILD, /* not known: the cost model's own constant */
    /* in this job: must not decide in which order ranks reduce; none between devices */
    GR_FROM_MEASUREMENT,
    GR_FROM_FILE, /* a tuning file */
    GR_CONSTANT_SOURCES
};

/*
 * The relation of two ranks: the distance of their processors (enum gr_cpu_distance), or the path
 * between their devices.
 */
#define GR_RELATIONS (GR_CPU_DISTANCES + GR_NPATHS)
static inline int gr_relation_of_path(enum gr_path path)
{
    return GR_CPU_DISTANCES + (int) path;
}

/*
 * Name of a relation, as tuning files have it: cache numa socket system, one_device nvlink pcie
 * host_memory network.
 */
const char *gr_relation_name(int relation);

/* Whether that relation has the constant of a row. */
int gr_relation_has(int relation, int row);

/* Bytes for the model of a device, with its end. */
#define GR_DEVICE_MODEL 64

/* Processes send this to each other as bytes: no padding, no pointers. All zero: nothing known. */
struct gr_constants {
    struct gr_machine at[GR_RELATIONS];
    uint8_t from[GR_RELATIONS][GR_MACHINE_ROWS]; /* enum gr_constant_source */
    char device[GR_DEVICE_MODEL]; /* the model of which a tuning file's constants are; "": none */
    uint8_t pad[2];               /* 0 */
    int32_t not_measured; /* GR_ERR_...: why the measurement gave nothing; 0: it did, or none was */
};

/* Whether a process can have sent this. */
int gr_constants_good(const struct gr_constants *c);

/* For one relation, take what it has, m knows and did not come from a better source. */
void gr_constants_take(struct gr_constants *c, int relation, const struct gr_machine *m,
                       enum gr_constant_source source);

/* Whether a file says all at that distance, so that nothing need be measured. */
int gr_constants_complete(const struct gr_constants *c, int distance);

/*
 * What is known of the relation, by sources from `least` on. Where neither a file nor a measurement
 * says anything of a distance, that of the next nearer one of which they do; else of the next
 * farther one. from: set to the sources, by row; may be NULL.
 */
struct gr_machine gr_constants_at(const struct gr_constants *c, int relation,
                                  enum gr_constant_source least, const uint8_t **from);

/* Where that comes from, as words joined by "+": "built-in", or the best first. */
const char *gr_constants_sources(const struct gr_constants *c, int relation,
                                 enum gr_constant_source least);

/*
 * What ranks of that relation use, and where it comes from, for messages. file: the tuning file's
 * name, or NULL. Returns buf.
 */
const char *gr_constants_text(const struct gr_constants *c, int relation,
                              enum gr_constant_source least, const char *file, char *buf,
                              size_t size);

/* ---- measuring the constants of a node, at each distance that processors of a job may have ---- */

struct gr_measure_node_args {
    const char *folder; /* GR_SYSFS_CPUS */
    int cpu;            /* the processor of this process */
    cpu_set_t allowed;  /* processors that the job may use */
    int ranks;          /* of the job on this node */
    double limit;       /* seconds after which it is given up, for all distances */
    gr_machine_sum_fn sum;
};

/*
 * Add to c what files and parameters do not say. One distance is measured at all sizes, in about
 * 5 ms: that of two ranks, which are placed side by side, or else the farthest one. The others
 * follow briefly, and their large sizes from those of the first. Returns 0; or GR_ERR_..., as
 * gr_machine_measure(), which c->not_measured then is, too.
 */
int gr_constants_measure(struct gr_constants *c, const struct gr_measure_node_args *args);

#endif
