/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world with a virtual clock for step timing: ranks whose notes take a known time, and whose
 * clocks have nothing in common. Time goes on in quanta; in each every rank that is awake is polled
 * once, so instants are known to a quantum.
 */
#ifndef GR_TESTS_TIMING_WORLD_H
#define GR_TESTS_TIMING_WORLD_H

#include "timing/port.h"
#include "timing/latency.h"

#define TW_MAX_RANKS 256

struct tw_world;

struct tw_mail {
    struct gr_note note;
    int to;
    int64_t at; /* world's time at which it arrives */
};

struct tw_rank {
    struct tw_world *world;
    int rank;
    int64_t clock; /* its clock shows the world's time and this */
    struct gr_port port;
    size_t inbox, n, room; /* the next one that arrives, and how many have ever been sent to it */
    struct tw_mail *mail;
    /* when the last note from there arrives: they do not overtake each other */
    int64_t last[TW_MAX_RANKS];
};

struct tw_world {
    struct gr_torus torus;
    int p;
    int64_t now, quantum;
    /* true latency from coordinate x to y of any ring of that dimension */
    int64_t way[GR_MAX_DIMS][64 * 64];
    int64_t byte_fs;
    int64_t jitter;  /* notes take up to so much longer */
    unsigned refuse; /* one in so many sends finds no room; 0: none */
    uint64_t random;
    uint64_t sent[8]; /* notes, by kind */
    struct tw_rank *ranks;
};

/*
 * Ranks with clocks of their own (common: of one), and random latencies of about `hop` ns per hop,
 * both ways alike.
 */
void tw_open(struct tw_world *w, const char *torus, int64_t hop, int64_t quantum, int common,
             uint64_t seed);
void tw_close(struct tw_world *w);

/* The true latency between two ranks of a ring. */
int64_t tw_way(const struct tw_world *w, int from, int to);

/* A table as a perfect measurement would fill it in. */
void tw_fill(const struct tw_world *w, struct gr_latency *l, int rank);

#endif
