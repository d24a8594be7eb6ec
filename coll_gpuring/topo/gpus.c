/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring orders of ranks (gpus.h). Ranks that share a device count as one device, numbered by its
 * lowest rank. A round trip over the devices is found (ring_order.h), then each device gives its
 * ranks in ascending order.
 */
#include "topo/gpus.h"

#include "base/memory.h"
#include "topo/distance.h"
#include "topo/nvlink.h"
#include "topo/pci.h"
#include "topo/ring_order.h"

#include <stdlib.h>

static int all_known(const struct gr_distances *d)
{
    int k, m;

    for (k = 0; k < d->n; k++) {
        for (m = k + 1; m < d->n; m++) {
            if (GR_DISTANCE_NONE == d->between[k * d->n + m]) {
                return 0;
            }
        }
    }
    return 1;
}

/*
 * A round trip over n devices. Up to three devices there is only one, so distances are not needed.
 * Returns 0 or -1.
 */
static int find_trip(const char *library, const struct gr_pci_address *gpus, int n, int *trip)
{
    struct gr_distances d = {.n = n, .gpus = gpus};
    int rc = 0;

    if (n > 3) {
        d.between = gr_calloc((size_t) n, (size_t) n);
        rc = NULL == d.between ? -1 : gr_distances_from_nvml(&d, library);
        if (0 == rc && !all_known(&d)) {
            gr_distances_from_tree(&d);
            gr_distances_from_bus(&d);
        }
    }
    if (0 == rc) {
        gr_ring_order(d.between, n, trip);
    }
    free(d.between);
    return rc;
}

/*
 * Find the different devices of p ranks, in the order of their lowest ranks. which[rank]: index of
 * the rank's device in different[]. Returns the number of different devices.
 */
static int find_devices(const struct gr_pci_address *gpus, int p, struct gr_pci_address *different,
                        int *which)
{
    int n = 0, r, k;

    for (r = 0; r < p; r++) {
        for (k = 0; k < n && !gr_pci_same(&different[k], &gpus[r]); k++) {
        }
        if (k == n) {
            different[n++] = gpus[r];
        }
        which[r] = k;
    }
    return n;
}

int gr_order_gpus(const char *library, const struct gr_pci_address *gpus, int p, int *order)
{
    struct gr_pci_address *different = gr_malloc((size_t) p * sizeof(*different));
    int *which = gr_malloc((size_t) p * 2 * sizeof(*which)), *trip;
    int rc = -1, n, k, r, position = 0;

    if (NULL != different && NULL != which) {
        trip = &which[p];
        n = find_devices(gpus, p, different, which);
        rc = find_trip(library, different, n, trip);
        for (k = 0; 0 == rc && k < n; k++) {
            for (r = 0; r < p; r++) {
                if (which[r] == trip[k]) {
                    order[position++] = r;
                }
            }
        }
    }
    free(different);
    free(which);
    return rc;
}

int gr_gpus_linked(const char *library, const struct gr_pci_address *gpus, int p)
{
    struct gr_distances d = {.n = p, .gpus = gpus, .between = gr_calloc((size_t) p, (size_t) p)};
    int linked = p > 1 && NULL != d.between, k, m;

    for (k = 0; k < p; k++) {
        for (m = k + 1; m < p; m++) {
            linked = linked && gr_pci_known(&gpus[k]) && gr_pci_known(&gpus[m]) &&
                     !gr_pci_same(&gpus[k], &gpus[m]);
        }
    }
    linked = linked && 0 == gr_distances_from_nvml(&d, library);
    for (k = 0; k < p; k++) {
        for (m = k + 1; linked && m < p; m++) {
            linked = GR_DISTANCE_NONE != d.between[k * p + m] &&
                     d.between[k * p + m] <= GR_DISTANCE_LINK;
        }
    }
    free(d.between);
    return linked;
}
