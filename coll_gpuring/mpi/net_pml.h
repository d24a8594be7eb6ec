/* SPDX-License-Identifier: BSD-3-Clause */
/* What links over Open MPI's messages have in flight (net_pml.c). */
#ifndef GR_MPI_NET_PML_H
#define GR_MPI_NET_PML_H

#include "mpi/ompi.h"

#include "link/connect.h"
#include "net/transport.h"

#define PACKED_BYTES 8192  /* data up to that size go with their head */
#define CONTROL UINT64_MAX /* in the place of bytes: there are no data */

#define MOST_ROUNDS 16 /* in a progress(): what keeps coming in does not keep the caller */

/*
 * Data that are longer than what Open MPI sends at once go as several messages, which are not: it
 * would ask the receiver first. The receiver has room for all of them, and over a network that is
 * busy its answer waits behind data. Pieces are shorter than ob1 would allow: the receiver copies
 * them out of a buffer of Open MPI's, which stays in the cache.
 */
#define MOST_PIECES 8
#define PIECE_BYTES (16384 - HEADER_BYTES) /* libfabric's ofi_rxm sends 16 KiB at once */
#define HEADER_BYTES 256                   /* Open MPI's, and libfabric's, at most */

struct first {
    struct gr_net_head head;
    uint64_t bytes;
    uint64_t pieces; /* messages that the data come in; 0: they are here */
    unsigned char data[PACKED_BYTES];
};
#define FIRST_BYTES(data_bytes) (offsetof(struct first, data) + (data_bytes))

/* What consists of requests of the PML. */
struct task {
    struct gr_doorbell bell; /* first, so that it leads to the task; rung when all are complete */
    struct pml *pml;         /* NULL: that is closed, and nobody waits for the task */
    void (*done)(struct task *task, bool failed);
    atomic_int left;    /* requests that are not complete, and 1 while they are started */
    atomic_bool failed; /* one of them */
    struct task *next;  /* in the list of tasks in flight */
    struct task **at;   /* the pointer to this one there */
};

struct connection {
    struct task task; /* the receive of a head; in no list */
    void *peer;
    int rank; /* in MPI_COMM_WORLD */
    bool lost;
    ompi_request_t *pml_request; /* while task.left is not 0 */
    struct first came;
};

/* A message that is being sent. */
struct sending {
    struct task task;
    struct connection *to;
    struct gr_net_message *message;
    struct first first;
};

/* Data that come in behind their head. */
struct receiving {
    struct task task;
    struct connection *from;
    struct gr_net_head head;
    bool unwanted; /* the link is gone */
    void *dropped; /* memory for unwanted data */
};

struct pml {
    const struct gr_transport_up *up;
    struct connection **connections; /* [n]; owned */
    unsigned n;
    struct gr_doorbells complete; /* tasks; used without the network's lock */
    struct task *sendings;        /* in flight; so are receivings */
    struct task *receivings;
    struct task *unused;  /* sendings */
    size_t at_once_bytes; /* of the longest message that Open MPI sends at once; 0: any, perhaps */
};

#endif
