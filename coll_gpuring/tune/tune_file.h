/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning files: constants that gpuring_tune measured, and on what kind of machine. A line is
 * "name = value", or a comment that begins with '#'. The first entry is the format's number:
 *
 *      gpuring_tune = 1
 *      processor = AMD EPYC 9B14 96-Core Processor
 *      processors = 2 (socket 2, numa 2, cache 2, core 1; caches 1024K 32768K)
 *      kernel = Linux 6.18
 *      date = 2026-11-26
 *      version = 0.9.0
 *      cache.exchange = 0.112
 *      cache.slots = 10.2 11.3 9.871 8.012
 *      device = NVIDIA H100 80GB HBM3
 *      nvlink.device_step = 3.1
 *
 * A constant is RELATION.NAME (tune/constants.h, tune/machine.h); those that are not there are
 * measured or built in as without the file. processor, processors and kernel must be those of the
 * machine on which the file is used; date and version are for people. The constants of a file that
 * are of devices hold for devices of the model `device`, which the file must name then.
 */
#ifndef GR_TUNE_FILE_H
#define GR_TUNE_FILE_H

#include "tune/constants.h"

#include <stddef.h>

#define GR_TUNE_FILE_FORMAT "1"

/* What a file is made on and for, as text; empty: not known. */
struct gr_machine_kind {
    char processor[96];   /* its model */
    char processors[128]; /* how many, and how many of them share what; sizes of caches */
    char kernel[48];      /* name, and release to the second number */
};

/*
 * The kind of this machine. root: "", or a folder with proc/ and sys/ in tests. Reads a few short
 * files; processors that this process must not use count, too.
 */
void gr_machine_kind_find(const char *root, struct gr_machine_kind *kind);

/* Name of the file for a kind of machine, without folder. Returns buf. */
const char *gr_tune_file_name(const struct gr_machine_kind *kind, char *buf, size_t size);

struct gr_tune_file {
    struct gr_machine_kind kind;
    char date[32];    /* when it was made */
    char version[32]; /* by which gpuring */
    struct gr_constants constants;
};

/*
 * Read a file. Returns 0; GR_ERR_SYS, errno says why; or GR_ERR_NOT_SUPPORTED with a reason in why:
 * it is no tuning file as above, or not made on `kind`. Of devices it knows nothing.
 */
int gr_tune_file_read(const char *path, const struct gr_machine_kind *kind,
                      struct gr_tune_file *file, char *why, size_t size);

#endif
