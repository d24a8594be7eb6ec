/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Set-up: the exchange that makes the links of an algorithm, as a state machine of nonblocking messages.
 *
 *      OFFERS    each reader sends its offer to each writer; each writer maps what it was offered
 *      VERDICT   the worst status of all ranks, by dissemination: in round k rank r sends what it knows to
 *                r + 2^k and hears from r - 2^k; after ceil(log2 p) rounds all know the same
 *
 * Set-ups are numbered at the calls that need them, which come in the same order on all ranks; their messages
 * carry the number in their tags. So they may be under way in any order: one of a pending nonblocking call, one of
 * a persistent request's init.
 */
#include "coll_gpuring_op.h"

#include "ompi/mca/pml/pml.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Below the tags of the blocking collectives, above what 24 bits of tag hold (pml/ucx), and far from where
 * libnbc begins to count. Each set-up has two of the tags.
 */
#define TAG_FIRST (-(1 << 22))
#define TAG_SETUPS 1024

struct gr_setup {
    struct ompi_communicator_t *comm;
    struct gr_pool *pool;
    struct gr_team *team;
    int way, root;
    int tag;                   /* of the offers; the verdicts' is one below */
    struct gr_join join;
    enum { NEW, OFFERS, VERDICT } state;
    ompi_request_t **requests; /* nin + nout, at least two */
    int nrequests;
    int distance;              /* VERDICT: 2^round */
    struct gr_verdict sent, heard, verdict; /* VERDICT */
};

static int post_send(struct gr_setup *s, const void *buf, size_t bytes, int rank, int tag)
{
    return MCA_PML_CALL(isend(buf, bytes, MPI_BYTE, rank, tag, MCA_PML_BASE_SEND_STANDARD, s->comm,
                              &s->requests[s->nrequests++]));
}

static int post_recv(struct gr_setup *s, void *buf, size_t bytes, int rank, int tag)
{
    return MCA_PML_CALL(irecv(buf, bytes, MPI_BYTE, rank, tag, s->comm, &s->requests[s->nrequests++]));
}

static int post_offers(struct gr_setup *s)
{
    int k, rc = OMPI_SUCCESS;

    s->state = OFFERS;
    for (k = 0; k < s->join.nout && OMPI_SUCCESS == rc; k++) {
        rc = post_recv(s, &s->join.out[k].offer, sizeof(struct gr_offer), s->join.out[k].rank, s->tag);
    }
    for (k = 0; k < s->join.nin && OMPI_SUCCESS == rc; k++) {
        rc = post_send(s, &s->join.in[k].offer, sizeof(struct gr_offer), s->join.in[k].rank, s->tag);
    }
    return rc;
}

static int post_verdict(struct gr_setup *s)
{
    int p = ompi_comm_size(s->comm), rank = ompi_comm_rank(s->comm);
    int rc;

    s->state = VERDICT;
    s->sent = s->verdict;
    rc = post_recv(s, &s->heard, sizeof(s->heard), (rank - s->distance + p) % p, s->tag - 1);
    if (OMPI_SUCCESS == rc) {
        rc = post_send(s, &s->sent, sizeof(s->sent), (rank + s->distance) % p, s->tag - 1);
    }
    return rc;
}

/* 1 when all requests are complete (and freed), 0 when not, negative on error. */
static int requests_done(struct gr_setup *s)
{
    int k, rc;

    for (k = 0; k < s->nrequests; k++) {
        rc = mca_coll_gpuring_request_done(&s->requests[k]);
        if (1 != rc) {
            return rc;
        }
    }
    s->nrequests = 0;
    return 1;
}

/* Lease what is to be offered, and post the offers. OMPI error code. */
static int begin(struct gr_setup *s)
{
    s->pool = mca_coll_gpuring_pool();
    if (NULL == s->pool || 0 != gr_join_begin(&s->join, s->team, s->pool, s->way, s->root)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    s->requests = calloc((size_t) (s->join.nin + s->join.nout) + 2, sizeof(ompi_request_t *));
    if (NULL == s->requests) {
        gr_join_end(&s->join, s->pool, (struct gr_verdict) {GR_ERR_NOMEM, 0});
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return post_offers(s);
}

int mca_coll_gpuring_setup_poll(void *ctx, uint64_t *moved)
{
    struct gr_setup *s = ctx;
    int rc;

    if (NEW == s->state && OMPI_SUCCESS != begin(s)) {
        return OMPI_ERROR;
    }
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
            s->verdict = gr_verdict_combine(s->verdict, s->heard);
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

void mca_coll_gpuring_setup_explain(void *ctx, char *text, size_t size)
{
    struct gr_setup *s = ctx;
    int p = ompi_comm_size(s->comm), k;
    size_t used;

    if (NEW == s->state) {
        snprintf(text, size, "set-up of %s, not begun", gr_way_name(s->way));
        return;
    }
    if (VERDICT == s->state) {
        snprintf(text, size, "set-up of %s, verdict at distance %d, waits for rank %d",
                 gr_way_name(s->way), s->distance, (ompi_comm_rank(s->comm) - s->distance + p) % p);
        return;
    }
    used = (size_t) snprintf(text, size, "set-up of %s, offers, waits for rank", gr_way_name(s->way));
    for (k = 0; k < s->join.nout && used < size; k++) {
        if (MPI_REQUEST_NULL != s->requests[k]) { /* receives were posted first */
            used += (size_t) snprintf(text + used, size - used, " %d", s->join.out[k].rank);
        }
    }
}

/* The verdict is against us: rank 0 says why, once per kind of reason. */
static void tell_verdict(const struct gr_setup *s)
{
    static bool said[8];
    const struct gr_team *team = s->team;
    bool board = GR_WAY_MAILBOX == s->way;
    size_t bytes = board ? gr_board_bytes(team->p, team->box.nsets, team->box.stride)
                         : (size_t) s->join.nin * gr_link_bytes(team->nslots, team->slot_bytes);
    const char *name = gr_comm_name(s->comm);

    if (0 != ompi_comm_rank(s->comm) || said[-s->verdict.status % 8]) {
        return;
    }
    said[-s->verdict.status % 8] = true;
    switch (s->verdict.status) {
    case GR_ERR_SPACE:
        mca_coll_gpuring_tell("shm-full", GR_SHM_DIR, name, (bytes + 1023) / 1024, board ? "mailboxes" : "links");
        break;
    case GR_ERR_LIMIT:
        mca_coll_gpuring_tell("shm-limit", name, mca_coll_gpuring_component.pool_mib);
        break;
    case GR_ERR_FOREIGN:
        mca_coll_gpuring_tell("shm-foreign", name);
        break;
    default:
        mca_coll_gpuring_tell("shm-error", GR_SHM_DIR, name, s->verdict.status);
    }
}

struct gr_setup *mca_coll_gpuring_setup_new(mca_coll_gpuring_module_t *module, struct ompi_communicator_t *comm,
                                            struct gr_team *team, int way, int root)
{
    struct gr_setup *s = calloc(1, sizeof(*s));

    if (NULL == s) {
        return NULL;
    }
    s->comm = comm;
    s->team = team;
    s->way = way;
    s->root = root;
    s->tag = TAG_FIRST - 2 * (int) (module->setups++ % TAG_SETUPS);
    gr_team_ask(team, way, root);
    return s;
}

void mca_coll_gpuring_setup_end(struct gr_setup *s)
{
    if (0 != s->verdict.status) {
        tell_verdict(s);
    }
    gr_join_end(&s->join, s->pool, s->verdict);
    free(s->requests);
    free(s);
}
