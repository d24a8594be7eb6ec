/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How ranks learn results from each other: plain messages between rank 0 and the others on
 * MPI_COMM_WORLD, so that no result travels by the collectives under test.
 */
#ifndef BENCH_COLLECT_H
#define BENCH_COLLECT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Rank 0 receives bytes (of at most INT_MAX) from every rank, in order of rank, in all; the others
 * may pass NULL for it.
 */
void collect_gather(const void *mine, void *all, size_t bytes);

/* Every rank gets rank 0's data. */
void collect_share(void *data, size_t bytes);

/* On rank 0 the sum over all ranks. */
double collect_sum(double mine);

/* On every rank: whether all ranks passed true. */
bool collect_agree(bool mine);

/*
 * Whether text is empty on every rank; the same answer on every rank. If not, rank 0's becomes the
 * first that is not, behind that rank's number unless it is rank 0's. bytes: the size of text[].
 */
bool collect_complaint(char *text, size_t bytes);

/*
 * A barrier of point-to-point messages (dissemination). MPI_Barrier would be the library's or the
 * component's own; some let ranks go one after the other, the next collective's root first, which
 * hides the latency of its message. With this one all collectives that are compared begin alike.
 */
void collect_begin_together(void);

#endif
