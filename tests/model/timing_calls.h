/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on the virtual clock of timing_world.h: real step machines behind real step timers,
 * and links in which a slot arrives when its latency and its bytes have passed. No data are moved;
 * what is seen is when steps begin.
 */
#ifndef GR_TESTS_TIMING_CALLS_H
#define GR_TESTS_TIMING_CALLS_H

#include "timing_world.h"

#include "exec/stepper.h"
#include "timing/timer.h"

enum { TC_MAX_CHANNELS = 2, TC_MAX_EVENTS = 1 << 16 };

/* What is called. */
struct tc_job {
    enum gr_coll coll;
    enum gr_algo algo;
    int root;
    size_t total, slot_elems; /* elements of 8 bytes */
    uint32_t nchannels, nslots;
    uint32_t pieces; /* slots of the largest chunk; 0: one */
};

/* A step began. */
struct tc_event {
    int64_t at;
    int rank;
    uint32_t call, channel, slice, tick;
    uint64_t group;
};

struct tc_world;

struct tc_rank {
    struct tc_world *world;
    int rank;
    struct gr_timer timer;
    struct gr_plan plan;
    struct gr_stepper stepper;
    struct gr_link *in, *out; /* [channel * p + rank] */
    int running;
    uint32_t call;
    int64_t sleeps_until;
};

struct tc_world {
    struct tw_world tw;
    struct tc_job job;
    struct tc_rank *ranks;
    struct gr_link_shared **shared; /* [(channel * p + from) * p + to] */
    struct tc_event *events;
    size_t nevents;
    int (*nap)(struct tc_rank *r); /* quanta that a rank sleeps now; NULL: none ever does */
    /* some rank's next step became due later than its lag explains */
    int ahead;
};

void tc_open(struct tc_world *w, const char *torus, int64_t hop, int common, enum gr_step_sync mode,
             uint64_t seed);
void tc_close(struct tc_world *w);

/* n calls of all ranks. 0, or -1 when nothing goes on any more. */
int tc_run(struct tc_world *w, const struct tc_job *job, uint32_t n);

/* Name of the job, for messages. */
const char *tc_name(const struct tc_job *job);

#endif
