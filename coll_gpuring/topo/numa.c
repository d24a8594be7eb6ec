/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory near a device (numa.h). Memory policies are set by system calls, which spares a dependency
 * on libnuma.
 */
#include "topo/numa.h"

#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Length of node masks, in bits. The kernel uses one bit less than the given length. */
#define BITS (GR_NUMA_NODES + 1ul)
#define WORD_BITS (8 * (int) sizeof(unsigned long))

int gr_numa_of_pci(const char *folder, uint32_t domain, uint32_t bus, uint32_t device)
{
    char path[4096];
    FILE *file;
    int node = -1;

    snprintf(path, sizeof(path), "%s/%04x:%02x:%02x.0/numa_node", folder, domain, bus, device);
    file = fopen(path, "r");
    if (NULL == file) {
        return -1;
    }
    if (1 != fscanf(file, "%d", &node) || node < 0) {
        node = -1;
    }
    fclose(file);
    return node;
}

int gr_numa_prefer(int node, struct gr_numa_saved *saved)
{
    unsigned long nodes[GR_NUMA_NODES / WORD_BITS];

    memset(saved, 0, sizeof(*saved));
    if (node < 0 || node >= GR_NUMA_NODES ||
        0 != syscall(SYS_get_mempolicy, &saved->mode, saved->nodes, BITS, NULL, 0ul)) {
        return -1;
    }
    memset(nodes, 0, sizeof(nodes));
    nodes[node / WORD_BITS] = 1ul << node % WORD_BITS;
    if (0 != syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, BITS)) {
        return -1;
    }
    saved->held = 1;
    return 0;
}

void gr_numa_restore(struct gr_numa_saved *saved)
{
    if (saved->held) {
        syscall(SYS_set_mempolicy, saved->mode, saved->nodes, BITS);
        saved->held = 0;
    }
}
