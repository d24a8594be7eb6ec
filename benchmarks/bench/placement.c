/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of memory of placement.h. */
#include "placement.h"
#include "common/device.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    const struct memory *memory;
    bool driver;    /* needs a CUDA driver */
    bool on_device; /* data are on the device, at least at first */
} kinds[DEVICE_KINDS] = {
    [DEVICE_HOST] = {&memory_host, false, false},
    [DEVICE_CUDA] = {&memory_cuda, true, true},
    [DEVICE_MANAGED] = {&memory_managed, true, true},
    [DEVICE_PINNED] = {&memory_pinned, true, false},
};

static int launched_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");

    return NULL != text ? atoi(text) : 0;
}

void placement_open(const struct options *o, char *error)
{
    enum device_kind kind = options_device_of(o, launched_rank());
    char why[DEVICE_ERROR_CHARS];

    error[0] = '\0';
    if (kinds[kind].driver && device_open(device_local_rank(), why) < 0) {
        snprintf(error, CLI_ERROR_CHARS, "-d: '%s' %.470s; allowed: host",
                 options_device_name(kind), why);
    }
}

void placement_check(const struct options *o, int rank, char *error)
{
    if ('\0' == error[0] && options_device_of(o, rank) != options_device_of(o, launched_rank())) {
        snprintf(error, CLI_ERROR_CHARS,
                 "-d: '%.100s': the launcher sets no OMPI_COMM_WORLD_RANK; allowed: one kind for "
                 "all ranks",
                 o->device_text);
    }
}

void placement_close(void)
{
    device_close();
}

const struct memory *placement_memory(const struct options *o, int rank)
{
    return kinds[options_device_of(o, rank)].memory;
}

bool placement_on_device(const struct options *o, int ranks)
{
    int r = 0;

    while (r < ranks && DEVICE_CUDA != options_device_of(o, r)) {
        r++;
    }
    return r < ranks;
}

enum link_copies placement_copies(const struct options *o, int ranks)
{
    int on_device = 0;

    for (int r = 0; r < ranks; r++) {
        on_device += kinds[options_device_of(o, r)].on_device;
    }
    return 0 == on_device ? LINK_HOST : ranks == on_device ? LINK_DEVICE : LINK_MIXED;
}
