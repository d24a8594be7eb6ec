/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module is linked with UCX and loaded by name. The component itself must load where there is
 * no UCX. A module, other than functions looked up by name, shows the linker and package tools
 * which libraries and symbol versions it needs, and can be packaged separately.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dladdr() */
#endif
#include "net/transport.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MODULE "gpuring_net_ucx.so"

/* The folder that this code was loaded from, with a slash at its end; or "". */
static void own_directory(char *path, size_t size)
{
    Dl_info info;
    char *slash = NULL;

    path[0] = '\0';
    if (0 != dladdr((const void *) own_directory, &info) && NULL != info.dli_fname) {
        snprintf(path, size, "%s", info.dli_fname);
        slash = strrchr(path, '/');
    }
    path[NULL == slash ? 0 : slash + 1 - path] = '\0';
}

const struct gr_transport *gr_net_load(const char *dir, char *why, size_t size)
{
    char path[PATH_MAX];
    const struct gr_transport *t;
    void *module;
    size_t used;

    if (NULL == dir) {
        own_directory(path, sizeof(path));
    } else {
        snprintf(path, sizeof(path), "%s/", dir);
    }
    used = strlen(path);
    snprintf(path + used, sizeof(path) - used, "%s", MODULE);
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (NULL == module) {
        snprintf(why, size, "%s", dlerror());
        return NULL;
    }
    t = dlsym(module, "gr_transport_ucx");
    if (NULL == t || GR_TRANSPORT_VERSION != t->version) {
        snprintf(why, size, "%s is of another version of gpuring", path);
        dlclose(module);
        return NULL;
    }
    return t; /* the module stays loaded */
}
