/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking for a library as the dynamic linker does (system.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* memmem */
#endif
#include "base/system.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of glibc. The cache has what ldconfig found in other directories. */
#define CACHE "/etc/ld.so.cache"
#define DEFAULT_PATH "/lib64:/usr/lib64:/lib:/usr/lib"

/* Whether one of the directories, with a colon or semicolon between them, has the file. */
static int in_path(const char *path, const char *name)
{
    char file[PATH_MAX];

    while (NULL != path && '\0' != *path) {
        int length = (int) strcspn(path, ":;");

        if (length > 0 &&
            snprintf(file, sizeof(file), "%.*s/%s", length, path, name) < (int) sizeof(file) &&
            0 == access(file, R_OK)) {
            return 1;
        }
        path += length + ('\0' != path[length]);
    }
    return 0;
}

/* Whether the text has the name as a whole string, or as the last part of a path. */
static int in_text(const char *text, size_t bytes, const char *name)
{
    size_t whole = strlen(name) + 1; /* with the zero behind it */
    const char *at = text, *end = text + bytes;

    while (NULL != (at = memmem(at, (size_t) (end - at), name, whole))) {
        if (at > text && ('\0' == at[-1] || '/' == at[-1])) {
            return 1;
        }
        at++;
    }
    return 0;
}

static int in_cache(const char *name)
{
    int fd = open(CACHE, O_RDONLY | O_CLOEXEC), found = 0;
    struct stat status;
    void *text;

    if (fd < 0) {
        return 0;
    }
    if (0 == fstat(fd, &status) && status.st_size > 0) {
        text = mmap(NULL, (size_t) status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (MAP_FAILED != text) {
            found = in_text(text, (size_t) status.st_size, name);
            (void) munmap(text, (size_t) status.st_size);
        }
    }
    (void) close(fd);
    return found;
}

int gr_library_found(const char *name)
{
    return in_path(getenv("LD_LIBRARY_PATH"), name) || in_cache(name) ||
           in_path(DEFAULT_PATH, name);
}
