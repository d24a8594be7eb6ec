/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts of UCX, over all devices or one, and which devices there are. */
#include "ucx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ucs_status_t gr_ucx_context(const char *device, size_t request_bytes, ucp_context_h *context)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_REQUEST_SIZE | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_AM,
        .request_size = request_bytes,
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
    if (UCS_OK == status) {
        status = ucp_init(&params, config, context);
    }
    ucp_config_release(config);
    return status;
}

int gr_ucx_reaches_gpus(ucp_context_h context)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};

    return UCS_OK == ucp_context_query(context, &attr) && 0 != (attr.memory_types & UCS_BIT(GR_UCX_GPU));
}

static int is_among(char (*names)[GR_NET_DEVICE_BYTES], int n, const char *name)
{
    while (n > 0 && 0 != strcmp(names[n - 1], name)) {
        n--;
    }
    return n > 0;
}

/* Devices of a context's description, in lines as
 *      #      resource 3  :  md 1  dev 3  flags -- tcp/eth1
 * A device has one for each transport that can use it. */
static int find_devices(char *text, char (*names)[GR_NET_DEVICE_BYTES], int n)
{
    char *line, *name, *rest = text;
    int found = 0;

    while (found < n && NULL != (line = strtok_r(rest, "\n", &rest))) {
        name = NULL == strstr(line, " resource ") ? NULL : strrchr(line, '/');
        if (NULL != name && strlen(name + 1) < GR_NET_DEVICE_BYTES && !is_among(names, found, name + 1)) {
            strcpy(names[found++], name + 1);
        }
    }
    return found;
}

/*
 * UCX 1.13 lists what a context may use, after UCX_TLS and UCX_NET_DEVICES, in no other way than in its description. To ask
 * the layer below (uct) would be to read these variables once more, with patterns and names of groups.
 */
int gr_ucx_devices(char (*names)[GR_NET_DEVICE_BYTES], int n)
{
    ucp_context_h context;
    char *text = NULL;
    size_t size;
    FILE *f;
    int found = 0;

    if (UCS_OK != gr_ucx_context(NULL, 0, &context)) {
        return 0;
    }
    f = open_memstream(&text, &size);
    if (NULL != f) {
        ucp_context_print_info(context, f);
        fclose(f);
        found = NULL == text ? 0 : find_devices(text, names, n);
    }
    free(text);
    ucp_cleanup(context);
    return found;
}
