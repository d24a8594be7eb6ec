/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport over UCX, a module of its own, which gr_net_load() loads; and its contexts. */
#ifndef GR_NET_UCX_H
#define GR_NET_UCX_H

#include "net/transport.h"

#include <ucp/api/ucp.h>

/*
 * Create a context for active messages. device: the only network devices; NULL: UCX chooses.
 * ucp_request_bytes: space for the caller in each UCP request.
 */
ucs_status_t gr_ucx_context(const char *device, size_t ucp_request_bytes, ucp_context_h *context);

/* UCX's type of device memory. A test uses that of host memory, which takes the same code. */
#ifndef GR_UCX_GPU
#define GR_UCX_GPU UCS_MEMORY_TYPE_CUDA
#endif

/* How a context sends and receives device memory. */
enum gr_net_gpus gr_ucx_reaches_gpus(ucp_context_h context);

/* gr_transport.devices(); the names of shared memory and lo are among them. */
int gr_ucx_devices(char (*names)[GR_NET_DEVICE_BYTES], int n, int *chosen);

extern const struct gr_transport gr_transport_ucx;

#endif
