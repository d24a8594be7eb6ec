/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Self-checking calls that are under way together, and every way that MPI has to complete requests.
 *
 *     batch_open(&b, room);
 *     i = batch_add(&b, comm, &shape);
 *     batch_start(&b, i, FORM_NONBLOCKING, salt);
 *     ok = batch_complete(&b, &rng) && batch_check(&b);
 *     batch_close(&b);
 */
#ifndef TEST_BATCH_H
#define TEST_BATCH_H

#include "forms.h"

struct batch {
    int n, room;
    struct form_call *calls;
    MPI_Request *requests; /* of the calls; persistent ones stay until batch_close */
};

void batch_open(struct batch *b, int room);

/* A call with buffers, not started. Returns its number. */
int batch_add(struct batch *b, MPI_Comm comm, const struct form_shape *shape);

/* Fills the buffers and starts. */
void batch_start(struct batch *b, int i, enum form form, uint64_t salt);

/* Both in one. */
int batch_post(struct batch *b, MPI_Comm comm, const struct form_shape *shape, enum form form,
               uint64_t salt);

/*
 * Completes all that is active, in a way and order drawn from *rng, which is the rank's own. True
 * when MPI said of the requests what it must.
 */
bool batch_complete(struct batch *b, uint64_t *rng);

/* Judges every call that was filled since the last time. */
bool batch_check(struct batch *b);

/* Frees persistent requests, in random order, and buffers. */
void batch_close(struct batch *b, uint64_t *rng);

/* All of the end. */
bool batch_finish(struct batch *b, uint64_t *rng);

/* Ways to complete n requests, null and inactive ones among them: one of NUM_WAYS. */
#define NUM_WAYS 9
bool complete(int way, int n, MPI_Request *requests, uint64_t *rng);
extern const char *const use_names[NUM_WAYS];

/* Puts 0 ... n - 1 into order[], shuffled. */
void shuffle(int n, int *order, uint64_t *rng);

#endif
