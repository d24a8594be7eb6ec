/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of cases for the executor tests. Parameters that a test does not set are chosen at random.
 */
#ifndef GR_TESTS_EXEC_CASES_H
#define GR_TESTS_EXEC_CASES_H

#include "exec_ranks.h"

/* The collectives that mailboxes have come first. */
enum { EX_MAIL_COLLS = GR_COLL_ALLTOALL + 1 };

struct ex_batch {
    struct ex_case *cases; /* to be freed */
    size_t n, room;
    uint64_t *random;
};

/*
 * Append a case that fits the world, with root, kind, channels, chunk length and data chosen at
 * random. The count is 0, to be set. Valid until the next is added.
 */
struct ex_case *ex_add(struct ex_batch *b, const struct ex_world *w, int algo, enum gr_coll coll);

/*
 * Give the case random counts, some of them zero; with displs: displacements in any order, with
 * gaps.
 */
void ex_make_counts(struct ex_batch *b, struct ex_case *c, int p, size_t slot_elems, int displs);

/*
 * Cut off what does not fit into a mailbox's set of `room` bytes; displacements of what each rank
 * posts become ascending ones.
 */
void ex_fit(struct ex_case *c, int p, size_t room);

/*
 * Make it a direct plan, with messages of random length where no step sends what it did not store.
 */
void ex_make_direct(struct ex_batch *b, const struct ex_world *w, struct ex_case *c);

void ex_shuffle(struct ex_batch *b);

typedef void (*ex_visit_fn)(struct ex_batch *b, const struct ex_world *w, int algo,
                            enum gr_coll coll);

/*
 * Call visit for each way and each collective that it has; mailboxes only among several ranks. Then
 * make what it added fit the way.
 */
void ex_for_each_mode(struct ex_batch *b, const struct ex_world *w, ex_visit_fn visit);

#endif
