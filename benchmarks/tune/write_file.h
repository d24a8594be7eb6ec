/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning files (tune/tune_file.h) as gpuring_tune makes them. */
#ifndef TUNE_WRITE_FILE_H
#define TUNE_WRITE_FILE_H

#include "tune/tune_file.h"

#include <stdio.h>

/* Make unknown what no computer can have. */
void forget_bad(struct gr_machine *m);

/* Write a file. Returns 0, or GR_ERR_SYS. */
int write_tune_file(FILE *f, const struct gr_tune_file *file);

#endif
