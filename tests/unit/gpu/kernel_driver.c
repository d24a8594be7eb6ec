/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA driver for the tests of the kernels (kernel_driver.h). */
#include "kernel_driver.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions that are used, by the names under which the library exports them. */
#define FUNCTIONS(X)            \
    X(cuInit)                   \
    X(cuDeviceGet)              \
    X(cuDevicePrimaryCtxRetain) \
    X(cuCtxSetCurrent)          \
    X(cuMemAlloc_v2)            \
    X(cuMemFree_v2)             \
    X(cuMemHostAlloc)           \
    X(cuMemFreeHost)            \
    X(cuMemcpyHtoD_v2)          \
    X(cuMemcpyDtoH_v2)          \
    X(cuStreamCreate)           \
    X(cuStreamSynchronize)      \
    X(cuStreamDestroy_v2)       \
    X(cuLibraryLoadData)        \
    X(cuLibraryGetKernel)       \
    X(cuKernelGetFunction)      \
    X(cuLaunchKernel)           \
    X(cuGetErrorName)

#define DECLARE(name) static __typeof__(&name) p_##name;
FUNCTIONS(DECLARE)
#undef DECLARE

static CUlibrary image;
static CUfunction kernels[GR_NENTRIES][GR_NKERNELS]; /* resolved when first launched */
static int fake;

static void check(CUresult result, const char *what)
{
    const char *name = "?";

    if (CUDA_SUCCESS != result) {
        p_cuGetErrorName(result, &name);
        fprintf(stderr, "%s: %s\n", what, name);
        exit(3);
    }
}
#define CHECK(call) check(p_##call, #call)

static void *load_function(void *library, const char *name)
{
    void *at = dlsym(library, name);

    if (NULL == at) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(3);
    }
    return at;
}

static const struct {
    const char *name, *type, *op;
} names[GR_NKERNELS] = {
#define NAME(type, op) {#type "_" #op, #type, #op},
    GR_KERNELS(NAME) {"copy", "bits", "copy"}
#undef NAME
};

void *kd_calloc(size_t bytes)
{
    void *at = calloc(1, 0 == bytes ? 1 : bytes);

    if (NULL == at) {
        abort();
    }
    return at;
}

const char *kd_kernel_name(enum gr_kernel kernel)
{
    return names[kernel].name;
}

const char *kd_type_name(enum gr_kernel kernel)
{
    return names[kernel].type;
}

const char *kd_op_name(enum gr_kernel kernel)
{
    return names[kernel].op;
}

/* The numbers in a type's name are of bits; of two parts, C puts each on a multiple of its size. */
size_t kd_elem_bytes(enum gr_kernel kernel)
{
    const char *type = kd_type_name(kernel), *second = strchr(type, '_');
    size_t first_bytes = (size_t) atoi(type + strcspn(type, "0123456789")) / 8, second_bytes;

    if (0 == strcmp(type, "bits")) {
        return 1;
    }
    if (NULL == second) {
        return first_bytes;
    }
    second_bytes = (size_t) atoi(second + 2) / 8;
    return 2 * (first_bytes > second_bytes ? first_bytes : second_bytes);
}

size_t kd_elem_align(enum gr_kernel kernel)
{
    const char *type = kd_type_name(kernel);
    int parts = 'c' == type[0] || NULL != strchr(type, '_') ? 2 : 1;

    return kd_elem_bytes(kernel) / (size_t) parts;
}

static const void *load_image(void)
{
    /* magic, version and header bytes, bytes */
    static const uint32_t empty[8] = {0xBA55ED50, 0x00100001, 16, 0};
    const char *file = getenv("KERNEL_IMAGE");
    char *data;
    long bytes;
    FILE *f;

    if (NULL == file) {
        return empty;
    }
    f = fopen(file, "rb");
    if (NULL == f || 0 != fseek(f, 0, SEEK_END) || (bytes = ftell(f)) <= 0 ||
        NULL == (data = aligned_alloc(16, ((size_t) bytes + 15) / 16 * 16))) {
        perror(file);
        exit(3);
    }
    rewind(f);
    if ((size_t) bytes != fread(data, 1, (size_t) bytes, f)) {
        perror(file);
        exit(3);
    }
    fclose(f);
    return data;
}

void kd_open(void)
{
    const char *name = getenv("LIBCUDA");
    void *library = dlopen(NULL == name ? "libcuda.so.1" : name, RTLD_NOW | RTLD_LOCAL);
    CUcontext context;
    CUdevice device;

    if (NULL == library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
#define LOAD(function) p_##function = (__typeof__(p_##function)) load_function(library, #function);
    FUNCTIONS(LOAD)
#undef LOAD
    fake = NULL == getenv("KERNEL_IMAGE");
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuLibraryLoadData(&image, load_image(), NULL, NULL, 0, NULL, NULL, 0));
}

int kd_is_fake(void)
{
    return fake;
}

gr_gpu_ptr kd_alloc(size_t bytes)
{
    CUdeviceptr at;

    CHECK(cuMemAlloc_v2(&at, bytes));
    return at;
}

void kd_free(gr_gpu_ptr at)
{
    CHECK(cuMemFree_v2(at));
}

void *kd_host_alloc(size_t bytes)
{
    void *at;

    CHECK(cuMemHostAlloc(&at, bytes, 0));
    memset(at, 0, bytes);
    return at;
}

void kd_host_free(void *at)
{
    CHECK(cuMemFreeHost(at));
}

void kd_put(gr_gpu_ptr at, const void *from, size_t bytes)
{
    CHECK(cuMemcpyHtoD_v2(at, from, bytes));
    /* the data may be on their way when it returns, and kernels run on streams that do not wait */
    CHECK(cuStreamSynchronize(NULL));
}

void kd_get(void *to, gr_gpu_ptr at, size_t bytes)
{
    CHECK(cuMemcpyDtoH_v2(to, at, bytes));
}

void *kd_stream(void)
{
    CUstream stream;

    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

void kd_stream_free(void *stream)
{
    CHECK(cuStreamDestroy_v2(stream));
}

void kd_wait(void *stream)
{
    CHECK(cuStreamSynchronize(stream));
}

static CUfunction resolve(enum gr_kernel_entry entry, enum gr_kernel kernel)
{
    CUfunction *function = &kernels[entry][kernel];
    CUkernel found;
    char text[64];

    if (NULL == *function) {
        snprintf(text, sizeof(text), "gr_%s_%s", GR_ENTRY_LEADER == entry ? "leader" : "kernel",
                 kd_kernel_name(kernel));
        CHECK(cuLibraryGetKernel(&found, image, text));
        CHECK(cuKernelGetFunction(function, found));
    }
    return *function;
}

static void launch(void *stream, CUfunction function, uint32_t blocks, uint32_t threads, void *args)
{
    void *params[1] = {args};

    CHECK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL));
}

void kd_launch(void *stream, enum gr_kernel kernel, uint32_t blocks, uint32_t threads,
               const struct gr_gpu_args *args)
{
    struct gr_gpu_args copy = *args;

    launch(stream, resolve(GR_ENTRY_CHANNELS, kernel), blocks, threads, &copy);
}

void kd_launch_leader(void *stream, enum gr_kernel kernel, uint32_t blocks, uint32_t threads,
                      const struct gr_leader_args *args)
{
    struct gr_leader_args copy = *args;

    launch(stream, resolve(GR_ENTRY_LEADER, kernel), blocks, threads, &copy);
}
