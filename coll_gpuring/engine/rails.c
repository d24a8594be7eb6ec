/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rails between nodes: channels on different network devices. Each process says at MPI_Init how
 * many it has (modex.c), a communicator has as many as each of its ranks, and the links of channel
 * c lie on rail c modulo that, at both ends. Only processes that want several ask for them.
 */
#include "engine/rails.h"

#include "engine/log.h"
#include "engine/net_links.h"
#include "engine/process.h"
#include "engine/comm.h"
#include "engine/params.h"

#include "net/load.h"
#include "net/rails.h"
#include "net/transport.h"

#include <stdio.h>
#include <string.h>

static struct gr_net_rails rails = {.n = 1};

int mca_coll_gpuring_rails_here(void)
{
    char names[GR_NET_RAIL_DEVICES][GR_NET_DEVICE_BYTES], why[256];
    int wanted = (int) gr_settings.params.value[GR_PARAM_NODES_RAILS];
    const struct gr_transport *transport;

    if (1 == wanted || 0 == gr_settings.priority || 0 == gr_settings.params.value[GR_PARAM_NODES] ||
        GR_TRANSPORT_PML == gr_settings.transport) {
        return 1;
    }
    /* who needs the network says that there is none, and why */
    transport = gr_net_load(NULL, why, sizeof(why));
    if (NULL != transport) {
        gr_net_find_rails(&rails, names, transport->devices(names, GR_NET_RAIL_DEVICES), "/sys");
    }
    return 0 == wanted || rails.n < wanted ? rails.n : wanted;
}

const char *mca_coll_gpuring_rail_name(int rail)
{
    return rails.name[rail - 1];
}

void mca_coll_gpuring_rails_log(const struct gr_comm *comm)
{
    int wanted = (int) comm->params.value[GR_PARAM_NODES_RAILS], k;
    char text[GR_NET_RAILS * (GR_NET_DEVICE_BYTES + 1)] = "", of[32] = "";

    if (1 == wanted || !mca_coll_gpuring_should_log(comm->rank, 1)) {
        return;
    }
    if (wanted > comm->rails) {
        snprintf(of, sizeof(of), ", of %d wanted", wanted);
    }
    for (k = 1; comm->rails > 1 && k <= comm->rails; k++) {
        strcat(strcat(text, " "), mca_coll_gpuring_rail_name(k));
    }
    mca_coll_gpuring_print(
        "gpuring: %s: %d rail%s between nodes%s%s%s", gr_comm_name(comm), comm->rails,
        1 == comm->rails ? "" : "s", of, comm->rails > 1 ? ", here" : "",
        comm->rails > 1                             ? text
        : GR_TRANSPORT_PML == gr_settings.transport ? ": Open MPI's messages have one"
                                                    : ": not all ranks have several equal devices");
}
