/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport of links to other nodes (net/transport.h) over Open MPI's point-to-point messages,
 * for where there is no UCX. They travel on MPI_COMM_WORLD with tags of their own, negative: no
 * receive of the application matches these.
 *
 *      GR_TAG_NET_HEAD    [head | few data]    each connection has one receive posted
 *      GR_TAG_NET_DATA    [many data]          1 to MOST_PIECES messages, received where they belong
 *
 * Messages of one tag do not overtake each other, so the receives of data need no numbers. Many
 * data are sent from where they lie. A head's completion posts the receives of its data, before
 * Open MPI handles the next message, so that they need not be kept anywhere else.
 *
 * What consists of requests of the PML is a task. The completion of its last request puts the task
 * into a list (link/fifo.h), whatever thread that happens in, and progress() takes the list. A
 * request has its callback before it is started: set later, another thread might complete it
 * meanwhile, without the callback. So all are made as persistent requests and used once.
 *
 * Only Open MPI's progress completes requests, which a rank that waits calls anyway. Called from
 * here it would drive queues, and those the network that this thread has locked. So only close
 * calls it, and queues are not driven while a thread is in here (gr_runtime_in_transport()).
 */
#include "mpi/runtime.h"

#include "base/errors.h"
#include "base/memory.h"
#include "link/connect.h"
#include "link/fifo.h"
#include "net/transport.h"

#include "ompi/mca/pml/base/base.h"
#include "ompi/mca/pml/pml.h"

#include <stdlib.h>
#include <sys/queue.h>

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
    atomic_int left;             /* requests that are not complete, and 1 while they are started */
    atomic_bool failed;          /* one of them */
    LIST_ENTRY(task) entry;      /* in a list of its struct pml */
    ompi_request_t *pml_request; /* the one that was started last, until it is complete */
};

struct connection {
    struct task task; /* the receive of a head; in no list */
    void *peer;
    int rank; /* in MPI_COMM_WORLD */
    bool lost;
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
    LIST_HEAD(, task) tasks;      /* sendings and receivings in flight */
    LIST_HEAD(, task) unused;     /* sendings */
    size_t at_once_bytes; /* of the longest message that Open MPI sends at once; 0: any, perhaps */
};

static _Thread_local bool inside;
/* Has ever been opened. Progress asks often, and to find a thread's variable takes a call. */
static atomic_bool opened;

bool gr_runtime_in_transport(void)
{
    return atomic_load_explicit(&opened, memory_order_relaxed) && inside;
}

static void lose(struct connection *c, const char *why)
{
    const struct gr_transport_up *up = c->task.pml->up;

    if (!c->lost) {
        c->lost = true;
        up->lost(up->ctx, c->peer, why);
    }
}

/* ---- tasks ---- */

static void begin(struct task *t, struct pml *p, void (*done)(struct task *task, bool failed))
{
    t->pml = p;
    t->done = done;
    t->bell.list = &p->complete;
    atomic_store_explicit(&t->left, 1, memory_order_relaxed);
    atomic_store_explicit(&t->failed, false, memory_order_relaxed);
}

/*
 * A request is complete, or no more will be started. Whether all are through; if not, done() is
 * called later.
 */
static bool is_through(struct task *t)
{
    return 1 == atomic_fetch_sub_explicit(&t->left, 1, memory_order_acq_rel);
}

/*
 * A request is complete. In a thread that is in here, progress() follows. In another one it is
 * tried at once, for the receives of data to be posted in time.
 */
static int on_complete(ompi_request_t *request)
{
    struct task *t = request->req_complete_cb_data;
    struct pml *p = t->pml;

    if (MPI_SUCCESS != request->req_status.MPI_ERROR) {
        t->failed = true;
    }
    (void) ompi_request_free(&request);
    if (is_through(t) && NULL != p) {
        gr_doorbell_ring(&t->bell);
        if (!inside) {
            p->up->ready(p->up->ctx);
        }
    }
    return 1; /* Open MPI does not touch the request any more */
}

/* Start a request of a task: a message to a connection's rank or, with `receive`, from there. */
static int post(struct task *t, const struct connection *c, bool receive, int tag, void *buf,
                size_t bytes)
{
    ompi_request_t *request;
    int rc = receive
                 ? MCA_PML_CALL(
                       irecv_init(buf, bytes, MPI_BYTE, c->rank, tag, gr_ompi_world(), &request))
                 : MCA_PML_CALL(isend_init(buf, bytes, MPI_BYTE, c->rank, tag,
                                           MCA_PML_BASE_SEND_STANDARD, gr_ompi_world(), &request));

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    request->req_complete_cb = on_complete;
    request->req_complete_cb_data = t;
    t->pml_request = request;
    atomic_fetch_add_explicit(&t->left, 1, memory_order_relaxed);
    rc = MCA_PML_CALL(start(1, &request));
    if (OMPI_SUCCESS != rc) { /* what the PML has done with the request is not known: it stays */
        request->req_complete_cb = NULL;
        atomic_fetch_sub_explicit(&t->left, 1, memory_order_relaxed);
    }
    return rc;
}

/* Length of the pieces of a message, but for the last one. */
static size_t piece_bytes(size_t bytes, size_t pieces)
{
    return (bytes + pieces - 1) / pieces;
}

/* Post the data of a message. OMPI error code. */
static int post_pieces(struct task *t, const struct connection *c, bool receive, char *data,
                       size_t bytes, size_t pieces)
{
    size_t piece = piece_bytes(bytes, pieces), at;
    int rc = OMPI_SUCCESS;

    for (at = 0; at < bytes && OMPI_SUCCESS == rc; at += piece) {
        rc = post(t, c, receive, GR_TAG_NET_DATA, data + at,
                  bytes - at < piece ? bytes - at : piece);
    }
    return rc;
}

/* ---- what goes out ---- */

static struct sending *sending_get(struct pml *p)
{
    struct task *t = LIST_FIRST(&p->unused);

    if (NULL == t) {
        return gr_calloc(1, sizeof(struct sending));
    }
    LIST_REMOVE(t, entry);
    return (struct sending *) t;
}

static void sending_put(struct pml *p, struct sending *s)
{
    LIST_REMOVE(&s->task, entry);
    LIST_INSERT_HEAD(&p->unused, &s->task, entry);
}

static void on_sent(struct task *t, bool failed)
{
    struct sending *s = (struct sending *) t;
    struct pml *p = t->pml;
    struct gr_net_message *message = s->message;

    if (failed) {
        lose(s->to, "Open MPI has not sent a message");
    }
    sending_put(p, s);
    p->up->sent(p->up->ctx, message, failed ? GR_ERR_LOST : 0);
}

static uint64_t pieces_of(const struct pml *p, size_t bytes)
{
    size_t n = bytes / PIECE_BYTES + 1;

    n = n < MOST_PIECES ? n : MOST_PIECES;
    return bytes <= PACKED_BYTES ? 0 : piece_bytes(bytes, n) <= p->at_once_bytes ? n : 1;
}

/* OMPI error code. */
static int send_both(struct sending *s, const void *data, size_t bytes)
{
    size_t packed = 0;
    int rc;

    s->first.head = s->message->head;
    s->first.bytes = NULL == data ? CONTROL : bytes;
    s->first.pieces = NULL == data ? 0 : pieces_of(s->task.pml, bytes);
    if (NULL != data && 0 == s->first.pieces) {
        packed = bytes;
        memcpy(s->first.data, data, bytes);
    }
    rc = post(&s->task, s->to, false, GR_TAG_NET_HEAD, &s->first, FIRST_BYTES(packed));
    return OMPI_SUCCESS == rc && 0 != s->first.pieces
               ? post_pieces(&s->task, s->to, false, (char *) data, bytes, s->first.pieces)
               : rc;
}

static int pml_send(void *end, void *connection, struct gr_net_message *message, const void *data,
                    size_t bytes)
{
    struct pml *p = end;
    struct connection *c = connection;
    struct sending *s = c->lost ? NULL : sending_get(p);
    int rc;

    if (NULL == s) {
        return c->lost ? GR_ERR_LOST : GR_ERR_NOMEM;
    }
    s->to = c;
    s->message = message;
    begin(&s->task, p, on_sent);
    LIST_INSERT_HEAD(&p->tasks, &s->task, entry);
    inside = true;
    rc = send_both(s, data, bytes);
    inside = false;
    if (OMPI_SUCCESS != rc) {
        s->task.failed = true;
        lose(c, "Open MPI cannot send a message");
    }
    if (!is_through(&s->task)) {
        return 0;
    }
    sending_put(p, s);
    return s->task.failed ? GR_ERR_LOST : 1;
}

/* ---- what comes in ---- */

static void on_received(struct task *t, bool failed)
{
    struct receiving *r = (struct receiving *) t;
    const struct gr_transport_up *up = t->pml->up;

    LIST_REMOVE(t, entry);
    if (failed) {
        lose(r->from, "Open MPI has not received a message");
    }
    if (!r->unwanted) {
        up->recv_done(up->ctx, &r->head, failed ? GR_ERR_LOST : 0);
    }
    free(r->dropped);
    free(r);
}

/*
 * Receive the data of a head, in memory of their own if `to` is NULL. After an error the connection
 * is lost: its next data would be taken for these. OMPI error code.
 */
static int fetch(struct connection *c, void *to)
{
    struct pml *p = c->task.pml;
    struct receiving *r = gr_calloc(1, sizeof(*r));
    size_t bytes = c->came.bytes;
    int rc = OMPI_ERR_OUT_OF_RESOURCE;

    if (NULL == r) {
        if (NULL != to) {
            p->up->recv_done(p->up->ctx, &c->came.head, GR_ERR_LOST);
        }
        return rc;
    }
    r->from = c;
    r->head = c->came.head;
    if (NULL == to) {
        to = r->dropped = gr_malloc(bytes);
        r->unwanted = true;
    }
    begin(&r->task, p, on_received);
    LIST_INSERT_HEAD(&p->tasks, &r->task, entry);
    rc = NULL == to ? rc : post_pieces(&r->task, c, true, to, bytes, c->came.pieces);
    if (OMPI_SUCCESS != rc) {
        r->task.failed = true;
    }
    if (is_through(&r->task)) {
        on_received(&r->task, r->task.failed);
    }
    return rc;
}

/* A head has come. OMPI error code. */
static int take(struct connection *c)
{
    const struct gr_transport_up *up = c->task.pml->up;
    const struct first *first = &c->came;
    void *to;
    int on_gpu;

    if (CONTROL == first->bytes) {
        up->on_control(up->ctx, &first->head);
        return OMPI_SUCCESS;
    }
    to = up->get_recv_buffer(up->ctx, &first->head, first->bytes, &on_gpu);
    if (0 != first->pieces) {
        return fetch(c, to);
    }
    if (NULL != to) {
        memcpy(to, first->data, first->bytes);
        up->recv_done(up->ctx, &first->head, 0);
    }
    return OMPI_SUCCESS;
}

static int post_head(struct connection *c);

static void on_head(struct task *t, bool failed)
{
    struct connection *c = (struct connection *) t;

    if (!c->lost && (failed || OMPI_SUCCESS != take(c) || OMPI_SUCCESS != post_head(c))) {
        lose(c, "Open MPI cannot receive a message");
    }
}

/* One that has come already is taken in the next round of progress(). OMPI error code. */
static int post_head(struct connection *c)
{
    int rc;

    begin(&c->task, c->task.pml, on_head);
    rc = post(&c->task, c, true, GR_TAG_NET_HEAD, &c->came, sizeof(c->came));
    if (is_through(&c->task) && OMPI_SUCCESS == rc) {
        gr_doorbell_ring(&c->task.bell);
    }
    return rc;
}

static void pml_progress(void *end)
{
    struct pml *p = end;
    struct gr_doorbell *bell = NULL;
    struct task *t;
    int k;

    for (k = 0; k < MOST_ROUNDS && NULL != (bell = gr_doorbells_take(&p->complete)); k++) {
        inside = true;
        while (NULL != bell) {
            t = (struct task *) bell;
            bell = gr_doorbell_clear(bell);
            t->done(t, t->failed);
        }
        inside = false;
    }
}

/* ---- connections ---- */

static size_t pml_address(void *end, void *address, size_t size)
{
    int rank = ompi_comm_rank(gr_ompi_world());

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
    struct connection *c = gr_calloc(1, sizeof(*c));
    struct connection **grown =
        gr_realloc(p->connections, (p->n + 1) * sizeof(struct connection *));
    int rc = OMPI_ERR_BAD_PARAM;

    p->connections = NULL == grown ? p->connections : grown;
    if (NULL == c || NULL == grown) {
        free(c);
        return GR_ERR_NOMEM;
    }
    c->peer = peer;
    c->task.pml = p;
    memcpy(&c->rank, address, sizeof(c->rank));
    if (c->rank >= 0 && c->rank < ompi_comm_size(gr_ompi_world())) {
        inside = true;
        rc = post_head(c);
        inside = false;
    }
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

/* Of ob1's interfaces only TCP's is asked; of the networks below cm libfabric's ofi_rxm is meant. */
static size_t at_once_bytes(void)
{
    const char *pml = mca_pml_base_selected_component.pmlm_version.mca_component_name;
    size_t bytes = mca_coll_gpuring_ompi_size("btl_tcp_eager_limit");

    if (0 == strcmp("ob1", pml)) {
        return bytes < PIECE_BYTES + HEADER_BYTES ? 0 : bytes - HEADER_BYTES;
    }
    return 0 == strcmp("cm", pml) ? PIECE_BYTES : 0;
}

static int pml_open(void **end, const struct gr_transport_up *up, const char *device, char *why,
                    size_t size)
{
    struct pml *p;

    (void) device; /* Open MPI chooses */
    if (!gr_process.can_message) {
        snprintf(why, size, "links over Open MPI's messages need gpuring on MPI_COMM_WORLD");
        return GR_ERR_NET;
    }
    p = gr_calloc(1, sizeof(*p));
    if (NULL == p) {
        return GR_ERR_NOMEM;
    }
    p->up = up;
    p->at_once_bytes = at_once_bytes();
    *end = p;
    atomic_store_explicit(&opened, true, memory_order_relaxed);
    return 0;
}

static bool is_idle(const struct connection *c)
{
    return 0 == atomic_load_explicit(&c->task.left, memory_order_acquire);
}

/* What Open MPI does not give back in time stays: it may still write there. */
static void close_connections(struct pml *p)
{
    static const double force = 1; /* seconds; it takes no others to cancel a receive */
    double until = gr_runtime_now() + force;
    struct connection *c;
    unsigned k;

    for (k = 0; k < p->n; k++) {
        c = p->connections[k];
        c->lost = true;
        if (!is_idle(c)) {
            (void) ompi_request_cancel(c->task.pml_request);
        }
    }
    for (k = 0; k < p->n; k++) {
        c = p->connections[k];
        while (!is_idle(c) && gr_runtime_now() < until) {
            opal_progress();
        }
        if (is_idle(c)) {
            free(c);
        } else {
            c->task.pml = NULL;
        }
    }
    free(p->connections);
}

static void pml_close(void *end, double patience)
{
    struct pml *p = end;
    struct task *t;
    double until = gr_runtime_now() + patience;

    while (!LIST_EMPTY(&p->tasks) && gr_runtime_now() < until) {
        opal_progress();
        pml_progress(p);
    }
    close_connections(p);
    LIST_FOREACH(t, &p->tasks, entry)
    {
        t->pml = NULL;
        if (on_sent == t->done) {
            p->up->sent(p->up->ctx, ((struct sending *) t)->message, GR_ERR_LOST);
        }
    }
    while (NULL != (t = LIST_FIRST(&p->unused))) {
        LIST_REMOVE(t, entry);
        free(t);
    }
    free(p);
}

const struct gr_transport gr_runtime_transport = {
    GR_TRANSPORT_VERSION, "pml",    pml_open,     pml_close, pml_address,
    pml_connect,          pml_send, pml_progress, NULL,      NULL,
};
