/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints what an installed Open MPI is, and which of a bundle's components fits it. Status 0: one
 * fits; 1: none does; 2: there is no libmpi.
 *     gpuring_abi [--libmpi=FILE] [--variants=DIR] [--folder]
 */
#define _GNU_SOURCE 1 /* dlinfo() */
#include "bundle/variant.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "gpuring_abi [--libmpi=FILE] [--variants=DIR] [--folder]\n"
    "Prints what an installed Open MPI is, and which of a bundle's components fits it.\n"
    "  --libmpi=FILE   its libmpi.so (default: the one that programs find)\n"
    "  --variants=DIR  the components (default: ../lib/gpuring/gpuring-variants beside bin/)\n"
    "  --folder        print the folder of the component that fits, nothing else\n"
    "Status 0: one fits. 1: none does. 2: there is no libmpi.\n";

/* ../lib/gpuring/gpuring-variants, seen from this program */
static const char *default_variants(void)
{
    static char dir[PATH_MAX + 64];
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (length < 0) {
        return "";
    }
    self[length] = '\0';
    slash = strrchr(self, '/');
    *slash = '\0';
    snprintf(dir, sizeof(dir), "%s/../lib/gpuring/gpuring-variants", self);
    return dir;
}

static void print_variants(const struct gr_variant *variants, int n, const struct gr_variant *best)
{
    for (int k = 0; k < n; k++) {
        const struct gr_variant *v = &variants[k];
        const char *verdict = "another series";

        if (v->series) {
            verdict = v == best && gr_variant_fits(v) ? "fits"
                      : 0 == v->differ                ? "same sizes"
                                                      : "differs";
        }
        printf("%s %-8s layout %-4s from %d.%d.%d: %s", v == best && gr_variant_fits(v) ? "*" : " ",
               v->built_for, '\0' == v->layout[0] ? "-" : v->layout, v->from[0], v->from[1],
               v->from[2], verdict);
        if (v->series && 0 < v->differ) {
            printf(" in %d of %d structures", v->differ, v->classes);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static const char *const shown[] = {"mca_coll_base_module_t", "ompi_communicator_t",
                                        "ompi_request_t", "ompi_datatype_t", "opal_convertor_t"};
    static struct gr_variant variants[GR_VARIANTS];
    const char *file = "libmpi.so.40", *dir = default_variants();
    const struct gr_variant *best;
    struct link_map *map = NULL;
    bool folder = false;
    int release[3], n;
    void *libmpi;

    for (int k = 1; k < argc; k++) {
        if (0 == strncmp(argv[k], "--libmpi=", 9)) {
            file = argv[k] + 9;
        } else if (0 == strncmp(argv[k], "--variants=", 11)) {
            dir = argv[k] + 11;
        } else if (0 == strcmp(argv[k], "--folder")) {
            folder = true;
        } else {
            bool help = 0 == strcmp(argv[k], "--help") || 0 == strcmp(argv[k], "-h");

            fputs(usage, help ? stdout : stderr);
            return help ? 0 : 2;
        }
    }
    libmpi = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (NULL == libmpi) {
        fprintf(stderr, "gpuring_abi: %s\n", dlerror());
        return 2;
    }
    if (!gr_libmpi_release(libmpi, release)) {
        fprintf(stderr, "gpuring_abi: %s is not Open MPI's\n", file);
        return 2;
    }
    n = gr_variants_read(dir, libmpi, variants);
    best = gr_variant_choose(variants, n, release);
    if (folder) {
        if (NULL == best || !gr_variant_fits(best)) {
            fprintf(stderr, "gpuring_abi: no component in %s fits Open MPI %d.%d.%d\n", dir,
                    release[0], release[1], release[2]);
            return 1;
        }
        puts(best->folder);
        return 0;
    }
    (void) dlinfo(libmpi, RTLD_DI_LINKMAP, &map);
    printf("Open MPI %d.%d.%d, %s\n", release[0], release[1], release[2],
           NULL == map ? file : map->l_name);
    for (size_t k = 0; k < sizeof(shown) / sizeof(shown[0]); k++) {
        printf("    %-24s %4zu bytes\n", shown[k], gr_libmpi_class_size(libmpi, shown[k]));
    }
    printf("components in %s:\n", dir);
    print_variants(variants, n, best);
    if (NULL == best || !gr_variant_fits(best)) {
        printf("none fits: build gpuring with this Open MPI\n");
        return 1;
    }
    return 0;
}
