/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances from NVML (nvlink.h): the number of NVLinks between two devices, else their common PCIe
 * level.
 *
 * The peer-to-peer status says whether NVLink connects two devices: an NVSwitch between them may be
 * off, or belong to another partition. The number of links is counted from the links' remote ends:
 * the links that end at the other device, or as many as both devices have to switches.
 */
#include "topo/nvlink.h"

#include "base/memory.h"
#include "topo/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The loaded library. Functions that it lacks are NULL. */
struct nvml {
    void *library;
#define FIELD(name, arguments) gr_nvml_return(*name) arguments;
    GR_NVML_FUNCTIONS(FIELD)
#undef FIELD
};

/* What NVML says about one device. */
struct gpu_info {
    gr_nvml_device handle; /* NULL: NVML does not know the device */
    int switch_links;      /* number of active links to switches */
};

/* Load and start the library. Returns 0, or -1: there is no usable library. */
static int start(struct nvml *nvml, const char *name)
{
    void *at;

    nvml->library = dlopen(NULL == name ? "libnvidia-ml.so.1" : name, RTLD_NOW | RTLD_LOCAL);
    if (NULL == nvml->library) {
        return -1;
    }
    /* ISO C has no cast from void *, which dlsym() returns, to a function pointer. */
#define LOOK_UP(function, arguments)      \
    at = dlsym(nvml->library, #function); \
    memcpy(&nvml->function, &at, sizeof(at));
    GR_NVML_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    if (NULL != nvml->nvmlInit_v2 && NULL != nvml->nvmlShutdown &&
        NULL != nvml->nvmlDeviceGetHandleByPciBusId_v2 && 0 == nvml->nvmlInit_v2()) {
        return 0;
    }
    dlclose(nvml->library);
    return -1;
}

/* NVML counts starts and stops, so this does not affect other users in the process. */
static void stop(struct nvml *nvml)
{
    nvml->nvmlShutdown();
    dlclose(nvml->library);
}

static gr_nvml_device find_device(const struct nvml *nvml, const struct gr_pci_address *gpu)
{
    gr_nvml_device handle = NULL;
    char bus_id[32];

    if (!gr_pci_known(gpu)) {
        return NULL;
    }
    snprintf(bus_id, sizeof(bus_id), "%08X:%02X:%02X.0", gpu->domain, gpu->bus, gpu->device);
    return 0 == nvml->nvmlDeviceGetHandleByPciBusId_v2(bus_id, &handle) ? handle : NULL;
}

static int link_active(const struct nvml *nvml, gr_nvml_device device, unsigned int link)
{
    int active = 0;

    return NULL != nvml->nvmlDeviceGetNvLinkState &&
           0 == nvml->nvmlDeviceGetNvLinkState(device, link, &active) && 1 == active;
}

static int ends_at_switch(const struct nvml *nvml, gr_nvml_device device, unsigned int link)
{
    int type = GR_NVML_REMOTE_GPU;

    return NULL != nvml->nvmlDeviceGetNvLinkRemoteDeviceType &&
           0 == nvml->nvmlDeviceGetNvLinkRemoteDeviceType(device, link, &type) &&
           GR_NVML_REMOTE_SWITCH == type;
}

/* The device at the remote end of a link, or -1: none of the node's devices. */
static int remote_end(const struct nvml *nvml, const struct gr_distances *d, gr_nvml_device device,
                      unsigned int link)
{
    struct gr_nvml_pci pci;
    struct gr_pci_address address;
    int k;

    memset(&pci, 0, sizeof(pci));
    if (NULL == nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2 ||
        0 != nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &pci)) {
        return -1;
    }
    address = (struct gr_pci_address) {pci.domain, pci.bus, pci.device};
    for (k = 0; k < d->n; k++) {
        if (gr_pci_known(&address) && gr_pci_same(&address, &d->gpus[k])) {
            return k;
        }
    }
    return -1;
}

/* Count the active links of device k: to switches, and to each other device (to_peer[0..n-1]). */
static void count_links(const struct nvml *nvml, const struct gr_distances *d, int k,
                        struct gpu_info *info, unsigned char *to_peer)
{
    unsigned int link;
    int other;

    for (link = 0; NULL != info->handle && link < GR_MOST_LINKS; link++) {
        if (!link_active(nvml, info->handle, link)) {
            continue;
        }
        if (ends_at_switch(nvml, info->handle, link)) {
            info->switch_links++;
            continue;
        }
        other = remote_end(nvml, d, info->handle, link);
        if (other >= 0 && other != k) {
            to_peer[other]++;
        }
    }
}

/* Usable NVLinks between two devices. to_peer: number of their links that end at each other. */
static int links_between(const struct nvml *nvml, const struct gpu_info *a,
                         const struct gpu_info *b, int to_peer)
{
    int switched = a->switch_links < b->switch_links ? a->switch_links : b->switch_links;
    int links = to_peer > 0 ? to_peer : switched, status = -1;

    if (NULL == nvml->nvmlDeviceGetP2PStatus ||
        0 != nvml->nvmlDeviceGetP2PStatus(a->handle, b->handle, GR_NVML_P2P_NVLINK, &status)) {
        return links; /* the status is unknown: trust the count */
    }
    if (GR_NVML_P2P_OK != status) {
        return 0;
    }
    return links > 0 ? links : 1;
}

/* The distance over PCIe; GR_DISTANCE_NONE: unknown. */
static int common_level(const struct nvml *nvml, const struct gpu_info *a, const struct gpu_info *b)
{
    static const struct {
        int level, distance;
    } rows[] = {
        {GR_NVML_INTERNAL, GR_DISTANCE_BOARD},    {GR_NVML_SINGLE, GR_DISTANCE_SWITCH},
        {GR_NVML_MULTIPLE, GR_DISTANCE_SWITCHES}, {GR_NVML_HOSTBRIDGE, GR_DISTANCE_BRIDGE},
        {GR_NVML_NODE, GR_DISTANCE_NODE},         {GR_NVML_SYSTEM, GR_DISTANCE_SYSTEM},
    };
    int level = -1;
    size_t k;

    if (NULL == nvml->nvmlDeviceGetTopologyCommonAncestor ||
        0 != nvml->nvmlDeviceGetTopologyCommonAncestor(a->handle, b->handle, &level)) {
        return GR_DISTANCE_NONE;
    }
    for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        if (level == rows[k].level) {
            return rows[k].distance;
        }
    }
    return GR_DISTANCE_NONE;
}

static void note_pairs(const struct nvml *nvml, struct gr_distances *d, const struct gpu_info *info,
                       const unsigned char *to_peer)
{
    int n = d->n, a, b, forth, back, links;

    for (a = 0; a < n; a++) {
        for (b = a + 1; b < n; b++) {
            if (NULL == info[a].handle || NULL == info[b].handle) {
                continue;
            }
            forth = to_peer[a * n + b];
            back = to_peer[b * n + a];
            links = links_between(nvml, &info[a], &info[b], forth > back ? forth : back);
            gr_distances_note(d, a, b,
                              links > 0 ? GR_DISTANCE_LINKS(links)
                                        : common_level(nvml, &info[a], &info[b]));
        }
    }
}

int gr_distances_from_nvml(struct gr_distances *d, const char *library)
{
    struct nvml nvml;
    struct gpu_info *info;
    unsigned char *to_peer;
    int k, rc = -1;

    if (0 != start(&nvml, library)) {
        return 0;
    }
    info = gr_calloc((size_t) d->n, sizeof(*info));
    to_peer = gr_calloc((size_t) d->n, (size_t) d->n);
    if (NULL != info && NULL != to_peer) {
        for (k = 0; k < d->n; k++) {
            info[k].handle = find_device(&nvml, &d->gpus[k]);
            count_links(&nvml, d, k, &info[k], &to_peer[k * d->n]);
        }
        note_pairs(&nvml, d, info, to_peer);
        rc = 0;
    }
    free(info);
    free(to_peer);
    stop(&nvml);
    return rc;
}
