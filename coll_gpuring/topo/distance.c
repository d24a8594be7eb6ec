/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances of devices (gpus.h): by PCI, from hwloc's tree of devices; from bus numbers; from
 * NVML. Examples of the tree:
 *
 *      machine                                         devices     distance class
 *      +- package - NUMA node
 *      |  +- host bridge
 *      |  |  +- root port - switch - port - device 1
 *      |  |  |                 + - port - device 2      1, 2       SWITCH
 *      |  |  +- root port - device 3                    1, 3       BRIDGE
 *      |  +- host bridge - root port - device 4         1, 4       NODE
 *      +- package - ... - device 5                      1, 5       SYSTEM
 *
 * Only PCI devices and bridges are loaded. Discovery of OS devices would initialize CUDA and other
 * libraries in hwloc's plugins.
 */
#include "topo/gpus.h"

#include "base/memory.h"
#include "topo/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(GR_HAVE_HWLOC) && GR_HAVE_HWLOC

#include <hwloc.h>

/* The node's tree; NULL: hwloc failed. */
static hwloc_topology_t load_tree(void)
{
    hwloc_topology_t tree;

    if (0 != hwloc_topology_init(&tree)) {
        return NULL;
    }
    /* include devices near processors that this process may not use */
    hwloc_topology_set_flags(tree, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_type_filter(tree, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_type_filter(tree, HWLOC_OBJ_BRIDGE, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (0 != hwloc_topology_load(tree)) {
        hwloc_topology_destroy(tree);
        return NULL;
    }
    return tree;
}

static hwloc_obj_t find_device(hwloc_topology_t tree, const struct gr_pci_address *gpu)
{
    if (!gr_pci_known(gpu)) {
        return NULL;
    }
    return hwloc_get_pcidev_by_busid(tree, gpu->domain, gpu->bus, gpu->device, 0);
}

/* Number of objects strictly between a and its ancestor. */
static int levels_between(hwloc_obj_t a, hwloc_obj_t ancestor)
{
    int levels = 0;

    for (a = a->parent; a != ancestor; a = a->parent) {
        levels++;
    }
    return levels;
}

static hwloc_obj_t common_ancestor(hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t x, y;

    for (x = a->parent; NULL != x; x = x->parent) {
        for (y = b->parent; NULL != y && y != x; y = y->parent) {
        }
        if (NULL != y) {
            return x;
        }
    }
    return NULL;
}

static int distance_of(hwloc_topology_t tree, hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t common = common_ancestor(a, b);

    if (NULL == common) {
        return GR_DISTANCE_NONE;
    }
    if (HWLOC_OBJ_BRIDGE == common->type) {
        if (HWLOC_OBJ_BRIDGE_PCI != common->attr->bridge.upstream_type) {
            return GR_DISTANCE_BRIDGE;
        }
        /* one downstream port lies between a switch's upstream port and a device */
        return levels_between(a, common) <= 1 && levels_between(b, common) <= 1
                   ? GR_DISTANCE_SWITCH
                   : GR_DISTANCE_SWITCHES;
    }
    common = hwloc_get_non_io_ancestor_obj(tree, common);
    if (NULL != common->nodeset && 1 == hwloc_bitmap_weight(common->nodeset)) {
        return GR_DISTANCE_NODE;
    }
    if (HWLOC_OBJ_PACKAGE == common->type ||
        NULL != hwloc_get_ancestor_obj_by_type(tree, HWLOC_OBJ_PACKAGE, common)) {
        return GR_DISTANCE_PACKAGE;
    }
    return GR_DISTANCE_SYSTEM;
}

void gr_distances_from_tree(struct gr_distances *d)
{
    hwloc_topology_t tree = load_tree();
    hwloc_obj_t a, b;
    int k, m;

    if (NULL == tree) {
        return;
    }
    for (k = 0; k < d->n; k++) {
        a = find_device(tree, &d->gpus[k]);
        for (m = k + 1; NULL != a && m < d->n; m++) {
            b = find_device(tree, &d->gpus[m]);
            if (NULL != b) {
                gr_distances_note(d, k, m, distance_of(tree, a, b));
            }
        }
    }
    hwloc_topology_destroy(tree);
}

#else

void gr_distances_from_tree(struct gr_distances *d)
{
    (void) d;
}

#endif

/* ---- without the tree ---- */

/*
 * Firmware numbers buses depth first, so devices below one bridge have numbers that differ in low
 * bits only. With the highest differing bit as the distance, ascending addresses are a best round
 * trip, as they are in the PCI tree itself.
 */

/* The highest bit, counted from 1, in which two bus numbers differ; 0: equal. */
static int differing_bits(uint32_t a, uint32_t b)
{
    uint32_t differ = (a ^ b) & 0xff;
    int bits = 0;

    for (; differ > 0; differ >>= 1) {
        bits++;
    }
    return bits;
}

void gr_distances_from_bus(struct gr_distances *d)
{
    const struct gr_pci_address *a, *b;
    int k, m, distance;

    for (k = 0; k < d->n; k++) {
        for (m = k + 1; m < d->n; m++) {
            a = &d->gpus[k];
            b = &d->gpus[m];
            if (!gr_pci_known(a) || !gr_pci_known(b)) {
                distance = GR_DISTANCE_UNKNOWN;
            } else if (a->domain != b->domain) {
                distance = GR_DISTANCE_DOMAIN;
            } else {
                distance = GR_DISTANCE_ADDRESS + differing_bits(a->bus, b->bus);
            }
            gr_distances_note(d, k, m, distance);
        }
    }
}

/*
 * ---- NVML ----
 *
 * The number of NVLinks between two devices, else their common PCIe
 * level.
 *
 * The peer-to-peer status says whether NVLink connects two devices: an NVSwitch between them may be
 * off, or belong to another partition. The number of links is counted from the links' remote ends:
 * the links that end at the other device, or as many as both devices have to switches.
 */

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

static gr_nvml_device find_handle(const struct nvml *nvml, const struct gr_pci_address *gpu)
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
            info[k].handle = find_handle(&nvml, &d->gpus[k]);
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
