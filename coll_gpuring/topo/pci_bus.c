/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances from bus numbers (pci_bus.h). Firmware numbers buses depth first, so devices below one
 * bridge have numbers that differ in low bits only. With the highest differing bit as the distance,
 * ascending addresses are a best round trip, as they are in the PCI tree itself.
 */
#include "topo/pci_bus.h"

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
