/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads /proc/self (usage.h). */
#include "usage.h"

#include <dirent.h>
#include <stdio.h>

static void read_status(struct usage *u)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];

    while (f && fgets(line, sizeof line, f)) {
        (void) (1 == sscanf(line, "VmRSS: %ld", &u->rss_kib) ||
                1 == sscanf(line, "RssShmem: %ld", &u->shmem_kib));
    }
    if (f) {
        fclose(f);
    }
}

static long count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    long n = -3; /* ".", "..", and the directory itself */

    while (d && readdir(d)) {
        n++;
    }
    if (d) {
        closedir(d);
    }
    return n;
}

static long count_maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    long n = 0;
    int c;

    while (f && EOF != (c = getc(f))) {
        n += '\n' == c;
    }
    if (f) {
        fclose(f);
    }
    return n;
}

struct usage usage_now(void)
{
    struct usage u = {0, 0, 0, 0};

    read_status(&u);
    u.fds = count_fds();
    u.maps = count_maps();
    return u;
}
