/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up: the exchange that makes the links of an algorithm, as a state machine of nonblocking messages.
 *
 *      OFFERS    each reader sends its offer to each writer; each writer maps what it was offered
 *      VERDICT   the worst status of all ranks, by dissemination: in round k rank r sends what it knows to
 *                r + 2^k and hears from r - 2^k; after ceil(log2 p) rounds all know the same
 *
 * Calls come in the same order on all ranks, so do set-ups; their messages have tags of their own in the
 * communicator and match in order.
 */
#include "coll_gpuring.h"

#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Below the tags of the blocking collectives, above what 24 bits of tag hold (pml/ucx), and far from where
 * libnbc begins to count.
 */
#define TAG_OFFER (-(1 << 22))
#define TAG_VERDICT (TAG_OFFER - 1)

struct setup {
    struct ompi_communicator_t *comm;
    struct gr_pool *pool;
    struct gr_join join;
    enum { OFFERS, VERDICT } state;
    ompi_request_t **requests; /* nin + nout, at least two */
    int nrequests;
    int distance;              /* VERDICT: 2^round */
    int sent, heard, verdict;  /* VERDICT */
};

static int post_send(struct setup *s, const void *buf, size_t bytes, int rank, int tag)
{
    return MCA_PML_CALL(isend(buf, bytes, MPI_BYTE, rank, tag, MCA_PML_BASE_SEND_STANDARD, s->comm,
                              &s->requests[s->nrequests++]));
}

static int post_recv(struct setup *s, void *buf, size_t bytes, int rank, int tag)
{
    return MCA_PML_CALL(irecv(buf, bytes, MPI_BYTE, rank, tag, s->comm, &s->requests[s->nrequests++]));
}

static int post_offers(struct setup *s)
{
    int k, rc = OMPI_SUCCESS;

    s->state = OFFERS;
    for (k = 0; k < s->join.nout && OMPI_SUCCESS == rc; k++) {
        rc = post_recv(s, &s->join.out[k].offer, sizeof(struct gr_offer), s->join.out[k].rank, TAG_OFFER);
    }
    for (k = 0; k < s->join.nin && OMPI_SUCCESS == rc; k++) {
        rc = post_send(s, &s->join.in[k].offer, sizeof(struct gr_offer), s->join.in[k].rank, TAG_OFFER);
    }
    return rc;
}

static int post_verdict(struct setup *s)
{
    int p = ompi_comm_size(s->comm), rank = ompi_comm_rank(s->comm);
    int rc;

    s->state = VERDICT;
    s->sent = s->verdict;
    rc = post_recv(s, &s->heard, sizeof(s->heard), (rank - s->distance + p) % p, TAG_VERDICT);
    if (OMPI_SUCCESS == rc) {
        rc = post_send(s, &s->sent, sizeof(s->sent), (rank + s->distance) % p, TAG_VERDICT);
    }
    return rc;
}

/* 1 when all requests are complete (and freed), 0 when not, negative on error. */
static int requests_done(struct setup *s)
{
    int k, flag, rc;

    for (k = 0; k < s->nrequests; k++) {
        if (MPI_REQUEST_NULL != s->requests[k]) {
            rc = ompi_request_test(&s->requests[k], &flag, MPI_STATUS_IGNORE);
            if (OMPI_SUCCESS != rc) {
                return OMPI_ERROR;
            }
            if (!flag) {
                return 0;
            }
        }
    }
    s->nrequests = 0;
    return 1;
}

static int setup_poll(void *ctx, uint64_t *moved)
{
    struct setup *s = ctx;
    int rc;

    for (;;) {
        rc = requests_done(s);
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        ++*moved;
        if (OFFERS == s->state) {
            s->verdict = gr_join_map(&s->join, s->pool);
            s->distance = 1;
        } else {
            s->verdict = s->heard < s->verdict ? s->heard : s->verdict;
            s->distance *= 2;
        }
        if (s->distance >= ompi_comm_size(s->comm)) {
            return GR_DONE;
        }
        rc = post_verdict(s);
        if (OMPI_SUCCESS != rc) {
            return OMPI_ERROR;
        }
    }
}

static void setup_explain(void *ctx, char *text, size_t size)
{
    struct setup *s = ctx;
    int p = ompi_comm_size(s->comm), k;
    size_t used;

    if (VERDICT == s->state) {
        snprintf(text, size, "set-up of %s links, verdict at distance %d, waits for rank %d",
                 gr_algo_name(s->join.algo), s->distance, (ompi_comm_rank(s->comm) - s->distance + p) % p);
        return;
    }
    used = (size_t) snprintf(text, size, "set-up of %s links, offers, waits for rank", gr_algo_name(s->join.algo));
    for (k = 0; k < s->join.nout && used < size; k++) {
        if (MPI_REQUEST_NULL != s->requests[k]) { /* receives were posted first */
            used += (size_t) snprintf(text + used, size - used, " %d", s->join.out[k].rank);
        }
    }
}

/* The verdict is against us: rank 0 says why, once per kind of reason. */
static void tell_verdict(const struct setup *s)
{
    static bool said[8];
    size_t links = (size_t) s->join.nin, bytes = gr_link_bytes(s->join.team->nslots, s->join.team->slot_bytes);
    const char *name = gr_comm_name(s->comm);

    if (0 != ompi_comm_rank(s->comm) || said[-s->verdict % 8]) {
        return;
    }
    said[-s->verdict % 8] = true;
    switch (s->verdict) {
    case GR_ERR_SPACE:
        mca_coll_gpuring_tell("shm-full", GR_SHM_DIR, name, links * bytes / 1024, (int) links);
        break;
    case GR_ERR_LIMIT:
        mca_coll_gpuring_tell("shm-limit", name, mca_coll_gpuring_component.pool_mib);
        break;
    case GR_ERR_FOREIGN:
        mca_coll_gpuring_tell("shm-foreign", name);
        break;
    default:
        mca_coll_gpuring_tell("shm-error", GR_SHM_DIR, name, s->verdict);
    }
}

int mca_coll_gpuring_setup(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm, enum gr_algo algo,
                           int root, const char *what)
{
    struct setup *s = calloc(1, sizeof(*s));
    struct gr_wait wait = {comm, what, module->seq, setup_poll, setup_explain, s};
    int rc;

    if (NULL == s) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    s->comm = comm;
    s->pool = mca_coll_gpuring_pool();
    if (NULL == s->pool || 0 != gr_join_begin(&s->join, module->team, s->pool, algo, root)) {
        free(s);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    s->requests = calloc((size_t) (s->join.nin + s->join.nout) + 2, sizeof(ompi_request_t *));
    if (NULL == s->requests) {
        gr_join_end(&s->join, s->pool, GR_ERR_NOMEM);
        free(s);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = post_offers(s);
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_gpuring_wait(&wait);
    }
    if (OMPI_SUCCESS != rc) {
        /* Messages may still be under way into *s, and peers may already write to the frames: both are left to
         * them, for good. Such a communicator is broken. */
        module->team->poisoned = GR_ERR_POISONED;
        return rc;
    }
    rc = 0 == s->verdict ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
    if (OMPI_SUCCESS != rc) {
        tell_verdict(s);
    }
    gr_join_end(&s->join, s->pool, s->verdict);
    free(s->requests);
    free(s);
    return rc;
}
