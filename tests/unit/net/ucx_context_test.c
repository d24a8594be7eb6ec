/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts of UCX with simulated devices: the test reports the devices to net/ucx, and records the
 * configuration that it gets.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <stdlib.h>
#include <string.h>

#include "cmocka_test.h"
#include <ucp/api/ucp.h>

static const char *description; /* of all contexts */
static char told[500];          /* "NAME=value ", each time */
static int contexts, most;      /* that are there, and were at once */

static void say(const ucp_context_h context, FILE *f)
{
    (void) context;
    fputs(description, f);
}

/* UCX is told of devices that it does not have, and of caches in vain: it would not like either. */
static ucs_status_t be_told(ucp_config_t *config, const char *name, const char *value)
{
    (void) config;
    strcat(strcat(strcat(strcat(told, name), "="), value), " ");
    return UCS_OK;
}

static ucs_status_t make(const ucp_params_t *params, const ucp_config_t *config,
                         ucp_context_h *context)
{
    assert_true(params->features == UCP_FEATURE_AM &&
                (48 == params->request_size || 0 == params->request_size));
    strcat(told, "made ");
    contexts++;
    most = contexts > most ? contexts : most;
    return ucp_init(params, config, context);
}

static void end(ucp_context_h context)
{
    contexts--;
    ucp_cleanup(context);
}

#define ucp_context_print_info say
#define ucp_config_modify be_told
#define ucp_init make
#define ucp_cleanup end
#include "net/ucx_context.c"

/* In UCX 1.13's words. */
#define LINES(more)                                                                      \
    "#            md 0  :  tcp\n#\n#      resource 0  :  md 0  dev 0  flags -- tcp/lo\n" \
    "#      resource 1  :  md 0  dev 1  flags -- tcp/eth0\n" more "#\n# memory: 0 bytes\n"

static const char *told_for(const char *text, const char *device)
{
    ucp_context_h context;

    description = text;
    told[0] = '\0';
    most = 0;
    assert_int_equal(gr_ucx_context(device, 48, &context), UCS_OK);
    end(context);
    assert_int_equal(contexts, 0);
    assert_int_equal(most, 1);
    return told;
}

#define SLOW LINES("")
#define FAST LINES("#      resource 2  :  md 1  dev 2  flags -- rc_verbs/mlx5_0:1\n")

static void what_registers_memory_has_a_bounded_cache(void **state)
{
    assert_string_equal(told_for(FAST, NULL), "made RCACHE_MAX_SIZE=4g made ");
    assert_string_equal(
        told_for(LINES("#      resource 2  :  md 1  dev 2  flags -- ud_mlx5/mlx5_0:1\n"), NULL),
        "made RCACHE_MAX_SIZE=4g made ");
    assert_string_equal(told_for(FAST, "mlx5_0:1"),
                        "NET_DEVICES=mlx5_0:1 made NET_DEVICES=mlx5_0:1 RCACHE_MAX_SIZE=4g made ");
}

static void what_does_not_is_told_nothing(void **state)
{
    assert_string_equal(told_for(SLOW, NULL), "made ");
    assert_string_equal(told_for(SLOW, "eth0"), "NET_DEVICES=eth0 made ");
}

static void users_say_otherwise(void **state)
{
    static const char *const names[] = {"UCX_IB_RCACHE_MAX_SIZE", "UCX_IB_RCACHE_MAX_REGIONS"};
    size_t k;

    setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
    for (k = 0; k < 2; k++) {
        setenv(names[k], "1000", 1);
        assert_string_equal(told_for(FAST, NULL), "made ");
        unsetenv(names[k]);
    }
    assert_string_equal(told_for(FAST, NULL), "made RCACHE_MAX_SIZE=4g made ");
}

static void devices_are_listed_once(void **state)
{
    char names[8][GR_NET_DEVICE_BYTES];
    int chosen;

    description = LINES("#      resource 2  :  md 1  dev 2  flags -- rc_verbs/mlx5_0:1\n"
                        "#      resource 3  :  md 1  dev 2  flags -- ud_verbs/mlx5_0:1\n");
    assert_int_equal(gr_ucx_devices(names, 8, &chosen), 3);
    assert_string_equal(names[0], "lo");
    assert_string_equal(names[1], "eth0");
    assert_string_equal(names[2], "mlx5_0:1");
    assert_false(chosen);
    setenv("UCX_NET_DEVICES", "eth0", 1);
    assert_int_equal(gr_ucx_devices(names, 2, &chosen), 2);
    assert_true(chosen);
    unsetenv("UCX_NET_DEVICES");
    assert_int_equal(contexts, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_registers_memory_has_a_bounded_cache),
        cmocka_unit_test(what_does_not_is_told_nothing),
        cmocka_unit_test(users_say_otherwise),
        cmocka_unit_test(devices_are_listed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
