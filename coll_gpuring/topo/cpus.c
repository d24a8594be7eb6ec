/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances of processors (cpus.h), from lists of processors in sysfs; memory near a device. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "topo/cpus.h"

#include "base/text.h"

#include <dirent.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *gr_cpu_distance_name(int distance)
{
    static const char *const names[GR_CPU_DISTANCES] = {
        [GR_CPU_CACHE] = "cache",
        [GR_CPU_NUMA] = "numa",
        [GR_CPU_SOCKET] = "socket",
        [GR_CPU_SYSTEM] = "system",
    };

    return names[distance];
}

void gr_cpu_list_read(const char *path, cpu_set_t *set)
{
    int first, last, n;
    FILE *f = fopen(path, "r");

    CPU_ZERO(set);
    if (NULL == f) {
        return;
    }
    do {
        n = fscanf(f, "%d-%d", &first, &last);
        last = 1 == n ? first : last;
        for (; n >= 1 && first >= 0 && first <= last && first < CPU_SETSIZE; first++) {
            CPU_SET((size_t) first, set);
        }
    } while (n >= 1 && ',' == fgetc(f));
    fclose(f);
}

/* A mask of so many hexadecimal digits. */
static bool read_mask(const char *digits, size_t n, cpu_set_t *set)
{
    size_t k, bit;

    CPU_ZERO(set);
    for (k = 0; k < n; k++) {
        unsigned digit = 0;

        (void) sscanf(digits + k, "%1x", &digit);
        for (bit = 0; bit < 4; bit++) {
            if (0 != (digit & 1u << bit)) {
                size_t cpu = 4 * (n - 1 - k) + bit;

                if (cpu >= CPU_SETSIZE) {
                    return false;
                }
                CPU_SET(cpu, set);
            }
        }
    }
    return 0 < n;
}

bool gr_cpu_masks_read(const char *text, int task, cpu_set_t *own, cpu_set_t *all)
{
    int masks = 1, k;
    const char *at;

    for (at = text; '\0' != *at; at++) {
        masks += ',' == *at;
    }
    CPU_ZERO(own);
    CPU_ZERO(all);
    for (at = text, k = 0; k < masks; k++) {
        size_t n;
        cpu_set_t set;

        if (0 != strncmp(at, "0x", 2)) {
            return false;
        }
        at += 2;
        n = strspn(at, "0123456789abcdefABCDEF");
        if (!read_mask(at, n, &set) || (',' != at[n] && '\0' != at[n])) {
            return false;
        }
        CPU_OR(all, all, &set);
        if (k == task % masks) {
            *own = set;
        }
        at += n + 1;
    }
    return true;
}

int gr_cpu_lowest(const cpu_set_t *set)
{
    int cpu = 0;

    while (cpu < CPU_SETSIZE && !CPU_ISSET((size_t) cpu, set)) {
        cpu++;
    }
    return cpu < CPU_SETSIZE ? cpu : -1;
}

/* The list of a file below a processor's folder; empty: there is none. */
static void read_list(const char *folder, int cpu, const char *file, cpu_set_t *set)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/cpu%d/%s", folder, cpu, file);
    gr_cpu_list_read(path, set);
    if (!CPU_ISSET((size_t) cpu, set)) {
        CPU_ZERO(set); /* not a list of this processor */
    }
}

static int is_subset(const cpu_set_t *a, const cpu_set_t *of)
{
    cpu_set_t both;

    CPU_AND(&both, a, of);
    return CPU_EQUAL(&both, a);
}

/* The processors that share the last cache: the third, or the second where there is no third. */
static void find_cache(const char *folder, int cpu, cpu_set_t *set)
{
    read_list(folder, cpu, "cache/index3/shared_cpu_list", set);
    if (0 == CPU_COUNT(set)) {
        read_list(folder, cpu, "cache/index2/shared_cpu_list", set);
    }
}

/* The processor's folder has an entry "nodeN", the folder of its NUMA node. */
static void find_numa(const char *folder, int cpu, cpu_set_t *set)
{
    char path[4096];
    struct dirent *entry;
    int node;
    DIR *dir;

    CPU_ZERO(set);
    snprintf(path, sizeof(path), "%s/cpu%d", folder, cpu);
    dir = opendir(path);
    if (NULL == dir) {
        return;
    }
    while (0 == CPU_COUNT(set) && NULL != (entry = readdir(dir))) {
        if (1 == sscanf(entry->d_name, "node%d", &node)) {
            snprintf(path, sizeof(path), "node%d/cpulist", node);
            read_list(folder, cpu, path, set);
        }
    }
    closedir(dir);
}

void gr_cpu_sets_find(const char *folder, int cpu, struct gr_cpu_sets *sets)
{
    int k, known = 0;

    read_list(folder, cpu, "topology/thread_siblings_list", &sets->core);
    CPU_SET((size_t) cpu, &sets->core);
    find_cache(folder, cpu, &sets->level[GR_CPU_CACHE]);
    find_numa(folder, cpu, &sets->level[GR_CPU_NUMA]);
    read_list(folder, cpu, "topology/core_siblings_list", &sets->level[GR_CPU_SOCKET]);
    for (k = 0; k < GR_CPU_SYSTEM; k++) {
        known += 0 != CPU_COUNT(&sets->level[k]);
    }
    if (0 == known) {
        memset(&sets->level[GR_CPU_CACHE], 0xff, sizeof(cpu_set_t));
    }
}

struct gr_cpu_place gr_cpu_place_find(const char *folder, const cpu_set_t *bound)
{
    struct gr_cpu_place place = {{-1, -1, -1}};
    struct gr_cpu_sets sets;
    int k, cpu = gr_cpu_lowest(bound);

    if (cpu < 0) {
        return place;
    }
    gr_cpu_sets_find(folder, cpu, &sets);
    for (k = 0; k < GR_CPU_SYSTEM; k++) {
        if (is_subset(bound, &sets.level[k])) {
            place.lowest[k] = gr_cpu_lowest(&sets.level[k]);
        }
    }
    return place;
}

int gr_cpu_place_distance(const struct gr_cpu_place *a, const struct gr_cpu_place *b)
{
    int k = 0;

    while (k < GR_CPU_SYSTEM && (a->lowest[k] < 0 || a->lowest[k] != b->lowest[k])) {
        k++;
    }
    return k;
}

void gr_cpu_partners(const char *folder, int cpu, const cpu_set_t *allowed,
                     int partners[GR_CPU_DISTANCES])
{
    int k, other, sibling = -1, found = 0;
    struct gr_cpu_sets sets;

    gr_cpu_sets_find(folder, cpu, &sets);
    for (k = 0; k < GR_CPU_DISTANCES; k++) {
        partners[k] = -1;
    }
    for (other = 0; other < CPU_SETSIZE; other++) {
        if (other == cpu || !CPU_ISSET((size_t) other, allowed)) {
            continue;
        }
        if (CPU_ISSET((size_t) other, &sets.core)) {
            sibling = sibling < 0 ? other : sibling;
            continue;
        }
        for (k = 0; k < GR_CPU_SYSTEM && !CPU_ISSET((size_t) other, &sets.level[k]); k++) {
        }
        found = 1;
        partners[k] = partners[k] < 0 ? other : partners[k];
    }
    if (!found) {
        partners[GR_CPU_CACHE] = sibling;
    }
}

/*
 * ---- memory near a device ----
 *
 * Memory policies are set by system calls, which spares a dependency on libnuma.
 */

/* Length of node masks, in bits. The kernel uses one bit less than the given length. */
#define BITS (GR_NUMA_NODES + 1ul)
#define WORD_BITS (8 * (int) sizeof(unsigned long))

int gr_numa_of_pci(const char *folder, uint32_t domain, uint32_t bus, uint32_t device)
{
    char line[16];
    int node;

    (void) gr_text_read_line(line, sizeof(line), "%s/%04x:%02x:%02x.0/numa_node", folder, domain,
                             bus, device);
    return 1 == sscanf(line, "%d", &node) && node >= 0 ? node : -1;
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
