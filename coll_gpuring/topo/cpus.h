/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How near the processors of a node are to each other: what they share. Read from sysfs: a few
 * short files for each processor that is asked about, where a whole topology takes milliseconds.
 * And memory near a device.
 */
#ifndef GR_TOPO_CPUS_H
#define GR_TOPO_CPUS_H

#include <sched.h> /* cpu_set_t, where the includer has defined _GNU_SOURCE */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What two processors share at least, nearest first. */
enum gr_cpu_distance {
    GR_CPU_CACHE,  /* their last-level cache */
    GR_CPU_NUMA,   /* a NUMA node */
    GR_CPU_SOCKET, /* a processor package */
    GR_CPU_SYSTEM, /* nothing of these */
    GR_CPU_DISTANCES
};

/* Name of a distance, as tuning files have it: cache numa socket system. */
const char *gr_cpu_distance_name(int distance);

/* Attributes of processors in sysfs. */
#define GR_SYSFS_CPUS "/sys/devices/system/cpu"

/*
 * The processors of a list like "0-3,8", which is all of a file, below CPU_SETSIZE; empty: there is
 * no such file.
 */
void gr_cpu_list_read(const char *path, cpu_set_t *set);

/*
 * Masks like "0x3,0xc", as Slurm has them in SLURM_CPU_BIND_LIST: one for each task of a node, taken
 * again from the first where there are fewer. own: that of task `task`, from 0. all: all of them
 * together. False: the text is something else, or names a processor from CPU_SETSIZE on.
 */
bool gr_cpu_masks_read(const char *text, int task, cpu_set_t *own, cpu_set_t *all);

/* The lowest processor of a set; -1: it is empty. */
int gr_cpu_lowest(const cpu_set_t *set);

/* Which processors share something with one; each set contains it, or is empty: not known. */
struct gr_cpu_sets {
    cpu_set_t core;                 /* hardware threads of its core */
    cpu_set_t level[GR_CPU_SYSTEM]; /* by enum gr_cpu_distance */
};

/*
 * The sets of a processor. folder: GR_SYSFS_CPUS, or a folder of the same layout in tests. Where
 * nothing is known, all processors share a cache.
 */
void gr_cpu_sets_find(const char *folder, int cpu, struct gr_cpu_sets *sets);

/*
 * Where a process may run: by enum gr_cpu_distance, the lowest processor of the set in which all of
 * its processors lie, or -1: there is no such set. Processes send this to each other as bytes.
 */
struct gr_cpu_place {
    int32_t lowest[GR_CPU_SYSTEM];
};

/* The place of a process that is bound to these processors. */
struct gr_cpu_place gr_cpu_place_find(const char *folder, const cpu_set_t *bound);

/* The distance of two processes of a node, an enum gr_cpu_distance. */
int gr_cpu_place_distance(const struct gr_cpu_place *a, const struct gr_cpu_place *b);

/*
 * For each distance a processor among the allowed ones that is so far from `cpu`, or -1: there is
 * none. Never a thread of the same core, unless all others are; that one counts as sharing a cache.
 */
void gr_cpu_partners(const char *folder, int cpu, const cpu_set_t *allowed,
                     int partners[GR_CPU_DISTANCES]);

/*
 * ---- memory near a device ----
 *
 * The NUMA node of a device, and allocations that prefer this node. Used for pinned memory
 * (cuda/memory.c, link/gpu_pool.c), which devices access over PCIe.
 */

/* Most NUMA nodes that a Linux kernel supports. */
#define GR_NUMA_NODES 1024

/* The saved memory policy of a thread. */
struct gr_numa_saved {
    int held; /* 1: gr_numa_restore() has a policy to restore */
    int mode; /* MPOL_... */
    /* mask of the policy's nodes */
    unsigned long nodes[GR_NUMA_NODES / (8 * sizeof(unsigned long))];
};

/* Attributes of PCI devices in sysfs. */
#define GR_SYSFS_PCI "/sys/bus/pci/devices"

/*
 * The NUMA node of a PCI device; -1: unknown. folder: GR_SYSFS_PCI, or a folder of the same layout
 * in tests.
 */
int gr_numa_of_pci(const char *folder, uint32_t domain, uint32_t bus, uint32_t device);

/*
 * Let the calling thread allocate pages from `node` first, until it calls gr_numa_restore().
 * Returns 0, or -1 without any change: node is -1 or does not exist, or the system call is not
 * permitted (some containers). *saved is set in both cases.
 */
int gr_numa_prefer(int node, struct gr_numa_saved *saved);

/*
 * Restore the policy that gr_numa_prefer() replaced. Does nothing if gr_numa_prefer() returned -1,
 * or if called again.
 */
void gr_numa_restore(struct gr_numa_saved *saved);

#endif
