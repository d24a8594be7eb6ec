/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating and describing contexts of UCX. */
#include "net/ucx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * UCX keeps users' buffers registered for transports that need registration, by default without a
 * bound. This is the bound, unless the user has set UCX_IB_RCACHE_MAX_SIZE or _MAX_REGIONS.
 */
#define CACHE "RCACHE_MAX_SIZE"
#define CACHE_SIZE "4g"

/* device: the only ones, or NULL. cache: value of CACHE; NULL: UCX's default. */
static ucs_status_t make_context(const char *device, const char *cache, size_t ucp_request_bytes,
                                 ucp_context_h *context)
{
    ucp_params_t params = {
        .field_mask =
            UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_REQUEST_SIZE | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_AM,
        .request_size = ucp_request_bytes,
        .name = "gpuring",
    };
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);

    if (UCS_OK != status) {
        return status;
    }
    if (NULL != device) {
        status = ucp_config_modify(config, "NET_DEVICES", device);
    }
    if (UCS_OK == status && NULL != cache) {
        status = ucp_config_modify(config, CACHE, cache);
    }
    if (UCS_OK == status) {
        status = ucp_init(&params, config, context);
    }
    ucp_config_release(config);
    return status;
}

/* UCX's description of a context; the caller frees it. NULL: no memory. */
static char *describe(ucp_context_h context)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (NULL != f) {
        ucp_context_print_info(context, f);
        fclose(f);
    }
    return text;
}

/*
 * Whether a context can use a transport that registers memory. The description then has a line with
 * one of these names.
 */
static int registers(ucp_context_h context)
{
    static const char *const names[] = {" -- rc_", " -- dc_", " -- ud_"};
    char *text = describe(context);
    int found = 0;
    size_t k;

    for (k = 0; NULL != text && k < sizeof(names) / sizeof(names[0]); k++) {
        found = found || NULL != strstr(text, names[k]);
    }
    free(text);
    return found;
}

static int user_has_set_cache(void)
{
    return NULL != getenv("UCX_IB_RCACHE_MAX_SIZE") || NULL != getenv("UCX_IB_RCACHE_MAX_REGIONS");
}

ucs_status_t gr_ucx_context(const char *device, size_t ucp_request_bytes, ucp_context_h *context)
{
    ucs_status_t status = make_context(device, NULL, ucp_request_bytes, context);

    /* not at the first try: UCX warns if no transport has such a cache */
    if (UCS_OK == status && !user_has_set_cache() && registers(*context)) {
        ucp_cleanup(*context);
        status = make_context(device, CACHE_SIZE, ucp_request_bytes, context);
    }
    return status;
}

/*
 * For transports that register no memory, like TCP, UCX copies device memory to the host. UCP does
 * not say whether a transport that registers memory can register a device's.
 */
enum gr_net_gpus gr_ucx_reaches_gpus(ucp_context_h context)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};

    if (UCS_OK != ucp_context_query(context, &attr) ||
        0 == (attr.memory_types & UCS_BIT(GR_UCX_GPU))) {
        return GR_NET_GPUS_NONE;
    }
    return registers(context) ? GR_NET_GPUS_DIRECT : GR_NET_GPUS_COPIED;
}

static int is_among(char (*names)[GR_NET_DEVICE_BYTES], int n, const char *name)
{
    while (n > 0 && 0 != strcmp(names[n - 1], name)) {
        n--;
    }
    return n > 0;
}

/*
 * Read the devices from a context's description, which has lines as
 *      #      resource 3  :  md 1  dev 3  flags -- tcp/eth1
 * A device has a line for each transport that can use it.
 */
static int find_devices(char *text, char (*names)[GR_NET_DEVICE_BYTES], int n)
{
    char *line, *name, *rest = text;
    int found = 0;

    while (found < n && NULL != (line = strtok_r(rest, "\n", &rest))) {
        name = NULL == strstr(line, " resource ") ? NULL : strrchr(line, '/');
        if (NULL != name && strlen(name + 1) < GR_NET_DEVICE_BYTES &&
            !is_among(names, found, name + 1)) {
            strcpy(names[found++], name + 1);
        }
    }
    return found;
}

/*
 * UCX 1.13 lists what a context can use, restricted by UCX_TLS and UCX_NET_DEVICES, only in its
 * description. The layer below (uct) does not apply these variables.
 */
int gr_ucx_devices(char (*names)[GR_NET_DEVICE_BYTES], int n, int *chosen)
{
    ucp_context_h context;
    char *text;
    int found = 0;

    *chosen = NULL != getenv("UCX_NET_DEVICES");
    if (UCS_OK != make_context(NULL, NULL, 0, &context)) {
        return 0;
    }
    text = describe(context);
    found = NULL == text ? 0 : find_devices(text, names, n);
    free(text);
    ucp_cleanup(context);
    return found;
}
