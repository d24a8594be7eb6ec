/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake libnvidia-ml.so.1. It reports the machine that a test describes (fake_nvml.h), and counts
 * calls. With FAKE_OLD it is an old version, without the functions for NVSwitches and peer-to-peer
 * status.
 */
#include "fake_nvml.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, UNKNOWN = 999 };
enum { SWITCH_DOMAIN = 0 };

static struct fake_machine machine;

/*
 * FAKENVML_BUSSES=1,2,...: devices on these buses, each two joined by four NVLinks; for whoever
 * does not describe it.
 */
__attribute__((constructor)) static void describe(void)
{
    const char *at = getenv("FAKENVML_BUSSES");
    char *end;
    int k, m;

    while (NULL != at && machine.n < FAKE_MOST) {
        machine.gpu[machine.n++].address.bus = (uint32_t) strtoul(at, &end, 10);
        at = ',' == *end ? end + 1 : NULL;
    }
    for (k = 0; k < machine.n; k++) {
        for (m = 0; m < machine.n; m++) {
            machine.links[k][m] = k != m ? 4 : 0;
            machine.level[k][m] = -1;
        }
    }
}

EXPORTED struct fake_machine *fake_nvml_machine(void)
{
    return &machine;
}

/* Declared before they are defined, as NVML's header does. */
#define DECLARE(name, arguments) EXPORTED gr_nvml_return name arguments;
GR_NVML_FUNCTIONS(DECLARE)
#undef DECLARE

gr_nvml_return nvmlInit_v2(void)
{
    if (machine.broken) {
        return UNKNOWN;
    }
    machine.starts++;
    return SUCCESS;
}

gr_nvml_return nvmlShutdown(void)
{
    machine.stops++;
    machine.wrong += machine.stops > machine.starts;
    return SUCCESS;
}

/* For others than gpuring: UCX's CUDA module looks for it. */
EXPORTED const char *nvmlErrorString(gr_nvml_return result);
const char *nvmlErrorString(gr_nvml_return result)
{
    return SUCCESS == result ? "The operation was successful" : "An error has occurred";
}

/* The device's number, or -1. */
static int number_of(gr_nvml_device device)
{
    struct fake_gpu *gpu = (struct fake_gpu *) (void *) device;

    if (machine.starts == machine.stops || gpu < machine.gpu || gpu >= machine.gpu + machine.n ||
        gpu->hidden) {
        machine.wrong++;
        return -1;
    }
    return (int) (gpu - machine.gpu);
}

gr_nvml_return nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, gr_nvml_device *device)
{
    char name[32];
    int k;

    machine.wrong += machine.starts == machine.stops;
    for (k = 0; k < machine.n; k++) {
        const struct gr_pci_address *at = &machine.gpu[k].address;

        snprintf(name, sizeof(name), "%08X:%02X:%02X.0", at->domain, at->bus, at->device);
        if (0 == strcmp(name, bus_id) && !machine.gpu[k].hidden) {
            *device = (gr_nvml_device) (void *) &machine.gpu[k];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

gr_nvml_return nvmlDeviceGetTopologyCommonAncestor(gr_nvml_device a, gr_nvml_device b, int *level)
{
    int x = number_of(a), y = number_of(b);

    if (x < 0 || y < 0) {
        return INVALID_ARGUMENT;
    }
    if (machine.level[x][y] < 0) {
        return NOT_SUPPORTED;
    }
    *level = machine.level[x][y];
    return SUCCESS;
}

/*
 * Where a link of a device ends: another device's number, machine.n for a switch, -1: there is no
 * such link.
 */
static int end_of(gr_nvml_device device, unsigned int link)
{
    int k = number_of(device), left = (int) link, other;

    if (k < 0 || link >= 18) {
        machine.wrong++;
        return -1;
    }
    for (other = 0; other < machine.n; left -= machine.links[k][other], other++) {
        if (left < machine.links[k][other]) {
            return other;
        }
    }
    return left < machine.gpu[k].switch_links ? machine.n : -1;
}

gr_nvml_return nvmlDeviceGetNvLinkState(gr_nvml_device device, unsigned int link, int *active)
{
    *active = end_of(device, link) >= 0;
    return SUCCESS;
}

gr_nvml_return nvmlDeviceGetNvLinkRemotePciInfo_v2(gr_nvml_device device, unsigned int link,
                                                   struct gr_nvml_pci *pci)
{
    int end = end_of(device, link);
    struct gr_pci_address at = {SWITCH_DOMAIN, FAKE_SWITCH_BUS, 0};

    if (end < 0) {
        return INVALID_ARGUMENT;
    }
    if (end < machine.n) {
        at = machine.gpu[end].address;
    }
    memset(pci, 0, sizeof(*pci));
    pci->domain = at.domain;
    pci->bus = at.bus;
    pci->device = at.device;
    snprintf(pci->bus_id_short, sizeof(pci->bus_id_short), "%04X:%02X:%02X.0", at.domain & 0xffff,
             at.bus & 0xff, at.device & 0x1f);
    snprintf(pci->bus_id, sizeof(pci->bus_id), "%08X:%02X:%02X.0", at.domain, at.bus & 0xff,
             at.device & 0x1f);
    return SUCCESS;
}

#if !defined(FAKE_OLD)

gr_nvml_return nvmlDeviceGetNvLinkRemoteDeviceType(gr_nvml_device device, unsigned int link,
                                                   int *type)
{
    int end = end_of(device, link);

    if (end < 0) {
        return INVALID_ARGUMENT;
    }
    *type = end == machine.n ? GR_NVML_REMOTE_SWITCH : GR_NVML_REMOTE_GPU;
    return SUCCESS;
}

gr_nvml_return nvmlDeviceGetP2PStatus(gr_nvml_device a, gr_nvml_device b, int index, int *status)
{
    int x = number_of(a), y = number_of(b), switched;

    if (x < 0 || y < 0 || GR_NVML_P2P_NVLINK != index) {
        machine.wrong++;
        return INVALID_ARGUMENT;
    }
    if (machine.no_status) {
        return NOT_SUPPORTED;
    }
    switched = machine.gpu[x].switch_links > 0 && machine.gpu[y].switch_links > 0 &&
               machine.gpu[x].partition == machine.gpu[y].partition;
    *status = machine.links[x][y] > 0 || switched ? GR_NVML_P2P_OK : 5;
    return SUCCESS;
}

#endif
