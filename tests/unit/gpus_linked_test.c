/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether NVLink connects all devices (topo/gpus.h), on machines that a fake NVML reports.
 */
#include "gpus_machine.h"

/* Whether p ranks on devices 0, 1, ... are linked, each to each. */
static int linked(const char *library, const int *which, int p)
{
    struct gr_pci_address gpus[16];
    int r, answer;

    machine->starts = machine->stops = machine->wrong = 0;
    for (r = 0; r < p; r++) {
        gpus[r] = which[r] < 0 ? (struct gr_pci_address) {0, 0, 0} : machine->gpu[which[r]].address;
    }
    answer = gr_gpus_linked(library, gpus, p);
    assert_int_equal(machine->wrong, 0);
    assert_int_equal(machine->starts, machine->stops);
    return answer;
}

/*
 * Every pair must be; two ranks on one device, a device nobody knows, or no NVML are enough for a
 * no.
 */
static void all_must_be_linked(void **state)
{
    static const int all[] = {0, 1, 2, 3}, twice[] = {0, 1, 1, 3}, unknown[] = {0, -1, 2, 3};
    int a, b;

    describe(4);
    for (a = 0; a < 4; a++) {
        for (b = a + 1; b < 4; b++) {
            link_up(a, b, a + b);
        }
    }
    assert_true(linked(FAKE_NVML, all, 4));
    assert_true(linked(FAKE_NVML, all, 2));
    assert_false(linked(FAKE_NVML, all, 1));
    assert_false(linked(FAKE_NVML, twice, 4));
    assert_false(linked(FAKE_NVML, unknown, 4));
    assert_false(linked(NO_LIBRARY, all, 4));
    assert_false(linked(NO_NVML, all, 4));
    link_up(2, 3, 0);
    assert_false(linked(FAKE_NVML, all, 4));
    assert_true(linked(FAKE_NVML, all, 3));
}

/* Switches join whoever has links into them. */
static void switches_link_too(void **state)
{
    static const int all[] = {0, 1, 2};
    int k;

    describe(3);
    for (k = 0; k < 3; k++) {
        machine->gpu[k].switch_links = 12;
    }
    assert_true(linked(FAKE_NVML, all, 3));
    machine->gpu[1].partition = 1;
    assert_false(linked(FAKE_NVML, all, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_must_be_linked),
        cmocka_unit_test(switches_link_too),
    };

    machine = open_fake(FAKE_NVML);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
