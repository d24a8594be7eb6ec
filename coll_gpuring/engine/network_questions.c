/* SPDX-License-Identifier: BSD-3-Clause */
/* The questions of network_probe.h, and when each has been asked often enough. */
#include "engine/network_probe.h"

#include <math.h>

/* How long, and how often, to ask. */
struct pace {
    double all;   /* seconds for all requests; a reply that takes longer than that is late */
    double train; /* least seconds of a train that says what the rate is */
    double trips; /* least round trips that it takes */
    int pings;    /* most pings */
    int window;   /* messages of a train in flight */
    int length;   /* messages of a train, where their limits of bytes allow it */
};

static const struct pace alone = {
    .all = 0.02, .train = 0.003, .trips = 2, .pings = 12, .window = 8, .length = 16};
/*
 * Where ranks share cores, one that waits for a core is some milliseconds late. Trains must take
 * longer than that, and have enough in flight to go on meanwhile.
 */
static const struct pace shared = {
    .all = 0.1, .train = 0.02, .trips = 4, .pings = 2, .window = GR_NETWORK_WINDOW, .length = 128};

/* Nothing is measured if all requests take so many times `all`, late replies included. */
#define GIVE_UP 10

/*
 * A round trip of FAR seconds: a connection of TCP, which may have only some data in flight at
 * first, takes several round trips for a train. So each train is sent twice, and trains grow
 * faster; all requests together may take ROUND_TRIPS.
 */
#define FAR 0.001
#define ROUND_TRIPS 25

enum {
    /* in the place of a train's bytes: a ping; the end, as there is nothing more to ask */
    PING = 0,
    NOTHING = -1,
    LAST_TRAINS = 3,        /* trains of the length that says what the rate is */
    MOST_LATE = 2,          /* late replies that are not counted */
    FIRST_TRAIN = 16 << 10, /* bytes of the first train */
    LAST_TRAIN = 4 << 20,   /* a train of that many bytes is the longest */
    /*
     * Bytes of a message of a train. Shorter ones would leave at once, one by one; longer ones
     * may wait until the receiver is there.
     */
    LEAST_MESSAGE = 8 << 10,
    MOST_MESSAGE = 64 << 10
};

static const struct pace *pace_of(const struct gr_network_questions *q)
{
    return q->shares_cores ? &shared : &alone;
}

/* A train of that many bytes; PING, or NOTHING: the end. */
static void set_question(struct gr_network_questions *q, int bytes)
{
    const struct pace *pace = pace_of(q);
    int message = LEAST_MESSAGE;

    while (message < MOST_MESSAGE && message * pace->length < bytes) {
        message *= 2;
    }
    q->asked = 0;
    q->least = 0;
    q->request = (struct gr_network_request) {.window = pace->window};
    if (NOTHING == bytes) {
        q->request.count = GR_NETWORK_END;
    } else if (PING != bytes) {
        q->request.count = bytes / message;
        q->request.bytes = message;
        if (pace->window * message > GR_NETWORK_IN_FLIGHT) {
            q->request.window = GR_NETWORK_IN_FLIGHT / message;
        }
    }
}

static bool is_ping(const struct gr_network_questions *q)
{
    return 0 == q->request.count;
}

static int train_bytes(const struct gr_network_questions *q)
{
    return q->request.count * q->request.bytes;
}

/*
 * Seconds that the messages of a train took beside a round trip. Where ranks share cores the round
 * trip may have waited for a core; it is short beside a train there, and not taken off.
 */
static double train_took(const struct gr_network_questions *q)
{
    return fmax(q->least - (q->shares_cores ? 0 : q->round_trip), 0);
}

/* The least time of all replies to the question is known: what follows from it. */
static void conclude(struct gr_network_questions *q)
{
    if (is_ping(q)) {
        q->round_trip = q->least;
        q->result.latency = (float) (1e6 * q->least / 2);
    } else {
        /* no train is faster than a ping: a difference below the clock's ticks means nothing */
        q->result.mbit = (float) (8e-6 * train_bytes(q) / fmax(train_took(q), 1e-7));
    }
}

static bool is_far(const struct gr_network_questions *q)
{
    return q->round_trip > FAR;
}

/* Seconds that all requests may take, where replies come in time. */
static double budget(const struct gr_network_questions *q)
{
    return fmax(pace_of(q)->all, ROUND_TRIPS * q->round_trip);
}

/* Whether the train has taken so long, beside a round trip, that it says what the rate is. */
static bool is_enough(const struct gr_network_questions *q)
{
    const struct pace *pace = pace_of(q);

    return train_took(q) >= fmax(pace->train, pace->trips * q->round_trip);
}

/* Whether the question is to be asked once more. took: the last reply; since: all requests. */
static bool ask_again(const struct gr_network_questions *q, double took, double since)
{
    const struct pace *pace = pace_of(q);

    if (is_ping(q)) {
        return q->asked < 2 || (q->asked < pace->pings && since < pace->all / 4);
    }
    return (is_far(q) && q->asked < 2) ||
           (is_enough(q) && q->asked < LAST_TRAINS && since + took + q->round_trip < budget(q));
}

/* The question after the one that is answered. since: seconds from the first request. */
static void next_question(struct gr_network_questions *q, double since)
{
    double trip = q->round_trip, took = train_took(q);
    int longer = is_far(q) && took < pace_of(q)->trips * trip / 2 ? 4 : 2;

    if (is_ping(q)) {
        set_question(q, FIRST_TRAIN);
    } else if (is_enough(q) || train_bytes(q) >= LAST_TRAIN ||
               since + trip + longer * took > budget(q)) {
        set_question(q, NOTHING);
    } else {
        set_question(q, longer * train_bytes(q));
    }
}

void gr_network_ask_first(struct gr_network_questions *q, bool shares_cores, double now)
{
    *q = (struct gr_network_questions) {
        .shares_cores = shares_cores, .first = now, .begin = now, .asked_at = now};
    set_question(q, PING);
}

void gr_network_ask_next(struct gr_network_questions *q, double now)
{
    double took = now - q->asked_at, all = pace_of(q)->all, trip = q->round_trip;
    bool late = took > all + 2 * trip && q->late < MOST_LATE;

    q->asked_at = now;
    if (late) {
        q->late++;
        q->begin += took;
    } else {
        q->asked++;
        /* where there are several, the first may have made the connection, or passed as a burst */
        q->least = q->asked <= 2 || took < q->least ? took : q->least;
    }
    if (now - q->first > fmax(GIVE_UP * all, 2 * ROUND_TRIPS * trip)) {
        q->result = (struct gr_network) {0};
        set_question(q, NOTHING);
    } else if (!late && !ask_again(q, took, now - q->begin)) {
        conclude(q);
        next_question(q, now - q->begin);
    }
}
