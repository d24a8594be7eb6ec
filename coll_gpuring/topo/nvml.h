/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The types, constants and functions of NVML that gpuring uses, as NVML's ABI defines them. NVML's
 * own header comes with the CUDA toolkit, which a build does not need. Internal to topo/ and the
 * tests' fake NVML.
 */
#ifndef GR_TOPO_NVML_H
#define GR_TOPO_NVML_H

/* 0: success; other values: errors. */
typedef int gr_nvml_return;

/* A handle of NVML. */
typedef struct gr_nvml_device_in_library *gr_nvml_device;

/* nvmlPciInfo_t */
struct gr_nvml_pci {
    char bus_id_short[16];
    unsigned int domain, bus, device;
    unsigned int device_and_vendor, subsystem;
    char bus_id[32];
};

/* nvmlGpuP2PCapsIndex_t and nvmlGpuP2PStatus_t */
enum { GR_NVML_P2P_NVLINK = 2, GR_NVML_P2P_OK = 0 };

/* nvmlIntNvLinkDeviceType_t */
enum { GR_NVML_REMOTE_GPU = 0, GR_NVML_REMOTE_SWITCH = 2 };

/* nvmlGpuTopologyLevel_t */
enum {
    GR_NVML_INTERNAL = 0,
    GR_NVML_SINGLE = 10,
    GR_NVML_MULTIPLE = 20,
    GR_NVML_HOSTBRIDGE = 30,
    GR_NVML_NODE = 40,
    GR_NVML_SYSTEM = 50
};

/*
 * X(name, arguments) for each function. The first three are required. Where a driver lacks one of
 * the others, distances come from other sources.
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
