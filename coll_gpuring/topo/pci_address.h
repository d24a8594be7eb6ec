/* SPDX-License-Identifier: BSD-3-Clause */
/* PCI addresses of devices. */
#ifndef GR_TOPO_PCI_ADDRESS_H
#define GR_TOPO_PCI_ADDRESS_H

#include <stdint.h>

/* A device's PCI address. All zero: the address is unknown, or there is no device. */
struct gr_pci_address {
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
};

/* Whether the address is known. No GPU has 0000:00:00: it is the first host bridge's address. */
static inline int gr_pci_known(const struct gr_pci_address *gpu)
{
    return 0 != (gpu->domain | gpu->bus | gpu->device);
}

static inline int gr_pci_same(const struct gr_pci_address *a, const struct gr_pci_address *b)
{
    return a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

#endif
