/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mca_coll_gpuring.so of a bundle. It is linked with no Open MPI. When it is loaded, before
 * Open MPI looks at it, it opens the variant that fits the libmpi of this process, and takes that
 * one's component structure as its own. Such a structure has names, versions and functions only;
 * Open MPI does not write to it.
 */
#define _GNU_SOURCE 1 /* dladdr1() */
#include "bundle/variant.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VISIBLE __attribute__((visibility("default")))

/* room for that of any series: it has 300 bytes in 4.1 */
VISIBLE extern char mca_coll_gpuring_component[2048];
VISIBLE _Alignas(max_align_t) char mca_coll_gpuring_component[2048];

static void say(const char *what, const char *of)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (NULL == rank || 0 == strcmp(rank, "0")) {
        fprintf(stderr, "gpuring: %s%s; gpuring is off: gpuring_abi lists what fits\n", what, of);
    }
}

/* The folder that this file is in, with the variants' folder behind it. */
static bool variants_folder(char *dir, size_t size)
{
    Dl_info info;
    char *slash;

    if (0 == dladdr(mca_coll_gpuring_component, &info) || NULL == info.dli_fname ||
        NULL == realpath(info.dli_fname, dir)) { /* dir has PATH_MAX bytes */
        return false;
    }
    slash = strrchr(dir, '/');
    return NULL != slash && snprintf(slash, size - (size_t) (slash - dir), "/gpuring-variants") <
                                (int) (size - (size_t) (slash - dir));
}

/* Take the component of the variant in that folder. */
static void take(const char *folder)
{
    char path[PATH_MAX + 32];
    const ElfW(Sym) *symbol = NULL;
    void *component = NULL, *variant;
    Dl_info info;

    snprintf(path, sizeof(path), "%s/mca_coll_gpuring.so", folder);
    variant = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (NULL != variant) {
        component = dlsym(variant, "mca_coll_gpuring_component");
    }
    if (NULL == component || 0 == dladdr1(component, &info, (void **) &symbol, RTLD_DL_SYMENT) ||
        NULL == symbol || symbol->st_size > sizeof(mca_coll_gpuring_component)) {
        say("a component of the bundle cannot be loaded: ", NULL == variant ? dlerror() : path);
        return;
    }
    memcpy(mca_coll_gpuring_component, component, symbol->st_size);
}

__attribute__((constructor)) static void choose(void)
{
    static struct gr_variant variants[GR_VARIANTS];
    const struct gr_variant *best;
    char dir[PATH_MAX], text[32];
    void *libmpi = gr_libmpi_loaded();
    int release[3], n;

    if (NULL == libmpi || !variants_folder(dir, sizeof(dir))) {
        return; /* a process without MPI, which something preloaded this into */
    }
    if (!gr_libmpi_release(libmpi, release)) {
        say("this Open MPI does not say its release", "");
        return;
    }
    n = gr_variants_read(dir, libmpi, variants);
    best = gr_variant_choose(variants, n, release);
    if (NULL == best) {
        snprintf(text, sizeof(text), "%d.%d.%d", release[0], release[1], release[2]);
        say("this bundle has no component for Open MPI ", text);
        return;
    }
    take(best->folder); /* one whose sizes differ says so itself, and lets --mca coll gpuring run */
}
