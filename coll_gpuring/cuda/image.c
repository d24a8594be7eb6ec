/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels (context.h): the file GR_FATBIN, embedded, so the CUDA toolkit is needed for building
 * only; and loading them.
 */
#include "cuda/context.h"
#include "cuda/device.h"

const int gr_cuda_image_toolkit = GR_CUDA_TOOLKIT;

extern const unsigned char gr_cuda_image[];

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl gr_cuda_image\n"
        ".hidden gr_cuda_image\n"
        "gr_cuda_image:\n"
        ".incbin \"" GR_FATBIN "\"\n"
        ".previous\n");

static const char *const kernel_names[GR_NENTRIES][GR_NKERNELS] = {
#define CHANNELS_NAME(type, op) "gr_kernel_" #type "_" #op,
    {GR_KERNELS(CHANNELS_NAME) "gr_kernel_copy"},
#undef CHANNELS_NAME
#define LEADER_NAME(type, op) "gr_leader_" #type "_" #op,
    {GR_KERNELS(LEADER_NAME) "gr_leader_copy"},
#undef LEADER_NAME
};

/* Resolve a kernel and load it to the device. The context is current, the lock of gpus is held. */
static int load_kernel(struct gr_gpu *gpu, enum gr_kernel_entry entry, enum gr_kernel which,
                       CUfunction *function)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUkernel kernel;
    int registers,
        rc = GR_CUDA(cuda, cuLibraryGetKernel, &kernel, gpu->library, kernel_names[entry][which]);

    if (0 == rc) {
        rc = GR_CUDA(cuda, cuKernelGetFunction, function, kernel);
    }
    if (0 == rc) { /* now, so that its launch neither allocates memory nor waits */
        rc = NULL != cuda->cuFuncLoad ? GR_CUDA(cuda, cuFuncLoad, *function)
                                      : GR_CUDA(cuda, cuFuncGetAttribute, &registers,
                                                CU_FUNC_ATTRIBUTE_NUM_REGS, *function);
    }
    if (0 == rc) {
        atomic_store_explicit(&gpu->kernels[entry][which], *function, memory_order_release);
    }
    return rc;
}

int gr_cuda_kernel(struct gr_gpu *gpu, enum gr_kernel_entry entry, enum gr_kernel which,
                   CUfunction *function)
{
    int rc = 0;

    *function = atomic_load_explicit(&gpu->kernels[entry][which], memory_order_acquire);
    if (NULL == *function) {
        pthread_mutex_lock(&gpu->gpus->lock);
        *function = atomic_load_explicit(&gpu->kernels[entry][which], memory_order_relaxed);
        rc = NULL == *function ? load_kernel(gpu, entry, which, function) : 0;
        pthread_mutex_unlock(&gpu->gpus->lock);
    }
    return rc;
}

/*
 * Machine code runs on drivers of the toolkit's major version and later. PTX is compiled by drivers
 * of the toolkit's own version and later; cuLibraryLoadData() finds out whether it is needed.
 */
static int check_image(const struct gr_cuda *cuda)
{
    int version = 0, least = gr_cuda_image_toolkit / 1000;

    if (0 != GR_CUDA(cuda, cuDriverGetVersion, &version)) {
        return GR_ERR_CUDA;
    }
    if (version / 1000 < least) {
        gr_gpu_error_set("the driver is of CUDA %d.%d, but the kernels need %d.0", version / 1000,
                         version % 1000 / 10, least);
        return GR_ERR_NODRIVER;
    }
    return 0;
}

/*
 * Load the library, and one kernel of it, which shows that the image has code for the device. The
 * context is current, the lock of gpus is held.
 */
static int load_library(struct gr_gpu *gpu)
{
    const struct gr_cuda *cuda = &gpu->gpus->cuda;
    CUfunction function;
    int rc = GR_CUDA(cuda, cuLibraryLoadData, &gpu->library, gr_cuda_image, NULL, NULL, 0, NULL,
                     NULL, 0);

    if (rc < 0) {
        gpu->library = NULL;
        return rc;
    }
    rc = load_kernel(gpu, GR_ENTRY_CHANNELS, GR_KERNEL_copy, &function);
    if (rc < 0) {
        (void) cuda->cuLibraryUnload(gpu->library);
        gpu->library = NULL;
        return rc;
    }
    atomic_store_explicit(&gpu->has_kernels, 1, memory_order_release);
    return 0;
}

int gr_gpu_load_kernels(struct gr_gpu *gpu)
{
    int rc = 0;

    if (atomic_load_explicit(&gpu->has_kernels, memory_order_acquire)) {
        return 0;
    }
    pthread_mutex_lock(&gpu->gpus->lock);
    if (NULL == gpu->library) {
        rc = check_image(&gpu->gpus->cuda);
        rc = 0 == rc ? GR_IN_CONTEXT(gpu, load_library(gpu)) : rc;
    }
    pthread_mutex_unlock(&gpu->gpus->lock);
    return rc;
}
