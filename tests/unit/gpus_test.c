/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders of ranks by their devices (topo/gpus.h), on machines that a fake NVML reports. hwloc does
 * not know the devices' addresses, so distances that NVML leaves unknown come from bus numbers.
 */
#include "gpus_machine.h"

static struct fake_machine *old_machine;

/*
 * The order of p ranks, rank r on device which[r], or on none when that is -1; NVML's calls were as
 * they should be.
 */
static void ask(const char *library, const int *which, int p, int *order)
{
    struct gr_pci_address gpus[64];
    int r;

    machine->starts = machine->stops = machine->wrong = 0;
    for (r = 0; r < p; r++) {
        gpus[r] = which[r] < 0 ? (struct gr_pci_address) {0, 0, 0} : machine->gpu[which[r]].address;
    }
    assert_int_equal(gr_order_gpus(library, gpus, p, order), 0);
    check_order(order, p);
    assert_int_equal(machine->wrong, 0);
    assert_int_equal(machine->starts, machine->stops);
}

/* Hops of a ring between devices that are not in one group. */
static int changes(const int *order, int p, const int *group)
{
    int k, n = 0;

    for (k = 0; k < p; k++) {
        n += group[order[k]] != group[order[(k + 1) % p]];
    }
    return n;
}

static void behind_switches_all_are_alike(void **state)
{
    static const int which[8] = {5, 0, 7, 2, 6, 1, 3, 4}, in_order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    int order[8], k;

    describe(8);
    for (k = 0; k < 8; k++) {
        machine->gpu[k].switch_links = 18;
    }
    ask(NULL, which, 8, order);
    assert_int_equal(machine->starts, 1);
    expect_order(order, in_order, 8);
    /* the same machine without switches is another matter */
    ask(NO_NVML, which, 8, order);
    assert_int_not_equal(memcmp(order, in_order, sizeof(order)), 0);
}

static void partitions_of_switches_stay_together(void **state)
{
    static const int which[8] = {0, 1, 2, 3, 4, 5, 6, 7}, group[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    static const int want[8] = {0, 1, 3, 5, 7, 2, 4, 6};
    int order[8], k;

    describe(8);
    for (k = 0; k < 8; k++) {
        machine->gpu[k].switch_links = 12;
        machine->gpu[k].partition = group[k];
    }
    ask(NULL, which, 8, order);
    assert_int_equal(changes(order, 8, group), 2);
    expect_order(order, want, 8);
    /* who does not say whether peers can use NVLink does not deny it either */
    machine->no_status = 1;
    ask(NULL, which, 8, order);
    expect_order(order, which, 8);
}

static void islands_of_links_stay_together(void **state)
{
    static const int which[8] = {0, 1, 2, 3, 4, 5, 6, 7}, group[8] = {0, 1, 1, 0, 0, 1, 0, 1};
    static const int want[8] = {0, 1, 2, 5, 7, 3, 4, 6};
    int order[8], a, b;

    describe(8);
    for (a = 0; a < 8; a++) {
        for (b = 0; b < a; b++) {
            link_up(a, b, group[a] == group[b] ? 4 : 0);
        }
    }
    ask(NULL, which, 8, order);
    expect_order(order, want, 8);
}

/*
 * Eight devices of six links each: two full squares of 1 or 2 links, joined corner by corner by
 * two.
 */
static void more_links_are_nearer(void **state)
{
    static const int which[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const int one[][2] = {{0, 1}, {0, 2}, {1, 3}, {4, 5}, {4, 6}, {5, 7}};
    static const int two[][2] = {{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3},
                                 {2, 6}, {3, 7}, {4, 7}, {5, 6}, {6, 7}};
    int order[8], k;
    size_t n;

    describe(8);
    for (n = 0; n < sizeof(one) / sizeof(one[0]); n++) {
        link_up(one[n][0], one[n][1], 1);
    }
    for (n = 0; n < sizeof(two) / sizeof(two[0]); n++) {
        link_up(two[n][0], two[n][1], 2);
    }
    ask(NULL, which, 8, order);
    for (k = 0; k < 8; k++) {
        assert_int_equal(machine->links[order[k]][order[(k + 1) % 8]], 2);
    }
    assert_int_equal(order[1], 3);
}

static void links_that_peers_cannot_use_do_not_count(void **state)
{
    static const int which[4] = {0, 1, 2, 3}, want[4] = {0, 1, 2, 3};
    static const int crossed[4] = {0, 1, 3, 2};
    int order[4], k;

    describe(4);
    for (k = 0; k < 4; k++) {
        machine->gpu[k].switch_links = 6;
        machine->gpu[k].partition = k;
    }
    machine->level[1][3] = machine->level[3][1] = GR_NVML_SINGLE;
    machine->level[0][2] = machine->level[2][0] = GR_NVML_SINGLE;
    ask(NULL, which, 4, order);
    expect_order(order, crossed, 4);
    machine->no_status = 1; /* now only the links speak */
    ask(NULL, which, 4, order);
    expect_order(order, want, 4);
}

static void every_pcie_level_has_its_place(void **state)
{
    static const int levels[] = {GR_NVML_INTERNAL,   GR_NVML_SINGLE, GR_NVML_MULTIPLE,
                                 GR_NVML_HOSTBRIDGE, GR_NVML_NODE,   GR_NVML_SYSTEM};
    static const int which[4] = {0, 1, 2, 3}, far[4] = {0, 1, 3, 2}, near[4] = {0, 1, 2, 3};
    int order[4], a, b;
    size_t k;

    for (k = 0; k + 1 < sizeof(levels) / sizeof(levels[0]); k++) {
        describe(4);
        for (a = 0; a < 4; a++) {
            for (b = 0; b < 4; b++) {
                machine->level[a][b] = levels[k];
            }
        }
        ask(NULL, which, 4, order);
        expect_order(order, near, 4);
        machine->level[0][3] = machine->level[3][0] = levels[k + 1];
        ask(NULL, which, 4, order);
        expect_order(order, far, 4);
    }
    /* NVLink, one link only, before the best level of PCIe */
    for (a = 0; a < 4; a++) {
        for (b = 0; b < 4; b++) {
            machine->level[a][b] = GR_NVML_INTERNAL;
        }
    }
    link_up(0, 2, 1);
    link_up(1, 3, 1);
    ask(NULL, which, 4, order);
    expect_order(order, far, 4);
}

static void two_sockets_are_crossed_twice(void **state)
{
    static const int which[16] = {9, 0, 8, 3, 1, 10, 2, 11, 4, 5, 6, 7, 12, 13, 14, 15};
    int order[16], socket[16], a, b, k;

    describe(16);
    for (a = 0; a < 16; a++) {
        for (b = 0; b < 16; b++) {
            machine->level[a][b] = a / 8 != b / 8   ? GR_NVML_SYSTEM
                                   : a / 2 != b / 2 ? GR_NVML_NODE
                                                    : GR_NVML_SINGLE;
        }
    }
    for (k = 0; k < 16; k++) {
        socket[k] = which[k] / 8;
    }
    ask(NULL, which, 16, order);
    assert_int_equal(changes(order, 16, socket), 2);
    for (k = 0; k < 16; k++) {
        socket[k] = which[k] / 2;
    }
    assert_int_equal(changes(order, 16, socket), 8);
}

static void ranks_of_one_device_stand_side_by_side(void **state)
{
    static const int which[13] = {2, 0, 1, 2, 3, 3, 0, 1, 2, 4, 4, 4, 0};
    static const int want[13] = {0, 3, 8, 1, 6, 12, 2, 7, 4, 5, 9, 10, 11};
    static const int alone[3] = {0, 0, 0}, in_order[3] = {0, 1, 2};
    int order[13];

    describe(5);
    ask(NULL, which, 13, order);
    expect_order(order, want, 13);
    ask(NULL, alone, 3, order);
    expect_order(order, in_order, 3);
    ask(NULL, alone, 1, order);
    expect_order(order, in_order, 1);
}

/*
 * Rings over three devices are all the same; nobody is asked, since NVML takes its time to start.
 */
static void where_there_is_one_ring_only_nobody_is_asked(void **state)
{
    static const int which[6] = {2, 1, 0, 1, 2, 0}, want[6] = {0, 4, 1, 3, 2, 5},
                     four[4] = {0, 1, 2, 3};
    int order[6];

    describe(4);
    ask(NULL, which, 6, order);
    expect_order(order, want, 6);
    assert_int_equal(machine->starts, 0);
    ask(NULL, four, 4, order);
    assert_int_equal(machine->starts, 1);
}

/*
 * Ranks without a device stand together, and a device that NVML does not know is placed by its
 * address.
 */
static void unknown_devices_are_tolerated(void **state)
{
    static const int none[5] = {-1, -1, -1, -1, -1}, in_order[5] = {0, 1, 2, 3, 4};
    static const int which[7] = {0, -1, 1, 2, -1, 3, 4};
    int order[7], p, k, m;

    describe(5);
    for (p = 1; p <= 5; p++) {
        ask(NULL, none, p, order);
        expect_order(order, in_order, p);
    }
    ask(NULL, which, 7, order);
    for (k = 0; 1 != order[k]; k++) {
    }
    assert_int_equal(order[(k + 1) % 7], 4);
    /* the three that are known, and then what is not */
    machine->gpu[1].hidden = machine->gpu[3].hidden = 1;
    ask(NULL, in_order, 5, order);
    for (k = m = 0; k < 5; k++) {
        m += 1 == order[k] % 2 && 1 == order[(k + 1) % 5] % 2;
    }
    assert_int_equal(m, 1);
    for (k = 0; k < 5; k++) {
        machine->gpu[k].hidden = 1;
    }
    ask(NULL, in_order, 5, order);
    expect_order(order, in_order, 5);
}

/*
 * Addresses 0x40.. and 0x80.. in turn: each half stays together, whatever the reason why nobody
 * else is heard.
 */
static void without_nvml_addresses_say_it(void **state)
{
    static const int which[6] = {0, 1, 2, 3, 4, 5}, group[6] = {0, 1, 0, 1, 0, 1},
                     want[6] = {0, 1, 3, 5, 4, 2};
    int order[6], k, m;

    describe(6);
    for (k = 0; k < 6; k++) {
        machine->gpu[k].address.bus = (group[k] ? 0x80u : 0x40u) + (uint32_t) k / 2;
    }
    ask(NO_LIBRARY, which, 6, order);
    assert_int_equal(changes(order, 6, group), 2);
    expect_order(order, want, 6);
    ask(NO_NVML, which, 6, order);
    expect_order(order, want, 6);
    machine->broken = 1;
    ask(NULL, which, 6, order);
    expect_order(order, want, 6);
    machine->broken = 0;
    for (k = 0; k < 6; k++) {
        for (m = 0; m < 6; m++) {
            machine->level[k][m] = -1;
        }
    }
    ask(NULL, which, 6, order);
    expect_order(order, want, 6);
    assert_int_equal(machine->starts, 1);
}

static void domains_are_farther_apart_than_busses(void **state)
{
    static const int which[4] = {0, 1, 2, 3}, want[4] = {0, 1, 3, 2};
    int order[4];

    describe(4);
    machine->gpu[1].address.domain = machine->gpu[3].address.domain = 0x1000;
    machine->gpu[0].address.bus = machine->gpu[1].address.bus = 0x01;
    machine->gpu[2].address.bus = machine->gpu[3].address.bus = 0xff;
    ask(NO_LIBRARY, which, 4, order);
    expect_order(order, want, 4);
}

/* Links straight to another device are all that an old library knows of NVLink. */
static void an_old_library_will_do(void **state)
{
    static const int which[6] = {0, 1, 2, 3, 4, 5}, want[6] = {0, 3, 1, 4, 2, 5};
    struct fake_machine *today = machine;
    int order[6], k;

    machine = old_machine;
    describe(6);
    for (k = 0; k < 6; k++) {
        link_up(want[k], want[(k + 1) % 6], 3);
    }
    ask(FAKE_OLD_NVML, which, 6, order);
    assert_int_equal(machine->starts, 1);
    machine = today;
    expect_order(order, want, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_switches_all_are_alike),
        cmocka_unit_test(partitions_of_switches_stay_together),
        cmocka_unit_test(islands_of_links_stay_together),
        cmocka_unit_test(more_links_are_nearer),
        cmocka_unit_test(links_that_peers_cannot_use_do_not_count),
        cmocka_unit_test(every_pcie_level_has_its_place),
        cmocka_unit_test(two_sockets_are_crossed_twice),
        cmocka_unit_test(ranks_of_one_device_stand_side_by_side),
        cmocka_unit_test(where_there_is_one_ring_only_nobody_is_asked),
        cmocka_unit_test(unknown_devices_are_tolerated),
        cmocka_unit_test(without_nvml_addresses_say_it),
        cmocka_unit_test(domains_are_farther_apart_than_busses),
        cmocka_unit_test(an_old_library_will_do),
    };

    /*
     * its name inside is libnvidia-ml.so.1: once it is there, it is what that name means to
     * dlopen()
     */
    machine = open_fake(FAKE_NVML);
    old_machine = open_fake(FAKE_OLD_NVML);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
