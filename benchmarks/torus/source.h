/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of the schedules of coll_gpuring/sched other than Alltoall, as torus_sim's
 * projections and simulations want them: tick by tick, with their ways over the links of a torus.
 */
#ifndef TORUS_SOURCE_H
#define TORUS_SOURCE_H

#include "traffic.h"

/*
 * Allreduces along the snake through the torus (ring each way, double tree), along the torus; and a
 * bcast.
 */
enum source_algo {
    SOURCE_RING,
    SOURCE_TREE,
    SOURCE_BUCKET,
    SOURCE_SWING,
    SOURCE_ALLREDUCES,
    SOURCE_MST = SOURCE_ALLREDUCES,
    SOURCE_ALGOS
};

/* "ring", "tree", ...; NULL when out of range. */
const char *source_name(enum source_algo algo);

struct source {
    enum source_algo algo;
    const struct machine *m;
    int p, channels;
    uint32_t nchunks;
    int *order[2]; /* [channel][position], where[channel][rank]: of ring and tree */
    int *where[2];
    double share; /* of the vector that one chunk of one channel is */
};

struct sent {
    int from, to, channel;
    uint32_t chunks;
    int16_t hops[GR_MAX_DIMS];
};

/*
 * chunks: of the pipelines of tree and mst. 0, or -1 where the algorithm has no schedule on the
 * torus. Exits when memory runs out, as do the others. m must outlive it.
 */
int source_make(struct source *s, enum source_algo algo, const struct machine *m, uint32_t chunks);
void source_free(struct source *s);

/*
 * Ticks in which something is sent; how many from any one on have the same messages (1: not known).
 */
uint32_t source_ticks(const struct source *s);
uint32_t source_alike(const struct source *s);

/*
 * Ticks in which channels need not be in step: a bucket's between changes of dimension, where each
 * channel has links of its own. The number of the tick's phase; of others, every tick is one.
 */
uint32_t source_phase(const struct source *s, uint32_t tick);

/*
 * All that is sent in a tick, by sender; sent[] has room for source_room() messages. Returns how
 * many.
 */
size_t source_room(const struct source *s);
size_t source_collect(const struct source *s, uint32_t tick, struct sent *sent);

/*
 * All messages for a vector of so many bytes. 0, -1: no such schedule, -2: more messages than a
 * simulation can hold.
 */
int source_traffic(struct traffic *t, enum source_algo algo, const struct machine *m,
                   uint32_t chunks, double bytes);

/* The memory, unless it is NULL: then ends the program. */
void *need(void *memory);

#endif
