/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which communicators, and which of their calls, gpuring does: decided by what all ranks know.
 */
#ifndef GR_MPI_COMM_H
#define GR_MPI_COMM_H

#include "mpi/module.h"

#include "topo/torus.h"

struct gr_call;

/*
 * Decide once per communicator: sets module->refused and params, and makes the queue of blocking
 * calls. Thread-safe: Open MPI may start a nonblocking call out of another thread's opal_progress
 * during the first blocking call. Sends no message. OMPI error code.
 */
int mca_coll_gpuring_decide_first(mca_coll_gpuring_module_t *module,
                                  struct ompi_communicator_t *comm);

static inline int mca_coll_gpuring_decide(mca_coll_gpuring_module_t *module,
                                          struct ompi_communicator_t *comm)
{
    return atomic_load_explicit(&module->decided, memory_order_acquire)
               ? OMPI_SUCCESS
               : mca_coll_gpuring_decide_first(module, comm);
}

/*
 * After the decision: why the call is left to the saved collective, an enum gr_fallback_reason; -1:
 * gpuring does it.
 */
int mca_coll_gpuring_refusal(const mca_coll_gpuring_module_t *module, const struct gr_call *call);

/* ---- what the processes of the job say of themselves at MPI_Init (modex.c) ---- */

/* Publish this process's parameters; before MPI_Init's exchange. */
int mca_coll_gpuring_modex_publish(void);
void mca_coll_gpuring_modex_close(void);

/*
 * Decide from what all ranks of the communicator published whether the team may be used, and with
 * which parameters: fills params, refused (an enum gr_fallback_reason, or -1 for yes), gpu, pids,
 * and what follows those. Local, and the same on all ranks but for remote and direct. OMPI error
 * code.
 */
int mca_coll_gpuring_modex_decide(mca_coll_gpuring_module_t *module,
                                  struct ompi_communicator_t *comm);

/* ---- the constants of the cost model (constants.c) ---- */

/*
 * What the job's first rank publishes at MPI_Init for all: by a tuning file, and, where that does
 * not say it, a measurement. cores: ranks of this node have cores of their own, so
 * constants of processes are wanted from file and measurement, too. devices: constants of devices
 * are wanted from a file, too.
 */
void mca_coll_gpuring_constants_find(struct gr_constants *c, bool cores, bool devices);

/* Let a communicator inside a node, whose ranks are at most at that distance, use the constants. */
void mca_coll_gpuring_constants_use(struct gr_comm *comm, const struct gr_constants *c,
                                    int distance);

/*
 * What the first such communicator of this process uses, and the first one with links between
 * devices. Each is written once, under gr_process.lock.
 */
extern struct gr_constants_said {
    char text[1536];  /* empty: there was none */
    char sources[48]; /* one word: built-in, measured, file, or file+measured */
} mca_coll_gpuring_constants_said[2];

/* ---- nodes: which ranks are on other ones, and their order (locality.c) ---- */

/* Find the remote ranks, as the runtime says. OMPI error code. */
int mca_coll_gpuring_locality_find(struct gr_comm *comm);

/* A number of this process's node, the same for all processes there. */
uint64_t mca_coll_gpuring_locality_number(void);

/*
 * What is known of ranks on several nodes, from the number that each has given of its
 * own. OMPI error code.
 */
int mca_coll_gpuring_locality_order(struct gr_comm *comm, const uint64_t *nodes);

/* ---- the torus ---- */

/*
 * The communicator's Cartesian topology; NULL: it has none. Open MPI leaves the mark of one on some
 * communicators that were made from a Cartesian one: of fewer ranks, and, in 5.0, on graphs.
 */
const struct mca_topo_base_comm_cart_2_2_0_t *mca_coll_gpuring_grid(
    const struct ompi_communicator_t *comm);

/* The torus of a communicator; ndims 0: none. */
struct gr_torus mca_coll_gpuring_torus(const struct gr_comm *comm);

#endif
