/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine for hwloc to read from XML, with five devices in each of two packages:
 *
 *      package - host bridge 0 - root port - switch - port - device 0
 *              |               |                    + port - device 1
 *              |               |                    + port - switch - port - device 2
 *              |               + root port - device 3
 *              + host bridge 1 - root port - device 4
 *
 * With one NUMA node in a package both host bridges belong to it; with two, each host bridge has
 * its own.
 */
#ifndef GR_TESTS_GPUS_TEST_XML_H
#define GR_TESTS_GPUS_TEST_XML_H

#include "topo/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { XML_DEVICES = 10, XML_IN_PACKAGE = 5 };

/* Buses of the devices. The ranges of the two packages overlap, as firmware may number them. */
static const unsigned char xml_bus[XML_DEVICES] = {0x15, 0x16, 0x18, 0x1a, 0x51,
                                                   0x35, 0x36, 0x38, 0x3a, 0x71};

/* The kernel's number of a NUMA node, which is not hwloc's. */
static inline int xml_node(int node)
{
    return 2 * node + 1;
}

struct xml {
    FILE *file;
    int objects;
};

static inline void xml_bridge(struct xml *x, int depth, int at, int first, int last)
{
    fprintf(x->file,
            "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"1-1\" depth=\"%d\" "
            "bridge_pci=\"0000:[%02x-%02x]\" pci_busid=\"0000:%02x:%02x.0\" pci_type=\"0604 "
            "[8086:2030] [0000:0000] 04\" pci_link_speed=\"0\">\n",
            ++x->objects, depth, first, last, at >> 8, at & 0xff);
}

static inline void xml_device(struct xml *x, int k)
{
    fprintf(x->file,
            "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"0000:%02x:00.0\" pci_type=\"0302 "
            "[10de:2330] [10de:16c1] a1\" pci_link_speed=\"0\"/>\n",
            ++x->objects, xml_bus[k]);
}

static inline void xml_host_bridge(struct xml *x, int first, int last)
{
    fprintf(x->file,
            "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" "
            "bridge_pci=\"0000:[%02x-%02x]\">\n",
            ++x->objects, first, last);
}

static inline void xml_end(struct xml *x, int n)
{
    for (; n > 0; n--) {
        fputs("</object>\n", x->file);
    }
}

/* Host bridge `which` of a package, and all below it. */
static inline void xml_host(struct xml *x, int package, int which)
{
    int d = XML_IN_PACKAGE * package, base = which ? xml_bus[d + 4] - 1 : xml_bus[d] - 5;

    if (which) {
        xml_host_bridge(x, base, base + 1);
        xml_bridge(x, 1, base << 8 | 1, base + 1, base + 1);
        xml_device(x, d + 4);
        xml_end(x, 2);
        return;
    }
    xml_host_bridge(x, base, base + 10);
    /* root port, and the switch's upper port */
    xml_bridge(x, 1, base << 8 | 1, base + 1, base + 8);
    xml_bridge(x, 2, (base + 1) << 8, base + 2, base + 8);
    xml_bridge(x, 3, (base + 2) << 8 | 1, base + 5, base + 5);
    xml_device(x, d);
    xml_end(x, 1);
    xml_bridge(x, 3, (base + 2) << 8 | 2, base + 6, base + 6);
    xml_device(x, d + 1);
    xml_end(x, 1);
    xml_bridge(x, 3, (base + 2) << 8 | 3, base + 7, base + 8); /* the second switch */
    xml_bridge(x, 4, (base + 7) << 8, base + 8, base + 8);
    xml_device(x, d + 2);
    xml_end(x, 4);
    xml_bridge(x, 1, base << 8 | 2, base + 10, base + 10);
    xml_device(x, d + 3);
    xml_end(x, 2);
}

static inline void xml_object(struct xml *x, const char *type, int os_index, unsigned cpus,
                              unsigned nodes, const char *more)
{
    fprintf(x->file,
            "<object type=\"%s\" os_index=\"%d\" cpuset=\"0x%08x\" complete_cpuset=\"0x%08x\" "
            "nodeset=\"0x%08x\" complete_nodeset=\"0x%08x\" gp_index=\"%d\"%s>\n",
            type, os_index, cpus, cpus, nodes, nodes, ++x->objects, more);
}

static inline unsigned xml_nodes(int first, int n)
{
    return n > 1 ? 1u << xml_node(first) | xml_nodes(first + 1, n - 1) : 1u << xml_node(first);
}

/* One processor unit with its cache for each host bridge. */
static inline void xml_package(struct xml *x, int package, int nodes)
{
    unsigned of_package = xml_nodes(package * nodes, nodes), of_cache;
    int which, pu, node;

    xml_object(x, "Package", package, 3u << 2 * package, of_package, "");
    for (which = 0; which < 2; which++) {
        pu = 2 * package + which;
        node = package * nodes + which;
        of_cache = 2 == nodes ? 1u << xml_node(node) : of_package;
        if (2 == nodes || 0 == which) {
            if (2 == nodes) {
                xml_object(x, "Group", pu, 1u << pu, of_cache, " kind=\"0\" subkind=\"0\"");
            }
            xml_object(x, "NUMANode", xml_node(node), 2 == nodes ? 1u << pu : 3u << 2 * package,
                       of_cache, " local_memory=\"1048576\"");
            xml_end(x, 1);
        }
        xml_object(x, "L2Cache", pu, 1u << pu, of_cache,
                   " cache_size=\"1048576\" depth=\"2\" cache_linesize=\"64\" "
                   "cache_associativity=\"8\" cache_type=\"0\"");
        xml_object(x, "PU", pu, 1u << pu, of_cache, "");
        xml_end(x, 2);
        if (2 == nodes) {
            xml_host(x, package, which);
            xml_end(x, 1);
        }
    }
    if (1 == nodes) {
        xml_host(x, package, 0);
        xml_host(x, package, 1);
    }
    xml_end(x, 1);
}

/*
 * Write the machine with `nodes` (1 or 2) NUMA nodes in a package, and let hwloc read it from now
 * on.
 */
static inline void xml_use(int nodes)
{
    char path[] = "/tmp/gr_gpus_test_XXXXXX";
    struct xml x = {.objects = 0};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    x.file = fdopen(fd, "w");
    assert_non_null(x.file);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
          "<topology version=\"2.0\">\n",
          x.file);
    xml_object(&x, "Machine", 0, 0xf, xml_nodes(0, 2 * nodes), " allowed_cpuset=\"0x0000000f\"");
    xml_package(&x, 0, nodes);
    xml_package(&x, 1, nodes);
    xml_end(&x, 1);
    fputs("</topology>\n", x.file);
    assert_int_equal(fclose(x.file), 0);
    setenv("HWLOC_XMLFILE", path, 1);
}

static inline void xml_forget(void)
{
    unlink(getenv("HWLOC_XMLFILE"));
    unsetenv("HWLOC_XMLFILE");
}

#endif
