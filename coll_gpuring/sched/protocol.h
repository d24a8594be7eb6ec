/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protocols: how messages between devices are written, and how their reader knows that they are
 * there.
 *
 *      Simple   data, then a counter behind them: one wait per slot, whole bandwidth
 *      LL       each 8 bytes carry 4 of data and 4 of flag: no counter, half the bandwidth
 *      LL128    each 128 bytes carry 120 of data and 8 of flag. Correct only if a warp's store of
 *               128 bytes is atomic, as it is over NVLink
 */
#ifndef GR_SCHED_PROTOCOL_H
#define GR_SCHED_PROTOCOL_H

enum gr_protocol { GR_PROTOCOL_SIMPLE, GR_PROTOCOL_LL, GR_PROTOCOL_LL128, GR_NPROTOCOLS };

/* What the links between the devices of a communicator are like; of several kinds, the slowest. */
enum gr_path {
    GR_PATH_SAME, /* in the memory of the one device that all use */
    /* NVLink between all, each with a device of its own: stores of 128 bytes arrive whole */
    GR_PATH_NVLINK,
    GR_PATH_PCIE,   /* each other's memory over PCIe, or some share a device, or it is not known */
    GR_PATH_PINNED, /* through pinned host memory */
    GR_PATH_NET,    /* some lead to other nodes */
    GR_NPATHS,
    GR_PATH_NONE = GR_NPATHS,    /* there are no such links: the host does the call */
    GR_NPATHS_NEAR = GR_PATH_NET /* those before it are inside a node */
};

/* "simple", "ll", "ll128"; NULL when out of range. */
const char *gr_protocol_name(int protocol);

/* "one device", "NVLink", "PCIe", "host memory", "network". */
const char *gr_path_name(enum gr_path path);

#endif
