/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cases of the fake driver's tests. Each runs in a process of its own, with the options that
 * fakecuda_test.sh sets:
 *     cases NAME
 */
#ifndef FAKECUDA_CASES_H
#define FAKECUDA_CASES_H

#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct test_case {
    const char *name;
    void (*run)(void);
};
extern const struct test_case context_cases[], memory_cases[], stream_cases[], kernel_cases[],
    process_cases[], capture_cases[], api_cases[], ptx_cases[];

/* What is not as it should be ends the program with 1 and a line. */
#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

static inline const char *result_name(CUresult result)
{
    const char *name = "?";

    cuGetErrorName(result, &name);
    return name;
}

/* The call returns CUDA_<what>. */
#define IS(what, call)                                                              \
    do {                                                                            \
        CUresult got_ = (call);                                                     \
        if (CUDA_##what != got_) {                                                  \
            fprintf(stderr, "%s:%d: %s is %s, not %s\n", __FILE__, __LINE__, #call, \
                    result_name(got_), "CUDA_" #what);                              \
            exit(1);                                                                \
        }                                                                           \
    } while (0)
#define OK(call) IS(SUCCESS, call)

/* The driver, with the primary context of this device current. */
CUcontext begin(int device);
/* A kernel of test_kernels.cu. */
CUfunction kernel(const char *name);
/* Launch, and wait for the stream. */
void launch(const char *name, unsigned blocks, unsigned threads, CUstream stream, void **args);
CUstream new_stream(unsigned flags);
CUdeviceptr zeros(size_t bytes);
uint64_t word_at(CUdeviceptr at);
void set_word(CUdeviceptr at, uint64_t value);

#endif
