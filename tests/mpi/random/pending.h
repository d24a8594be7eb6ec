/* SPDX-License-Identifier: BSD-3-Clause */
/* The pending requests of one thread, and all completion functions of MPI. */
#ifndef RANDOM_PENDING_H
#define RANDOM_PENDING_H

#include <mpi.h>
#include <stdint.h>

#define MAX_PENDING 1024

struct pending;

/* A request is complete. */
typedef void (*pending_done)(void *program, void *task, int part, const MPI_Status *status);
/* An MPI call has returned an error. */
typedef void (*pending_failed)(void *program, int rc, const char *call);

struct pending {
    MPI_Request request[MAX_PENDING];
    void *task[MAX_PENDING];
    int part[MAX_PENDING]; /* of the task's requests */
    int n;
    void *program;
    pending_done done;
    pending_failed failed;
    uint64_t *rng; /* the rank's own */
};

void pending_add(struct pending *p, MPI_Request request, void *task, int part);

/* Some random test of, or wait for, some of them. */
void pending_poke(struct pending *p);

/* Waits until none of this task (NULL: none at all) is left. */
void pending_finish(struct pending *p, const void *task);

#endif
