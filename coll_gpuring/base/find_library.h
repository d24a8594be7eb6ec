/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the dynamic linker would find a shared library. */
#ifndef GR_BASE_FIND_LIBRARY_H
#define GR_BASE_FIND_LIBRARY_H

/*
 * Whether dlopen() would find a library by its name (without a slash): in LD_LIBRARY_PATH, in the
 * linker's cache, or in a default directory. A caller's own paths (RUNPATH) are not searched.
 * Loads nothing. Returns 1 or 0.
 */
int gr_library_found(const char *name);

#endif
