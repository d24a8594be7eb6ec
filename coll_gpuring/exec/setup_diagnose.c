/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about set-ups: what they wait for, and why they failed. */
#include "exec/setup.h"

#include "base/text.h"

#include <stdio.h>

/* Which links, in words. */
static const char *where(const struct gr_setup *s)
{
    if (s->device) {
        return " on devices";
    }
    if (s->use < GR_USE_SMALL) {
        return "";
    }
    return NULL != s->queue->comm->remote ? " for small messages" : " with small slots";
}

/* The rank that receive k of the phase waits for. */
static int awaited_rank(const struct gr_setup *s, int k)
{
    const struct gr_join *join = &s->join;

    switch (s->state) {
    case GR_SETUP_DEVICES:
        return k + 1;
    case GR_SETUP_ORDER:
        return 0;
    case GR_SETUP_HANDLES:
        return gr_connection_at(join, &join->out, k)->rank;
    default:
        /* without replies inside the node, only inter-node messages are awaited */
        k += NULL == join->memory->reply ? join->in.near : 0;
        return gr_connection_at(join, &join->in, k)->rank;
    }
}

void gr_setup_explain(void *ctx, char *text, size_t size)
{
    static const char *const phases[] = {[GR_SETUP_DEVICES] = "devices",
                                         [GR_SETUP_ORDER] = "order",
                                         [GR_SETUP_HANDLES] = "handles",
                                         [GR_SETUP_REPLIES] = "replies"};
    struct gr_setup *s = ctx;
    int k;

    snprintf(text, size, "set-up of %s%s, ", gr_use_name(s->use), where(s));
    if (GR_SETUP_NEW == s->state) {
        gr_text_add(text, size, "not begun");
        return;
    }
    if (GR_SETUP_AGREE == s->state) {
        gr_text_add(text, size, "agreement at distance %d, waits for rank %d", s->rounds.distance,
                    gr_dissemination_awaits(&s->rounds));
        return;
    }
    gr_text_add(text, size, "%s, waits for rank", phases[s->state]);
    for (k = 0; k < s->awaited; k++) {
        if (NULL != s->messages[k]) {
            gr_text_add(text, size, " %d", awaited_rank(s, k));
        }
    }
}

void gr_setup_announce(const struct gr_setup *s)
{
    const struct gr_comm *comm = s->queue->comm;
    struct gr_need need;

    if (s->device || gr_use_has_boards(s->use) || !gr_should_log(comm->rank, 2)) {
        return;
    }
    need = gr_team_need(s->queue->team, s->use, s->nchannels);
    gr_print(
        "gpuring: set-up of %s%s on %s: up to %d links and %d messages of a rank, %zu KiB per rank",
        gr_use_name(s->use), where(s), gr_comm_name(comm), need.links, need.messages,
        (need.bytes + 1023) / 1024);
}

/* MiB of device memory that this rank needs for the links. */
static size_t device_mib(const struct gr_setup *s)
{
    const struct gr_gpu_team *team = s->queue->gpu;
    size_t bytes = (size_t) s->join.in.n * team->nslots * team->slot_bytes;

    return (bytes + (1 << 20) - 1) >> 20;
}

/*
 * Warn that links go through host memory, on the first rank concerned; the others know of it, and
 * say nothing of later communicators.
 */
static void warn_unmapped(const struct gr_setup *s)
{
    static bool said;
    int rank = s->queue->comm->rank;
    const char *name;

    if (said || !s->device || INT32_MAX == s->result.agreed.gpu.unmapped) {
        return;
    }
    said = true;
    if (rank != s->result.agreed.gpu.unmapped) {
        return;
    }
    name = gr_comm_name(s->queue->comm);
    switch (s->join.cause) {
    case GR_UNMAPPED_NO_HANDLE:
        gr_warn("gpu-no-ipc", s->join.unmapped, name);
        break;
    case GR_UNMAPPED_UNSEEN:
        gr_warn("gpu-unseen", rank, name, s->join.unmapped, s->join.why);
        break;
    default:
        gr_warn("gpu-unmapped", rank, name, s->join.unmapped, s->join.why);
    }
}

/* Inter-node connections that have their slots on the device. */
static int on_device(const struct gr_connections *side)
{
    int k, found = 0;

    for (k = side->near; k < side->n; k++) {
        found += NULL != side->gpu[k].slots;
    }
    return found;
}

/* Log where the slots of rank 0's inter-node links are, and why not on its device. */
static void log_slots(const struct gr_setup *s)
{
    const struct gr_join *j = &s->join;
    int found, all = s->net.nin + s->net.nout;
    const char *why;

    if (!s->device || 0 == all || !gr_should_log(s->queue->comm->rank, 2)) {
        return;
    }
    found = on_device(&j->in) + on_device(&j->out);
    why = gr_net_no_rdma(s->queue);
    why = NULL != why                    ? why
          : GR_RDMA_NONE == j->gpu->rdma ? "the device has no GPUDirect RDMA, or no flush for it"
                                         : "the device is out of memory";
    gr_print("gpuring: slots of rank 0 of %s for %s between nodes: %d links in device memory, "
             "%d in pinned host memory%s%s%s",
             gr_comm_name(s->queue->comm), gr_use_name(s->use), found, all - found,
             found < all ? " (" : "", found < all ? why : "", found < all ? ")" : "");
}

void gr_setup_log(const struct gr_setup *s)
{
    static bool said[16];
    int status = s->result.status;
    const char *name = gr_comm_name(s->queue->comm);

    if (0 == status) {
        warn_unmapped(s);
        log_slots(s);
        return;
    }
    if (s->result.rank != s->queue->comm->rank || said[-status % 16]) {
        return;
    }
    said[-status % 16] = true;
    switch (status) {
    case GR_ERR_SPACE:
        gr_warn("shm-full", name, (s->join.memory->host_bytes(&s->join) + 1023) / 1024,
                s->join.memory->name);
        break;
    case GR_ERR_LIMIT:
        gr_warn("shm-limit", name, gr_settings.pool_mib);
        break;
    case GR_ERR_FOREIGN:
        gr_warn("shm-foreign", name);
        break;
    case GR_ERR_NET:
    case GR_ERR_UNREACHED:
    case GR_ERR_LOST:
        gr_endpoints_tell(&s->net);
        break;
    case GR_ERR_NODRIVER:
    case GR_ERR_NODEVICE:
        gr_warn("no-gpu", s->result.rank, name, s->why);
        break;
    case GR_ERR_GPU_SPACE:
        gr_warn("gpu-full", s->result.rank, name, device_mib(s), s->why);
        break;
    case GR_ERR_GPU_LIMIT:
        gr_warn("gpu-limit", name, s->result.rank, gr_settings.device_pool_mib);
        break;
    case GR_ERR_CUDA:
    case GR_ERR_PEER:
        gr_warn("gpu-error", s->result.rank, name, s->why);
        break;
    default:
        gr_warn("shm-error", name, status);
    }
}
