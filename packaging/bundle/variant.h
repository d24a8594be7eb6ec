/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of a bundle's components fits an Open MPI. The bundle has one folder for each layout of
 * Open MPI's structures, and in it a file `abi` that gpuring_abi_sizes wrote when the component was
 * built. No header of Open MPI is needed here.
 */
#ifndef GR_BUNDLE_VARIANT_H
#define GR_BUNDLE_VARIANT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { GR_VARIANT_TEXT = 64, GR_VARIANT_CLASSES = 32, GR_VARIANTS = 32 };

/* A component, as its file `abi` describes it, compared with one libmpi. */
struct gr_variant {
    char folder[PATH_MAX];
    char built_for[GR_VARIANT_TEXT]; /* release of Open MPI */
    char layout[GR_VARIANT_TEXT];    /* empty: the series has one */
    int from[3];                     /* the first release of that layout */
    int classes;                     /* how many there are in the file */
    int differ;                      /* how many libmpi has in another size, or lacks */
    bool series;                     /* whether libmpi is of the same series */
};

/* A handle for dlsym(): the libmpi that this process has loaded; NULL: none. */
void *gr_libmpi_loaded(void);

/* libmpi's release, as numbers; false: it is not Open MPI's. */
bool gr_libmpi_release(void *libmpi, int release[3]);

/* The length of that class's objects in libmpi; 0: it has none of that name. */
size_t gr_libmpi_class_size(void *libmpi, const char *name);

/* Read the folders below `dir`, and compare them with libmpi. Returns how many there are. */
int gr_variants_read(const char *dir, void *libmpi, struct gr_variant variants[GR_VARIANTS]);

/*
 * The variant that fits, or else the one of the same series that fits best, whose own guard will
 * say what differs. NULL: there is none for this series.
 */
const struct gr_variant *gr_variant_choose(const struct gr_variant *variants, int n,
                                           const int release[3]);

/* Whether libmpi is as the variant was built for. */
bool gr_variant_fits(const struct gr_variant *variant);

#endif
