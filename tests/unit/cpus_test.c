/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances of processors (topo/cpus.h) on made-up machines: hwloc makes the topology, a folder of
 * sysfs's layout is written from it, and hwloc says which distances are right.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmocka_test.h"
#include <hwloc.h>

#include "topo/cpus.h"

static char folder[64];
static hwloc_topology_t machine;

static void write_list(int cpu, const char *file, hwloc_const_cpuset_t set)
{
    char path[256], list[256];
    char *slash;
    FILE *f;

    snprintf(path, sizeof(path), "%s/cpu%d/%s", folder, cpu, file);
    for (slash = strchr(path + strlen(folder) + 1, '/'); NULL != slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void) mkdir(path, 0700);
        *slash = '/';
    }
    f = fopen(path, "w");
    assert_non_null(f);
    hwloc_bitmap_list_snprintf(list, sizeof(list), set);
    fprintf(f, "%s\n", list);
    fclose(f);
}

static hwloc_obj_t pu(int cpu)
{
    return hwloc_get_pu_obj_by_os_index(machine, (unsigned) cpu);
}

/* The object of that type above a processor, or its NUMA node. NULL: none. */
static hwloc_obj_t above(int cpu, hwloc_obj_type_t type)
{
    hwloc_obj_t obj = NULL;

    if (HWLOC_OBJ_NUMANODE != type) {
        return hwloc_get_ancestor_obj_by_type(machine, type, pu(cpu));
    }
    while (NULL != (obj = hwloc_get_next_obj_by_type(machine, type, obj))) {
        if (hwloc_bitmap_isset(obj->cpuset, (unsigned) cpu)) {
            return obj;
        }
    }
    return NULL;
}

static void write_set(int cpu, const char *file, hwloc_obj_type_t type)
{
    hwloc_obj_t obj = above(cpu, type);

    if (NULL != obj) {
        write_list(cpu, file, obj->cpuset);
    }
}

static int cpus(void)
{
    return hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PU);
}

static void make(const char *description)
{
    char file[64];
    int cpu;

    assert_int_equal(hwloc_topology_init(&machine), 0);
    assert_int_equal(hwloc_topology_set_synthetic(machine, description), 0);
    assert_int_equal(hwloc_topology_load(machine), 0);
    strcpy(folder, "/tmp/gr_cpus_test_XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (cpu = 0; cpu < cpus(); cpu++) {
        write_set(cpu, "topology/thread_siblings_list", HWLOC_OBJ_CORE);
        write_set(cpu, "topology/core_siblings_list", HWLOC_OBJ_PACKAGE);
        write_set(cpu, "cache/index2/shared_cpu_list", HWLOC_OBJ_L2CACHE);
        write_set(cpu, "cache/index3/shared_cpu_list", HWLOC_OBJ_L3CACHE);
        snprintf(file, sizeof(file), "node%u/cpulist", above(cpu, HWLOC_OBJ_NUMANODE)->os_index);
        write_set(cpu, file, HWLOC_OBJ_NUMANODE);
    }
}

static void forget(void)
{
    char command[128];

    hwloc_topology_destroy(machine);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* The right distance; the last cache is of that type. */
static int distance_of(int a, int b, hwloc_obj_type_t cache)
{
    if (NULL != above(a, cache) && above(a, cache) == above(b, cache)) {
        return GR_CPU_CACHE;
    }
    if (above(a, HWLOC_OBJ_NUMANODE) == above(b, HWLOC_OBJ_NUMANODE)) {
        return GR_CPU_NUMA;
    }
    return above(a, HWLOC_OBJ_PACKAGE) == above(b, HWLOC_OBJ_PACKAGE) ? GR_CPU_SOCKET
                                                                      : GR_CPU_SYSTEM;
}

static struct gr_cpu_place place_of(int first, int last)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (; first <= last; first++) {
        CPU_SET((size_t) first, &set);
    }
    return gr_cpu_place_find(folder, &set);
}

/* Machines, and the type of their last cache. */
static const struct {
    const char *description;
    hwloc_obj_type_t cache;
} rows[] = {
    {"pack:2 numa:2 l3:2 core:2 pu:2", HWLOC_OBJ_L3CACHE}, /* four distances */
    {"pack:2 numa:1 l3:1 core:3 pu:1", HWLOC_OBJ_L3CACHE},
    {"pack:1 numa:1 l3:4 core:2 pu:1", HWLOC_OBJ_L3CACHE},
    {"pack:2 numa:1 l2:2 core:2 pu:1", HWLOC_OBJ_L2CACHE}, /* no third cache */
    {"pack:2 numa:2 l2:2 core:1 pu:2", HWLOC_OBJ_L2CACHE}, /* each core has its own only */
    {"pack:1 l3:1 core:2 pu:1", HWLOC_OBJ_L3CACHE},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static int right_distance(int row, int a, int b)
{
    return distance_of(a, b, rows[row].cache);
}

static void bound_processes_are_so_far_apart(void **state)
{
    int row, a, b;

    for (row = 0; row < ROWS; row++) {
        make(rows[row].description);
        for (a = 0; a < cpus(); a++) {
            for (b = 0; b < cpus(); b++) {
                struct gr_cpu_place here = place_of(a, a), there = place_of(b, b);

                if (gr_cpu_place_distance(&here, &there) != right_distance(row, a, b)) {
                    fail_msg("%s: %d and %d are not at distance %d", rows[row].description, a, b,
                             right_distance(row, a, b));
                }
            }
        }
        forget();
    }
}

/* A process that may run on both sides of a border counts as beyond it. */
static void loose_processes_are_far(void **state)
{
    struct gr_cpu_place core, cache, node, socket, all, nowhere;

    make(rows[0].description); /* caches of 4 processors, nodes of 8, sockets of 16 */
    core = place_of(0, 1);
    cache = place_of(0, 3);
    node = place_of(0, 7);
    socket = place_of(2, 13);
    all = place_of(0, 31);
    nowhere = place_of(1, 0);
    assert_int_equal(gr_cpu_place_distance(&core, &cache), GR_CPU_CACHE);
    assert_int_equal(gr_cpu_place_distance(&cache, &node), GR_CPU_NUMA);
    assert_int_equal(gr_cpu_place_distance(&node, &node), GR_CPU_NUMA);
    assert_int_equal(gr_cpu_place_distance(&node, &socket), GR_CPU_SOCKET);
    assert_int_equal(gr_cpu_place_distance(&core, &all), GR_CPU_SYSTEM);
    assert_int_equal(gr_cpu_place_distance(&nowhere, &nowhere), GR_CPU_SYSTEM);
    forget();
}

static void partners_are_at_their_distance_and_allowed(void **state)
{
    int row, cpu, other, d, partners[GR_CPU_DISTANCES], odd;
    cpu_set_t allowed;

    for (row = 0; row < ROWS; row++) {
        make(rows[row].description);
        for (odd = 0; odd < 2; odd++) { /* all processors, or every other one */
            CPU_ZERO(&allowed);
            for (cpu = odd; cpu < cpus(); cpu += 1 + odd) {
                CPU_SET((size_t) cpu, &allowed);
            }
            for (cpu = 0; cpu < cpus(); cpu++) {
                int there[GR_CPU_DISTANCES] = {0};

                gr_cpu_partners(folder, cpu, &allowed, partners);
                for (other = 0; other < cpus(); other++) {
                    if (CPU_ISSET((size_t) other, &allowed) &&
                        above(cpu, HWLOC_OBJ_CORE) != above(other, HWLOC_OBJ_CORE)) {
                        there[right_distance(row, cpu, other)] = 1;
                    }
                }
                for (d = 0; d < GR_CPU_DISTANCES; d++) {
                    assert_int_equal(partners[d] >= 0, there[d]);
                    assert_true(partners[d] < 0 || CPU_ISSET((size_t) partners[d], &allowed));
                    assert_true(partners[d] < 0 || right_distance(row, cpu, partners[d]) == d);
                }
            }
        }
        forget();
    }
}

static void a_thread_of_the_core_is_the_last_resort(void **state)
{
    int partners[GR_CPU_DISTANCES];
    cpu_set_t allowed;

    make(rows[0].description);
    CPU_ZERO(&allowed);
    CPU_SET(0, &allowed);
    gr_cpu_partners(folder, 0, &allowed, partners);
    assert_int_equal(partners[GR_CPU_CACHE], -1);
    CPU_SET(1, &allowed);
    gr_cpu_partners(folder, 0, &allowed, partners);
    assert_int_equal(partners[GR_CPU_CACHE], 1);
    CPU_SET(31, &allowed);
    gr_cpu_partners(folder, 0, &allowed, partners);
    assert_int_equal(partners[GR_CPU_CACHE], -1);
    assert_int_equal(partners[GR_CPU_SYSTEM], 31);
    forget();
}

/* Without sysfs, or with files that say nothing, or of others, all share a cache. */
static void unknown_processors_are_near(void **state)
{
    static const char *const files[] = {
        "topology/thread_siblings_list", "topology/core_siblings_list",
        "cache/index2/shared_cpu_list", "cache/index3/shared_cpu_list", "node0/cpulist"};
    hwloc_bitmap_t others = hwloc_bitmap_alloc();
    struct gr_cpu_place a, b;
    size_t k;
    int partners[GR_CPU_DISTANCES];
    cpu_set_t allowed;

    strcpy(folder, "/nowhere");
    a = place_of(0, 0);
    b = place_of(3, 5);
    assert_int_equal(gr_cpu_place_distance(&a, &b), GR_CPU_CACHE);
    CPU_ZERO(&allowed);
    CPU_SET(1, &allowed);
    gr_cpu_partners(folder, 0, &allowed, partners);
    assert_int_equal(partners[GR_CPU_CACHE], 1);
    assert_int_equal(partners[GR_CPU_SYSTEM], -1);
    make(rows[0].description);
    hwloc_bitmap_set(others, 31);
    for (k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
        write_list(0, files[k], others);
    }
    hwloc_bitmap_free(others);
    CPU_SET(31, &allowed);
    gr_cpu_partners(folder, 0, &allowed, partners);
    assert_true(partners[GR_CPU_CACHE] > 0);
    assert_int_equal(partners[GR_CPU_SYSTEM], -1);
    forget();
}

/* The same masks as hwloc prints them, one for each of three tasks. */
static void masks_are_those_that_hwloc_writes(void **state)
{
    static const char *const wrong[] = {"",      "3",       "0x",   "0x3,", ",0x3",
                                        "0x3,4", "0x3;0x4", "0x1g", "1x3"};
    static const unsigned high[] = {5, 42, CPU_SETSIZE - 1}; /* each task's second processor */
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    cpu_set_t own, all, expected;
    char text[2 * CPU_SETSIZE], *other;
    int task;
    size_t k;

    CPU_ZERO(&expected);
    text[0] = '\0';
    for (task = 0; task < 3; task++) {
        hwloc_bitmap_only(set, (unsigned) task);
        hwloc_bitmap_set(set, high[task]);
        hwloc_bitmap_taskset_asprintf(&other, set);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", 0 == task ? "" : ",",
                 other);
        free(other);
        CPU_SET((size_t) task, &expected);
        CPU_SET(high[task], &expected);
    }
    for (task = 0; task < 7; task++) {
        assert_true(gr_cpu_masks_read(text, task, &own, &all));
        assert_true(CPU_EQUAL(&all, &expected));
        assert_int_equal(CPU_COUNT(&own), 2);
        assert_true(CPU_ISSET((size_t) (task % 3), &own));
        assert_true(CPU_ISSET(high[task % 3], &own));
    }
    for (k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
        assert_false(gr_cpu_masks_read(wrong[k], 0, &own, &all));
    }
    hwloc_bitmap_only(set, CPU_SETSIZE);
    hwloc_bitmap_taskset_asprintf(&other, set);
    assert_false(gr_cpu_masks_read(other, 0, &own, &all));
    free(other);
    hwloc_bitmap_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_processes_are_so_far_apart),
        cmocka_unit_test(loose_processes_are_far),
        cmocka_unit_test(partners_are_at_their_distance_and_allowed),
        cmocka_unit_test(a_thread_of_the_core_is_the_last_resort),
        cmocka_unit_test(unknown_processors_are_near),
        cmocka_unit_test(masks_are_those_that_hwloc_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
