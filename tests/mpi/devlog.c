/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the reading of the fake driver's log. */
#include "devlog.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

FILE *devlog_open(void)
{
    const char *name = getenv("FAKECUDA_LOG");

    return NULL == name ? NULL : fopen(name, "r");
}

int devlog_allocations(void)
{
    FILE *log;
    char line[256];
    int n = 0;

    tap_sync();
    log = devlog_open();
    while (NULL != log && NULL != fgets(line, sizeof line, log)) {
        n += NULL != strstr(line, " alloc ");
    }
    if (NULL != log) {
        fclose(log);
    }
    tap_sync();
    return n;
}
