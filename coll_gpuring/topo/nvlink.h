/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The few types, numbers and functions of NVML that are used, as its interface fixes them: its
 * header belongs to the CUDA toolkit and is not always there. Internal to topo/, and for the
 * library that tests put in its place.
 */
#ifndef GR_TOPO_NVLINK_H
#define GR_TOPO_NVLINK_H

/* 0: success; anything else: an error. */
typedef int gr_nvml_return;
typedef struct gr_nvml_device_in_library *gr_nvml_device;

struct gr_nvml_pci {
    char bus_id_short[16];
    unsigned int domain, bus, device;
    unsigned int device_and_vendor, subsystem;
    char bus_id[32];
};

enum { GR_NVML_P2P_NVLINK = 2, GR_NVML_P2P_OK = 0 };
enum { GR_NVML_REMOTE_GPU = 0, GR_NVML_REMOTE_SWITCH = 2 };
enum {
    GR_NVML_INTERNAL = 0,
    GR_NVML_SINGLE = 10,
    GR_NVML_MULTIPLE = 20,
    GR_NVML_HOSTBRIDGE = 30,
    GR_NVML_NODE = 40,
    GR_NVML_SYSTEM = 50
};

/*
 * X(name, arguments); the first three are needed, what a driver lacks of the others is asked of
 * other sources.
 */
#define GR_NVML_FUNCTIONS(X)                                                                      \
    X(nvmlInit_v2, (void) )                                                                       \
    X(nvmlShutdown, (void) )                                                                      \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *bus_id, gr_nvml_device *device))             \
    X(nvmlDeviceGetP2PStatus, (gr_nvml_device a, gr_nvml_device b, int index, int *status))       \
    X(nvmlDeviceGetTopologyCommonAncestor, (gr_nvml_device a, gr_nvml_device b, int *level))      \
    X(nvmlDeviceGetNvLinkState, (gr_nvml_device device, unsigned int link, int *active))          \
    X(nvmlDeviceGetNvLinkRemoteDeviceType, (gr_nvml_device device, unsigned int link, int *type)) \
    X(nvmlDeviceGetNvLinkRemotePciInfo_v2,                                                        \
      (gr_nvml_device device, unsigned int link, struct gr_nvml_pci *pci))

#endif
