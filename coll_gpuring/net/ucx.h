/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport over UCX from the inside: shared by ucx.c (messages) and ucx_context.c (where they
 * may go).
 */
#ifndef GR_NET_UCX_H
#define GR_NET_UCX_H

#include "net/transport.h"

#include <ucp/api/ucp.h>

/*
 * A context of the network device of that name, or with NULL of all that UCX likes, with room for
 * so much in each request.
 */
ucs_status_t gr_ucx_context(const char *device, size_t request_bytes, ucp_context_h *context);

/*
 * UCX's name for the memory of GPUs. A test has it say host memory, which goes the same way then.
 */
#ifndef GR_UCX_GPU
#define GR_UCX_GPU UCS_MEMORY_TYPE_CUDA
#endif

/* Whether a context moves data from and to the memory of GPUs. */
int gr_ucx_reaches_gpus(ucp_context_h context);

/* transport.h: devices(). Those of shared memory, and lo, are among them. */
int gr_ucx_devices(char (*names)[GR_NET_DEVICE_BYTES], int n);

#endif
