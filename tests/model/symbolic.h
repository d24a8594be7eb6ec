/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The symbolic checker: runs all p ranks of a schedule in one process, on the stepper, with
 * values in the place of data. This file owns its vocabulary.
 *
 *      a case --> sym_run() --> SYM_OK, or the first check that failed; sym.why says where
 *
 * An element of a buffer is a value: whose contributions are in it, a hash of the expression that
 * made it (so also of the order of reduction), which element of the vector it is, and whether it
 * was written at all. Memory starts as poison. Links are FIFOs of a bounded number of slots, one
 * for each (channel, ordered pair).
 *
 * symbolic_backend.c   values, links, and struct gr_backend on them: checks while data move
 * symbolic_from_buffers.c  messages that are not in slots, but still where their sender has them
 * symbolic_run.c       sets a case up, runs the ranks in some order of scheduling, checks the end
 * symbolic_trees.c     a check of double trees on the trace of a run
 * symbolic_expect.c    what MPI and the algorithms' stated orders of reduction say each rank must
 *                      end up with
 */
#ifndef GR_TESTS_SYMBOLIC_H
#define GR_TESTS_SYMBOLIC_H

#include "link/fifo.h" /* GR_DIRECT_PIECES */
#include "exec/stepper.h"

#if !defined(SYM_MAX_RANKS)
#define SYM_MAX_RANKS 256
#endif

struct sym_value {
    uint64_t ranks[SYM_MAX_RANKS / 64]; /* bit set of the contributing ranks */
    uint64_t hash;                      /* of the expression, operands in order */
    int32_t elem;                       /* which element of the vector */
    int16_t valid;                      /* 0: poison */
    int16_t final;                      /* 1: stored, or sent, with GR_FINAL */
};

/* The checks. SYM_OK is 0; the others name what was found. */
enum sym_check {
    SYM_OK,
    SYM_MALFORMED,    /* a step whose bits and links contradict each other */
    SYM_PEER,         /* a link that gr_sched_peers() does not list */
    SYM_READ_OUTSIDE, /* read where the rank has no buffer */
    SYM_POISON,       /* read of memory that nobody wrote */
    SYM_ELEMENT,      /* values of different elements combined, or a result at the wrong place */
    SYM_TWICE,        /* a contribution added to a sum that has it already */
    SYM_WROTE_INPUT,
    SYM_WROTE_OUTSIDE, /* written where the rank has no buffer, or between the blocks */
    SYM_MESSAGE,       /* sender and receiver disagree about a message's size */
    SYM_TICK_CAUSE,    /* taken in a tick that is not after the one in which it was sent */
    SYM_TICK_CLASH,    /* two messages on one link in one tick, or ticks running backwards */
    SYM_DEADLOCK,
    SYM_UNREAD,    /* data left in a link */
    SYM_UNWRITTEN, /* a result that was never written */
    SYM_MISSING,   /* a result that lacks contributions, or has others' */
    SYM_ORDER,     /* the right contributions in another order of reduction than stated */
    SYM_FINAL,     /* GR_FINAL where it is not true, or missing */
    /*
     * overwrites what it has sent and others have not taken yet, which is not said of the algorithm
     */
    SYM_OVERWRITTEN,
    SYM_STORES, /* an output element stored more than once where once is enough */
    SYM_IDLE,   /* links of a tree that do not carry data both ways in the steady state */
    SYM_NCHECKS
};

/* Who runs next. All but SYM_ROUND run one channel at a time. */
enum sym_policy {
    SYM_ROUND,   /* one rank after the other, each as far as it goes */
    SYM_LOWEST,  /* always the lowest rank that can do something */
    SYM_HIGHEST, /* always the highest */
    SYM_RANDOM,  /* anyone, for a few slots (seeded) */
    SYM_NPOLICIES
};

enum sym_order { SYM_IDENTITY, SYM_REVERSED, SYM_SHUFFLED, SYM_NORDERS };

struct sym_case {
    enum gr_algo algo;
    enum gr_coll coll;
    int p;
    struct gr_torus torus; /* for algorithms along it; these take no order */
    /* a rank; 0 where the collective has none. Of an allreduce: the top of the tree or star */
    int root;
    uint32_t nchannels;
    /* of channel 0; where not the identity, channel c takes number (order + c) % SYM_NORDERS */
    enum sym_order order;
    uint32_t slots; /* of each link */
    size_t slot_elems, chunk_elems, align;
    size_t total;          /* elements; or, for allgather and reduce_scatter: */
    size_t block;          /* elements of each rank, or */
    const size_t *counts;  /* elements of rank r */
    const size_t *displs;  /* where they lie in the vector, NULL: one after the other */
    uint32_t slice_chunks; /* struct gr_split */
    int in_place;
    int zero_copy; /* results are in the receiver's output as soon as they are sent */
    /*
     * messages lie in their sender's buffers until they are taken, though the algorithm overwrites
     * what it has sent; where it does not they do, unless zero_copy is set
     */
    int from_buffers;
    enum sym_policy policy;
    uint64_t seed; /* of SYM_SHUFFLED and SYM_RANDOM */
};

struct sym_link {
    int from, to;
    uint32_t channel;
    uint64_t head, tail;         /* slots read and written */
    size_t elems;                /* sent */
    uint64_t sent[2][2];         /* slots sent, by tree and direction (0 up, 1 down) */
    int64_t tick[2];             /* of the last message, by tree; -1: none in this slice */
    uint32_t slice[2], index[2]; /* its sender's slice and step */
};

/* A message on its way, as it was sent. */
struct sym_slot {
    size_t count;
    uint32_t tick;
};

struct sym_space {
    struct sym_value *at;
    size_t len; /* elements; 0: the rank has no such buffer */
};

struct sym;

struct sym_rank {
    struct sym *w;
    int rank, done;
    struct gr_plan plan;
    struct gr_stepper stepper;
    struct sym_space space[3];     /* by enum gr_space */
    size_t fill;                   /* elements moved of the slot in work, */
    uint32_t pieces;               /* in so many pieces; */
    int closed;                    /* whether that was the last one */
    uint64_t budget;               /* slots it may still move */
    int gate;                      /* the only channel that may move, -1: all */
    size_t stored, sent, received; /* elements */
};

/* What was sent when, where trace is set. */
struct sym_message {
    int from, to;
    uint32_t channel, tick;
    int tree;
};

/* A world of ranks; its memory is used again from run to run. */
struct sym {
    const struct sym_case *c;
    struct sym_rank *ranks; /* [p] */
    int *order;             /* [nchannels][p]: rank at a position */
    struct sym_value *mem;  /* all buffers */
    struct sym_value *want; /* the whole vector as it must be at the end */
    size_t mem_len, want_len, mem_room, want_room;
    struct sym_link *links;
    struct sym_slot *slots;        /* [nlinks][slots] */
    struct sym_value *slot_values; /* [nlinks][slots][slot_elems] */
    /* of each of these: where its sender has it; NULL: nowhere */
    const struct sym_value **data_at;
    size_t nlinks, links_room, slots_room, values_room, data_at_room;
    int *link_of;   /* [nchannels][from][to]: index into links, -1: not used yet */
    uint8_t *peers; /* [nchannels][from][to]: SYM_OUT, SYM_IN */
    size_t pairs_room;
    /* last tick in which something was sent; most ticks from send to receive */
    uint32_t last_tick, longest_wait;
    int trace;
    struct sym_message *messages;
    size_t nmessages, messages_room;
    enum sym_check failed;
    char why[240], noted[240];
    uint64_t runs; /* sym_run() calls so far */
};

enum { SYM_OUT = 1, SYM_IN = 2 }; /* the pair is in the sender's list, in the receiver's list */

/* A world, all zero at first; sym_free() empties it. */
void sym_free(struct sym *w);

/*
 * Run a case; the first check that failed, or SYM_OK. The world keeps the outcome until the next
 * run.
 */
enum sym_check sym_run(struct sym *w, const struct sym_case *c);

/*
 * Whether both directions of a double tree's links are busy in an allreduce that was run with trace
 * set. The steady state of a tree lies between the tick in which its last link begins and that in
 * which its first link ends. It must be all but 4 heights of the ticks, and in it each link must
 * carry a message both ways in each tick, that is: sends in every tick from its first to its last.
 * 0, or -1 with SYM_IDLE in the world.
 */
int sym_check_both_ways(struct sym *w);

/* A name for a check ("deadlock"), and a line saying what a case is. */
const char *sym_check_name(enum sym_check check);
const char *sym_describe(const struct sym_case *c, char *text, size_t size);

/* A case with one channel, two slots of an element each, and chunks of one; its size is not set. */
struct sym_case sym_smallest(enum gr_algo algo, enum gr_coll coll, int p);

/*
 * At least as many slots as the algorithm must have for its messages; there are slot_elems and
 * chunk_elems then.
 */
void sym_set_slots(struct sym_case *c);

/*
 * Set total or block so that each channel has that many chunks or slices of chunk_elems, less
 * `ragged` elements.
 */
void sym_size(struct sym_case *c, uint32_t chunks, size_t ragged);

/* Between the files of the checker. */

/* Note the first failure; returns -1. */
int sym_fail(struct sym *w, enum sym_check check, int rank, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
extern const struct gr_backend sym_backend;
void sym_send_from_buffer(struct sym *w, const struct gr_step *s, const struct sym_value *slot,
                          const struct sym_value *operand,
                          const struct sym_value *dest); /* the value is in the slot now */
void sym_take_from_buffer(struct sym_rank *me, const struct gr_step *s,
                          const struct sym_value *slot);
uint64_t sym_hash(uint64_t a, uint64_t b);
struct sym_value sym_leaf(int rank, size_t elem);
enum gr_layout sym_layout(const struct sym_case *c);
/* elements of a rank's block, and where it begins */
size_t sym_count(const struct sym_case *c, int rank);
size_t sym_displ(const struct sym_case *c, int rank);
/* elements of the whole vector, gaps included */
size_t sym_extent(const struct sym_case *c);
int sym_check_values(struct sym *w); /* 0, or -1 after sym_fail() */
/* at least need items; aborts without memory */
void *sym_grow(void *array, size_t *room, size_t need, size_t size);

#endif
