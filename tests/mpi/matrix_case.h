/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One case of the matrix: a collective with everything that can vary about a call, run and compared
 * element by element with what all ranks' inputs make.
 */
#ifndef TEST_MATRIX_CASE_H
#define TEST_MATRIX_CASE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "colls.h"

struct coll_info {
    const char *name;
    bool reduces; /* has an operation */
    bool blocks;  /* one block for each rank: the vector is shared out */
    bool rooted;
    bool in_place; /* MPI_IN_PLACE exists */
};

extern const struct coll_info coll_infos[NUM_COLLS];

struct size_level {
    bool is_bytes; /* value is the vector in bytes; otherwise elements, in every block */
    long value;
    int delta; /* elements more than that */
};

enum root_level { ROOT_FIRST, ROOT_LAST, ROOT_MIDDLE, NUM_ROOTS };

struct matrix_comm {
    const char *name;
    MPI_Comm comm;
};

struct matrix_case {
    enum coll coll;
    int type; /* row of dtypes */
    int op;   /* row of dtype_ops; 0 where nothing is reduced */
    struct size_level size;
    enum root_level root;
    bool in_place;
    const struct matrix_comm *comm;
    uint64_t key; /* of the inputs and of the shares in v-forms */
};

/* Collective over the case's communicator. True when this rank saw nothing wrong. */
bool matrix_case_run(const struct matrix_case *c);

#endif
