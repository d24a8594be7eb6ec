/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns how ranks tell each other about results: by plain messages between rank 0 and the others on
 * MPI_COMM_WORLD, so that no verdict travels by the collectives that are under test. */
#ifndef BENCH_COLLECT_H
#define BENCH_COLLECT_H

#include <stdbool.h>
#include <stddef.h>

/* Rank 0 receives bytes (of at most INT_MAX) from every rank, in order of rank, in all; the others
 * may pass NULL for it. */
void collect_gather(const void *mine, void *all, size_t bytes);

/* Every rank gets rank 0's data. */
void collect_share(void *data, size_t bytes);

/* The same answer on every rank: did all of them say true? */
bool collect_agree(bool mine);

/*
 * Is text empty on every rank? If not, rank 0's becomes the first that is not, with that rank's
 * number in front unless it is rank 0's. The same answer on every rank; bytes is what text has room
 * for.
 */
bool collect_complaint(char *text, size_t bytes);

/*
 * A barrier of point-to-point messages (dissemination), and not MPI_Barrier: that is the library's
 * or component's own, and some let ranks go one after the other, the next collective's root first,
 * which hides the way of its message from that collective's time. Compared are collectives, so all
 * begin alike.
 */
void collect_begin_together(void);

#endif
