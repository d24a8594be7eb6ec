/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that available.h reads. Environment, for tests only: GPURING_BENCH_ROOT is the folder
 * that has proc/ and sys/ in the place of this machine's.
 */
#include "common/available.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 4096 };

/* A limit, what is used of it, and the fields of memory.stat that the kernel can take back. */
static const struct version {
    const char *folder, *limit, *used, *fields[2];
} versions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file", "active_file"}},
    {"/sys/fs/cgroup/memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file", "total_active_file"}},
};

static FILE *open_file(const char *folder, const char *path, const char *name)
{
    const char *root = getenv("GPURING_BENCH_ROOT");
    char full[PATH];
    int length =
        snprintf(full, sizeof full, "%s%s%s/%s", NULL != root ? root : "", folder, path, name);

    return length < (int) sizeof full ? fopen(full, "r") : NULL;
}

/* The number behind `field` in the line that begins with it; without field, the first line's. */
static size_t read_number(FILE *file, const char *field, size_t missing)
{
    char line[256], *end;
    size_t skip = strlen(field), number = missing;

    while (NULL != file && NULL != fgets(line, sizeof line, file)) {
        if (0 == strncmp(line, field, skip) && (0 == skip || strchr(": ", line[skip]))) {
            unsigned long long value = strtoull(line + skip + (skip > 0), &end, 10);
            number = end > line + skip + (skip > 0) ? (size_t) value : missing;
            break;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return number;
}

/* What the group at path, and each above it, leaves. A container may not see its own path. */
static size_t left_by_groups(const struct version *v, char *path)
{
    size_t least = SIZE_MAX;

    while (true) {
        size_t limit = read_number(open_file(v->folder, path, v->limit), "", SIZE_MAX),
               used = read_number(open_file(v->folder, path, v->used), "", 0);
        for (int k = 0; k < 2 && SIZE_MAX != limit; k++) {
            size_t back = read_number(open_file(v->folder, path, "memory.stat"), v->fields[k], 0);
            used = used > back ? used - back : 0;
        }
        if (SIZE_MAX != limit) {
            limit = limit > used ? limit - used : 0;
            least = limit < least ? limit : least;
        }
        if ('\0' == path[0]) {
            return least;
        }
        *strrchr(path, '/') = '\0';
    }
}

size_t available_bytes(void)
{
    size_t kib = read_number(open_file("/proc", "", "meminfo"), "MemAvailable", SIZE_MAX >> 10);
    size_t least = SIZE_MAX >> 10 == kib ? SIZE_MAX : kib << 10, left;
    FILE *groups = open_file("/proc", "/self", "cgroup");
    char line[PATH];

    /* number:controllers:path; version 2 has no controllers */
    while (NULL != groups && NULL != fgets(line, sizeof line, groups)) {
        char *names = strchr(line, ':'), *path = NULL != names ? strchr(names + 1, ':') : NULL;

        if (NULL == path || '/' != path[1]) {
            continue;
        }
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        path[strlen(path) > 1 ? strlen(path) : 0] = '\0'; /* "/" is "" */
        if ('\0' == names[1] || NULL != strstr(names + 1, "memory")) {
            left = left_by_groups(&versions['\0' != names[1]], path);
            least = left < least ? left : least;
        }
    }
    if (NULL != groups) {
        fclose(groups);
    }
    return least;
}
