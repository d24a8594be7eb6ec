/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages for the user. mpi/log.c prints them. */
#ifndef GR_ENGINE_LOG_H
#define GR_ENGINE_LOG_H

#include <stdbool.h>

/* Print one message of help-coll-gpuring.txt, as one line, from this process. */
void mca_coll_gpuring_warn(const char *topic, ...);

/* Print one line, from this process. */
void mca_coll_gpuring_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Whether a rank prints what all ranks of a communicator know alike, at that level of
 * coll_gpuring_verbose: rank 0 does.
 */
bool mca_coll_gpuring_should_log(int rank, int level);

#endif
