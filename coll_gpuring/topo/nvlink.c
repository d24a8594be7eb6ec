/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances from NVML (distance.h): NVLink first, then the PCIe level that two devices have in
 * common.
 *
 * Whether NVLink joins two devices is asked as such (the peer-to-peer status), since an NVSwitch in
 * between may be switched off or belong to another partition. How many links join them is counted
 * from the links' far ends: those that end at the other device, or as many as both have into
 * switches.
 */
#include "topo/nvlink.h"

#include "topo/distance.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library, opened. Functions that it lacks are NULL. */
struct nvml {
    void *library;
#define FIELD(name, arguments) gr_nvml_return(*name) arguments;
    GR_NVML_FUNCTIONS(FIELD)
#undef FIELD
};

/* What NVML says of one device. */
struct seen {
    gr_nvml_device handle; /* NULL: it does not know it */
    int into_switches;     /* links */
};

/* 0, or -1: there is none that works. */
static int start(struct nvml *nvml, const char *name)
{
    void *at;

    nvml->library = dlopen(NULL == name ? "libnvidia-ml.so.1" : name, RTLD_NOW | RTLD_LOCAL);
    if (NULL == nvml->library) {
        return -1;
    }
    /* C has no cast from an object's address, which dlsym() returns, to a function's */
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

/* Others in the process may use NVML too: it counts its starts. */
static void stop(struct nvml *nvml)
{
    nvml->nvmlShutdown();
    dlclose(nvml->library);
}

static gr_nvml_device find_device(const struct nvml *nvml, const struct gr_gpu_place_in_node *place)
{
    gr_nvml_device handle = NULL;
    char bus_id[32];

    if (!gr_place_known(place)) {
        return NULL;
    }
    snprintf(bus_id, sizeof(bus_id), "%08X:%02X:%02X.0", place->domain, place->bus, place->device);
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

/* The device at the far end of a link, or -1: none of ours. */
static int far_end(const struct nvml *nvml, const struct gr_distances *d, gr_nvml_device device,
                   unsigned int link)
{
    struct gr_nvml_pci pci;
    struct gr_gpu_place_in_node place;
    int k;

    memset(&pci, 0, sizeof(pci));
    if (NULL == nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2 ||
        0 != nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &pci)) {
        return -1;
    }
    place = (struct gr_gpu_place_in_node) {pci.domain, pci.bus, pci.device};
    for (k = 0; k < d->n; k++) {
        if (gr_place_known(&place) && gr_place_same(&place, &d->places[k])) {
            return k;
        }
    }
    return -1;
}

/* Count the links of device k: into switches, and to each other device (direct, n numbers). */
static void count_links(const struct nvml *nvml, const struct gr_distances *d, int k,
                        struct seen *seen, unsigned char *direct)
{
    unsigned int link;
    int other;

    for (link = 0; NULL != seen->handle && link < GR_MOST_LINKS; link++) {
        if (!link_active(nvml, seen->handle, link)) {
            continue;
        }
        if (ends_at_switch(nvml, seen->handle, link)) {
            seen->into_switches++;
            continue;
        }
        other = far_end(nvml, d, seen->handle, link);
        if (other >= 0 && other != k) {
            direct[other]++;
        }
    }
}

/*
 * NVLinks between two devices, whose links end at each other `direct` times; 0: none that can be
 * used.
 */
static int links_between(const struct nvml *nvml, const struct seen *a, const struct seen *b,
                         int direct)
{
    int switched = a->into_switches < b->into_switches ? a->into_switches : b->into_switches;
    int links = direct > 0 ? direct : switched, status = -1;

    if (NULL == nvml->nvmlDeviceGetP2PStatus ||
        0 != nvml->nvmlDeviceGetP2PStatus(a->handle, b->handle, GR_NVML_P2P_NVLINK, &status)) {
        return links; /* nobody denies it */
    }
    if (GR_NVML_P2P_OK != status) {
        return 0;
    }
    return links > 0 ? links : 1;
}

/* The distance by PCIe, or GR_DISTANCE_NONE: not known. */
static int common_level(const struct nvml *nvml, const struct seen *a, const struct seen *b)
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

static void note_pairs(const struct nvml *nvml, struct gr_distances *d, const struct seen *seen,
                       const unsigned char *direct)
{
    int n = d->n, a, b, there, back, links;

    for (a = 0; a < n; a++) {
        for (b = a + 1; b < n; b++) {
            if (NULL == seen[a].handle || NULL == seen[b].handle) {
                continue;
            }
            there = direct[a * n + b];
            back = direct[b * n + a];
            links = links_between(nvml, &seen[a], &seen[b], there > back ? there : back);
            gr_distances_note(d, a, b,
                              links > 0 ? GR_DISTANCE_LINKS(links)
                                        : common_level(nvml, &seen[a], &seen[b]));
        }
    }
}

int gr_distances_ask_nvml(struct gr_distances *d, const char *library)
{
    struct nvml nvml;
    struct seen *seen;
    unsigned char *direct;
    int k, rc = -1;

    if (0 != start(&nvml, library)) {
        return 0;
    }
    seen = calloc((size_t) d->n, sizeof(*seen));
    direct = calloc((size_t) d->n, (size_t) d->n);
    if (NULL != seen && NULL != direct) {
        for (k = 0; k < d->n; k++) {
            seen[k].handle = find_device(&nvml, &d->places[k]);
            count_links(&nvml, d, k, &seen[k], &direct[k * d->n]);
        }
        note_pairs(&nvml, d, seen, direct);
        rc = 0;
    }
    free(seen);
    free(direct);
    stop(&nvml);
    return rc;
}
