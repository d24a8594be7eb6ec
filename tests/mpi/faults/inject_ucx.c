/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX, in the variant of the module over it: functions that fail, and sends that end with an error.
 * Of a send that fails at its end nothing can be taken back: the message has left, and its sender
 * believes that it has not.
 */
#include "inject.h"

#include <stdlib.h>
#include <ucp/api/ucp.h>

ucs_status_t __real_ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *ep);
ucs_status_t __real_ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
                                      ucp_worker_h *worker);
ucs_status_t __real_ucp_worker_get_address(ucp_worker_h worker, ucp_address_t **address,
                                           size_t *bytes);
ucs_status_t __real_ucp_worker_set_am_recv_handler(ucp_worker_h worker,
                                                   const ucp_am_handler_param_t *param);
ucs_status_t __real_ucp_config_read(const char *prefix, const char *file, ucp_config_t **config);
ucs_status_ptr_t __real_ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header,
                                        size_t header_bytes, const void *data, size_t n,
                                        const ucp_request_param_t *param);
ucs_status_ptr_t __real_ucp_am_recv_data_nbx(ucp_worker_h worker, void *descriptor, void *to,
                                             size_t n, const ucp_request_param_t *param);
void *__real_calloc(size_t n, size_t bytes);

void *__wrap_calloc(size_t n, size_t bytes)
{
    return FAULT_DUE("ucx_calloc") ? NULL : __real_calloc(n, bytes);
}

ucs_status_t __wrap_ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *params, ucp_ep_h *ep)
{
    return FAULT_DUE("ucp_ep_create") ? UCS_ERR_NO_MEMORY
                                      : __real_ucp_ep_create(worker, params, ep);
}

ucs_status_t __wrap_ucp_worker_create(ucp_context_h context, const ucp_worker_params_t *params,
                                      ucp_worker_h *worker)
{
    return FAULT_DUE("ucp_worker_create") ? UCS_ERR_NO_MEMORY
                                          : __real_ucp_worker_create(context, params, worker);
}

ucs_status_t __wrap_ucp_worker_get_address(ucp_worker_h worker, ucp_address_t **address,
                                           size_t *bytes)
{
    return FAULT_DUE("ucp_worker_get_address")
               ? UCS_ERR_NO_MEMORY
               : __real_ucp_worker_get_address(worker, address, bytes);
}

ucs_status_t __wrap_ucp_worker_set_am_recv_handler(ucp_worker_h worker,
                                                   const ucp_am_handler_param_t *param)
{
    return FAULT_DUE("ucp_worker_set_am_recv_handler")
               ? UCS_ERR_NO_MEMORY
               : __real_ucp_worker_set_am_recv_handler(worker, param);
}

ucs_status_t __wrap_ucp_config_read(const char *prefix, const char *file, ucp_config_t **config)
{
    return FAULT_DUE("ucp_config_read") ? UCS_ERR_NO_MEMORY
                                        : __real_ucp_config_read(prefix, file, config);
}

/* ---- completions ---- */

/* What a send's callback gets that ends with an error. */
struct ended {
    ucp_send_nbx_callback_t cb; /* the module's */
    void *user_data;            /* the module's */
};

static void end_badly(void *request, ucs_status_t status, void *user_data)
{
    struct ended *ended = user_data;

    (void) status;
    ended->cb(request, UCS_ERR_IO_ERROR, ended->user_data);
    free(ended);
}

ucs_status_ptr_t __wrap_ucp_am_send_nbx(ucp_ep_h ep, unsigned id, const void *header,
                                        size_t header_bytes, const void *data, size_t n,
                                        const ucp_request_param_t *param)
{
    ucp_request_param_t bad = *param;
    struct ended *ended;
    ucs_status_ptr_t request;

    if (FAULT_DUE("ucp_am_send_nbx")) {
        return UCS_STATUS_PTR(UCS_ERR_NO_RESOURCE);
    }
    if (!FAULT_DUE("send_completion")) {
        return __real_ucp_am_send_nbx(ep, id, header, header_bytes, data, n, param);
    }
    ended = __real_calloc(1, sizeof(*ended));
    *ended = (struct ended) {param->cb.send, param->user_data};
    bad.cb.send = end_badly;
    bad.user_data = ended;
    request = __real_ucp_am_send_nbx(ep, id, header, header_bytes, data, n, &bad);
    if (!UCS_PTR_IS_PTR(request)) {
        free(ended); /* it is over, and no callback comes */
        return UCS_STATUS_PTR(UCS_ERR_IO_ERROR);
    }
    return request;
}

ucs_status_ptr_t __wrap_ucp_am_recv_data_nbx(ucp_worker_h worker, void *descriptor, void *to,
                                             size_t n, const ucp_request_param_t *param)
{
    return FAULT_DUE("ucp_am_recv_data_nbx")
               ? UCS_STATUS_PTR(UCS_ERR_IO_ERROR)
               : __real_ucp_am_recv_data_nbx(worker, descriptor, to, n, param);
}
