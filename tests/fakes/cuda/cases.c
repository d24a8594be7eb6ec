/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that runs one case, and what the cases share. */
#include "cases.h"

static CUlibrary library;

CUcontext begin(int device)
{
    static const struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
    } image = {0xBA55ED50, 1, 16, 16};
    CUcontext context;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    if (NULL == library) {
        OK(cuLibraryLoadData(&library, &image, NULL, NULL, 0, NULL, NULL, 0));
    }
    return context;
}

CUfunction kernel(const char *name)
{
    CUkernel k;
    CUfunction f;

    OK(cuLibraryGetKernel(&k, library, name));
    OK(cuKernelGetFunction(&f, k));
    return f;
}

void launch(const char *name, unsigned blocks, unsigned threads, CUstream stream, void **args)
{
    OK(cuLaunchKernel(kernel(name), blocks, 1, 1, threads, 1, 1, 0, stream, args, NULL));
    OK(cuStreamSynchronize(stream));
}

CUstream new_stream(unsigned flags)
{
    CUstream s;

    OK(cuStreamCreate(&s, flags));
    return s;
}

CUdeviceptr zeros(size_t bytes)
{
    CUdeviceptr at;

    OK(cuMemAlloc(&at, bytes));
    OK(cuMemsetD8(at, 0, bytes));
    OK(cuCtxSynchronize());
    return at;
}

/* By a stream of its own: not behind what waits elsewhere. */
uint64_t word_at(CUdeviceptr at)
{
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING);
    uint64_t value;

    OK(cuMemcpyDtoHAsync(&value, at, sizeof(value), s));
    OK(cuStreamSynchronize(s));
    OK(cuStreamDestroy(s));
    return value;
}

void set_word(CUdeviceptr at, uint64_t value)
{
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING);

    OK(cuMemcpyHtoDAsync(at, &value, sizeof(value), s));
    OK(cuStreamSynchronize(s));
    OK(cuStreamDestroy(s));
}

int main(int argc, char **argv)
{
    const struct test_case *all[] = {context_cases, memory_cases,  stream_cases, kernel_cases,
                                     process_cases, capture_cases, api_cases,    ptx_cases};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        for (const struct test_case *c = all[i]; NULL != c->name; c++) {
            if (argc > 1 && 0 == strcmp(c->name, argv[1])) {
                c->run();
                return 0;
            }
        }
    }
    fprintf(stderr, "no such case: %s\n", argc > 1 ? argv[1] : "");
    return 2;
}
