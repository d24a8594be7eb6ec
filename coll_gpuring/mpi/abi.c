/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the Open MPI that loads the component is the one that it was built for. */
#include "mpi/abi.h"

#include "ompi/runtime/mpiruntime.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The ABI guard. Structures have changed between releases that claim the same interface version. So
 * the sizes of those that are part of ours, or whose fields are used here, are compared with what
 * libmpi itself says. A structure that has changed and kept its size is not found.
 */
#define CLASS(type) {#type, sizeof(type), &type##_class},
static const struct {
    const char *name;
    size_t built;
    const opal_class_t *loaded;
} classes[] = {GR_ABI_CLASSES(CLASS)};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]) };

/*
 * Releases of the series 5.0 that have the same structures. In a row are pointers that these two
 * structures have more than in layout A; all others are alike.
 */
static const struct layout {
    const char *name, *releases;
    int first;        /* release */
    int module;       /* in mca_coll_base_module_t */
    int communicator; /* in ompi_communicator_t */
} layouts[] = {
    {"A", "5.0.0 to 5.0.6", 0, 0, 0},
    {"B", "5.0.7 to 5.0.9", 7, 0, 1},    /* c_index_vec */
    {"C", "5.0.10 and later", 10, 1, 1}, /* coll_revoke_local */
};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

/* The layout that this was built for; NULL: it was built for another series. */
static const struct layout *layout_built(void)
{
    for (int k = 0; k < LAYOUTS; k++) {
        if (0 == strcmp(layouts[k].name, GR_LAYOUT)) {
            return &layouts[k];
        }
    }
    return NULL;
}

/* The layout of a release of the series 5.0. */
static const struct layout *layout_of(int release)
{
    int k = 0;

    while (k + 1 < LAYOUTS && release >= layouts[k + 1].first) {
        k++;
    }
    return &layouts[k];
}

/*
 * Bytes by which a size that has grown by so many pointers differs from what they take: padding.
 * Negative: it has not grown so.
 */
static long padding_of(size_t built, size_t loaded, int pointers)
{
    long grown = (long) loaded - (long) built;
    long padding = labs(grown - pointers * (long) sizeof(void *));

    return padding <= (0 == pointers ? 0 : (long) sizeof(void *)) ? padding : -1;
}

/* The layout whose sizes libmpi has, by all classes, with the least padding; NULL: none. */
static const struct layout *layout_of_sizes(const struct layout *built)
{
    const struct layout *best = NULL;
    long least = LONG_MAX;

    for (int k = 0; k < LAYOUTS; k++) {
        long sum = 0;
        int i;

        for (i = 0; i < CLASSES; i++) {
            int pointers = 0;
            long padding;

            if (0 == strcmp(classes[i].name, "mca_coll_base_module_t")) {
                pointers = layouts[k].module - built->module;
            } else if (0 == strcmp(classes[i].name, "ompi_communicator_t")) {
                pointers = layouts[k].communicator - built->communicator;
            }
            padding = padding_of(classes[i].built, classes[i].loaded->cls_sizeof, pointers);
            if (padding < 0) {
                break;
            }
            sum += padding;
        }
        if (CLASSES == i && sum < least) {
            least = sum;
            best = &layouts[k];
        }
    }
    return best;
}

/* The class whose size differs; -1: none. */
static int class_that_differs(void)
{
    for (int k = 0; k < CLASSES; k++) {
        if (classes[k].built != classes[k].loaded->cls_sizeof) {
            return k;
        }
    }
    return -1;
}

static enum gr_abi compare(char *why, size_t size)
{
    const struct layout *built = layout_built(), *loaded = built;
    /* by default its release; an administrator may have put words before it. MPI functions do not
       tell: with Open MPI 6.0 a process has those of libmpi or those of libmpi_abi. */
    const char *version = ompi_version_string + strcspn(ompi_version_string, "0123456789");
    int numbers[2][3] = {{0}}, other = class_that_differs();
    enum gr_abi differs = GR_ABI_OTHER;

    /* a libmpi that does not say its version is judged by its sizes */
    if (3 == sscanf(GR_BUILT_FOR, "%d.%d.%d", &numbers[0][0], &numbers[0][1], &numbers[0][2]) &&
        3 == sscanf(version, "%d.%d.%d", &numbers[1][0], &numbers[1][1], &numbers[1][2])) {
        if (numbers[0][0] != numbers[1][0] || numbers[0][1] != numbers[1][1]) {
            snprintf(why, size, "Open MPI v%.100s", version);
            return GR_ABI_OTHER;
        }
        differs = GR_ABI_LAYOUT;
        loaded = NULL == built ? NULL : layout_of(numbers[1][2]);
    }
    if (NULL != built && 0 <= other) {
        loaded = layout_of_sizes(built);
    }
    if (loaded != built && NULL != loaded) {
        snprintf(why, size, "this libmpi has layout %s, of %s; the component has layout %s, of %s",
                 loaded->name, loaded->releases, built->name, built->releases);
        return differs;
    }
    if (0 <= other) {
        snprintf(why, size, "%s: %zu bytes built, %zu loaded", classes[other].name,
                 classes[other].built, classes[other].loaded->cls_sizeof);
        return differs;
    }
    return GR_ABI_FITS;
}

/*
 * The rank that the launcher has given to this process, by the environment: Open MPI's own structure
 * of it may have another layout.
 */
static const char *rank_text(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    rank = NULL == rank ? getenv("PMIX_RANK") : rank;
    return NULL == rank ? "0" : rank;
}

enum gr_abi mca_coll_gpuring_abi(void)
{
    static bool said;
    char why[192];
    enum gr_abi abi = compare(why, sizeof(why));

    if (GR_ABI_FITS != abi && !said && 0 == strcmp(rank_text(), "0")) {
        said = true;
        fprintf(stderr,
                "gpuring: built for Open MPI %s, loaded by another (%s); gpuring is off. "
                "Rebuild it with this Open MPI: configure --with-ompi=DIR; or take the variant of "
                "gpuring's bundle that gpuring_abi names\n",
                GR_BUILT_FOR, why);
    }
    return abi;
}
