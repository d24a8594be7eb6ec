/* SPDX-License-Identifier: BSD-3-Clause */
/* A network between the nodes of a test (team_net.h). */
#include "team_net.h"

#include "exec/gpu/team.h"
#include "net/net.h"
#include "post.h"

#include "rng.h"
#include "usage.h"

#include <dlfcn.h>
#include <pthread.h>

enum { MOST_LINKS = 2048, ROUNDS = 100000 };

/* Chance, and letters, are the post's: one thread at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int nodes = 1, failing;
static struct gr_net *nets[POST_ENDS];
static unsigned char remote[TR_RANKS][TR_RANKS];

static struct {
    struct gr_net_link *link; /* NULL: left */
    const struct gr_gpu_team *team;
} links[MOST_LINKS];
static int nlinks;

static int node_of(int rank)
{
    return rank % nodes;
}

/* A function of the fake driver's that moves bytes. */
static void find_card(const char *name, void (**move)(void *, const void *, size_t))
{
    void *at = dlsym(dlopen(getenv("LIBCUDA"), RTLD_NOW), name);

    CHECK(NULL != at);
    memcpy(move, &at, sizeof(at));
}

static void reach_devices(void)
{
    static struct post_gpus card;

    find_card("fakecuda_nic_read", &card.read);
    find_card("fakecuda_nic_write", &card.write);
    post_gpus = &card;
}

int tn_rdma(void)
{
    return nodes > 1 && gr_net_reaches_gpus(nets[0]);
}

void tn_open(int n)
{
    char why[100];
    int a, b;

    if (NULL != getenv("TEAM_TEST_DIRECT")) {
        reach_devices();
    }
    nodes = n < 1 ? 1 : n;
    failing = 0;
    post_begin(rng_seed());
    post_ways = (struct post_ways) {30, 50, 20};
    for (a = 0; nodes > 1 && a < nodes; a++) {
        CHECK_INT(gr_net_open(&nets[a], &post_transport, NULL, why, sizeof(why)), 0);
    }
    for (a = 0; a < TR_RANKS; a++) {
        for (b = 0; b < TR_RANKS; b++) {
            remote[a][b] = node_of(a) != node_of(b);
        }
    }
}

const unsigned char *tn_remote(int rank)
{
    return nodes > 1 ? remote[rank] : NULL;
}

/* This rank's end of a connection. */
static struct gr_net_link *open_end(struct tr_team *t, int rank, enum gr_net_side side,
                                    struct gr_gpu_connection *connection,
                                    struct gr_net_handle *handle)
{
    struct gr_fifo fifo = gr_gpu_remote_fifo(t->ranks[rank], connection, GR_NET_OUT == side);
    struct gr_net_link *link;

    CHECK(nlinks < MOST_LINKS);
    CHECK_INT(gr_net_link_open(nets[node_of(rank)], side, &fifo, &link), 0);
    connection->end.bell = &link->bell;
    links[nlinks].link = link;
    links[nlinks++].team = t->ranks[rank];
    gr_net_link_export(link, handle);
    return link;
}

static void join_wires(struct tr_team *t, int reader, struct gr_gpu_connection *in,
                       struct gr_gpu_connection *out)
{
    struct gr_net_handle theirs[2];
    struct gr_net_link *ends[2] = {open_end(t, reader, GR_NET_IN, in, &theirs[1]),
                                   open_end(t, in->end.rank, GR_NET_OUT, out, &theirs[0])};

    CHECK_INT(gr_net_link_join(ends[0], &theirs[0], "the writer"), 0);
    CHECK_INT(gr_net_link_join(ends[1], &theirs[1], "the reader"), 0);
}

/* The writer's end; there must be one. */
static struct gr_gpu_connection *find_out(struct gr_join *writer, uint32_t channel, int reader)
{
    int k;

    for (k = writer->out.near; k < writer->out.n; k++) {
        if (channel == writer->out.gpu[k].end.channel && reader == writer->out.gpu[k].end.rank) {
            return &writer->out.gpu[k];
        }
    }
    CHECK(!"a link in has no link out");
    return NULL;
}

void tn_join(struct tr_team *t)
{
    int r, k;

    for (r = 0; r < t->world->p; r++) {
        struct gr_join *join = &t->joins[r];

        for (k = join->in.near; k < join->in.n && 0 == join->status; k++) {
            struct gr_gpu_connection *in = &join->in.gpu[k];

            CHECK(remote[r][in->end.rank]);
            if (0 == t->joins[in->end.rank].status) {
                join_wires(t, r, in, find_out(&t->joins[in->end.rank], in->end.channel, r));
            }
        }
    }
}

static int node_failed(int node)
{
    int k, n = 0;

    for (k = 0; k < nlinks; k++) {
        n += NULL != links[k].link && node == node_of(links[k].team->rank) &&
             0 != gr_net_link_status(links[k].link);
    }
    return n;
}

int tn_failed(int rank)
{
    int n;

    pthread_mutex_lock(&lock);
    n = node_failed(node_of(rank));
    pthread_mutex_unlock(&lock);
    return n > 0;
}

void tn_progress(int rank)
{
    uint64_t moved = 0;

    if (nodes < 2) {
        return;
    }
    pthread_mutex_lock(&lock);
    gr_net_progress(nets[node_of(rank)], &moved);
    CHECK(failing || 0 == node_failed(node_of(rank)));
    pthread_mutex_unlock(&lock);
}

void tn_expect_failures(void)
{
    failing = 1;
}

void tn_cut(void)
{
    pthread_mutex_lock(&lock);
    failing = 1;
    post_break(0, 1);
    pthread_mutex_unlock(&lock);
}

void tn_leave(const struct gr_gpu_team *team)
{
    int k;

    pthread_mutex_lock(&lock);
    for (k = 0; k < nlinks; k++) {
        if (NULL != links[k].link && team == links[k].team) {
            gr_net_link_close(links[k].link);
            links[k].link = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
}

static int open_links(void)
{
    int node, n = 0;

    for (node = 0; node < nodes; node++) {
        n += net_usage(nets[node]).links;
    }
    return n;
}

void tn_settle(void)
{
    uint64_t moved = 0;
    int k;

    for (k = 0; nodes > 1 && open_links() > 0; k++) {
        CHECK(k < ROUNDS);
        gr_net_progress(nets[k % nodes], &moved);
    }
    nlinks = 0;
}

void tn_close(void)
{
    int node;

    for (node = 0; nodes > 1 && node < nodes; node++) {
        gr_net_close(nets[node], 0);
    }
    nodes = 1;
}
