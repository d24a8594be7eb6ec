/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the fake driver's log (devlog.h). */
#include "devlog.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Lines "fakecuda: pid PID copy BYTES from KIND to KIND", KIND host or device. */
struct devlog_copies devlog_copies(void)
{
    struct devlog_copies c = {{0}, {0}};
    FILE *log = devlog_open();
    char line[256], from[20], to[20];

    while (NULL != log && NULL != fgets(line, sizeof line, log)) {
        long pid, bytes;
        int way = ELSEWHERE;

        if (4 != sscanf(line, "fakecuda: pid %ld copy %ld from %19s to %19s", &pid, &bytes, from,
                        to) ||
            getpid() != pid) {
            continue;
        }
        if (0 != strcmp(from, to)) {
            way = 0 == strcmp(from, "device") ? TO_HOST : TO_DEVICE;
        }
        c.n[way]++;
        c.bytes[way] += bytes;
    }
    if (NULL != log) {
        fclose(log);
    }
    return c;
}
