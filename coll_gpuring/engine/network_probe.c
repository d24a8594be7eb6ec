/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe of network_probe.h, in phases of nonblocking messages:
 *
 *      ASK      all ranks learn whether one of them knows the network from another communicator,
 *               and which is the lowest rank on another node than rank 0 (dissemination.h)
 *      MEASURE  if none does: rank 0 and that rank, its partner, exchange messages
 *               (network_exchange.h)
 *      TELL     all ranks learn rank 0's result in the same way; those that have no part in the
 *               exchange wait here meanwhile
 */
#include "engine/network_probe.h"

#include "engine/comm.h"
#include "engine/dissemination.h"
#include "engine/log.h"
#include "engine/network_exchange.h"
#include "engine/op_queue.h"
#include "engine/params.h"
#include "engine/process.h"
#include "engine/runtime.h"
#include "engine/setup_messages.h"

#include "base/memory.h"
#include "base/errors.h"

#include <stdio.h>
#include <stdlib.h>

enum phase { NEW, ASK, MEASURE, TELL };

/* Tags, from the highest of the set-up's down. */
enum { TAG_ASK, TAG_TELL, TAG_EXCHANGE, TAGS = TAG_EXCHANGE + GR_NETWORK_EXCHANGE_TAGS };
_Static_assert(TAGS <= GR_SETUP_TAGS, "a probe has the tags of a set-up");

/* What ranks tell each other in ASK and TELL. */
struct news {
    int32_t source;            /* the lowest rank that knows the network; INT32_MAX: none */
    int32_t partner;           /* the lowest rank on another node than rank 0 */
    struct gr_network network; /* as `source` knows it */
};

struct gr_network_probe {
    struct gr_op_queue *queue; /* borrowed */
    int tag;                   /* the highest of its tags */
    enum phase phase;
    struct news news;                    /* that this rank has heard */
    struct news sent, heard;             /* in flight */
    struct gr_dissemination rounds;      /* of ASK and TELL */
    struct gr_network_exchange exchange; /* of MEASURE */
};

static const struct gr_comm *comm_of(const struct gr_network_probe *probe)
{
    return probe->queue->comm;
}

static struct gr_order_network *order_of(const struct gr_op_queue *queue)
{
    return &queue->comm->network[queue->order];
}

/* ---- what the process knows ---- */

static struct gr_network recall(struct gr_process *process)
{
    struct gr_network network;

    gr_lock(&process->network.lock);
    network = process->network.network;
    gr_unlock(&process->network.lock);
    return network;
}

static void remember(struct gr_process *process, const struct gr_network *network)
{
    gr_lock(&process->network.lock);
    process->network.network = *network;
    gr_unlock(&process->network.lock);
}

/* ---- phases ---- */

static void combine(void *to, const void *from)
{
    const struct news *other = from;
    struct news *mine = to;

    if (other->source < mine->source) {
        mine->source = other->source;
        mine->network = other->network;
    }
    mine->partner = other->partner < mine->partner ? other->partner : mine->partner;
}

static int begin_rounds(struct gr_network_probe *probe, enum phase phase)
{
    probe->phase = phase;
    probe->rounds =
        (struct gr_dissemination) {.comm = comm_of(probe),
                                   .tag = probe->tag - (ASK == phase ? TAG_ASK : TAG_TELL),
                                   .bytes = sizeof(struct news),
                                   .mine = &probe->news,
                                   .sent = &probe->sent,
                                   .heard = &probe->heard,
                                   .combine = combine};
    return mca_coll_gpuring_dissemination_begin(&probe->rounds);
}

static int begin_ask(struct gr_network_probe *probe)
{
    const struct gr_comm *comm = comm_of(probe);

    probe->news.network = recall(comm->process);
    probe->news.source = gr_network_good(&probe->news.network) ? comm->rank : INT32_MAX;
    probe->news.partner = 0 != comm->remote[0] ? comm->rank : INT32_MAX;
    return begin_rounds(probe, ASK);
}

static int begin_measure(struct gr_network_probe *probe)
{
    const struct gr_comm *comm = comm_of(probe);
    int partner = probe->news.partner;

    if (0 != comm->rank && partner != comm->rank) {
        return begin_rounds(probe, TELL);
    }
    probe->phase = MEASURE;
    return mca_coll_gpuring_network_exchange_begin(
        &probe->exchange, comm, 0 == comm->rank ? partner : 0, probe->tag - TAG_EXCHANGE);
}

/* Rank 0 knows the network, if only that it could not be measured; its partner hears of it. */
static int begin_tell(struct gr_network_probe *probe)
{
    if (0 == comm_of(probe)->rank) {
        probe->news.source = 0;
        probe->news.network = probe->exchange.questions.result;
    }
    return begin_rounds(probe, TELL);
}

/* Begin the phase after the one that is done. *over: there is none. 0 or an error. */
static int next(struct gr_network_probe *probe, bool *over)
{
    switch (probe->phase) {
    case NEW:
        return begin_ask(probe);
    case ASK:
        *over = INT32_MAX != probe->news.source;
        return *over ? 0 : begin_measure(probe);
    case MEASURE:
        return begin_tell(probe);
    default:
        *over = true;
        return 0;
    }
}

static int poll_phase(struct gr_network_probe *probe, uint64_t *moved)
{
    switch (probe->phase) {
    case NEW:
        return GR_DONE;
    case MEASURE:
        return mca_coll_gpuring_network_exchange_poll(&probe->exchange, moved);
    default:
        return mca_coll_gpuring_dissemination_poll(&probe->rounds, moved);
    }
}

int mca_coll_gpuring_network_poll(void *ctx, uint64_t *moved)
{
    struct gr_network_probe *probe = ctx;
    bool over = false;
    int rc;

    do {
        rc = poll_phase(probe, moved);
        if (GR_DONE == rc) {
            rc = next(probe, &over);
        }
    } while (GR_DONE == rc && !over);
    return rc;
}

/* ---- begin and end ---- */

bool mca_coll_gpuring_network_wanted(const struct gr_op_queue *queue)
{
    return !queue->persistent &&
           GR_NETWORK_NEW == atomic_load_explicit(&order_of(queue)->state, memory_order_acquire);
}

struct gr_network_probe *mca_coll_gpuring_network_new(struct gr_op_queue *queue, uint32_t number)
{
    struct gr_network_probe *probe = gr_calloc(1, sizeof(*probe));

    if (NULL != probe) {
        probe->queue = queue;
        probe->tag = mca_coll_gpuring_setup_tag(number);
        atomic_store_explicit(&order_of(queue)->state, GR_NETWORK_ASKED, memory_order_release);
    }
    return probe;
}

struct gr_internode mca_coll_gpuring_network_terms(const struct gr_comm *comm,
                                                   const struct gr_network *measured)
{
    double latency = (double) comm->params.value[GR_PARAM_NODES_LATENCY],
           mbit = (double) comm->params.value[GR_PARAM_NODES_MBIT];
    struct gr_network class;

    if (NULL == comm->remote) {
        return (struct gr_internode) {.nodes = 0};
    }
    class = gr_network_class(measured, gr_comm_network_use(comm));
    return (struct gr_internode) {
        .nodes = comm->nodes,
        .ranks = comm->node_ranks,
        .step = latency > 0 ? latency : (double) class.latency,
        .byte = 8.0 / (mbit > 0 ? mbit : (double) class.mbit),
        .rails = comm->rails,
        .oversubscribed = comm->oversubscribed,
    };
}

const char *mca_coll_gpuring_network_text(const struct gr_comm *comm,
                                          const struct gr_network *measured, char *text,
                                          size_t size)
{
    long long latency = comm->params.value[GR_PARAM_NODES_LATENCY],
              mbit = comm->params.value[GR_PARAM_NODES_MBIT];
    bool none = 0 == latency && 0 == mbit, all = 0 != latency && 0 != mbit;
    char us[32] = "", rate[32] = "", rest[200];

    (void) gr_network_text(measured, gr_comm_network_use(comm), rest, sizeof(rest));
    if (0 != latency) {
        snprintf(us, sizeof(us), " latency %lld us", latency);
    }
    if (0 != mbit) {
        snprintf(rate, sizeof(rate), "%s %lld Mbit/s", 0 != latency ? "," : "", mbit);
    }
    snprintf(text, size, "%s%s%s%s%s", none ? "" : "by parameters:", us, rate,
             none || all ? "" : "; else ", all ? "" : rest);
    return text;
}

/* Rank 0 says what the communicator's calls go by. */
static void log_network(const struct gr_network_probe *probe)
{
    const struct gr_comm *comm = comm_of(probe);
    char text[300];

    if (mca_coll_gpuring_should_log(comm->rank, 1)) {
        mca_coll_gpuring_print(
            "gpuring: %s, the cost model's constants between nodes: %s", gr_comm_name(comm),
            mca_coll_gpuring_network_text(comm, &probe->news.network, text, sizeof(text)));
    }
}

void mca_coll_gpuring_network_end(struct gr_network_probe *probe)
{
    struct gr_order_network *order = order_of(probe->queue);

    order->network = probe->news.network;
    if (gr_network_good(&order->network)) {
        remember(comm_of(probe)->process, &order->network);
    }
    log_network(probe);
    atomic_store_explicit(&order->state, GR_NETWORK_KNOWN, memory_order_release);
    mca_coll_gpuring_network_exchange_free(&probe->exchange);
    free(probe);
}

void mca_coll_gpuring_network_explain(void *ctx, char *text, size_t size)
{
    const struct gr_network_probe *probe = ctx;

    if (NEW == probe->phase) {
        snprintf(text, size, "measuring the network, not begun");
    } else {
        snprintf(text, size, "measuring the network, waits for rank %d",
                 MEASURE == probe->phase ? probe->exchange.peer
                                         : mca_coll_gpuring_dissemination_awaits(&probe->rounds));
    }
}
