/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mutants of symbolic_mutants_test.c: errors of each kind, each in one step of a schedule or in
 * all.
 */
#ifndef GR_TESTS_SYMBOLIC_MUTANTS_H
#define GR_TESTS_SYMBOLIC_MUTANTS_H

#include "symbolic.h"

/* Edits of one step. Each leaves a well-formed step. */
enum edit {
    DROP_RECV,
    DROP_REDUCE,
    DROP_STORE,
    DROP_SEND,
    DROP_STEP,
    ADD_RECV,
    ADD_REDUCE,
    ADD_STORE,
    ADD_SEND,
    OTHER_FINAL,
    NEXT_CHUNK,
    NEXT_FROM,
    NEXT_TO,
    SWAP_FROM,
    OPERAND_LATER,
    OTHER_OPERAND,
    OPERAND_TMP,
    DEST_INPUT,
    DEST_TMP,
    NEDITS, /* up to here each edit makes an error of any step that it applies to; below, of some */
    TICK_LATER,
    TWO_CHUNKS,
    NO_EDIT
};

/* Mutations of whole schedules. */
enum whole { ONE_STEP, UP_THEN_DOWN, RUNS_OF_CHUNKS, SHIFTED_OUTPUT, NOT_SAID_TO_OVERWRITE };

struct mutant {
    const char *name;
    enum gr_algo algo;
    enum gr_coll coll;
    int p;
    uint32_t chunks, slots;
    int pos;        /* whose step */
    uint32_t index; /* which */
    enum edit edit;
    enum whole whole;
    enum sym_check caught_by;
};

#define RING GR_ALGO_RING
#define CHAIN GR_ALGO_CHAIN
#define TREE GR_ALGO_TREE
#define FLAT GR_ALGO_FLAT
#define ALLREDUCE GR_COLL_ALLREDUCE
#define ALLGATHER GR_COLL_ALLGATHER
#define SCATTER GR_COLL_REDUCE_SCATTER
#define BCAST GR_COLL_BCAST
#define REDUCE GR_COLL_REDUCE

static struct mutant mutants[] = {
    /* name, algorithm, collective, p, chunks, slots, whose step, which, edit, caught by */
    {"missing send", RING, ALLREDUCE, 5, 1, 2, 2, 7, DROP_SEND, ONE_STEP, SYM_DEADLOCK},
    {"missing receive", RING, ALLREDUCE, 5, 1, 2, 1, 8, DROP_STEP, ONE_STEP, SYM_UNREAD},
    {"missing reduce", RING, SCATTER, 5, 1, 2, 2, 1, DROP_REDUCE, ONE_STEP, SYM_MISSING},
    {"missing reduce in a tree", TREE, REDUCE, 4, 4, 2, 1, 4, DROP_REDUCE, ONE_STEP, SYM_MISSING},
    {"double reduce", RING, ALLREDUCE, 5, 1, 2, 0, 5, ADD_REDUCE, ONE_STEP, SYM_TWICE},
    {"wrong chunk reduced", RING, SCATTER, 5, 1, 2, 0, 1, NEXT_CHUNK, ONE_STEP, SYM_ELEMENT},
    {"wrong chunk stored", RING, ALLGATHER, 5, 1, 2, 0, 4, NEXT_CHUNK, ONE_STEP, SYM_OVERWRITTEN},
    {"operand is the output where it is not written yet", RING, ALLREDUCE, 5, 1, 2, 3, 1,
     OTHER_OPERAND, ONE_STEP, SYM_POISON},
    {"operand is the input where sums go on", FLAT, REDUCE, 12, 1, 2, 1, 1, OTHER_OPERAND, ONE_STEP,
     SYM_MISSING},
    {"operand is scratch", TREE, REDUCE, 6, 2, 2, 1, 6, OPERAND_TMP, ONE_STEP, SYM_POISON},
    {"writes the input", CHAIN, BCAST, 4, 3, 2, 2, 1, DEST_INPUT, ONE_STEP, SYM_WROTE_INPUT},
    {"writes the output of a non-root", CHAIN, REDUCE, 4, 3, 2, 3, 1, ADD_STORE, ONE_STEP,
     SYM_WROTE_OUTSIDE},
    {"writes the output of the root of a bcast", FLAT, BCAST, 4, 3, 2, 1, 1, ADD_STORE, ONE_STEP,
     SYM_WROTE_OUTSIDE},
    {"writes between the blocks", FLAT, ALLGATHER, 4, 4, 2, 0, 0, NO_EDIT, SHIFTED_OUTPUT,
     SYM_WROTE_OUTSIDE},
    {"stores a partial sum first", RING, ALLREDUCE, 5, 1, 2, 3, 1, ADD_STORE, ONE_STEP, SYM_STORES},
    {"sends to a rank that is not a peer", RING, ALLGATHER, 5, 1, 2, 2, 1, NEXT_TO, ONE_STEP,
     SYM_PEER},
    {"receives from another peer", FLAT, ALLGATHER, 5, 1, 2, 2, 2, NEXT_FROM, ONE_STEP,
     SYM_DEADLOCK},
    {"missing store", TREE, BCAST, 5, 2, 2, 2, 6, DROP_STORE, ONE_STEP, SYM_UNWRITTEN},
    {"swapped order of reduction", FLAT, ALLREDUCE, 5, 1, 2, 1, 0, SWAP_FROM, ONE_STEP, SYM_ORDER},
    {"swapped order in a tree", TREE, REDUCE, 8, 2, 2, 5, 4, SWAP_FROM, ONE_STEP, SYM_ORDER},
    {"own input out of order", GR_ALGO_ONESHOT, ALLREDUCE, 5, 1, 2, 2, 1, OPERAND_LATER, ONE_STEP,
     SYM_ORDER},
    {"a partial sum said to be a result", RING, ALLREDUCE, 5, 1, 2, 0, 3, OTHER_FINAL, ONE_STEP,
     SYM_FINAL},
    {"a result not said to be one", RING, SCATTER, 5, 1, 2, 0, 4, OTHER_FINAL, ONE_STEP, SYM_FINAL},
    {"an input sent, not said to be a result", FLAT, BCAST, 5, 1, 2, 1, 0, OTHER_FINAL, ONE_STEP,
     SYM_FINAL},
    {"extra send", RING, ALLREDUCE, 5, 1, 2, 4, 8, ADD_SEND, ONE_STEP, SYM_UNREAD},
    {"two messages in one tick", RING, ALLREDUCE, 5, 1, 8, 2, 1, TICK_LATER, ONE_STEP,
     SYM_TICK_CLASH},
    {"taken in the tick in which it was sent", CHAIN, BCAST, 4, 1, 2, 1, 0, TICK_LATER, ONE_STEP,
     SYM_TICK_CAUSE},
    {"message of another size", CHAIN, BCAST, 4, 4, 2, 2, 1, TWO_CHUNKS, ONE_STEP, SYM_MESSAGE},
    {"one slot in a ring of three", RING, ALLREDUCE, 3, 1, 1, 0, 0, NO_EDIT, ONE_STEP,
     SYM_DEADLOCK},
    {"one slot in a ring of eight", RING, ALLREDUCE, 8, 1, 1, 0, 0, NO_EDIT, ONE_STEP,
     SYM_DEADLOCK},
    {"what was sent is overwritten", GR_ALGO_ONESHOT, ALLREDUCE, 4, 1, 2, 0, 0, NO_EDIT,
     NOT_SAID_TO_OVERWRITE, SYM_OVERWRITTEN},
    {"tree all up, then all down", TREE, ALLREDUCE, 8, 64, 2, 0, 0, NO_EDIT, UP_THEN_DOWN,
     SYM_IDLE},
};

#define NMUTANTS (sizeof(mutants) / sizeof(mutants[0]))

#endif
