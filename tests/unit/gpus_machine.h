/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine that the fake NVML reports, as the tests of device distances describe it.
 */
#ifndef GR_TESTS_GPUS_MACHINE_H
#define GR_TESTS_GPUS_MACHINE_H

#include "fake_nvml.h"
#include "gpus_test.h"

#include <dlfcn.h>

/* A library without NVML's functions, and none. */
#define NO_NVML "libc.so.6"
#define NO_LIBRARY "/nonexistent/libnvidia-ml.so.1"

static struct fake_machine *machine;

static inline struct fake_machine *open_fake(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *at;
    struct fake_machine *(*tell)(void);

    if (NULL == library) {
        print_error("%s\n", dlerror());
        exit(99);
    }
    at = dlsym(library, "fake_nvml_machine");
    memcpy(&tell, &at, sizeof(tell));
    return tell();
}

/* n devices whose addresses ascend, with a host bridge between any two. */
static inline void describe(int n)
{
    int k, m;

    memset(machine, 0, sizeof(*machine));
    machine->n = n;
    for (k = 0; k < n; k++) {
        machine->gpu[k].address = (struct gr_pci_address) {0xffff0, (uint32_t) (0x10 + 8 * k), 3};
        for (m = 0; m < n; m++) {
            machine->level[k][m] = GR_NVML_HOSTBRIDGE;
        }
    }
}

static inline void link_up(int a, int b, int links)
{
    machine->links[a][b] = machine->links[b][a] = links;
}

#endif
