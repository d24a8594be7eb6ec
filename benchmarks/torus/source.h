/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of the schedules of coll_gpuring/sched other than Alltoall, for torus_sim's
 * projections and simulations: tick by tick, with their paths over the links of a torus.
 */
#ifndef TORUS_SOURCE_H
#define TORUS_SOURCE_H

#include "traffic.h"

/*
 * Allreduces along the snake through the torus (ring, tree) and along the torus; a bcast; a
 * barrier.
 */
enum source_algo {
    SOURCE_RING,
    SOURCE_TREE,
    SOURCE_BUCKET,
    SOURCE_SWING,
    SOURCE_ALLREDUCES,
    SOURCE_MST = SOURCE_ALLREDUCES,
    SOURCE_DISSEMINATION,
    SOURCE_ALGOS
};

/* "ring", "tree", ...; NULL when out of range. */
const char *source_name(enum source_algo algo);

struct source {
    enum source_algo algo;
    const struct machine *m;
    int p; /* ranks */
    int channels;
    uint32_t nchunks;
    int *order[2]; /* ring and tree: [channel][position] = rank */
    int *where[2]; /* ring and tree: [channel][rank] = position */
    double share;  /* of the vector, in one chunk of one channel */
};

/*
 * chunks: of the pipelines of tree and mst. 0, or -1: the algorithm has no schedule on the torus.
 * All functions exit when memory runs out. m must outlive the source.
 */
int source_make(struct source *s, enum source_algo algo, const struct machine *m, uint32_t chunks);
void source_free(struct source *s);

/* Number of ticks in which messages are sent. */
uint32_t source_ticks(const struct source *s);

/* Number of ticks, from any one on, with the same messages; 1: not known. */
uint32_t source_alike(const struct source *s);

/*
 * The number of a tick's phase. Channels need not be in step within a phase: a bucket's lasts until
 * it changes dimension, and each channel has links of its own. Of others, every tick is a phase.
 */
uint32_t source_phase(const struct source *s, uint32_t tick);

/*
 * All messages of a tick, by sender, for a vector of one byte; messages[] has source_room()
 * entries. Returns how many.
 */
size_t source_room(const struct source *s);
size_t source_collect(const struct source *s, uint32_t tick, struct message *messages);

/*
 * All messages for a vector of so many bytes. 0, -1: no such schedule, -2: more messages than a
 * simulation can hold.
 */
int source_traffic(struct traffic *t, enum source_algo algo, const struct machine *m,
                   uint32_t chunks, double bytes);

/* Returns memory; ends the program if it is NULL. */
void *need(void *memory);

#endif
