/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe of network_probe.h, as a state machine of nonblocking messages:
 *
 *      ASK      all ranks learn whether one of them knows the network from another communicator,
 *               and which is the lowest rank on another node than rank 0, by dissemination: in
 *               round k rank r sends what it has heard to r + 2^k, and receives from r - 2^k
 *      MEASURE  if none does: rank 0 sends requests to that rank, its partner, and times replies
 *      TELL     rank 0's result, by dissemination; all others wait here meanwhile
 *
 *      requests of rank 0                    the partner replies
 *      ping                                  at once
 *      train (count, bytes), and messages    when it has received all the messages
 *      end                                   nothing: it goes on with TELL
 *
 * A request goes out when the reply to the one before is there. Pings give the latency, a train of
 * short messages what each of them costs, and trains of growing length the rate: a link may let a
 * first burst pass faster, which the trains before the last ones use up.
 *
 * A rank that computes, or has no core, replies late. So what counts is the least time of several
 * requests, where there is time for them, and one whose reply was late is repeated, MOST_LATE times
 * at most. After a while nothing is asked any more: the model's constants are the built-in ones
 * then.
 */
#include "engine/network_probe.h"

#include "engine/comm.h"
#include "engine/log.h"
#include "engine/op_queue.h"
#include "engine/process.h"
#include "engine/runtime.h"
#include "engine/setup_messages.h"

#include "base/errors.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Seconds that requests may take. Where ranks share cores, one that waits for a core is some
 * milliseconds late: trains must take longer than that.
 */
struct pace {
    double all;   /* all requests, where replies come in time; a request, then its reply is late */
    double train; /* a train that takes so long says what the rate is, if it is longer than: */
    double trips; /* so many round trips */
    int pings;
    int short_trains;
    int window; /* messages in flight: what moves while one of the two has no core */
    int length; /* messages of a train, if they are neither too short nor too long then */
};
static const struct pace alone = {.all = 0.02,
                                  .train = 0.003,
                                  .trips = 2,
                                  .pings = 12,
                                  .short_trains = 3,
                                  .window = 8,
                                  .length = 16};
/* What a message costs cannot be seen there: the time is left for the rate. */
static const struct pace shared = {.all = 0.1,
                                   .train = 0.02,
                                   .trips = 4,
                                   .pings = 2,
                                   .short_trains = 1,
                                   .window = 32,
                                   .length = 128};

#define GIVE_UP 10 /* times `all`: all requests, late replies included */

/*
 * A round trip of FAR seconds: a connection of TCP, which may have only some data in flight at
 * first, takes several for a train. So each train is sent twice, and trains grow faster; all
 * requests together may take ROUND_TRIPS.
 */
#define FAR 0.001
#define ROUND_TRIPS 25

enum {
    LONG_TRAINS = 3,  /* of the length that says what the rate is */
    MOST_LATE = 2,    /* replies that are not counted */
    SHORT_COUNT = 16, /* messages of a short train, each of */
    SHORT_BYTES = 64,
    FIRST_TRAIN = 16 << 10, /* bytes of the first long train */
    LAST_TRAIN = 4 << 20,
    /* bytes of a message: short ones leave at once, long ones may wait until they are received */
    LEAST_MESSAGE = 8 << 10,
    MOST_MESSAGE = 64 << 10,
    MOST_WINDOW = 32,          /* messages in flight */
    MOST_IN_FLIGHT = 512 << 10 /* their bytes */
};

enum phase { ASK, MEASURE, TELL };

/* What ranks tell each other in ASK and TELL. */
struct news {
    int32_t source;            /* the lowest rank that knows the network; INT32_MAX: none */
    int32_t partner;           /* the lowest rank on another node than rank 0 */
    struct gr_network network; /* that rank's */
};

/* From rank 0 to its partner; replies have the same form. */
struct request {
    int32_t count;  /* messages that follow; 0: none; END: no request follows */
    int32_t bytes;  /* of each */
    int32_t window; /* in flight */
};
#define END (-1)

/* Tags, from the highest of the set-up's down. */
enum { TAG_ASK, TAG_TELL, TAG_REQUEST, TAG_TRAIN };

/* The messages of a train: a window of them is in flight. */
struct train {
    unsigned char *buffer; /* [request.window][request.bytes]; owned */
    struct gr_message *messages[MOST_WINDOW];
    int posted; /* messages that were posted */
    int over;   /* messages that are complete */
};

/* What rank 0 asks for next. */
enum question { PING, SHORT_TRAIN, LONG_TRAIN_OF, NOTHING };

struct gr_network_probe {
    struct gr_op_queue *queue; /* borrowed */
    int tag;
    enum phase phase;
    bool begun;

    /* ASK, TELL */
    int distance; /* 2^round */
    struct news sent, heard, news;
    struct gr_message *messages[2]; /* receive, send */

    /* MEASURE */
    struct train train;
    struct request request, reply;
    enum question question;
    int asked;                /* of this question and length, replied to in time */
    int late;                 /* replies that were late, to all questions */
    double first;             /* seconds: when the first request went out */
    double begin;             /* the same, later by what late replies took */
    double asked_at;          /* when the request in flight went out */
    double least;             /* of the replies to this question but the first, in seconds */
    double round_trip;        /* the least; 0: not known */
    struct gr_network result; /* so far */
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

/* ---- messages ---- */

static int post(struct gr_network_probe *probe, bool send, void *buf, size_t bytes, int rank,
                int below, struct gr_message **message)
{
    int tag = probe->tag - below;

    return send ? gr_runtime_send(comm_of(probe), buf, bytes, rank, tag, message)
                : gr_runtime_receive(comm_of(probe), buf, bytes, rank, tag, message);
}

/* Whether both messages are complete; negative: an error. */
static int both_done(struct gr_network_probe *probe)
{
    int rc = gr_runtime_test(&probe->messages[0]);

    return 1 == rc ? gr_runtime_test(&probe->messages[1]) : rc;
}

/* ---- ASK and TELL: dissemination ---- */

static void combine(struct news *mine, const struct news *other)
{
    if (other->source < mine->source) {
        mine->source = other->source;
        mine->network = other->network;
    }
    mine->partner = other->partner < mine->partner ? other->partner : mine->partner;
}

static int post_round(struct gr_network_probe *probe)
{
    int p = comm_of(probe)->size, rank = comm_of(probe)->rank, rc;
    int tag = ASK == probe->phase ? TAG_ASK : TAG_TELL;

    probe->sent = probe->news;
    rc = post(probe, false, &probe->heard, sizeof(probe->heard), (rank - probe->distance + p) % p,
              tag, &probe->messages[0]);
    return 0 == rc ? post(probe, true, &probe->sent, sizeof(probe->sent),
                          (rank + probe->distance) % p, tag, &probe->messages[1])
                   : rc;
}

static int begin_rounds(struct gr_network_probe *probe, enum phase phase)
{
    probe->phase = phase;
    probe->distance = 1;
    return post_round(probe);
}

static int begin_ask(struct gr_network_probe *probe)
{
    const struct gr_comm *comm = comm_of(probe);

    probe->news.network = recall(comm->process);
    probe->news.source = gr_network_good(&probe->news.network) ? comm->rank : INT32_MAX;
    probe->news.partner = 0 != comm->remote[0] ? comm->rank : INT32_MAX;
    return begin_rounds(probe, ASK);
}

/* ---- MEASURE: trains ---- */

/* Keep a window of the train's messages in flight: 1 when all are complete, 0, or an error. */
static int move_train(struct gr_network_probe *probe, bool send, int rank)
{
    const struct request *r = &probe->request;
    struct train *t = &probe->train;
    int rc;

    while (t->over < r->count) {
        struct gr_message **oldest = &t->messages[t->over % r->window];

        if (t->posted < r->count && t->posted < t->over + r->window) {
            int slot = t->posted++ % r->window;

            rc = post(probe, send, t->buffer + (size_t) slot * (size_t) r->bytes, (size_t) r->bytes,
                      rank, TAG_TRAIN, &t->messages[slot]);
            if (0 != rc) {
                return rc;
            }
            continue;
        }
        rc = gr_runtime_test(oldest);
        if (1 != rc) {
            return rc;
        }
        t->over++;
    }
    return 1;
}

/* ---- MEASURE: the partner ---- */

static int await_request(struct gr_network_probe *probe)
{
    return post(probe, false, &probe->request, sizeof(probe->request), 0, TAG_REQUEST,
                &probe->messages[0]);
}

/* GR_DONE after the end; else GR_AGAIN, or an error. */
static int serve(struct gr_network_probe *probe, uint64_t *moved)
{
    int rc;

    for (;;) {
        rc = both_done(probe); /* the request, and the last reply */
        rc = 1 == rc && END != probe->request.count ? move_train(probe, false, 0) : rc;
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        ++*moved;
        if (END == probe->request.count) {
            return GR_DONE;
        }
        probe->train.posted = probe->train.over = 0;
        probe->reply = probe->request;
        rc = post(probe, true, &probe->reply, sizeof(probe->reply), 0, TAG_REQUEST,
                  &probe->messages[1]);
        rc = 0 == rc ? await_request(probe) : rc;
        if (0 != rc) {
            return rc;
        }
    }
}

/* ---- MEASURE: rank 0 ---- */

static int ask(struct gr_network_probe *probe)
{
    int rc;

    probe->train.posted = probe->train.over = 0;
    probe->asked_at = gr_runtime_now();
    rc = post(probe, false, &probe->reply, sizeof(probe->reply), probe->news.partner, TAG_REQUEST,
              &probe->messages[0]);
    return 0 == rc ? post(probe, true, &probe->request, sizeof(probe->request), probe->news.partner,
                          TAG_REQUEST, &probe->messages[1])
                   : rc;
}

static const struct pace *pace_of(const struct gr_network_probe *probe)
{
    return comm_of(probe)->oversubscribed ? &shared : &alone;
}

static void set_question(struct gr_network_probe *probe, enum question question, int bytes)
{
    const struct pace *pace = pace_of(probe);
    int message = LEAST_MESSAGE;

    while (message < MOST_MESSAGE && message * pace->length < bytes) {
        message *= 2;
    }
    probe->question = question;
    probe->asked = 0;
    probe->least = 0;
    probe->request = (struct request) {.window = pace->window};
    if (SHORT_TRAIN == question) {
        probe->request.count = SHORT_COUNT;
        probe->request.bytes = SHORT_BYTES;
    } else if (LONG_TRAIN_OF == question) {
        probe->request.count = bytes / message;
        probe->request.bytes = message;
        if (pace->window * message > MOST_IN_FLIGHT) {
            probe->request.window = MOST_IN_FLIGHT / message;
        }
    }
}

static int train_bytes(const struct gr_network_probe *probe)
{
    return probe->request.count * probe->request.bytes;
}

static double max(double a, double b)
{
    return a > b ? a : b;
}

/*
 * Seconds that the messages of a train took beside a round trip. Where ranks share cores, that may
 * have waited for a core; it is short beside a train there.
 */
static double train_took(const struct gr_network_probe *probe)
{
    double trip = comm_of(probe)->oversubscribed ? 0 : probe->round_trip;

    return max(probe->least - trip, 0);
}

/* The least time for all replies to the question is known: what follows from it. */
static void conclude(struct gr_network_probe *probe)
{
    switch (probe->question) {
    case PING:
        probe->round_trip = probe->least;
        probe->result.latency = (float) (1e6 * probe->least / 2);
        break;
    case SHORT_TRAIN:
        probe->result.message = (float) (1e6 * train_took(probe) / SHORT_COUNT);
        break;
    default:
        /* no train is faster than a ping: a difference below the clock's ticks means nothing */
        probe->result.mbit = (float) (8e-6 * train_bytes(probe) / max(train_took(probe), 1e-7));
    }
}

static bool is_far(const struct gr_network_probe *probe)
{
    return probe->round_trip > FAR;
}

/* Seconds that all requests may take, where replies come in time. */
static double budget(const struct gr_network_probe *probe)
{
    return max(pace_of(probe)->all, ROUND_TRIPS * probe->round_trip);
}

/* Whether the train has taken so long, beside a round trip, that it says what the rate is. */
static bool is_enough(const struct gr_network_probe *probe)
{
    const struct pace *pace = pace_of(probe);

    return train_took(probe) >= max(pace->train, pace->trips * probe->round_trip);
}

/*
 * Whether the question is to be asked once more. took: the last reply; since: all requests.
 */
static bool ask_again(const struct gr_network_probe *probe, double took, double since)
{
    const struct pace *pace = pace_of(probe);

    switch (probe->question) {
    case PING:
        return probe->asked < 2 || (probe->asked < pace->pings && since < pace->all / 4);
    case SHORT_TRAIN:
        return probe->asked < pace->short_trains && since < pace->all / 2;
    default:
        return (is_far(probe) && probe->asked < 2) ||
               (is_enough(probe) && probe->asked < LONG_TRAINS &&
                since + took + probe->round_trip < budget(probe));
    }
}

/* The question after the one that is answered. since: seconds from the first request. */
static void next_question(struct gr_network_probe *probe, double since)
{
    double trip = probe->round_trip, took = train_took(probe);
    int longer = is_far(probe) && took < pace_of(probe)->trips * trip / 2 ? 4 : 2;

    if (PING == probe->question) {
        set_question(probe, SHORT_TRAIN, 0);
    } else if (SHORT_TRAIN == probe->question) {
        set_question(probe, LONG_TRAIN_OF, FIRST_TRAIN);
    } else if (is_enough(probe) || train_bytes(probe) >= LAST_TRAIN ||
               since + trip + longer * took > budget(probe)) {
        set_question(probe, NOTHING, 0);
    } else {
        set_question(probe, LONG_TRAIN_OF, longer * train_bytes(probe));
    }
}

/* A reply has arrived: on to the next request. 0 or an error. */
static int go_on(struct gr_network_probe *probe)
{
    double now = gr_runtime_now(), took = now - probe->asked_at;
    double all = pace_of(probe)->all, trip = probe->round_trip;
    bool late = took > all + 2 * trip && probe->late < MOST_LATE;

    if (late) {
        probe->late++;
        probe->begin += took;
    } else {
        probe->asked++;
        /* the first one may have made the connection, or passed as a burst */
        probe->least = probe->asked <= 2 || took < probe->least ? took : probe->least;
    }
    if (now - probe->first > max(GIVE_UP * all, 2 * ROUND_TRIPS * trip)) {
        probe->result = (struct gr_network) {0};
        set_question(probe, NOTHING, 0);
    } else if (!late && !ask_again(probe, took, now - probe->begin)) {
        conclude(probe);
        next_question(probe, now - probe->begin);
    }
    if (NOTHING != probe->question) {
        return ask(probe);
    }
    probe->request.count = END;
    return post(probe, true, &probe->request, sizeof(probe->request), probe->news.partner,
                TAG_REQUEST, &probe->messages[1]);
}

/* GR_DONE after the end; else GR_AGAIN, or an error. */
static int measure(struct gr_network_probe *probe, uint64_t *moved)
{
    int rc;

    for (;;) {
        rc = NOTHING == probe->question ? 1 : move_train(probe, true, probe->news.partner);
        rc = 1 == rc ? both_done(probe) : rc;
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        ++*moved;
        if (NOTHING == probe->question) {
            return GR_DONE;
        }
        rc = go_on(probe);
        if (0 != rc) {
            return rc;
        }
    }
}

static bool measures(const struct gr_network_probe *probe)
{
    return 0 == comm_of(probe)->rank || probe->news.partner == comm_of(probe)->rank;
}

static int begin_measure(struct gr_network_probe *probe)
{
    if (!measures(probe)) {
        return begin_rounds(probe, TELL);
    }
    probe->phase = MEASURE;
    probe->train.buffer = calloc(1, MOST_IN_FLIGHT);
    if (NULL == probe->train.buffer) {
        return GR_ERR_NOMEM;
    }
    if (0 != comm_of(probe)->rank) {
        return await_request(probe);
    }
    probe->first = probe->begin = gr_runtime_now();
    set_question(probe, PING, 0);
    return ask(probe);
}

/* Rank 0 knows the network, if only that it could not be measured; its partner hears of it. */
static int begin_tell(struct gr_network_probe *probe)
{
    if (0 == comm_of(probe)->rank) {
        probe->news.source = 0;
        probe->news.network = probe->result;
    }
    return begin_rounds(probe, TELL);
}

/* ---- all phases ---- */

/* ASK or TELL: a round is over. *over: so is the probe. 0 or an error. */
static int next_round(struct gr_network_probe *probe, bool *over)
{
    combine(&probe->news, &probe->heard);
    probe->distance *= 2;
    if (probe->distance < comm_of(probe)->size) {
        return post_round(probe);
    }
    *over = TELL == probe->phase || INT32_MAX != probe->news.source;
    return *over ? 0 : begin_measure(probe);
}

int mca_coll_gpuring_network_poll(void *ctx, uint64_t *moved)
{
    struct gr_network_probe *probe = ctx;
    bool over = false;
    int rc = 0;

    if (!probe->begun) {
        probe->begun = true;
        rc = begin_ask(probe);
    }
    while (0 == rc && !over) {
        if (MEASURE == probe->phase) {
            rc = 0 == comm_of(probe)->rank ? measure(probe, moved) : serve(probe, moved);
            if (GR_DONE != rc) {
                return rc;
            }
            rc = begin_tell(probe);
            continue;
        }
        rc = both_done(probe);
        if (1 != rc) {
            return 0 == rc ? GR_AGAIN : rc;
        }
        ++*moved;
        rc = next_round(probe, &over);
    }
    return 0 == rc ? GR_DONE : rc;
}

/* ---- begin and end ---- */

bool mca_coll_gpuring_network_wanted(const struct gr_op_queue *queue)
{
    return !queue->persistent &&
           GR_NETWORK_NEW == atomic_load_explicit(&order_of(queue)->state, memory_order_acquire);
}

struct gr_network_probe *mca_coll_gpuring_network_new(struct gr_op_queue *queue, uint32_t number)
{
    struct gr_network_probe *probe = calloc(1, sizeof(*probe));

    if (NULL != probe) {
        probe->queue = queue;
        probe->tag = mca_coll_gpuring_setup_tag(number);
        atomic_store_explicit(&order_of(queue)->state, GR_NETWORK_ASKED, memory_order_release);
    }
    return probe;
}

/* Rank 0 says what the communicator's calls go by. */
static void log_network(const struct gr_network_probe *probe)
{
    const struct gr_comm *comm = comm_of(probe);
    char text[200];

    if (mca_coll_gpuring_should_log(comm->rank, 1)) {
        mca_coll_gpuring_print(
            "gpuring: %s, the cost model's constants between nodes: %s", gr_comm_name(comm),
            gr_network_text(&probe->news.network, gr_comm_network_use(comm), text, sizeof(text)));
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
    free(probe->train.buffer);
    free(probe);
}

void mca_coll_gpuring_network_explain(void *ctx, char *text, size_t size)
{
    const struct gr_network_probe *probe = ctx;
    int p = comm_of(probe)->size, rank = comm_of(probe)->rank;

    if (!probe->begun) {
        snprintf(text, size, "measuring the network, not begun");
    } else {
        snprintf(text, size, "measuring the network, waits for rank %d",
                 MEASURE != probe->phase ? (rank - probe->distance + p) % p
                 : 0 == rank             ? probe->news.partner
                                         : 0);
    }
}
