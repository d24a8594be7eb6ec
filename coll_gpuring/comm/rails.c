/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rails between nodes: channels on different network devices. Each process says at MPI_Init how
 * many it has (modex.c), a communicator has as many as each of its ranks, and the links of channel
 * c lie on rail c modulo that, at both ends. Only processes that want several ask for them.
 */
#include "comm/comm.h"
#include "comm/net_links.h"
#include "comm/params.h"
#include "comm/runtime.h"

#include "base/errors.h"
#include "net/rails.h"
#include "net/transport.h"

#include <stdio.h>
#include <string.h>

static struct gr_net_rails rails = {.n = 1};

/*
 * The devices that links may use: the transport's, without the interfaces that the user keeps MPI
 * from, unless the user has restricted the transport itself. Returns their number. *left_out: how
 * many interfaces were left out.
 */
static int devices_allowed(const struct gr_transport *transport, char (*names)[GR_NET_DEVICE_BYTES],
                           int *left_out)
{
    bool exclude;
    int chosen, n = transport->devices(names, GR_NET_RAIL_DEVICES, &chosen);
    const char *list = chosen ? NULL : gr_runtime_interfaces(&exclude);

    *left_out = 0;
    return NULL == list ? n : gr_net_confine(names, n, list, exclude, left_out);
}

int gr_rails_confined(const struct gr_transport *transport, char *text, size_t size)
{
    char names[GR_NET_RAIL_DEVICES][GR_NET_DEVICE_BYTES];
    bool exclude;
    int n, k, left_out = 0;

    if (NULL == transport->devices || NULL == gr_runtime_interfaces(&exclude)) {
        return 0;
    }
    n = devices_allowed(transport, names, &left_out);
    if (0 == left_out) {
        return 0;
    }
    text[0] = '\0';
    for (k = 0; k < n; k++) {
        snprintf(text + strlen(text), size - strlen(text), "%s%s", 0 == k ? "" : ",", names[k]);
    }
    return 0 == n ? GR_ERR_NET : 1;
}

int gr_rails_here(void)
{
    char names[GR_NET_RAIL_DEVICES][GR_NET_DEVICE_BYTES], why[256];
    int wanted = (int) gr_settings.params.value[GR_PARAM_NODES_RAILS];
    const struct gr_transport *transport;
    int left_out;

    if (1 == wanted || 0 == gr_settings.priority || 0 == gr_settings.params.value[GR_PARAM_NODES] ||
        GR_TRANSPORT_PML == gr_settings.transport) {
        return 1;
    }
    /* who needs the network says that there is none, and why */
    transport = gr_net_load(NULL, why, sizeof(why));
    if (NULL != transport) {
        gr_net_find_rails(&rails, names, devices_allowed(transport, names, &left_out), "/sys");
    }
    return 0 == wanted || rails.n < wanted ? rails.n : wanted;
}

const char *gr_rail_name(int rail)
{
    return rails.name[rail - 1];
}

void gr_rails_log(const struct gr_comm *comm)
{
    int wanted = (int) comm->params.value[GR_PARAM_NODES_RAILS], k;
    char text[GR_NET_RAILS * (GR_NET_DEVICE_BYTES + 1)] = "", of[32] = "";

    if (1 == wanted || !gr_should_log(comm->rank, 1)) {
        return;
    }
    if (wanted > comm->rails) {
        snprintf(of, sizeof(of), ", of %d wanted", wanted);
    }
    for (k = 1; comm->rails > 1 && k <= comm->rails; k++) {
        strcat(strcat(text, " "), gr_rail_name(k));
    }
    gr_print("gpuring: %s: %d rail%s between nodes%s%s%s", gr_comm_name(comm), comm->rails,
             1 == comm->rails ? "" : "s", of, comm->rails > 1 ? ", here" : "",
             comm->rails > 1 ? text
             : GR_TRANSPORT_PML == gr_settings.transport
                 ? ": Open MPI's messages have one"
                 : ": not all ranks have several equal devices");
}
