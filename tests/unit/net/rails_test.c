/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network devices of a node that are rails. Each case is a node, described by a folder in the
 * layout of sysfs.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "net/rails.h"

#include <ftw.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_test.h"

static char sys[64];

/* ---- a node ---- */

static void put(const char *text, const char *format, ...)
{
    char path[300], *slash;
    va_list args;
    FILE *f;

    va_start(args, format);
    vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    for (slash = strchr(path + 1, '/'); NULL != slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* speed NULL: it cannot be read. */
static void interface(const char *name, const char *type, const char *speed, const char *more)
{
    put(type, "%s/class/net/%s/type", sys, name);
    if (NULL != speed) {
        put(speed, "%s/class/net/%s/speed", sys, name);
    }
    if (NULL != more) {
        put("", "%s/class/net/%s/%s/x", sys, name, more);
    }
}

static void card(const char *name, const char *speed)
{
    interface(name, "1\n", speed, "device");
}
static void virtual(const char *name, const char *speed)
{
    interface(name, "1\n", speed, NULL);
}

static void port(const char *name, int number, const char *layer, const char *rate)
{
    put(layer, "%s/class/infiniband/%s/ports/%d/link_layer", sys, name, number);
    put(rate, "%s/class/infiniband/%s/ports/%d/rate", sys, name, number);
}

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *ftw)
{
    (void) s;
    (void) flag;
    (void) ftw;
    return remove(path);
}

static int set_up(void **state)
{
    strcpy(sys, "/tmp/gpuring-rails-XXXXXX");
    return NULL == mkdtemp(sys);
}

static int tear_down(void **state)
{
    return nftw(sys, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- its rails ---- */

/* Of these devices, in words, the rails are these; "": there are none. */
static void rails_are(const char *wanted, const char *names)
{
    char devices[GR_NET_RAIL_DEVICES + 8][GR_NET_DEVICE_BYTES], copy[1000], found[1000] = "",
                                                                            *rest = copy, *name;
    struct gr_net_rails rails;
    int n = 0, k;

    strcpy(copy, names);
    while (NULL != (name = strtok_r(rest, " ", &rest))) {
        strcpy(devices[n++], name);
    }
    gr_net_find_rails(&rails, devices, n, sys);
    assert_in_range(rails.n, 1, GR_NET_RAILS);
    for (k = 0; rails.n > 1 && k < rails.n; k++) {
        strcat(strcat(found, 0 == k ? "" : " "), rails.name[k]);
    }
    assert_string_equal(found, wanted);
}

static void equal_ones_are_rails_in_the_order_of_their_names(void **state)
{
    card("eth10", "10000\n");
    card("eth2", "10000\n");
    card("eth1", "10000\n");
    rails_are("eth1 eth2 eth10", "eth10 eth2 eth1");
    rails_are("eth1 eth2 eth10", "eth1 eth10 eth2");
    rails_are("eth2 eth10", "eth10 eth2"); /* the user has allowed no others */
    rails_are("", "eth10");
    rails_are("", "");
}

static void the_fastest_are(void **state)
{
    card("eth0", "1000\n");
    card("eth1", "25000\n");
    card("eth2", "1000\n");
    card("eth3", "25000\n");
    rails_are("eth1 eth3", "eth0 eth1 eth2 eth3");
    rails_are("", "eth0 eth1 eth2"); /* one is alone */
    rails_are("eth0 eth2", "eth0 eth2");
}

static void what_has_no_speed_is_the_slowest(void **state)
{
    card("eth0", "-1\n");
    card("eth1", NULL);
    card("eth2", "100\n");
    card("eth3", "100\n");
    rails_are("eth2 eth3", "eth0 eth1 eth2 eth3");
    rails_are("eth0 eth1", "eth0 eth1");
    rails_are("", "eth0 eth1 eth2");
}

static void memory_loopback_and_bridges_are_none(void **state)
{
    interface("lo", "772\n", NULL, NULL);
    interface("br0", "1\n", "10000\n", "bridge");
    virtual("veth0", "10000\n");
    virtual("veth1", "10000\n");
    rails_are("veth0 veth1", "memory memory0 lo br0 veth1 veth0");
    rails_are("", "memory lo br0 veth0");
    virtual("tun0", NULL);
    rails_are("", "lo tun0");
    rails_are("", "memory lo br0");
    rails_are("", "memory memory0 cuda");
}

static void cards_are_better_than_what_stands_on_them(void **state)
{
    card("eth0", "1000\n");
    virtual("veth0", "10000\n");
    virtual("veth1", "10000\n");
    rails_are("", "eth0 veth0 veth1");
    card("eth1", "1000\n");
    rails_are("eth0 eth1", "eth0 veth0 veth1 eth1");
}

static void rdma_is_better_than_ethernet(void **state)
{
    card("eth0", "100000\n");
    card("eth1", "100000\n");
    card("ib0", "56000\n");
    port("mlx5_0", 1, "InfiniBand\n", "56 Gb/sec (4X FDR)\n");
    port("mlx5_0", 2, "InfiniBand\n", "40 Gb/sec (4X QDR)\n");
    port("mlx5_2", 1, "Ethernet\n", "100 Gb/sec (4X EDR)\n");
    rails_are("", "eth0 eth1 ib0 mlx5_0:1"); /* which the transport finds by itself */
    rails_are("", "eth0 eth1 mlx5_0:1 mlx5_0:2 mlx5_2:1");
    port("mlx5_10", 1, "InfiniBand\n", "56 Gb/sec (4X FDR)\n");
    rails_are("mlx5_0:1 mlx5_10:1", "mlx5_10:1 eth0 eth1 ib0 mlx5_0:1 mlx5_0:2 mlx5_2:1");
    port("mlx5_3", 1, "Ethernet\n", "100 Gb/sec (4X EDR)\n");
    rails_are("mlx5_2:1 mlx5_3:1", "eth0 eth1 mlx5_3:1 mlx5_2:1");
    port("mlx5_4", 1, "InfiniBand\n", "2.5 Gb/sec (1X SDR)\n");
    port("mlx5_5", 1, "InfiniBand\n", "2 Gb/sec (4X SDR)\n");
    rails_are("", "mlx5_4:1 mlx5_5:1");
    rails_are("", "mlx5_9:1 mlx5_2:9");
}

static void as_many_as_fit(void **state)
{
    char names[2000] = "", name[20];
    int k;

    for (k = 0; k < GR_NET_RAIL_DEVICES + 8; k++) {
        snprintf(name, sizeof(name), "eth%d", k);
        card(name, "1000\n");
        strcat(strcat(names, 0 == k ? "" : " "), name);
    }
    rails_are("eth0 eth1 eth2 eth3 eth4 eth5 eth6 eth7", names);
}

/* An application's setlocale() does not change what sysfs says. */
static void rates_have_points_in_each_locale(void **state)
{
    char command[200];

    snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
             sys);
    if (0 != system(command)) {
        skip(); /* no sources of locales */
    }
    setenv("LOCPATH", sys, 1);
    assert_non_null(setlocale(LC_ALL, "de_DE.UTF-8"));
    port("mlx5_0", 1, "InfiniBand\n", "2.5 Gb/sec (1X SDR)\n");
    port("mlx5_1", 1, "InfiniBand\n", "2 Gb/sec (4X SDR)\n");
    rails_are("", "mlx5_0:1 mlx5_1:1");
    assert_true(0.5 != strtod("0.5", NULL)); /* the locale is as it was */
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(equal_ones_are_rails_in_the_order_of_their_names),
        TEST(the_fastest_are),
        TEST(what_has_no_speed_is_the_slowest),
        TEST(memory_loopback_and_bridges_are_none),
        TEST(cards_are_better_than_what_stands_on_them),
        TEST(rdma_is_better_than_ethernet),
        TEST(as_many_as_fit),
        TEST(rates_have_points_in_each_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
