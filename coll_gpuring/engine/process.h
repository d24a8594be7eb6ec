/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process has once. */
#ifndef GR_ENGINE_PROCESS_H
#define GR_ENGINE_PROCESS_H

#include "mpi/ompi.h"

#include "engine/params.h"

#include "link/pool.h"

BEGIN_C_DECLS

/* What a process has once; params to report are set when the component is opened. */
struct gr_process {
    /* what Open MPI's registries of parameters and addresses know us by */
    mca_base_component_t *component;
    gr_params_t params; /* this process's, checked */
    int priority;
    int timeout; /* seconds, 0: never report */
    int timeout_abort;
    /* 0: never, 1: with every nonblocking call, -1: with those on devices */
    int progress_thread;
    bool threaded; /* there is such a thread, or will be */
    /* of links between nodes: an enum gr_transport_kind, or -1: as can be had */
    int transport;
    int direct; /* their slots may lie in device memory */
    /* bytes of a message from which on UCX sends it from where it lies; -1: none */
    int nodes_zero_copy;
    int cuda; /* 0: off, 1: on, -1: where there is a GPU */
    int pool_mib, device_pool_mib;
    int verbose;
    char *report;         /* "none", "summary" or "json:FILE"; owned */
    struct gr_pool *pool; /* opened at first use */
    opal_mutex_t lock;    /* pool opening, peers table */
    bool world;           /* MPI_COMM_WORLD is there, and has a module */
};
extern struct gr_process gr_process;

#define GR_SHM_DIR "/dev/shm" /* where links between ranks of a node lie */

/* The process's pool; NULL when there is no memory for it. */
struct gr_pool *mca_coll_gpuring_pool(void);

/* This process. */
struct gr_peer_id mca_coll_gpuring_self(void);

END_C_DECLS

#endif
