/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of kinds: elements from 64 random bits, and user-defined operations (kinds.h). */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

#include "rng.h"

#define PRIME 1000003u

/* Two integers of four, first and third are gaps. */
struct sparse {
    uint32_t gap0, a, gap1, b;
};

static void put_uint8(char *at, uint64_t bits)
{
    *at = (char) bits;
}

static void put_uint32(char *at, uint64_t bits)
{
    uint32_t x = (uint32_t) bits;

    memcpy(at, &x, sizeof x);
}

static void put_float(char *at, uint64_t bits)
{
    float x = (float) (bits % 2001) - 1000.0f;

    memcpy(at, &x, sizeof x);
}

static void put_int64(char *at, uint64_t bits)
{
    memcpy(at, &bits, sizeof bits);
}

static void put_sparse(char *at, uint64_t bits)
{
    put_uint32(at + offsetof(struct sparse, a), bits);
    put_uint32(at + offsetof(struct sparse, b), bits >> 32);
}

/* Sums of uint32 modulo a prime. */
static void add_modulo(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const uint32_t *a = in;
    uint32_t *b = inout;

    (void) type;
    for (int i = 0; i < *len; i++) {
        b[i] = (a[i] % PRIME + b[i] % PRIME) % PRIME;
    }
}

/* x -> m x + n after x -> m' x + n', with m and n in the halves of 64 bits. */
static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    const uint64_t *a = in;
    uint64_t *b = inout;

    (void) type;
    for (int i = 0; i < *len; i++) {
        uint32_t ma = (uint32_t) (a[i] >> 32), na = (uint32_t) a[i];
        uint32_t mb = (uint32_t) (b[i] >> 32), nb = (uint32_t) b[i];

        b[i] = (uint64_t) (ma * mb) << 32 | (uint32_t) (ma * nb + na);
    }
}

struct kind kinds[NUM_KINDS] = {
    [KIND_UINT8] = {"uint8 xor", 1, true, true, NULL, 1, put_uint8, MPI_DATATYPE_NULL, MPI_OP_NULL},
    [KIND_UINT32] = {"uint32 sum", 4, true, true, NULL, 1, put_uint32, MPI_UINT32_T, MPI_SUM},
    [KIND_FLOAT] = {"float sum", 4, true, true, NULL, 1, put_float, MPI_DATATYPE_NULL, MPI_OP_NULL},
    [KIND_INT64] = {"int64 min", 8, true, true, NULL, 1, put_int64, MPI_DATATYPE_NULL, MPI_OP_NULL},
    [KIND_GAPS] = {"type with gaps", sizeof(struct sparse), false, true, NULL, 1, put_sparse,
                   MPI_DATATYPE_NULL, MPI_OP_NULL},
    [KIND_MODULO] = {"user operation", 4, true, false, add_modulo, 1, put_uint32, MPI_DATATYPE_NULL,
                     MPI_OP_NULL},
    [KIND_COMPOSE] = {"non-commutative operation", 8, true, false, compose, 0, put_int64,
                      MPI_DATATYPE_NULL, MPI_OP_NULL},
};

static MPI_Datatype make_sparse(void)
{
    MPI_Datatype t, resized;

    MPI_Type_create_indexed_block(2, 1, (int[]) {1, 3}, MPI_UINT32_T, &t);
    MPI_Type_create_resized(t, 0, sizeof(struct sparse), &resized);
    MPI_Type_commit(&resized);
    MPI_Type_free(&t);
    return resized;
}

void kinds_open(void)
{
    const MPI_Datatype types[NUM_KINDS] = {MPI_UINT8_T,   MPI_UINT32_T, MPI_FLOAT,   MPI_INT64_T,
                                           make_sparse(), MPI_UINT32_T, MPI_UINT64_T};
    const MPI_Op ops[NUM_KINDS] = {MPI_BXOR,    MPI_SUM,     MPI_SUM,    MPI_MIN,
                                   MPI_OP_NULL, MPI_OP_NULL, MPI_OP_NULL};

    for (int i = 0; i < NUM_KINDS; i++) {
        kinds[i].type = types[i];
        kinds[i].op = ops[i];
        if (NULL != kinds[i].function) {
            MPI_Op_create(kinds[i].function, kinds[i].commutes, &kinds[i].op);
        }
    }
}

void kinds_close(void)
{
    MPI_Type_free(&kinds[KIND_GAPS].type);
    for (int i = 0; i < NUM_KINDS; i++) {
        if (NULL != kinds[i].function) {
            MPI_Op_free(&kinds[i].op);
        }
    }
}

void kind_fill(const struct kind *k, char *to, int first, int n, uint64_t salt, int rank)
{
    uint64_t key = rng_key(salt, 5, (uint64_t) rank);

    for (int i = 0; i < n; i++) {
        k->put(to + (size_t) i * (size_t) k->extent,
               rng_mix(key + (uint64_t) (first + i) * 0x9e3779b97f4a7c15ull));
    }
}

void kind_reduce(const struct kind *k, char *to, int first, int n, uint64_t salt, int ranks)
{
    char *next = malloc((size_t) n * (size_t) k->extent + 1);

    kind_fill(k, to, first, n, salt, ranks - 1);
    for (int r = ranks - 2; r >= 0; r--) {
        kind_fill(k, next, first, n, salt, r);
        if (n > 0) {
            MPI_Reduce_local(next, to, n, k->type, k->op);
        }
    }
    free(next);
}
