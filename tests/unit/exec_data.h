/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of the executor tests: kinds of elements with their operations written anew, one
 * collective call as a test case, its buffers on a rank, and what must be in them afterwards.
 *
 * All blocks of a case lie in one vector, at their displacements, with gaps where the case has
 * some. Element i of rank r's input is a function of (seed, r, i), so that any rank's data can be
 * made anywhere.
 */
#ifndef GR_TESTS_EXEC_DATA_H
#define GR_TESTS_EXEC_DATA_H

#include "blocks.h"

#include "exec/mailbox.h"
#include "exec/plan.h"
#include "exec/reduce.h"

#define EX_MAX_RANKS 256

enum ex_kind_id {
    EX_I32_SUM, /* wraps */
    EX_I8_SUM,  /* wraps */
    EX_F64_SUM, /* small integers: exact in any order */
    EX_F32_MAX,
    EX_TRIPLE, /* 12 bytes, combined by a function: sum, xor and maximum */
    EX_NEXACT,
    /* other bits in another order; values are checked in one mailbox, EX_MAPS in groups, too: */
    EX_F32_SUM = EX_NEXACT, /* of all magnitudes */
    /* a op b is not b op a, and parentheses count: not for MPI, but it shows any order */
    EX_ORDERED,
    EX_MAPS, /* maps x -> a x + b, one after the other: associative, and does not commute */
    EX_NKINDS
};

struct ex_kind {
    const char *name;
    enum gr_type type;
    enum gr_redop op;
    size_t elem_bytes;
    void (*fill)(void *elem, uint64_t random);
    void (*combine)(void *sum, const void *elem); /* sum = sum op elem */
    gr_reduce_fn fused;                           /* where gr_reduce_find() has none */
};

extern const struct ex_kind ex_kinds[EX_NKINDS];

struct ex_case {
    enum gr_coll coll;
    int algo; /* an enum gr_algo, or GR_ALGO_MAILBOX: the order of reduction is that of the ranks */
    int root;
    struct gr_torus torus; /* that the ranks form; ndims 0: none */
    enum ex_kind_id kind;
    uint32_t nchannels;
    size_t chunk_bytes;
    /* slots take half as much as the plan says: messages of two slots, wants four slots per link */
    int halved;
    size_t count; /* elements of the vector, or of each block where there are no counts */
    int has_counts, has_displs;
    size_t counts[EX_MAX_RANKS], displs[EX_MAX_RANKS];
    int direct;                /* a direct plan */
    size_t direct_bytes;       /* for gr_plan_spec.direct_bytes */
    size_t offered;            /* in a direct plan: for gr_host_op.offered */
    enum gr_protocol protocol; /* on devices; */
    uint32_t threads;          /* for gr_plan_spec.threads */
    int zero_copy;             /* results may go past the slots */
    int in_place;              /* where the collective has an input and an output at that rank */
    uint64_t seed;
};

/* What gr_plan_build() is to be asked for; refers to the case. */
struct gr_plan_spec ex_spec(const struct ex_case *c);

struct gr_reducer ex_reducer(const struct ex_case *c);

/*
 * Elements [begin, begin + n) of the rank's input; and how many there are of its input, in all
 * blocks of the vector.
 */
void ex_fill(const struct ex_case *c, int rank, size_t begin, size_t n, unsigned char *to);
size_t ex_input_begin(const struct ex_case *c, int rank);
size_t ex_input_count(const struct ex_case *c, int p, int rank);

/* The whole vector as it must be at the end; to be freed. */
unsigned char *ex_want(const struct ex_case *c, int p);

struct ex_buffers {
    unsigned char *in, *out; /* NULL where this rank has none, or none of any size */
    unsigned char *tmp;      /* scratch, or NULL */
    unsigned char *in_base, *out_base;
    size_t in_bytes, out_bytes;
};

/* The case as a call through mailboxes; refers to the case. */
struct gr_mailbox_call ex_mail(const struct ex_case *c, const struct ex_buffers *b);

/* Allocate and fill rank's buffers; aborts without memory. */
void ex_buffers_make(struct ex_buffers *b, const struct ex_case *c, int p, int rank);

/* The input of the case, which has another seed than before; the output is as new. */
void ex_buffers_fill(struct ex_buffers *b, const struct ex_case *c, int p, int rank);

/*
 * 0 when the output is as it must be, nothing around it or in its gaps was written, and the input
 * is as it was. Otherwise -1, with the reason.
 */
int ex_buffers_check(const struct ex_buffers *b, const struct ex_case *c, int p, int rank,
                     const unsigned char *want, char *why, size_t size);

/* A hash of the output's bits, continuing `hash`. */
uint64_t ex_buffers_hash(const struct ex_buffers *b, uint64_t hash);

/* Overwrites them first, for those who read them too late. */
void ex_buffers_free(struct ex_buffers *b);

/* A line that says what the case is. */
const char *ex_describe(const struct ex_case *c, int p, char *text, size_t size);

#endif
