/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport of links to other nodes (net/transport.h) over Open MPI's point-to-point messages,
 * for where there is no UCX. They travel on MPI_COMM_WORLD with tags of their own, negative: no
 * receive of the application matches these.
 *
 *      tag - 0    [head | bytes | data that are few]   each connection has one receive posted
 *      tag - 1    [data that are many]                 posted at their place when the head has come
 *
 * Messages of one tag do not overtake each other, so the receives of data need no numbers.
 *
 * Requests are looked at only, in pml_progress(): what completes them is Open MPI's progress, which
 * a rank that waits calls anyway. Called from here it would drive queues, and those the network
 * that this thread has locked. So only close calls it, and queues are not driven while a thread is
 * in here (gr_runtime_in_transport()).
 */
#include "mpi/runtime.h"

#include "base/errors.h"
#include "net/transport.h"

#include "ompi/mca/pml/pml.h"

#include <stdlib.h>
#include <string.h>

#define PACKED_BYTES 8192  /* data up to that size go with their head */
#define CONTROL UINT64_MAX /* in the place of bytes: there are no data */

#define TAG_HEAD gr_runtime_tag(GR_TAGS_NET)
#define TAG_DATA (TAG_HEAD - 1)
#define MOST_HEADS 16 /* of a connection at a time: what keeps coming in does not keep the caller */
#define LOOKS 4       /* connections in each call: of those that heads came from last; of all */

struct first {
    struct gr_net_head head;
    uint64_t bytes;
    unsigned char data[PACKED_BYTES];
};
#define FIRST_BYTES(data_bytes) (offsetof(struct first, data) + (data_bytes))

struct connection {
    void *peer;
    int rank; /* in MPI_COMM_WORLD */
    bool lost;
    ompi_request_t *pml_request;
    struct first came;
};

/* A message that is being sent. */
struct sending {
    struct sending *next;
    struct connection *to;
    struct gr_net_message *message;
    ompi_request_t *pml_requests[2]; /* the first, the data */
    struct first first;
};

/* Data that come in behind their head. */
struct receiving {
    struct receiving *next;
    struct connection *from;
    struct gr_net_head head;
    ompi_request_t *pml_request;
    void *dropped; /* memory for data whose link is gone */
};

struct pml {
    const struct gr_transport_up *up;
    struct connection **connections; /* [n]; owned */
    unsigned n;
    unsigned turn;                    /* of the next one that is looked at */
    struct connection *recent[LOOKS]; /* that heads came from last; NULL: none */
    unsigned oldest;                  /* of these */
    struct sending *sendings, *unused;
    struct receiving *receivings;
};

static _Thread_local bool inside;

bool gr_runtime_in_transport(void)
{
    return inside;
}

static struct ompi_communicator_t *world(void)
{
    return &ompi_mpi_comm_world.comm;
}

static void lose(struct pml *p, struct connection *c, const char *why)
{
    c->lost = true;
    p->up->lost(p->up->ctx, c->peer, why);
}

/* ---- what goes out ---- */

static struct sending *sending_get(struct pml *p)
{
    struct sending *s = p->unused;

    if (NULL == s) {
        return malloc(sizeof(*s));
    }
    p->unused = s->next;
    return s;
}

static void sending_put(struct pml *p, struct sending *s)
{
    s->next = p->unused;
    p->unused = s;
}

/* 1: it is through; 0: not yet; negative: it failed. */
static int sending_state(struct sending *s)
{
    int first = mca_coll_gpuring_pml_request_done(&s->pml_requests[0]),
        data = mca_coll_gpuring_pml_request_done(&s->pml_requests[1]);

    return 0 > first || 0 > data ? GR_ERR_LOST : first && data;
}

static int post_send(const void *buf, size_t bytes, int tag, const struct connection *c,
                     ompi_request_t **pml_request)
{
    return MCA_PML_CALL(isend(buf, bytes, MPI_BYTE, c->rank, tag, MCA_PML_BASE_SEND_STANDARD,
                              world(), pml_request));
}

static int send_both(struct sending *s, const void *data, size_t bytes)
{
    bool packed = NULL != data && bytes <= PACKED_BYTES;
    int rc;

    s->pml_requests[0] = s->pml_requests[1] = MPI_REQUEST_NULL;
    s->first.head = s->message->head;
    s->first.bytes = NULL == data ? CONTROL : bytes;
    if (packed) {
        memcpy(s->first.data, data, bytes);
    }
    rc =
        post_send(&s->first, FIRST_BYTES(packed ? bytes : 0), TAG_HEAD, s->to, &s->pml_requests[0]);
    if (OMPI_SUCCESS == rc && NULL != data && !packed) {
        rc = post_send(data, bytes, TAG_DATA, s->to, &s->pml_requests[1]);
    }
    return rc;
}

static int pml_send(void *end, void *connection, struct gr_net_message *message, const void *data,
                    size_t bytes)
{
    struct pml *p = end;
    struct connection *c = connection;
    struct sending *s = c->lost ? NULL : sending_get(p);
    int state;

    if (NULL == s) {
        return c->lost ? GR_ERR_LOST : GR_ERR_NOMEM;
    }
    s->to = c;
    s->message = message;
    inside = true;
    state = OMPI_SUCCESS == send_both(s, data, bytes) ? sending_state(s) : GR_ERR_LOST;
    inside = false;
    if (0 > state) {
        /* s is not used again: one of its PML requests may be in flight */
        lose(p, c, "Open MPI cannot send a message");
    } else if (1 == state) {
        sending_put(p, s);
    } else {
        s->next = p->sendings;
        p->sendings = s;
    }
    return state;
}

static void look_at_sendings(struct pml *p)
{
    struct sending **at = &p->sendings, *s;
    int state;

    while (NULL != (s = *at)) {
        state = sending_state(s);
        if (0 == state) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        if (0 > state && !s->to->lost) {
            lose(p, s->to, "Open MPI has not sent a message");
        }
        p->up->sent(p->up->ctx, s->message, 0 > state ? GR_ERR_LOST : 0);
        if (0 < state) {
            sending_put(p, s);
        }
    }
}

/* ---- what comes in ---- */

static int post_head(struct connection *c)
{
    return MCA_PML_CALL(
        irecv(&c->came, sizeof(c->came), MPI_BYTE, c->rank, TAG_HEAD, world(), &c->pml_request));
}

/* The data of a head are in flight. OMPI error code. */
static int fetch(struct pml *p, struct connection *c, void *to)
{
    struct receiving *r = malloc(sizeof(*r));
    size_t bytes = c->came.bytes;
    int rc;

    if (NULL == r) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *r = (struct receiving) {p->receivings, c, c->came.head, MPI_REQUEST_NULL, NULL};
    if (NULL == to) {
        to = r->dropped = malloc(bytes);
    }
    rc =
        NULL == to
            ? OMPI_ERR_OUT_OF_RESOURCE
            : MCA_PML_CALL(irecv(to, bytes, MPI_BYTE, c->rank, TAG_DATA, world(), &r->pml_request));
    if (OMPI_SUCCESS != rc) {
        free(r->dropped);
        free(r);
        return rc;
    }
    p->receivings = r;
    return OMPI_SUCCESS;
}

/* A head has come. OMPI error code. */
static int take(struct pml *p, struct connection *c)
{
    const struct gr_transport_up *up = p->up;
    const struct first *first = &c->came;
    void *to;
    int rc = OMPI_SUCCESS, on_gpu;

    if (CONTROL == first->bytes) {
        up->on_control(up->ctx, &first->head);
        return OMPI_SUCCESS;
    }
    to = up->get_recv_buffer(up->ctx, &first->head, first->bytes, &on_gpu);
    if (first->bytes > PACKED_BYTES) {
        rc = fetch(p, c, to);
        if (OMPI_SUCCESS != rc && NULL != to) {
            up->recv_done(up->ctx, &first->head, GR_ERR_LOST);
        }
    } else if (NULL != to) {
        memcpy(to, first->data, first->bytes);
        up->recv_done(up->ctx, &first->head, 0);
    }
    return rc;
}

/* A head has come from it: more are likely to. */
static void remember(struct pml *p, struct connection *c)
{
    unsigned k;

    for (k = 0; k < LOOKS && c != p->recent[k]; k++) {
    }
    if (LOOKS == k) {
        p->recent[p->oldest++ % LOOKS] = c;
    }
}

static void look_at_heads(struct pml *p, struct connection *c)
{
    int k, rc = 1;

    for (k = 0; k < MOST_HEADS && !c->lost; k++) {
        rc = mca_coll_gpuring_pml_request_done(&c->pml_request);
        if (0 == rc) {
            return;
        }
        if (0 > rc || OMPI_SUCCESS != take(p, c) || OMPI_SUCCESS != post_head(c)) {
            lose(p, c, "Open MPI cannot receive a message");
        }
        remember(p, c);
    }
}

/*
 * Look for heads: a few connections each time, so that the time does not grow with the number of
 * processes that this one has links to. Those that heads came from last, and in turns all.
 */
static void look_at_connections(struct pml *p)
{
    unsigned k;

    for (k = 0; k < LOOKS && NULL != p->recent[k]; k++) {
        look_at_heads(p, p->recent[k]);
    }
    for (k = 0; k < LOOKS && k < p->n; k++) {
        look_at_heads(p, p->connections[p->turn++ % p->n]);
    }
}

static void look_at_receivings(struct pml *p)
{
    struct receiving **at = &p->receivings, *r;
    int state;

    while (NULL != (r = *at)) {
        state = mca_coll_gpuring_pml_request_done(&r->pml_request);
        if (0 == state) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        if (0 > state && !r->from->lost) {
            lose(p, r->from, "Open MPI has not received a message");
        }
        if (NULL == r->dropped) {
            p->up->recv_done(p->up->ctx, &r->head, 0 > state ? GR_ERR_LOST : 0);
        }
        free(r->dropped);
        free(r);
    }
}

static void pml_progress(void *end)
{
    struct pml *p = end;

    inside = true;
    look_at_connections(p);
    look_at_receivings(p);
    look_at_sendings(p);
    inside = false;
}

/* ---- connections ---- */

static size_t pml_address(void *end, void *address, size_t size)
{
    int rank = ompi_comm_rank(world());

    (void) end;
    if (sizeof(rank) <= size) {
        memcpy(address, &rank, sizeof(rank));
    }
    return sizeof(rank);
}

static int pml_connect(void *end, const void *address, void *peer, void **connection, char *why,
                       size_t size)
{
    struct pml *p = end;
    struct connection *c = calloc(1, sizeof(*c));
    struct connection **grown = realloc(p->connections, (p->n + 1) * sizeof(struct connection *));
    int rc;

    p->connections = NULL == grown ? p->connections : grown;
    if (NULL == c || NULL == grown) {
        free(c);
        return GR_ERR_NOMEM;
    }
    c->peer = peer;
    memcpy(&c->rank, address, sizeof(c->rank));
    inside = true;
    rc = c->rank >= 0 && c->rank < ompi_comm_size(world()) ? post_head(c) : OMPI_ERR_BAD_PARAM;
    inside = false;
    if (OMPI_SUCCESS != rc) {
        snprintf(why, size, "Open MPI posts no receive from rank %d of MPI_COMM_WORLD: error %d",
                 c->rank, rc);
        free(c);
        return GR_ERR_UNREACHED;
    }
    p->connections[p->n++] = c;
    *connection = c;
    return 0;
}

/* ---- beginning and end ---- */

static int pml_open(void **end, const struct gr_transport_up *up, const char *device, char *why,
                    size_t size)
{
    struct pml *p;

    (void) device; /* Open MPI chooses */
    if (!gr_process.can_message) {
        snprintf(why, size, "links over Open MPI's messages need gpuring on MPI_COMM_WORLD");
        return GR_ERR_NET;
    }
    p = calloc(1, sizeof(*p));
    if (NULL == p) {
        return GR_ERR_NOMEM;
    }
    p->up = up;
    *end = p;
    return 0;
}

/* What Open MPI does not give back in time stays: it may still write there. */
static void connection_close(struct connection *c)
{
    static const double force = 1; /* seconds; it takes no others to cancel a receive */
    double until = gr_runtime_now() + force;

    if (MPI_REQUEST_NULL != c->pml_request) {
        (void) ompi_request_cancel(c->pml_request);
    }
    while (0 == mca_coll_gpuring_pml_request_done(&c->pml_request) && gr_runtime_now() < until) {
        opal_progress();
    }
    if (MPI_REQUEST_NULL == c->pml_request) {
        free(c);
    }
}

static void pml_close(void *end, double patience)
{
    struct pml *p = end;
    struct sending *s;
    double until = gr_runtime_now() + patience;

    while ((NULL != p->sendings || NULL != p->receivings) && gr_runtime_now() < until) {
        opal_progress();
        pml_progress(p);
    }
    for (s = p->sendings; NULL != s; s = s->next) {
        p->up->sent(p->up->ctx, s->message, GR_ERR_LOST);
    }
    while (p->n > 0) {
        connection_close(p->connections[--p->n]);
    }
    free(p->connections);
    while (NULL != (s = p->unused)) {
        p->unused = s->next;
        free(s);
    }
    free(p);
}

const struct gr_transport gr_runtime_transport = {
    GR_TRANSPORT_VERSION, "pml",    pml_open,     pml_close, pml_address,
    pml_connect,          pml_send, pml_progress, NULL,      NULL,
};
