/* SPDX-License-Identifier: BSD-3-Clause */
/* Device links between nodes (remote.h). */
#include "exec/gpu/remote.h"

#include "cuda/memory.h"
#include "exec/gpu/team.h"

/* Bytes of heads and tail, which are zero at first. */
#define COUNTERS (2 * (size_t) GR_GPU_ALIGN)

/* Offset of `valid_bytes` in the slab. slots_here: the slots are in the slab. */
static size_t valid_bytes_at(const struct gr_gpu_team *team, int slots_here)
{
    return COUNTERS + (slots_here ? team->nslots * team->slot_bytes : 0);
}

/* Offset of `send_limit` in the slab. */
static size_t until_at(const struct gr_gpu_team *team, int slots_here)
{
    return valid_bytes_at(team, slots_here) + (team->nslots + 1) / 2 * 2 * sizeof(uint32_t);
}

static size_t slab_bytes(const struct gr_gpu_team *team, int slots_here)
{
    return until_at(team, slots_here) + sizeof(uint64_t);
}

size_t gr_gpu_remote_bytes(const struct gr_gpu_team *team)
{
    return slab_bytes(team, 1);
}

_Atomic uint64_t *gr_gpu_remote_send_limit(const struct gr_gpu_team *team,
                                           const struct gr_gpu_connection *connection)
{
    unsigned char *at = gr_gpu_slab_base(connection->slab);

    return (_Atomic uint64_t *) (void *) (at + until_at(team, NULL == connection->slots));
}

/* Lease slots on the device for all connections, or for none. Returns whether. */
static int lease_slots(struct gr_gpu_team *team, struct gr_gpu_connection *connections, int n)
{
    int k, here = GR_RDMA_NONE == team->rdma ||
                  0 != gr_gpu_connections_lease(team, GR_ON_DEVICE, team->nslots * team->slot_bytes,
                                                0, connections, n);

    for (k = 0; k < n && !here; k++) {
        connections[k].slots = connections[k].slab;
        connections[k].slab = NULL;
    }
    return !here;
}

int gr_gpu_remote_lease(struct gr_gpu_team *team, struct gr_gpu_connection *connections, int n,
                        int writes)
{
    int here = !lease_slots(team, connections, n);
    int rc = gr_gpu_connections_lease(team, GR_ON_HOST, slab_bytes(team, here), COUNTERS,
                                      connections, n),
        k;

    for (k = 0; 0 == rc && k < n; k++) {
        gr_gpu_ptr head = gr_gpu_slab_at(connections[k].slab), tail = head + GR_GPU_ALIGN;

        connections[k].ends[GR_PROTOCOL_SIMPLE] = (struct gr_gpu_end) {
            .slots = here ? head + COUNTERS : gr_gpu_slab_at(connections[k].slots),
            .mine = writes ? tail : head,
            .other = writes ? head : tail,
            .valid_bytes = writes ? head + valid_bytes_at(team, here) : 0,
        };
        atomic_store_explicit(gr_gpu_remote_send_limit(team, &connections[k]), UINT64_MAX,
                              memory_order_relaxed);
    }
    return rc;
}

static int flush(void *gpu)
{
    return gr_gpu_flush(gpu);
}

struct gr_fifo gr_gpu_remote_fifo(const struct gr_gpu_team *team,
                                  const struct gr_gpu_connection *connection, int writes)
{
    unsigned char *at = gr_gpu_slab_base(connection->slab);
    int here = NULL == connection->slots;
    struct gr_fifo fifo = {
        .head = (_Atomic uint64_t *) (void *) at,
        .tail = (_Atomic uint64_t *) (void *) (at + GR_GPU_ALIGN),
        .slots = at + COUNTERS,
        .nslots = team->nslots,
        .slot_bytes = team->slot_bytes,
        .valid_bytes =
            writes ? (const uint32_t *) (const void *) (at + valid_bytes_at(team, here)) : NULL,
        .send_limit = writes ? gr_gpu_remote_send_limit(team, connection) : NULL,
        .user = gr_gpu_slab_user(connection->slab),
        .lease = gr_gpu_slab_lease(connection->slab),
    };

    if (!here) {
        fifo.slots = (unsigned char *) (uintptr_t) gr_gpu_slab_at(connection->slots);
        fifo.gpu = (struct gr_fifo_gpu) {
            .on = 1,
            .flush = writes || GR_RDMA_ORDERED == team->rdma ? NULL : flush,
            .gpu = team->gpu,
            .user = gr_gpu_slab_user(connection->slots),
            .lease = gr_gpu_slab_lease(connection->slots),
        };
    }
    return fifo;
}

static int is_unsent(const struct gr_gpu_team *team, const struct gr_gpu_connection *connection)
{
    struct gr_fifo fifo = gr_gpu_remote_fifo(team, connection, 1);

    return atomic_load_explicit(fifo.head, memory_order_acquire) !=
           atomic_load_explicit(fifo.tail, memory_order_acquire);
}

void gr_gpu_remote_hold(const struct gr_gpu_team *team, int hold)
{
    const struct gr_gpu_connection *c;

    for (c = team->remote_in; NULL != c; c = c->next_remote) {
        gr_doorbell_hold(c->end.bell, hold);
    }
    for (c = team->remote_out; NULL != c; c = c->next_remote) {
        gr_doorbell_hold(c->end.bell, hold);
    }
}

int gr_gpu_remote_unsent(const struct gr_gpu_team *team, uint32_t nchannels, int *ranks, int most)
{
    const struct gr_gpu_connection *c;
    int n = 0;

    for (c = team->remote_out; NULL != c && n < most; c = c->next_remote) {
        if (c->end.channel < nchannels && is_unsent(team, c)) {
            ranks[n++] = c->end.rank;
        }
    }
    return n;
}
