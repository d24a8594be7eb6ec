/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport over UCX. It is a module of its own, loaded by load.h. */
#ifndef GR_NET_UCX_H
#define GR_NET_UCX_H

#include "net/transport.h"

extern const struct gr_transport gr_transport_ucx;

#endif
