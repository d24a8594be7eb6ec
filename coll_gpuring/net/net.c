/* SPDX-License-Identifier: BSD-3-Clause */
/* A network and its links (net.h), and the loading of its transport (transport.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dladdr() */
#endif
#include "net/net.h"

#include "base/memory.h"
#include "base/system.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The transport has lost the connection to a peer: fail its links. */
static void lost(void *ctx, void *peer, const char *why)
{
    struct gr_net *net = ctx;
    struct gr_net_peer *p = peer;
    uint32_t k;

    if (0 == p->status) {
        p->status = GR_ERR_LOST;
        snprintf(p->why, sizeof(p->why), "%s", why);
    }
    for (k = 0; k < net->nlinks; k++) {
        if (NULL != net->links[k] && p == net->links[k]->peer) {
            gr_net_fail(net->links[k], p->status, p->why);
        }
    }
}

/* The transport has something to receive. */
static void ready(void *ctx)
{
    uint64_t moved = 0;

    gr_net_receive(ctx, &moved);
}

int gr_net_open(struct gr_net **out, const struct gr_transport *transport, const char *device,
                char *why, size_t size)
{
    struct gr_net *net = gr_calloc(1, sizeof(*net));
    int rc;

    if (NULL == net) {
        return GR_ERR_NOMEM;
    }
    net->transport = transport;
    net->up = (struct gr_transport_up) {
        net, gr_net_get_recv_buffer, gr_net_recv_done, gr_net_on_control, gr_net_sent, lost, ready};
    atomic_flag_clear(&net->busy);
    rc = transport->open(&net->end, &net->up, device, why, size);
    if (0 != rc) {
        free(net);
        return rc;
    }
    net->address_bytes = transport->address(net->end, net->address, sizeof(net->address));
    if (0 == net->address_bytes || net->address_bytes > sizeof(net->address)) {
        snprintf(why, size, "an address of %zu bytes; 1 to %zu is allowed", net->address_bytes,
                 sizeof(net->address));
        gr_net_close(net, 0);
        return GR_ERR_NET;
    }
    *out = net;
    return 0;
}

enum gr_net_gpus gr_net_reaches_gpus(const struct gr_net *net)
{
    return NULL == net->transport->reaches_gpus ? GR_NET_GPUS_NONE
                                                : net->transport->reaches_gpus(net->end);
}

/* Take the first link out of the list and progress it, which may free it. */
static void progress_first(struct gr_net_link *l)
{
    gr_net_list_remove(l);
    if (0 != atomic_load_explicit(&l->bell.held, memory_order_relaxed)) {
        gr_net_wake(l);
    }
    gr_net_link_progress(l);
}

/*
 * Send what can be sent, in the order in which links became ready. Credits come last, because data
 * can carry them.
 */
static void send_all(struct gr_net *net)
{
    struct gr_net_link *sendable = NULL, *others = NULL, *l;

    gr_net_take_rung(net);
    while (NULL != (l = net->active)) { /* reverses the order */
        gr_net_list_remove(l);
        gr_net_list_insert(gr_net_can_send(l) ? &sendable : &others, l);
    }
    while (NULL != sendable) {
        progress_first(sendable);
    }
    while (NULL != others) {
        progress_first(others);
    }
}

static void receive_all(struct gr_net *net)
{
    net->transport->progress(net->end);
}

static void progress(struct gr_net *net)
{
    send_all(net); /* first, because receiving takes longer */
    receive_all(net);
}

/* Call what() and add the number of slots moved, unless another thread has locked the network. */
static void do_if_free(struct gr_net *net, void (*what)(struct gr_net *net), uint64_t *moved)
{
    uint64_t before;

    if (!atomic_flag_test_and_set_explicit(&net->busy, memory_order_acquire)) {
        before = net->moved;
        what(net);
        *moved += net->moved - before;
        gr_net_unlock(net);
    }
}

void gr_net_progress(struct gr_net *net, uint64_t *moved)
{
    do_if_free(net, progress, moved);
}

void gr_net_send(struct gr_net *net, uint64_t *moved)
{
    do_if_free(net, send_all, moved);
}

void gr_net_receive(struct gr_net *net, uint64_t *moved)
{
    do_if_free(net, receive_all, moved);
}

static int any_closing(const struct gr_net *net)
{
    uint32_t k;

    for (k = 0; k < net->nlinks; k++) {
        if (NULL != net->links[k] && net->links[k]->closing) {
            return 1;
        }
    }
    return 0;
}

void gr_net_close(struct gr_net *net, double patience)
{
    struct gr_net_peer *p;
    double end = gr_now() + patience;
    uint32_t k;

    if (NULL == net) {
        return;
    }
    gr_net_lock(net);
    while (any_closing(net) && gr_now() < end) {
        progress(net);
    }
    net->transport->close(net->end, end - gr_now());
    for (k = 0; k < net->nlinks; k++) {
        if (NULL != net->links[k]) {
            gr_net_link_free(net->links[k]);
        }
    }
    while (NULL != net->peers) {
        p = net->peers;
        net->peers = p->next;
        free(p);
    }
    free(net->links);
    free(net);
}

/* ---- the ends of links ---- */

int gr_net_link_open(struct gr_net *net, enum gr_net_side side, const struct gr_fifo *fifo,
                     struct gr_net_link **link)
{
    uint32_t nmessages = GR_NET_OUT == side ? fifo->nslots : 1, k;
    struct gr_net_link *l;
    int rc;

    assert(!fifo->gpu.on || gr_net_reaches_gpus(net));
    assert(fifo->nslots >= GR_MIN_SLOTS && fifo->nslots <= GR_MAX_SLOTS &&
           fifo->slot_bytes <= UINT32_MAX);
    l = gr_calloc(1, sizeof(*l) + nmessages * sizeof(l->message[0]));
    if (NULL == l) {
        return GR_ERR_NOMEM;
    }
    l->bell.list = &net->bells;
    l->net = net;
    l->side = side;
    l->fifo = *fifo;
    l->window = fifo->nslots;
    for (k = 0; k < nmessages; k++) {
        l->message[k].link = l;
        l->message[k].on_gpu = fifo->gpu.on;
    }
    gr_net_lock(net);
    rc = gr_net_number(net, l);
    gr_net_unlock(net);
    if (0 != rc) {
        free(l);
        return rc;
    }
    *link = l;
    return 0;
}

void gr_net_link_export(const struct gr_net_link *link, struct gr_net_handle *handle)
{
    memset(handle, 0, sizeof(*handle));
    handle->link = link->number;
    handle->nslots = link->fifo.nslots;
    handle->slot_bytes = (uint32_t) link->fifo.slot_bytes;
    snprintf(handle->transport, sizeof(handle->transport), "%s", link->net->transport->name);
    handle->bytes = link->net->address_bytes;
    memcpy(handle->address, link->net->address, link->net->address_bytes);
}

static int same_transport(const struct gr_net_link *l, const struct gr_net_handle *o)
{
    return 0 == strncmp(o->transport, l->net->transport->name, sizeof(o->transport));
}

/* Whether the two ends fit together. */
static int fits(const struct gr_net_link *l, const struct gr_net_handle *o)
{
    return 0 != o->link && same_transport(l, o) && o->bytes > 0 && o->bytes <= sizeof(o->address) &&
           o->slot_bytes == l->fifo.slot_bytes && o->nslots >= GR_MIN_SLOTS &&
           o->nslots <= GR_MAX_SLOTS;
}

/* Fail the link, with the reason why it cannot be joined. */
static void refuse(struct gr_net_link *l, const struct gr_net_handle *theirs, int status)
{
    char why[100];

    if (NULL != l->peer) {
        gr_net_fail(l, status, l->peer->why);
    } else if (!same_transport(l, theirs)) {
        snprintf(why, sizeof(why), "its links go over %.*s, those of this process over %s",
                 (int) sizeof(theirs->transport), theirs->transport, l->net->transport->name);
        gr_net_fail(l, status, why);
    } else {
        gr_net_fail(l, status, "its handle of a link does not fit");
    }
}

int gr_net_link_join(struct gr_net_link *link, const struct gr_net_handle *theirs, const char *peer)
{
    int rc = GR_ERR_NET;

    snprintf(link->name, sizeof(link->name), "%s", peer);
    gr_net_lock(link->net);
    if (fits(link, theirs)) {
        rc = gr_net_peer(link->net, theirs, &link->peer);
    }
    if (0 != rc) {
        refuse(link, theirs, rc);
    } else {
        link->peer_number = theirs->link;
        link->window = GR_NET_OUT == link->side ? theirs->nslots : link->fifo.nslots;
        if (GR_NET_IN == link->side || gr_net_can_send(link)) {
            gr_net_wake(link); /* it was used before */
        }
    }
    gr_net_unlock(link->net);
    return rc;
}

int gr_net_link_status(const struct gr_net_link *link)
{
    return atomic_load_explicit(&link->status, memory_order_acquire);
}

void gr_net_link_error(const struct gr_net_link *link, char *text, size_t size)
{
    text[0] = '\0';
    if (0 != gr_net_link_status(link)) {
        snprintf(text, size, "%s: %s", link->name, link->why);
    }
}

/*
 * Copy the data of a slot into the slot, unless the transport is sending them. Returns 1 if they
 * are being sent, otherwise 0.
 */
static int reclaim(struct gr_net_link *l, uint64_t seq)
{
    uint32_t at = gr_net_slot(l, seq);

    if (NULL == l->fifo.data_at[at] || seq < l->next) {
        return NULL != l->fifo.data_at[at];
    }
    memcpy(l->fifo.slots + at * l->fifo.slot_bytes, l->fifo.data_at[at], l->fifo.valid_bytes[at]);
    l->fifo.data_at[at] = NULL;
    return 0;
}

int gr_net_link_reclaim(struct gr_net_link *link)
{
    uint64_t seq, end;
    int n = 0;

    if (GR_NET_IN == link->side || NULL == link->fifo.data_at) {
        return 0;
    }
    gr_net_lock(link->net);
    end = atomic_load_explicit(link->fifo.tail, memory_order_acquire) - link->fifo.count;
    for (seq = link->returned; seq < end; seq++) {
        n += reclaim(link, seq);
    }
    gr_net_unlock(link->net);
    return n;
}

void gr_net_link_close(struct gr_net_link *link)
{
    struct gr_net *net = link->net;

    gr_net_lock(net);
    link->closing = 1;
    link->fifo.failed = NULL;
    gr_net_link_progress(link);
    gr_net_unlock(net);
}

/* ---- the module of UCX ---- */

/*
 * The module is linked with UCX and loaded by name. The component itself must load where there is
 * no UCX. A module, other than functions looked up by name, shows the linker and package tools
 * which libraries and symbol versions it needs, and can be packaged separately.
 */
#define MODULE "gpuring_net_ucx.so"

/* The folder that this code was loaded from, with a slash at its end; or "". */
static void own_directory(char *path, size_t size)
{
    Dl_info info;
    char *slash = NULL;

    path[0] = '\0';
    if (0 != dladdr((const void *) own_directory, &info) && NULL != info.dli_fname) {
        snprintf(path, size, "%s", info.dli_fname);
        slash = strrchr(path, '/');
    }
    path[NULL == slash ? 0 : slash + 1 - path] = '\0';
}

const struct gr_transport *gr_net_load(const char *dir, char *why, size_t size)
{
    char path[PATH_MAX];
    const struct gr_transport *t;
    void *module;
    size_t used;

    if (NULL == dir) {
        own_directory(path, sizeof(path));
    } else {
        snprintf(path, sizeof(path), "%s/", dir);
    }
    used = strlen(path);
    snprintf(path + used, sizeof(path) - used, "%s", MODULE);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (NULL == module) {
        snprintf(why, size, "%s", dlerror());
        return NULL;
    }
    t = dlsym(module, "gr_transport_ucx");
    if (NULL == t || GR_TRANSPORT_VERSION != t->version) {
        snprintf(why, size, "%s is of another version of gpuring", path);
        dlclose(module);
        return NULL;
    }
    return t; /* the module stays loaded */
}
