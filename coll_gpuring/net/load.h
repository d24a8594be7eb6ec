/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading the transport over UCX, which is a module of its own: all else works without UCX. */
#ifndef GR_NET_LOAD_H
#define GR_NET_LOAD_H

#include "net/transport.h"

#include <stddef.h>

/*
 * Load the transport, for the life of the process. dir: folder of the module; NULL: that of the
 * library or program that contains this function. NULL: it cannot be loaded; the reason is written
 * to why[size].
 */
const struct gr_transport *gr_net_load(const char *dir, char *why, size_t size);

#endif
