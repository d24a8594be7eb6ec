/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the fuzz targets: an input that is read piece by piece, and a check that ends the run.
 */
#ifndef GR_TESTS_FUZZ_H
#define GR_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes that libFuzzer gives. Behind their end there are zeros. */
struct fuzz_input {
    const uint8_t *at; /* the next byte */
    size_t left;       /* bytes from there on */
};

static inline void fuzz_bytes(struct fuzz_input *in, void *to, size_t n)
{
    size_t k = n < in->left ? n : in->left;

    memset(to, 0, n);
    if (k > 0) {
        memcpy(to, in->at, k);
    }
    in->at += k;
    in->left -= k;
}

/* A number from 0 to below - 1, of one byte. */
static inline unsigned fuzz_below(struct fuzz_input *in, unsigned below)
{
    uint8_t byte;

    fuzz_bytes(in, &byte, 1);
    return byte % below;
}

static inline uint64_t fuzz_u64(struct fuzz_input *in)
{
    uint64_t n;

    fuzz_bytes(in, &n, sizeof(n));
    return n;
}

/* Change n bytes in the middle of an object, as many times as the next byte says, up to 3. */
static inline void fuzz_patch(struct fuzz_input *in, void *object, size_t bytes)
{
    unsigned n = fuzz_below(in, 4);

    for (; n > 0; n--) {
        size_t at = fuzz_u64(in) % bytes, len = 1 + fuzz_below(in, 8);

        fuzz_bytes(in, (uint8_t *) object + at, len < bytes - at ? len : bytes - at);
    }
}

/* libFuzzer keeps the input when the program aborts. */
#define FUZZ_NEED(what)                                                        \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            abort();                                                           \
        }                                                                      \
    } while (0)

#endif
