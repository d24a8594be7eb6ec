/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links to other nodes: this process's networks (net/net.h), which the first set-up that needs one
 * makes, and the ends that set-ups open on them and queues keep. There is one, or one for each rail
 * (comm->rails).
 *
 *      reader                          writer
 *      begin   opens its end  - handle ->
 *                                       reply  opens its end, and joins it to the reader's
 *      map     joins it      <-- reply --
 *
 * The driver of a queue progresses them; otherwise gr_runtime_progress() does, now and then: a peer
 * may still need data from here when no op is in flight any more. They stay until the component
 * is closed, or, over Open MPI's messages, until MPI_COMM_WORLD ends: both are behind the barrier
 * of MPI_Finalize.
 */
#include "comm/net_links.h"

#include "comm/comm.h"
#include "comm/failure.h"
#include "comm/params.h"
#include "comm/runtime.h"

#include "base/errors.h"
#include "base/memory.h"
#include "net/transport.h"
#include "net/net.h"
#include "net/rails.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Seconds that what was sent may take to leave the process at its end; all have received theirs by
 * then.
 */
#define PATIENCE 1.0

/* Polls without progress in a queue with links to other nodes: */
#define POLLS_PER_PROGRESS 16 /* before Open MPI is progressed, at least */
#define POLLS_PER_YIELD 4     /* before the core is given away, where ranks share cores */

struct network {
    bool tried;
    _Atomic(struct gr_net *) net; /* set while others move those on that are there */
    char why[256];                /* there is none */
};

static struct {
    struct network on[1 + GR_NET_RAILS]; /* that may use what it likes, and those of the rails */
    pthread_mutex_t lock;                /* guards the opening of networks */
    bool opened;                         /* there is one, and gr_runtime_progress() knows */
    /* it is MPI that moves messages: in MPI calls, and in gr_runtime_progress() */
    bool by_pml;
    atomic_int held; /* groups of links that queues have */
} networks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the networks ---- */

const char *gr_transport_name(int kind)
{
    static const char *const names[GR_NTRANSPORTS] = {"ucx", "pml"};

    return names[kind];
}

/* Call a function for each network that is open. Returns how much they moved. */
static uint64_t do_with_all(void (*what)(struct gr_net *net, uint64_t *moved))
{
    uint64_t moved = 0;
    struct gr_net *net;
    int k;

    for (k = 0; k <= GR_NET_RAILS; k++) {
        net = atomic_load_explicit(&networks.on[k].net, memory_order_acquire);
        if (NULL != net) {
            what(net, &moved);
        }
    }
    return moved;
}

/* gr_runtime_progress() calls it; every few times where it does not move the messages itself. */
static int progress(void *ctx)
{
    (void) ctx;
    return (int) do_with_all(gr_net_progress);
}

/*
 * Rails between nodes: channels on different network devices. Each process says at MPI_Init how
 * many it has (modex.c), a communicator has as many as each of its ranks, and the links of channel
 * c lie on rail c modulo that, at both ends. Only processes that want several ask for them.
 */
static struct gr_net_rails rails = {.n = 1};

/*
 * The devices that links may use: the transport's, without the interfaces that the user keeps MPI
 * from, unless the user has restricted the transport itself. Returns their number. *left_out: how
 * many interfaces were left out.
 */
static int devices_allowed(const struct gr_transport *transport, char (*names)[GR_NET_DEVICE_BYTES],
                           int *left_out)
{
    bool exclude;
    int chosen, n = transport->devices(names, GR_NET_RAIL_DEVICES, &chosen);
    const char *list = chosen ? NULL : gr_runtime_interfaces(&exclude);

    *left_out = 0;
    return NULL == list ? n : gr_net_confine(names, n, list, exclude, left_out);
}

/*
 * Set *device to the devices that the network of a rail may use, as gr_net_open() takes them; NULL:
 * all. Without rails, where the user keeps MPI from some interfaces and has not restricted the
 * transport itself: those that are left, in text[size]. False: none are.
 */
static bool find_devices(int rail, const struct gr_transport *transport, char *text, size_t size,
                         const char **device)
{
    char names[GR_NET_RAIL_DEVICES][GR_NET_DEVICE_BYTES];
    bool exclude;
    int n, k, left_out = 0;

    *device = 0 != rail ? rails.name[rail - 1] : NULL;
    if (0 != rail || NULL == transport->devices || NULL == gr_runtime_interfaces(&exclude)) {
        return true;
    }
    n = devices_allowed(transport, names, &left_out);
    if (0 == left_out) {
        return true;
    }
    *device = text;
    text[0] = '\0';
    for (k = 0; k < n; k++) {
        snprintf(text + strlen(text), size - strlen(text), "%s%s", 0 == k ? "" : ",", names[k]);
    }
    return n > 0;
}

/*
 * Open the network of a rail (0: without rails) over a transport; NULL: there is none. False: it
 * cannot be opened, and the network's `why` has the reason.
 */
static bool open_over(int rail, const struct gr_transport *transport)
{
    struct network *n = &networks.on[rail];
    char devices[GR_NET_RAIL_DEVICES * GR_NET_DEVICE_BYTES];
    const char *device;
    struct gr_net *net = NULL;

    if (NULL == transport) {
        return false;
    }
    if (!find_devices(rail, transport, devices, sizeof(devices), &device)) {
        snprintf(n->why, sizeof(n->why),
                 "btl_tcp_if_include or _exclude leaves %s no network device", transport->name);
        return false;
    }
    if (0 != gr_net_open(&net, transport, device, n->why, sizeof(n->why))) {
        return false;
    }
    atomic_store_explicit(&n->net, net, memory_order_release);
    if (!networks.opened) {
        networks.opened = true;
        networks.by_pml = &gr_runtime_transport == transport;
        (void) gr_runtime_register(GR_PROGRESS_NETWORK, progress, NULL, networks.by_pml);
    }
    if (gr_settings.verbose >= 1 && 0 == gr_runtime_self().vpid) {
        gr_print("gpuring: links to other nodes go over %s%s%s%s%s", transport->name,
                 NULL == device ? "" : " on ", NULL == device ? "" : device,
                 '\0' == n->why[0] ? "" : ": ", n->why);
    }
    return true;
}

static void open_network(int rail)
{
    struct network *n = &networks.on[rail];
    int wanted = gr_settings.transport;

    n->tried = true;
    n->why[0] = '\0';
    if (GR_TRANSPORT_PML != wanted && open_over(rail, gr_net_load(NULL, n->why, sizeof(n->why)))) {
        return;
    }
    if (GR_TRANSPORT_UCX != wanted && 0 == rail) {
        (void) open_over(rail, &gr_runtime_transport);
    }
}

/* NULL: there is none. */
static struct gr_net *get_network(int rail)
{
    pthread_mutex_lock(&networks.lock);
    if (!networks.on[rail].tried) {
        open_network(rail);
    }
    pthread_mutex_unlock(&networks.lock);
    return networks.on[rail].net;
}

const char *gr_net_no_rdma(const struct gr_op_queue *queue)
{
    const struct gr_net *net;
    int k, n = queue->comm->rails;

    if (NULL == queue->comm->remote || 0 == gr_settings.gpu_rdma) {
        return "coll_gpuring_nodes_direct is 0";
    }
    for (k = 0; k < n; k++) {
        enum gr_net_gpus how;

        net = get_network(gr_rail_of(queue, (uint32_t) k));
        how = NULL == net ? GR_NET_GPUS_NONE : gr_net_reaches_gpus(net);
        if (GR_NET_GPUS_NONE == how) {
            return "the network cannot access device memory";
        }
        if (GR_NET_GPUS_COPIED == how && 1 != gr_settings.gpu_rdma) {
            return "the network would copy device memory through the host";
        }
    }
    return NULL;
}

static void close_networks(const char *why)
{
    int k;

    if (networks.opened) {
        gr_runtime_unregister(GR_PROGRESS_NETWORK);
    }
    networks.opened = false;
    for (k = 0; k <= GR_NET_RAILS; k++) {
        gr_net_close(atomic_exchange(&networks.on[k].net, NULL), PATIENCE);
        networks.on[k].tried = NULL != why;
        snprintf(networks.on[k].why, sizeof(networks.on[k].why), "%s", NULL == why ? "" : why);
    }
}

void gr_process_net_close(void)
{
    close_networks(NULL);
}

void gr_net_world_ends(void)
{
    if (networks.by_pml) {
        close_networks("MPI has been finalized");
    }
}

/* ---- a set-up's ends ---- */

/* Open an end on its FIFO. */
static int open_end(struct gr_net_ends *e, enum gr_net_side side, struct gr_net_endpoint *end)
{
    struct gr_net *net = get_network(end->rail);
    int rc = GR_ERR_NET;

    if (NULL == net) {
        snprintf(e->why, e->why_size, "%s", networks.on[end->rail].why);
    } else {
        end->fifo.failed = &e->queue->link_failed;
        rc = gr_net_link_open(net, side, &end->fifo, &end->link);
    }
    if (0 == rc) {
        *end->bell = &end->link->bell;
        e->held->link[e->held->n++] = end->link;
        gr_net_link_export(end->link, &end->mine);
    }
    return rc;
}

/*
 * Join an end to the other's, unless that has none: then its rank has a problem of its own, and
 * says so in the agreement.
 */
static int join_end(struct gr_net_ends *e, struct gr_net_endpoint *end)
{
    char peer[GR_NET_NAME_BYTES];
    int rc = 0;

    if (0 != end->theirs.link) {
        snprintf(peer, sizeof(peer), "rank %d on %s%s%s", end->rank,
                 gr_runtime_host(e->queue->comm, end->rank), end->rail > 0 ? ", over " : "",
                 end->rail > 0 ? rails.name[end->rail - 1] : "");
        rc = gr_net_link_join(end->link, &end->theirs, peer);
        gr_net_link_error(end->link, e->why, e->why_size);
    }
    return rc;
}

int gr_endpoints_reserve(struct gr_net_ends *e, int nin, int nout)
{
    if (0 == nin + nout) {
        return 0;
    }
    e->held = gr_calloc(1, sizeof(*e->held) + (size_t) (nin + nout) * sizeof(e->held->link[0]));
    e->in = gr_calloc((size_t) nin + 1, sizeof(*e->in));
    e->out = gr_calloc((size_t) nout + 1, sizeof(*e->out));
    if (NULL == e->held || NULL == e->in || NULL == e->out) {
        return GR_ERR_NOMEM;
    }
    e->nin = nin;
    e->nout = nout;
    return 0;
}

void gr_endpoints_begin(struct gr_net_ends *e, int *status)
{
    int k;

    for (k = 0; k < e->nin && 0 == *status; k++) {
        *status = open_end(e, GR_NET_IN, &e->in[k]);
    }
}

void gr_endpoints_reply(struct gr_net_ends *e, int *status)
{
    int k;

    for (k = 0; k < e->nout && 0 == *status; k++) {
        *status = open_end(e, GR_NET_OUT, &e->out[k]);
        if (0 == *status) {
            *status = join_end(e, &e->out[k]);
        }
    }
}

void gr_endpoints_map(struct gr_net_ends *e, int *status)
{
    int k;

    for (k = 0; k < e->nin && 0 == *status; k++) {
        *status = join_end(e, &e->in[k]);
    }
}

static void close_links(struct gr_net_links *held)
{
    int k;

    for (k = 0; networks.opened && k < held->n; k++) {
        gr_net_link_close(held->link[k]);
    }
    free(held);
}

void gr_endpoints_end(struct gr_net_ends *e, int status)
{
    if (NULL != e->held && 0 == status) {
        e->held->next = e->queue->held;
        e->queue->held = e->held;
        /* one may have failed since the ranks have agreed */
        atomic_store_explicit(&e->queue->link_failed, true, memory_order_relaxed);
        atomic_fetch_add_explicit(&networks.held, 1, memory_order_relaxed);
    } else if (NULL != e->held) {
        close_links(e->held);
    }
    free(e->in);
    free(e->out);
}

void gr_endpoints_tell(const struct gr_net_ends *e)
{
    int rank = e->queue->comm->rank;

    gr_warn("net-refused", rank, gr_comm_name(e->queue->comm),
            gr_runtime_host(e->queue->comm, rank), e->why);
}

/* ---- a queue's links ---- */

unsigned gr_net_polls_per_progress(const struct gr_op_queue *queue, unsigned polls)
{
    if (NULL == queue->held) {
        return polls;
    }
    return networks.by_pml ? 1 : polls < POLLS_PER_PROGRESS ? POLLS_PER_PROGRESS : polls;
}

void gr_process_net_progress(bool here)
{
    if (atomic_load_explicit(&networks.held, memory_order_relaxed) > 0 &&
        (here || !networks.by_pml)) {
        (void) progress(NULL);
    }
}

bool gr_process_net_send(void)
{
    return atomic_load_explicit(&networks.held, memory_order_relaxed) > 0 &&
           0 < do_with_all(gr_net_send);
}

void gr_net_run_progress(const struct gr_op_queue *queue)
{
    if (NULL != queue->held && networks.by_pml) {
        gr_runtime_progress_no_yield();
    } else {
        gr_runtime_progress();
    }
}

void gr_queue_net_receive(const struct gr_op_queue *queue, bool near)
{
    unsigned idle = queue->watch.idle;

    if ((!near || POLLS_PER_PROGRESS - 1 == idle % POLLS_PER_PROGRESS) &&
        0 < do_with_all(gr_net_receive)) {
        return;
    }
    if (gr_runtime_shares_cores() && queue->watch.moved == queue->watch.before &&
        (near || POLLS_PER_YIELD - 1 == idle % POLLS_PER_YIELD)) {
        sched_yield();
    }
}

void gr_net_check(struct gr_op_queue *queue)
{
    struct gr_comm *comm = queue->comm;
    struct gr_net_links *held;
    char why[300];
    int k, rank;

    if (!atomic_load_explicit(&queue->link_failed, memory_order_relaxed) ||
        !atomic_exchange_explicit(&queue->link_failed, false, memory_order_acquire)) {
        return;
    }
    for (held = queue->held; NULL != held && 0 == queue->comm->failed; held = held->next) {
        for (k = 0; k < held->n && 0 == queue->comm->failed; k++) {
            if (0 != gr_net_link_status(held->link[k])) {
                rank = comm->rank;
                gr_net_link_error(held->link[k], why, sizeof(why));
                gr_warn("net-lost", rank, gr_comm_name(comm), gr_runtime_host(comm, rank), why);
                gr_fail(queue->comm, GR_ERR_FAILED, why);
            }
        }
    }
}

size_t gr_net_zero_copy(const struct gr_op_queue *queue)
{
    int least = gr_settings.nodes_zero_copy;

    return NULL == queue->held || least < 0 ? 0 : least > 0 ? (size_t) least : 1;
}

bool gr_net_reclaim(const struct gr_op_queue *queue)
{
    const struct gr_net_links *held;
    int left = 0, k;

    for (held = queue->held; networks.opened && NULL != held; held = held->next) {
        for (k = 0; k < held->n; k++) {
            left += gr_net_link_reclaim(held->link[k]);
        }
    }
    return 0 == left;
}

bool gr_net_by_messages(void)
{
    return networks.by_pml;
}

void gr_net_leave(struct gr_op_queue *queue)
{
    struct gr_net_links *held;

    while (NULL != queue->held) {
        held = queue->held;
        queue->held = held->next;
        atomic_fetch_sub_explicit(&networks.held, 1, memory_order_relaxed);
        close_links(held);
    }
}

/* ---- rails ---- */

int gr_rails_here(void)
{
    char names[GR_NET_RAIL_DEVICES][GR_NET_DEVICE_BYTES], why[256];
    int wanted = (int) gr_settings.params.value[GR_PARAM_NODES_RAILS];
    const struct gr_transport *transport;
    int left_out;

    if (1 == wanted || 0 == gr_settings.priority || 0 == gr_settings.params.value[GR_PARAM_NODES] ||
        GR_TRANSPORT_PML == gr_settings.transport) {
        return 1;
    }
    /* who needs the network says that there is none, and why */
    transport = gr_net_load(NULL, why, sizeof(why));
    if (NULL != transport) {
        gr_net_find_rails(&rails, names, devices_allowed(transport, names, &left_out), "/sys");
    }
    return 0 == wanted || rails.n < wanted ? rails.n : wanted;
}

void gr_rails_log(const struct gr_comm *comm)
{
    int wanted = (int) comm->params.value[GR_PARAM_NODES_RAILS], k;
    char text[GR_NET_RAILS * (GR_NET_DEVICE_BYTES + 1)] = "", of[32] = "";

    if (1 == wanted || !gr_should_log(comm->rank, 1)) {
        return;
    }
    if (wanted > comm->rails) {
        snprintf(of, sizeof(of), ", of %d wanted", wanted);
    }
    for (k = 1; comm->rails > 1 && k <= comm->rails; k++) {
        strcat(strcat(text, " "), rails.name[k - 1]);
    }
    gr_print("gpuring: %s: %d rail%s between nodes%s%s%s", gr_comm_name(comm), comm->rails,
             1 == comm->rails ? "" : "s", of, comm->rails > 1 ? ", here" : "",
             comm->rails > 1 ? text
             : GR_TRANSPORT_PML == gr_settings.transport
                 ? ": Open MPI's messages have one"
                 : ": not all ranks have several equal devices");
}
