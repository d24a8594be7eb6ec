/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances by PCI (pci.h), from hwloc's tree of devices. Examples:
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
#include "topo/pci.h"

#include <stddef.h>

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
