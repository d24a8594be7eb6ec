/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE 1 /* dl_iterate_phdr() */
#include "bundle/variant.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the beginning of opal_class_t, and where its cls_sizeof is, in all series */
struct opal_class {
    const char *name;
    struct opal_class *parent;
    void *construct, *destruct;
    int initialized, depth;
    void *construct_array, *destruct_array;
    size_t size;
};

static int find_libmpi(struct dl_phdr_info *info, size_t size, void *handle)
{
    const char *name = NULL == info->dlpi_name ? NULL : strrchr(info->dlpi_name, '/');

    (void) size;
    if (NULL == name ||
        (0 != strncmp(name, "/libmpi.so", 10) && 0 != strncmp(name, "/libopen_mpi.so", 15))) {
        return 0;
    }
    /* global, since components of a bundle do not name Open MPI's libraries */
    *(void **) handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    return NULL != *(void **) handle && NULL != dlsym(*(void **) handle, "ompi_mpi_comm_world");
}

void *gr_libmpi_loaded(void)
{
    void *handle = NULL;

    return 0 == dl_iterate_phdr(find_libmpi, &handle) ? NULL : handle;
}

bool gr_libmpi_release(void *libmpi, int release[3])
{
    /* words before the numbers are allowed; MPI's own function is elsewhere where libmpi_abi is */
    const char *version = dlsym(libmpi, "ompi_version_string");

    return NULL != version && 3 == sscanf(version + strcspn(version, "0123456789"), "%d.%d.%d",
                                          &release[0], &release[1], &release[2]);
}

size_t gr_libmpi_class_size(void *libmpi, const char *name)
{
    const struct opal_class *class;
    char symbol[GR_VARIANT_TEXT + 8];

    snprintf(symbol, sizeof(symbol), "%.*s_class", GR_VARIANT_TEXT, name);
    class = dlsym(libmpi, symbol);
    return NULL == class ? 0 : class->size;
}

/* Read a file `abi`; false: it is not there, or does not say what it was built for. */
static bool read_variant(struct gr_variant *v, void *libmpi, const int release[3])
{
    char path[PATH_MAX + 4], line[256], name[GR_VARIANT_TEXT];
    size_t size;
    FILE *file;

    snprintf(path, sizeof(path), "%s/abi", v->folder);
    file = fopen(path, "r");
    if (NULL == file) {
        return false;
    }
    while (NULL != fgets(line, sizeof(line), file)) {
        sscanf(line, "built-for %63s", v->built_for);
        sscanf(line, "layout %63s", v->layout);
        sscanf(line, "from %d.%d.%d", &v->from[0], &v->from[1], &v->from[2]);
        if (2 == sscanf(line, "class %63s %zu", name, &size)) {
            v->classes++;
            v->differ += size != gr_libmpi_class_size(libmpi, name);
        }
    }
    fclose(file);
    v->series = v->from[0] == release[0] && v->from[1] == release[1];
    return '\0' != v->built_for[0] && 0 < v->classes;
}

int gr_variants_read(const char *dir, void *libmpi, struct gr_variant variants[GR_VARIANTS])
{
    DIR *folders = opendir(dir);
    struct dirent *entry;
    int release[3] = {0}, n = 0;

    if (NULL == folders) {
        return 0;
    }
    (void) gr_libmpi_release(libmpi, release);
    while (n < GR_VARIANTS && NULL != (entry = readdir(folders))) {
        struct gr_variant *v = &variants[n];

        if ('.' == entry->d_name[0]) {
            continue;
        }
        memset(v, 0, sizeof(*v));
        if (snprintf(v->folder, sizeof(v->folder), "%s/%s", dir, entry->d_name) <
            (int) sizeof(v->folder)) {
            n += read_variant(v, libmpi, release);
        }
    }
    closedir(folders);
    return n;
}

/* Negative: release a is before b. */
static int compare_releases(const int a[3], const int b[3])
{
    for (int k = 0; k < 3; k++) {
        if (a[k] != b[k]) {
            return a[k] < b[k] ? -1 : 1;
        }
    }
    return 0;
}

const struct gr_variant *gr_variant_choose(const struct gr_variant *variants, int n,
                                           const int release[3])
{
    const struct gr_variant *best = NULL;

    for (int k = 0; k < n; k++) {
        const struct gr_variant *v = &variants[k];

        if (!v->series) {
            continue;
        }
        /* of those that have as many sizes right, the last that libmpi's release may have */
        if (NULL == best || v->differ < best->differ ||
            (v->differ == best->differ && compare_releases(v->from, release) <= 0 &&
             (compare_releases(v->from, best->from) > 0 ||
              compare_releases(best->from, release) > 0))) {
            best = v;
        }
    }
    return best;
}

bool gr_variant_fits(const struct gr_variant *variant)
{
    return variant->series && 0 == variant->differ;
}
