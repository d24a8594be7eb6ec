/* SPDX-License-Identifier: BSD-3-Clause */
/* A transport within one process (post.h). */
#include "post.h"

#include "rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LETTERS = 401 }; /* a prime */

struct end {
    const struct gr_transport_up *up;
    int number;
    void *peers[POST_ENDS]; /* as given to connect() */
    int broken[POST_ENDS];
};

enum stage { FREE, ON_ITS_WAY, BEING_FETCHED, TO_REPORT };

struct letter {
    enum stage stage;
    struct end *from, *to; /* from NULL: forged */
    struct gr_net_head head;
    struct gr_net_message *message; /* NULL: was reported as sent */
    const void *data;               /* the sender's, until reported; */
    unsigned char *copy;            /* or ours */
    size_t bytes;
    void *place;
    int to_gpu;    /* which is a GPU's memory */
    int overtaken; /* a credit, and a later one has come already */
};

struct post_ways post_ways;
const struct post_gpus *post_gpus;
static struct end *ends[POST_ENDS];
static struct letter letters[MOST_LETTERS];
static uint64_t state;
static int severed[POST_ENDS][POST_ENDS];

void post_begin(uint64_t seed)
{
    state = seed;
    memset(severed, 0, sizeof(severed));
}

uint64_t post_random(uint64_t below)
{
    return (uint64_t) rng_below(&state, below);
}

static void copy_bytes(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
static int chance(int of_100)
{
    return (int) post_random(100) < of_100;
}

static struct letter *new_letter(void)
{
    int k;

    for (k = 0; k < MOST_LETTERS; k++) {
        if (FREE == letters[k].stage) {
            return &letters[k];
        }
    }
    abort(); /* links are bounded */
}

static void free_letter(struct letter *l)
{
    free(l->copy);
    memset(l, 0, sizeof(*l));
}

static int post_open(void **end, const struct gr_transport_up *up, const char *device, char *why,
                     size_t size)
{
    struct end *e = calloc(1, sizeof(*e));

    (void) device;
    (void) why;
    (void) size;
    while (NULL != ends[e->number]) {
        e->number++;
    }
    e->up = up;
    ends[e->number] = e;
    *end = e;
    return 0;
}

static size_t post_address(void *end, void *address, size_t size)
{
    (void) size;
    memcpy(address, &((struct end *) end)->number, sizeof(int));
    return sizeof(int);
}

static int post_connect(void *end, const void *address, void *peer, void **connection, char *why,
                        size_t size)
{
    struct end *e = end;
    int to;

    memcpy(&to, address, sizeof(to));
    if (severed[e->number][to]) {
        snprintf(why, size, "no way");
        return GR_ERR_UNREACHED;
    }
    e->peers[to] = peer;
    *connection = ends[to];
    return 0;
}

int post_credits, post_data;
uint64_t post_to[POST_TO];

/* The data are ours from now on. */
static void take_copy(struct letter *l)
{
    l->copy = malloc(l->bytes + 1);
    (l->message->on_gpu ? post_gpus->read : copy_bytes)(l->copy, l->data, l->bytes);
    l->data = l->copy;
}

static int post_send(void *end, void *connection, struct gr_net_message *message, const void *data,
                     size_t bytes)
{
    struct end *from = end, *to = connection;
    struct letter *l;

    if (severed[from->number][to->number]) {
        from->up->lost(from->up->ctx, from->peers[to->number], "cut");
        return GR_ERR_LOST;
    }
    post_credits += GR_NET_CREDIT == message->head.kind;
    if (GR_NET_DATA == message->head.kind) {
        post_to[post_data++ % POST_TO] = message->head.link;
    }
    l = new_letter();
    *l = (struct letter) {.stage = ON_ITS_WAY,
                          .from = from,
                          .to = to,
                          .head = message->head,
                          .message = message,
                          .data = data,
                          .bytes = bytes};
    if (!chance(post_ways.at_once)) {
        return 0;
    }
    if (NULL != data) {
        take_copy(l);
    }
    l->message = NULL;
    return 1;
}

/* What this letter tells of a link: the credits behind it tell nothing new. */
static void overtake(const struct letter *l)
{
    int is_credit = GR_NET_CREDIT == l->head.kind, k;
    uint64_t link = is_credit ? l->head.link : l->head.credit_link,
             read = is_credit ? l->head.seq : l->head.credit;

    for (k = 0; k < MOST_LETTERS; k++) {
        struct letter *other = &letters[k];

        other->overtaken |= ON_ITS_WAY == other->stage && l->to == other->to &&
                            GR_NET_CREDIT == other->head.kind && link == other->head.link &&
                            other->head.seq <= read;
    }
}

/* The receiver's part of a letter: one step. */
static void step(struct letter *l)
{
    const struct gr_transport_up *up = l->to->up;

    if (NULL != l->message && 0 != memcmp(&l->head, &l->message->head, sizeof(l->head))) {
        abort(); /* it must stay what it was */
    }
    if (ON_ITS_WAY == l->stage) {
        overtake(l);
    }
    if (ON_ITS_WAY == l->stage && GR_NET_DATA != l->head.kind) {
        up->on_control(up->ctx, &l->head);
        l->stage = TO_REPORT;
    } else if (ON_ITS_WAY == l->stage) {
        l->place = up->get_recv_buffer(up->ctx, &l->head, l->bytes, &l->to_gpu);
        l->stage = NULL == l->place ? TO_REPORT : BEING_FETCHED;
        if (NULL != l->place && !chance(post_ways.in_steps)) {
            step(l);
        }
    } else if (BEING_FETCHED == l->stage) {
        if (NULL == l->copy) {
            take_copy(l);
        }
        (l->to_gpu ? post_gpus->write : copy_bytes)(l->place, l->copy, l->bytes);
        up->recv_done(up->ctx, &l->head, 0);
        l->stage = TO_REPORT;
    }
}

static void post_progress(void *end)
{
    struct end *e = end;
    int k, first = (int) post_random(MOST_LETTERS), rounds;

    if (chance(post_ways.lazy)) {
        return;
    }
    for (rounds = 0; rounds < MOST_LETTERS; rounds++) {
        struct letter *l = &letters[k = (first + rounds * 7) % MOST_LETTERS];

        if (FREE == l->stage || chance(30)) {
            continue;
        }
        if (TO_REPORT != l->stage && e == l->to) {
            step(l);
        } else if (TO_REPORT == l->stage && (e == l->from || NULL == l->message)) {
            if (NULL != l->message) {
                e->up->sent(e->up->ctx, l->message, 0);
            }
            free_letter(l);
        }
    }
}

/* A letter that will not arrive: both ends learn it. */
static void lose(struct letter *l)
{
    if (BEING_FETCHED == l->stage) {
        l->to->up->recv_done(l->to->up->ctx, &l->head, GR_ERR_LOST);
    }
    if (NULL != l->message) {
        l->from->up->sent(l->from->up->ctx, l->message, TO_REPORT == l->stage ? 0 : GR_ERR_LOST);
    }
    free_letter(l);
}

void post_break(int a, int b)
{
    int k;

    severed[a][b] = severed[b][a] = 1;
    if (NULL != ends[a]->peers[b]) {
        ends[a]->up->lost(ends[a]->up->ctx, ends[a]->peers[b], "cut");
    }
    if (NULL != ends[b]->peers[a]) {
        ends[b]->up->lost(ends[b]->up->ctx, ends[b]->peers[a], "cut");
    }
    for (k = 0; k < MOST_LETTERS; k++) {
        struct letter *l = &letters[k];

        if (FREE != l->stage && NULL != l->from &&
            ((l->from == ends[a] && l->to == ends[b]) ||
             (l->from == ends[b] && l->to == ends[a]))) {
            lose(l);
        }
    }
}

static void post_close(void *end, double patience)
{
    struct end *e = end;
    int k;

    (void) patience;
    for (k = 0; k < MOST_LETTERS; k++) {
        if (FREE != letters[k].stage && (e == letters[k].from || e == letters[k].to)) {
            lose(&letters[k]);
        }
    }
    ends[e->number] = NULL;
    free(e);
}

void post_forge(int end, const struct gr_net_head *head, size_t bytes)
{
    struct letter *l = new_letter();

    *l = (struct letter) {.stage = ON_ITS_WAY,
                          .to = ends[end],
                          .head = *head,
                          .copy = malloc(bytes + 1),
                          .bytes = bytes};
    memset(l->copy, 0xee, bytes);
    l->data = l->copy;
}

int post_under_way(int end, uint64_t link)
{
    int k, n = 0;

    for (k = 0; k < MOST_LETTERS; k++) {
        n += FREE != letters[k].stage && TO_REPORT != letters[k].stage && !letters[k].overtaken &&
             (end < 0 || (letters[k].to == ends[end] && letters[k].head.link == link));
    }
    return n;
}

static enum gr_net_gpus reaches_gpus(void *end)
{
    (void) end;
    return NULL != post_gpus ? GR_NET_GPUS_DIRECT : GR_NET_GPUS_NONE;
}

const struct gr_transport post_transport = {
    GR_TRANSPORT_VERSION, "post",    post_open,     post_close, post_address,
    post_connect,         post_send, post_progress, NULL,       reaches_gpus,
};
