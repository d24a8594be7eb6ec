/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distances and orders of devices from hwloc's tree (topo/distance.c), on a machine without NVML.
 * Seed: GPURING_SEED.
 */
#include "gpus_test.h"

#include "gpus_test_xml.h"

#define NO_LIBRARY "/nonexistent/libnvidia-ml.so.1"

static struct gr_pci_address address_of(int device)
{
    return (struct gr_pci_address) {0, xml_bus[device], 0};
}

/* Distances on the machine of gpus_test_xml.h. */
static int expected(int a, int b, int nodes)
{
    static const unsigned char within[XML_IN_PACKAGE][XML_IN_PACKAGE] = {
        [1] = {GR_DISTANCE_SWITCH},
        [2] = {GR_DISTANCE_SWITCHES, GR_DISTANCE_SWITCHES},
        [3] = {GR_DISTANCE_BRIDGE, GR_DISTANCE_BRIDGE, GR_DISTANCE_BRIDGE},
        [4] = {GR_DISTANCE_NODE, GR_DISTANCE_NODE, GR_DISTANCE_NODE, GR_DISTANCE_NODE},
    };
    int low = a < b ? a : b, high = a < b ? b : a, distance;

    if (low / XML_IN_PACKAGE != high / XML_IN_PACKAGE) {
        return GR_DISTANCE_SYSTEM;
    }
    distance = within[high % XML_IN_PACKAGE][low % XML_IN_PACKAGE];
    return GR_DISTANCE_NODE == distance && nodes > 1 ? GR_DISTANCE_PACKAGE : distance;
}

static void distances_are_as_the_tree_is_drawn(void **state)
{
    unsigned char between[XML_DEVICES * XML_DEVICES];
    struct gr_pci_address gpus[XML_DEVICES];
    struct gr_distances d = {XML_DEVICES, gpus, between};
    int nodes, a, b;

    for (a = 0; a < XML_DEVICES; a++) {
        gpus[a] = address_of(a);
    }
    for (nodes = 1; nodes <= 2; nodes++) {
        memset(between, 0, sizeof(between));
        xml_use(nodes);
        gr_distances_from_tree(&d);
        xml_forget();
        for (a = 0; a < XML_DEVICES; a++) {
            for (b = 0; b < XML_DEVICES; b++) {
                if (between[a * XML_DEVICES + b] != (a == b ? 0 : expected(a, b, nodes))) {
                    fail_msg("%d NUMA nodes in a package, devices %d and %d: class %d, not %d",
                             nodes, a, b, between[a * XML_DEVICES + b],
                             a == b ? 0 : expected(a, b, nodes));
                }
            }
        }
    }
}

/* What another source has said stands; what hwloc does not know is left. */
static void only_open_pairs_of_known_devices_are_filled_in(void **state)
{
    struct gr_pci_address gpus[4] = {{0, 0, 0}, {0, 0xee, 0}, address_of(0), address_of(1)};
    unsigned char between[16] = {0};
    struct gr_distances d = {4, gpus, between};
    int k;

    gr_distances_note(&d, 2, 3, GR_DISTANCE_LINKS(2));
    xml_use(1);
    gr_distances_from_tree(&d);
    assert_int_equal(between[2 * 4 + 3], GR_DISTANCE_LINKS(2));
    assert_int_equal(between[3 * 4 + 2], GR_DISTANCE_LINKS(2));
    between[2 * 4 + 3] = between[3 * 4 + 2] = GR_DISTANCE_NONE;
    gr_distances_from_tree(&d);
    xml_forget();
    for (k = 0; k < 16; k++) {
        assert_int_equal(between[k], 11 == k || 14 == k ? GR_DISTANCE_SWITCH : GR_DISTANCE_NONE);
    }
    gr_distances_from_bus(&d);
    assert_int_equal(between[0 * 4 + 3], GR_DISTANCE_UNKNOWN);
    assert_int_equal(between[1 * 4 + 3], GR_DISTANCE_ADDRESS + 8);
    assert_int_equal(between[2 * 4 + 3], GR_DISTANCE_SWITCH);
}

/*
 * Whatever rank has which device, the ring goes along the tree; addresses alone would give a worse
 * one.
 */
static void the_order_follows_the_tree(void **state)
{
    unsigned char between[XML_DEVICES * XML_DEVICES];
    struct gr_pci_address gpus[XML_DEVICES];
    int in_tree[XML_DEVICES], device[XML_DEVICES], order[XML_DEVICES], p, round, a, b, k, m,
        better = 0;
    uint64_t random = rng_seed();

    for (round = 0; round < 12; round++) {
        p = round < 6 ? XML_DEVICES : 8; /* a good trip, and the best */
        shuffle(device, 0, XML_DEVICES, &random);
        for (a = 0; a < p; a++) {
            gpus[a] = address_of(device[a]);
            for (b = 0; b < p; b++) {
                between[a * p + b] =
                    a == b ? 0 : (unsigned char) expected(device[a], device[b], 1 + round % 2);
            }
        }
        for (k = m = 0; k < XML_DEVICES; k++) {
            for (a = 0; a < p; a++) {
                if (device[a] == k) {
                    in_tree[m++] = a;
                }
            }
        }
        xml_use(1 + round % 2);
        assert_int_equal(gr_order_gpus(NO_LIBRARY, gpus, p, order), 0);
        xml_forget();
        check_order(order, p);
        assert_true(compare_trips(between, p, order, in_tree) <= 0);
        setenv("HWLOC_SYNTHETIC", "pu:2", 1); /* a machine without devices */
        assert_int_equal(gr_order_gpus(NO_LIBRARY, gpus, p, order), 0);
        unsetenv("HWLOC_SYNTHETIC");
        check_order(order, p);
        better += compare_trips(between, p, order, in_tree) > 0;
    }
    assert_true(better > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_as_the_tree_is_drawn),
        cmocka_unit_test(only_open_pairs_of_known_devices_are_filled_in),
        cmocka_unit_test(the_order_follows_the_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
