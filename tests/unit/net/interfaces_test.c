/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of interfaces, as Open MPI's parameters have them, and the devices that they leave. */
#include "net/rails.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "cmocka_test.h"

/* ---- a node's addresses ---- */

static struct sockaddr_in v4[2];
static struct sockaddr_in6 v6;
static char eth0[] = "eth0", eth1[] = "eth1";
static struct ifaddrs addresses[] = {
    {.ifa_name = eth0}, /* an interface without an address */
    {.ifa_name = eth0, .ifa_addr = (struct sockaddr *) &v4[0]},
    {.ifa_name = eth1, .ifa_addr = (struct sockaddr *) &v4[1]},
    {.ifa_name = eth1, .ifa_addr = (struct sockaddr *) &v6},
};

static int set_up(void **state)
{
    size_t k;

    for (k = 0; k + 1 < sizeof(addresses) / sizeof(addresses[0]); k++) {
        addresses[k].ifa_next = &addresses[k + 1];
    }
    v4[0].sin_family = v4[1].sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    return 1 == inet_pton(AF_INET, "10.77.0.1", &v4[0].sin_addr) &&
                   1 == inet_pton(AF_INET, "10.78.130.1", &v4[1].sin_addr) &&
                   1 == inet_pton(AF_INET6, "fd00:1::7", &v6.sin6_addr)
               ? 0
               : -1;
}

/* Which of the two a list names. */
static void lists(const char *list, int first, int second)
{
    assert_int_equal(gr_net_is_listed(list, "eth0", addresses), first);
    assert_int_equal(gr_net_is_listed(list, "eth1", addresses), second);
}

static void names_are_whole(void **state)
{
    lists("eth0", 1, 0);
    lists("lo,eth1", 0, 1);
    lists("eth1,eth0", 1, 1);
    lists("eth", 0, 0);
    lists("eth00", 0, 0);
    lists("", 0, 0);
    lists(",", 0, 0);
}

static void networks_are_those_of_addresses(void **state)
{
    lists("10.77.0.0/24", 1, 0);
    lists("10.78.0.0/16", 0, 1);
    lists("10.76.0.0/14", 1, 1);
    lists("10.78.128.0/17", 0, 1);
    lists("10.78.0.0/17", 0, 0); /* differs in a bit that is no whole byte */
    lists("10.77.0.1/32", 1, 0);
    lists("10.77.0.2/32", 0, 0);
    lists("0.0.0.0/0", 1, 1);
    lists("192.168.0.0/16,10.77.0.0/24", 1, 0);
    lists("fd00:1::/32", 0, 1);
    lists("fd00:2::/32", 0, 0);
    lists("fd00:1::7/128", 0, 1);
}

static void what_is_no_network_names_nothing(void **state)
{
    lists("10.77.0.1", 0, 0);
    lists("10.77.0.0/", 0, 0);
    lists("10.77.0.0/33", 0, 0);
    lists("fd00:1::7/129", 0, 0);
    lists("10.77.0.0/-1", 0, 0);
    lists("10.77.0.0/24x", 0, 0);
    lists("10.77/16", 0, 0);
}

/* ---- devices ---- */

static void devices_of_rdma_stay(void **state)
{
    char devices[4][GR_NET_DEVICE_BYTES] = {"memory", "lo", "mlx5_0:1", "no-such-interface"};
    int left_out;

    assert_int_equal(gr_net_confine(devices, 4, "eth0", 0, &left_out), 1);
    assert_string_equal(devices[0], "mlx5_0:1");
    assert_int_equal(left_out, 0); /* lo never counts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_whole),
        cmocka_unit_test(networks_are_those_of_addresses),
        cmocka_unit_test(what_is_no_network_names_nothing),
        cmocka_unit_test(devices_of_rdma_stay),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
