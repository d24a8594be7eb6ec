/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine that the fake NVML of fake_nvml.c reports. */
#ifndef GR_TESTS_FAKE_NVML_H
#define GR_TESTS_FAKE_NVML_H

#include "topo/gpus.h"
#include "topo/nvml.h"

enum { FAKE_MOST = 16, FAKE_SWITCH_BUS = 0xf0 };

struct fake_gpu {
    struct gr_pci_address address;
    int hidden;       /* NVML has no handle for it */
    int switch_links; /* NVLinks into switches */
    int partition;    /* switches join devices of one partition only */
};

struct fake_machine {
    int n;
    struct fake_gpu gpu[FAKE_MOST];
    int links[FAKE_MOST][FAKE_MOST]; /* NVLinks straight from one to the other */
    int level[FAKE_MOST][FAKE_MOST]; /* GR_NVML_INTERNAL .. GR_NVML_SYSTEM; -1: an error */
    int broken;                      /* nvmlInit fails */
    int no_status;                   /* nvmlDeviceGetP2PStatus fails */
    int starts, stops;               /* calls that came */
    /* calls before the start or after the stop, with a wrong handle or number */
    int wrong;
};

/* The library's only name that NVML does not have: its machine, to be filled in. */
struct fake_machine *fake_nvml_machine(void);

#endif
