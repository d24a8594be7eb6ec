/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting, the same for every kind of memory. */
#include "link/connect.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Add a connection for each peer, inside the node or not, to which the team has no link yet. */
static void add_missing(struct gr_join *join, int writes, const struct gr_neighbour *peers,
                        int npeers, int remote)
{
    struct gr_connections *side = writes ? &join->out : &join->in;
    int k;

    for (k = 0; k < npeers; k++) {
        struct gr_connection *c = gr_connection_at(join, side, side->n);

        c->channel = peers[k].channel;
        c->rank = peers[k].rank;
        side->n += remote == (NULL != join->remote && join->remote[c->rank]) &&
                   (NULL == join->memory->has || !join->memory->has(join, writes, c));
    }
}

static int find_missing(struct gr_join *join)
{
    struct gr_neighbours peers;
    int rc = join->memory->peers(join, &peers), remote;

    for (remote = 0; 0 == rc && remote < 2; remote++) {
        join->in.near = join->in.n;
        join->out.near = join->out.n;
        add_missing(join, 0, peers.in, peers.nin, remote);
        add_missing(join, 1, peers.out, peers.nout, remote);
    }
    if (0 == rc) {
        gr_neighbours_free(&peers);
    }
    return rc;
}

int gr_join_begin(struct gr_join *join)
{
    size_t most = (size_t) join->nchannels * (size_t) join->p + 1; /* add_missing() tries one */
    size_t size = join->memory->connection_size;
    int rc = GR_ERR_NOMEM;

    join->unmapped = -1;
    join->in.base = gr_calloc(most, size);
    join->out.base = gr_calloc(most, size);
    if (NULL != join->in.base && NULL != join->out.base) {
        rc = find_missing(join);
    }
    if (0 != rc) {
        free(join->in.base);
        free(join->out.base);
        return rc;
    }
    join->status = 0 == join->status ? join->memory->reserve(join) : join->status;
    return 0;
}

/* Do a step for each connection inside the node whose peer has sent a handle. */
static void for_each_handle(struct gr_join *join, const struct gr_connections *side,
                            size_t handle_at,
                            int (*step)(struct gr_join *join, struct gr_connection *c))
{
    int k;

    for (k = 0; k < side->near && 0 == join->status; k++) {
        struct gr_connection *c = gr_connection_at(join, side, k);
        const struct gr_slab_handle *handle = (const void *) ((unsigned char *) c + handle_at);

        /* without a handle the peer has failed, and reports it in the agreement */
        join->status = 0 == handle->segment.pid ? 0 : step(join, c);
    }
}

void gr_join_reply(struct gr_join *join)
{
    if (NULL != join->memory->reply) {
        for_each_handle(join, &join->out, join->memory->handle_at, join->memory->reply);
    }
}

int gr_join_map(struct gr_join *join, struct gr_join_agreement *a)
{
    const struct gr_link_memory *memory = join->memory;

    if (NULL != memory->reply) {
        for_each_handle(join, &join->in, memory->reply_at, memory->map);
    } else {
        for_each_handle(join, &join->out, memory->handle_at, memory->map);
    }
    *a = (struct gr_join_agreement) {.host = {0}};
    return memory->finish(join, a);
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

struct gr_join_agreement gr_join_agreement_combine(struct gr_join_agreement a,
                                                   struct gr_join_agreement b)
{
    return (struct gr_join_agreement) {
        .host = {least(a.host.status, b.host.status), a.host.direct && b.host.direct},
        .gpu = {least(a.gpu.status, b.gpu.status), least(a.gpu.unmapped, b.gpu.unmapped),
                a.gpu.channels < b.gpu.channels ? a.gpu.channels : b.gpu.channels}};
}

static void release_all(struct gr_join *join, const struct gr_connections *side)
{
    int k;

    for (k = 0; k < side->n; k++) {
        join->memory->release(join, gr_connection_at(join, side, k));
    }
}

void gr_join_end(struct gr_join *join, int status, const struct gr_join_agreement *a)
{
    if (0 != status) {
        release_all(join, &join->in);
        release_all(join, &join->out);
    }
    join->memory->take(join, status, a);
    free(join->in.base);
    free(join->out.base);
    memset(join, 0, sizeof(*join));
}
