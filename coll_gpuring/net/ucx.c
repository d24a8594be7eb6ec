/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport over UCX: active messages of one worker per end, and an endpoint per peer. UCX
 * chooses the transports below it, by its own variables (UCX_TLS, UCX_NET_DEVICES,
 * UCX_KEEPALIVE_INTERVAL, ...). The end of a rail has one device.
 */
#include "net/ucx.h"

#include "base/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_DATA = 0, ID_CONTROL = 1 }; /* of active messages */

/* An end. */
struct ucx {
    const struct gr_transport_up *up; /* callbacks; borrowed */
    ucp_context_h context;
    ucp_worker_h worker;
    struct connection *first; /* owned */
    enum gr_net_gpus gpus;    /* how it moves data in device memory */
    int received;             /* a message has arrived in this progress() */
    int user_rndv;            /* the user has set UCX_RNDV_THRESH */
};

struct connection {
    struct connection *next;
    struct ucx *ucx;
    void *peer; /* for lost() */
    ucp_ep_h ep;
    uint32_t flags; /* of messages with data */
};

/* State of a message that is being received; in its UCP request. */
struct receipt {
    struct ucx *ucx;
    struct gr_net_head head;
};

/* ---- receiving ---- */

static void on_received(void *ucp_request, ucs_status_t status, size_t length, void *user_data)
{
    struct receipt *r = ucp_request;

    (void) length;
    (void) user_data;
    r->ucx->received = 1;
    r->ucx->up->recv_done(r->ucx->up->ctx, &r->head, UCS_OK == status ? 0 : GR_ERR_LOST);
    ucp_request_free(ucp_request);
}

/*
 * Receive data that the host cannot copy itself: they are still at the sender (rendezvous), or go
 * to device memory.
 */
static ucs_status_t fetch(struct ucx *u, const struct gr_net_head *head, void *descriptor, void *to,
                          size_t length, int on_gpu)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | (on_gpu ? UCP_OP_ATTR_FIELD_MEMORY_TYPE : 0),
        .cb.recv_am = on_received,
        .memory_type = GR_UCX_GPU,
    };
    ucs_status_ptr_t ucp_request = ucp_am_recv_data_nbx(u->worker, descriptor, to, length, &param);

    if (!UCS_PTR_IS_PTR(ucp_request)) {
        u->up->recv_done(u->up->ctx, head, UCS_OK == UCS_PTR_STATUS(ucp_request) ? 0 : GR_ERR_LOST);
        return UCS_OK;
    }
    *(struct receipt *) ucp_request = (struct receipt) {u, *head};
    return UCS_INPROGRESS;
}

static ucs_status_t on_data(void *arg, const void *header, size_t header_length, void *data,
                            size_t length, const ucp_am_recv_param_t *param)
{
    struct ucx *u = arg;
    struct gr_net_head head;
    void *to;
    int on_gpu;

    u->received = 1;
    if (!gr_net_head_take(&head, header, header_length)) {
        return UCS_OK; /* not a message of gpuring */
    }
    to = u->up->get_recv_buffer(u->up->ctx, &head, length, &on_gpu);
    if (NULL == to) {
        return UCS_OK; /* UCX drops the message */
    }
    if (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV || (on_gpu && length > 0)) {
        return fetch(u, &head, data, to, length, on_gpu);
    }
    memcpy(to, data, length);
    u->up->recv_done(u->up->ctx, &head, 0);
    return UCS_OK;
}

static ucs_status_t on_control_message(void *arg, const void *header, size_t header_length,
                                       void *data, size_t length, const ucp_am_recv_param_t *param)
{
    struct ucx *u = arg;
    struct gr_net_head head;

    (void) data;
    (void) length;
    (void) param;
    u->received = 1;
    if (gr_net_head_take(&head, header, header_length)) {
        u->up->on_control(u->up->ctx, &head);
    }
    return UCS_OK;
}

/* ---- sending ---- */

static void on_sent(void *ucp_request, ucs_status_t status, void *user_data)
{
    struct gr_net_message *message = user_data;
    struct ucx *u = message->transport;

    ucp_request_free(ucp_request);
    u->up->sent(u->up->ctx, message, UCS_OK == status ? 0 : GR_ERR_LOST);
}

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct connection *c = arg;

    (void) ep;
    c->ucx->up->lost(c->ucx->up->ctx, c->peer, ucs_status_string(status));
}

static int ucx_send(void *end, void *connection, struct gr_net_message *message, const void *data,
                    size_t bytes)
{
    struct connection *c = connection;
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FIELD_FLAGS |
                        (NULL != data && message->on_gpu ? UCP_OP_ATTR_FIELD_MEMORY_TYPE : 0),
        .flags = NULL == data ? 0 : c->flags,
        .cb.send = on_sent,
        .user_data = message,
        .memory_type = GR_UCX_GPU,
    };
    ucs_status_ptr_t ucp_request;

    message->transport = end;
    ucp_request = ucp_am_send_nbx(c->ep, NULL == data ? ID_CONTROL : ID_DATA, &message->head,
                                  gr_net_head_bytes(&message->head), data, bytes, &param);
    if (UCS_PTR_IS_ERR(ucp_request)) {
        on_error(c, c->ep, UCS_PTR_STATUS(ucp_request));
        return GR_ERR_LOST;
    }
    return NULL == ucp_request;
}

/* ---- connections ---- */

/*
 * Whether all messages of an endpoint go over TCP. UCX 1.13 says so only in its description, in
 * lines as
 *      lane[0]:  1:tcp/eth0.0 md[1] -> ...
 */
static int goes_over_tcp(ucp_ep_h ep)
{
    char *text = NULL, *lane;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    int lanes = 0, others = 0;

    if (NULL == f) {
        return 0;
    }
    ucp_ep_print_info(ep, f);
    fclose(f);
    for (lane = NULL == text ? NULL : strstr(text, "lane["); NULL != lane;
         lane = strstr(lane + 1, "lane[")) {
        lane = lane + strcspn(lane, ":\n");
        lanes++;
        others += 0 != strncmp(lane + strspn(lane, ": 0123456789"), "tcp/", 4);
    }
    free(text);
    return lanes > 0 && 0 == others;
}

/*
 * Rendezvous saves a copy on RDMA networks. Over TCP it saves none, and its replies wait behind
 * data in the sockets. The receiver has a free slot for every message, so TCP sends eagerly.
 */
static uint32_t flags_of(const struct ucx *u, ucp_ep_h ep)
{
    return !u->user_rndv && goes_over_tcp(ep) ? UCP_AM_SEND_FLAG_EAGER : 0;
}

static int why_unreached(ucs_status_t status, char *why, size_t size)
{
    const char *tls = getenv("UCX_TLS"), *devices = getenv("UCX_NET_DEVICES");

    if (UCS_ERR_UNREACHABLE == status) {
        snprintf(why, size,
                 "none of UCX's transports leads there (UCX_TLS is %s, UCX_NET_DEVICES %s)",
                 NULL == tls ? "not set" : tls, NULL == devices ? "not set" : devices);
    } else {
        snprintf(why, size, "UCX makes no endpoint: %s", ucs_status_string(status));
    }
    return UCS_ERR_NO_MEMORY == status ? GR_ERR_NOMEM : GR_ERR_UNREACHED;
}

static int ucx_connect(void *end, const void *address, void *peer, void **connection, char *why,
                       size_t size)
{
    struct ucx *u = end;
    struct connection *c = calloc(1, sizeof(*c));
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address,
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {on_error, c},
    };
    ucs_status_t status;

    if (NULL == c) {
        return GR_ERR_NOMEM;
    }
    c->ucx = u;
    c->peer = peer;
    status = ucp_ep_create(u->worker, &params, &c->ep);
    if (UCS_ERR_UNREACHABLE == status) {
        /*
         * Shared memory alone (UCX 1.13) cannot detect that a peer has died. The other end makes
         * the same choice.
         */
        params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
        status = ucp_ep_create(u->worker, &params, &c->ep);
    }
    if (UCS_OK != status) {
        free(c);
        return why_unreached(status, why, size);
    }
    c->flags = flags_of(u, c->ep);
    c->next = u->first;
    u->first = c;
    *connection = c;
    return 0;
}

/* ---- the worker ---- */

static size_t ucx_address(void *end, void *address, size_t size)
{
    struct ucx *u = end;
    ucp_address_t *mine;
    size_t bytes;

    if (UCS_OK != ucp_worker_get_address(u->worker, &mine, &bytes)) {
        return 0;
    }
    if (bytes <= size) {
        memcpy(address, mine, bytes);
    }
    ucp_worker_release_address(u->worker, mine);
    return bytes;
}

static void ucx_progress(void *end)
{
    struct ucx *u = end;
    unsigned most = 64; /* events, so that the caller gets control back */

    u->received = 0; /* one message is enough, so that the caller can use it at once */
    while (most-- > 0 && 0 != ucp_worker_progress(u->worker) && !u->received) {
    }
}

static enum gr_net_gpus ucx_reaches_gpus(void *end)
{
    struct ucx *u = end;

    return u->gpus;
}

/* Handle messages of an id. If slots can lie in device memory, fetch() needs UCX's descriptor. */
static ucs_status_t take_messages(struct ucx *u, unsigned id, ucp_am_recv_callback_t cb)
{
    ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = id,
        .flags =
            UCP_AM_FLAG_WHOLE_MSG | (ID_DATA == id && u->gpus ? UCP_AM_FLAG_PERSISTENT_DATA : 0),
        .cb = cb,
        .arg = u,
    };

    return ucp_worker_set_am_recv_handler(u->worker, &param);
}

static ucs_status_t make_worker(struct ucx *u)
{
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED, /* the network has a lock */
    };
    ucs_status_t status = ucp_worker_create(u->context, &params, &u->worker);

    if (UCS_OK != status) {
        return status;
    }
    status = take_messages(u, ID_DATA, on_data);
    if (UCS_OK == status) {
        status = take_messages(u, ID_CONTROL, on_control_message);
    }
    if (UCS_OK != status) {
        ucp_worker_destroy(u->worker);
    }
    return status;
}

static int ucx_open(void **end, const struct gr_transport_up *up, const char *device, char *why,
                    size_t size)
{
    struct ucx *u = calloc(1, sizeof(*u));
    ucs_status_t status;

    if (NULL == u) {
        return GR_ERR_NOMEM;
    }
    u->up = up;
    u->user_rndv = NULL != getenv("UCX_RNDV_THRESH");
    status = gr_ucx_context(device, sizeof(struct receipt), &u->context);
    if (UCS_OK == status) {
        u->gpus = gr_ucx_reaches_gpus(u->context);
        status = make_worker(u);
        if (UCS_OK != status) {
            ucp_cleanup(u->context);
        }
    }
    if (UCS_OK != status) {
        snprintf(why, size, "UCX does not start%s%s: %s", NULL == device ? "" : " on ",
                 NULL == device ? "" : device, ucs_status_string(status));
        free(u);
        return UCS_ERR_NO_MEMORY == status ? GR_ERR_NOMEM : GR_ERR_NET;
    }
    *end = u;
    return 0;
}

/* ---- the end ---- */

/* Progress until a UCP request is complete, for at most `patience` seconds. */
static void await(struct ucx *u, ucs_status_ptr_t ucp_request, double patience)
{
    double end = gr_now() + patience;

    if (!UCS_PTR_IS_PTR(ucp_request)) {
        return;
    }
    while (UCS_INPROGRESS == ucp_request_check_status(ucp_request) && gr_now() < end) {
        ucp_worker_progress(u->worker);
    }
    ucp_request_free(ucp_request);
}

static void ucx_close(void *end, double patience)
{
    static const double force = 10; /* seconds; a forced close needs no reply of the peer */
    struct ucx *u = end;
    ucp_request_param_t flush = {0}, close = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                              .flags = UCP_EP_CLOSE_FLAG_FORCE};
    struct connection *c;

    if (patience > 0 && NULL != u->first) {
        await(u, ucp_worker_flush_nbx(u->worker, &flush), patience);
    }
    for (c = u->first; NULL != c; c = c->next) {
        await(u, ucp_ep_close_nbx(c->ep, &close), force);
    }
    ucp_worker_destroy(u->worker);
    ucp_cleanup(u->context);
    while (NULL != u->first) {
        c = u->first;
        u->first = c->next;
        free(c);
    }
    free(u);
}

__attribute__((visibility("default"))) const struct gr_transport gr_transport_ucx = {
    GR_TRANSPORT_VERSION, "ucx",    ucx_open,     ucx_close,      ucx_address,
    ucx_connect,          ucx_send, ucx_progress, gr_ucx_devices, ucx_reaches_gpus,
};
