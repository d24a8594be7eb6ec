/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver and its devices (device.h). */
#include "cuda/device.h"

#include "base/memory.h"
#include "cuda/context.h"
#include "cuda/memory.h"
#include "exec/gpu/kernels.h"
#include "topo/cpus.h"

#include <stdlib.h>
#include <string.h>

const char *gr_gpu_error(void)
{
    return '\0' == gr_cuda_message[0] ? "no error" : gr_cuda_message;
}

/* ---- the driver ---- */

/* Whether cuInit failed because the installed driver does not suit the machine. */
static int unusable(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return 1;
    default:
        return 0;
    }
}

/* Initialise the driver. Returns the number of devices or a negative code. */
static int count_devices(const struct gr_cuda *cuda)
{
    CUresult result = cuda->cuInit(0);
    int count = 0;

    if (0 != gr_cuda_check(cuda, "cuInit", result)) {
        return CUDA_ERROR_NO_DEVICE == result ? GR_ERR_NODEVICE
               : unusable(result)             ? GR_ERR_NODRIVER
                                              : GR_ERR_CUDA;
    }
    if (0 != GR_CUDA(cuda, cuDeviceGetCount, &count)) {
        return GR_ERR_CUDA;
    }
    if (count < 1) {
        gr_gpu_error_set("the driver reports no device");
        return GR_ERR_NODEVICE;
    }
    return count;
}

struct gr_gpus *gr_gpus_open(const char *library, int *error)
{
    static _Atomic uint64_t serials;
    struct gr_cuda cuda;
    struct gr_gpus *gpus;
    int k, count;

    *error = gr_cuda_load(library, &cuda);
    if (*error < 0) {
        return NULL;
    }
    count = count_devices(&cuda);
    if (count < 0) {
        *error = count;
        return NULL;
    }
    gpus = gr_calloc(1, sizeof(*gpus) + (size_t) count * sizeof(gpus->slots[0]));
    if (NULL == gpus) {
        *error = GR_ERR_NOMEM;
        return NULL;
    }
    gpus->cuda = cuda;
    gpus->count = count;
    gpus->serial = 1 + atomic_fetch_add(&serials, 1);
    pthread_mutex_init(&gpus->lock, NULL);
    pthread_mutex_init(&gpus->marks_lock, NULL);
    for (k = 0; k < count; k++) {
        if (0 != GR_CUDA(&cuda, cuDeviceGet, &gpus->slots[k].device, k)) {
            *error = GR_ERR_CUDA;
            gr_gpus_close(gpus);
            return NULL;
        }
    }
    return gpus;
}

int gr_gpus_count(const struct gr_gpus *gpus)
{
    return gpus->count;
}

/* The ordinal of a device of the driver, or -1. */
static int ordinal_of(const struct gr_gpus *gpus, CUdevice device)
{
    int k;

    for (k = 0; k < gpus->count; k++) {
        if (gpus->slots[k].device == device) {
            return k;
        }
    }
    return -1;
}

int gr_gpus_current(const struct gr_gpus *gpus)
{
    CUcontext context = NULL;
    CUdevice device;

    if (CUDA_SUCCESS != gpus->cuda.cuCtxGetCurrent(&context) || NULL == context ||
        CUDA_SUCCESS != gpus->cuda.cuCtxGetDevice(&device)) {
        return -1;
    }
    return ordinal_of(gpus, device);
}

/* ---- a device ---- */

/* What this thread had before gr_gpu_bracket_open(). */
static _Thread_local struct gr_cuda_saved before_bracket;

int gr_gpu_bracket_open(struct gr_gpu *gpu)
{
    return gr_cuda_enter_alive(gpu->gpus, gpu->ordinal, &before_bracket);
}

void gr_gpu_bracket_close(struct gr_gpu *gpu)
{
    gr_cuda_leave(&gpu->gpus->cuda, &before_bracket);
}

int gr_gpu_load_kernel(struct gr_gpu *gpu, enum gr_kernel_entry entry, enum gr_kernel kernel)
{
    CUfunction function = atomic_load_explicit(&gpu->kernels[entry][kernel], memory_order_acquire);
    int rc = 0;

    if (NULL == function) {
        rc = GR_IN_CONTEXT(gpu, gr_cuda_kernel(gpu, entry, kernel, &function));
    }
    return rc;
}

static int attribute(const struct gr_gpu *gpu, CUdevice_attribute which, int *value)
{
    return GR_CUDA(&gpu->gpus->cuda, cuDeviceGetAttribute, value, which,
                   gpu->gpus->slots[gpu->ordinal].device);
}

/* Set the fields that need no context. */
static int identify(struct gr_gpu *gpu)
{
    CUuuid uuid;
    int domain, bus, device;

    if (0 != GR_CUDA(&gpu->gpus->cuda, cuDeviceGetUuid, &uuid,
                     gpu->gpus->slots[gpu->ordinal].device) ||
        0 != GR_CUDA(&gpu->gpus->cuda, cuDeviceGetName, gpu->model, (int) sizeof(gpu->model),
                     gpu->gpus->slots[gpu->ordinal].device) ||
        0 != attribute(gpu, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, &domain) ||
        0 != attribute(gpu, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, &bus) ||
        0 != attribute(gpu, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, &device)) {
        return GR_ERR_CUDA;
    }
    memcpy(gpu->id.uuid, uuid.bytes, sizeof(gpu->id.uuid));
    gpu->id.domain = (uint32_t) domain;
    gpu->id.bus = (uint32_t) bus;
    gpu->id.device = (uint32_t) device;
    gpu->numa = gr_numa_of_pci(GR_SYSFS_PCI, gpu->id.domain, gpu->id.bus, gpu->id.device);
    return 0;
}

static int initialize(struct gr_gpu *gpu)
{
    if (identify(gpu) < 0 ||
        attribute(gpu, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &gpu->sms) < 0) {
        return GR_ERR_CUDA;
    }
    return gr_cuda_primary(gpu->gpus, gpu->ordinal, &gpu->context);
}

static void gpu_destroy(struct gr_gpu *gpu)
{
    if (NULL != gpu->library) {
        (void) GR_IN_LIVE_CONTEXT(gpu, gpu->gpus->cuda.cuLibraryUnload(gpu->library));
    }
    free(gpu->peers);
    free(gpu);
}

static int gpu_create(struct gr_gpus *gpus, int ordinal, struct gr_gpu **out)
{
    struct gr_gpu *gpu = gr_calloc(1, sizeof(*gpu));
    int rc;

    if (NULL == gpu) {
        return GR_ERR_NOMEM;
    }
    gpu->gpus = gpus;
    gpu->ordinal = ordinal;
    gpu->peers = gr_calloc((size_t) gpus->count, 1);
    rc = NULL == gpu->peers ? GR_ERR_NOMEM : initialize(gpu);
    if (rc < 0) {
        gpu_destroy(gpu);
        return rc;
    }
    *out = gpu;
    return 0;
}

struct gr_gpu *gr_gpu_get(struct gr_gpus *gpus, int ordinal, int *error)
{
    struct gr_gpu *gpu;

    *error = 0;
    if (ordinal < 0 || ordinal >= gpus->count) {
        gr_gpu_error_set("no device %d", ordinal);
        *error = GR_ERR_NODEVICE;
        return NULL;
    }
    gpu = atomic_load_explicit(&gpus->slots[ordinal].gpu, memory_order_acquire);
    if (NULL != gpu) {
        return gpu;
    }
    pthread_mutex_lock(&gpus->lock);
    gpu = atomic_load_explicit(&gpus->slots[ordinal].gpu, memory_order_relaxed);
    if (NULL == gpu) {
        *error = gpu_create(gpus, ordinal, &gpu);
        gpu = 0 == *error ? gpu : NULL;
        atomic_store_explicit(&gpus->slots[ordinal].gpu, gpu, memory_order_release);
    }
    pthread_mutex_unlock(&gpus->lock);
    return gpu;
}

void gr_gpus_close(struct gr_gpus *gpus)
{
    struct gr_cuda_saved saved;
    int k;

    if (NULL == gpus) {
        return;
    }
    gr_marks_clear(gpus);
    for (k = 0; k < gpus->count; k++) {
        struct gr_gpu *gpu = atomic_load(&gpus->slots[k].gpu);

        if (NULL != gpu) {
            gpu_destroy(gpu);
        }
        /* a reset has released what was retained before it */
        if (NULL != gpus->slots[k].primary && 0 == gr_cuda_enter_alive(gpus, k, &saved)) {
            CUstreamCaptureMode mode;

            gr_cuda_leave(&gpus->cuda, &saved);
            mode = gr_cuda_relax(&gpus->cuda);
            (void) gpus->cuda.cuDevicePrimaryCtxRelease(gpus->slots[k].device);
            gr_cuda_restore(&gpus->cuda, mode);
        }
    }
    pthread_mutex_destroy(&gpus->marks_lock);
    pthread_mutex_destroy(&gpus->lock);
    free(gpus->marked);
    free(gpus);
}

bool gr_gpus_see(const struct gr_gpus *gpus, const struct gr_gpu_id *id)
{
    CUuuid uuid;
    int k;

    for (k = 0; k < gpus->count; k++) {
        if (0 == GR_CUDA(&gpus->cuda, cuDeviceGetUuid, &uuid, gpus->slots[k].device) &&
            0 == memcmp(id->uuid, uuid.bytes, sizeof(id->uuid))) {
            return true;
        }
    }
    return false;
}

int gr_gpu_has_mps(const struct gr_gpu *gpu)
{
    const int mps_enabled = 133; /* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which older toolkits lack */
    int value = 0;

    (void) gpu->gpus->cuda.cuDeviceGetAttribute(&value, (CUdevice_attribute) mps_enabled,
                                                gpu->gpus->slots[gpu->ordinal].device);
    return 0 != value;
}

int gr_gpu_resident_blocks(const struct gr_gpu *gpu)
{
    /* a block on each multiprocessor: the launch bounds of all kernels promise that (kernels.cu) */
    return atomic_load_explicit(&gpu->has_kernels, memory_order_acquire) ? gpu->sms : 0;
}
