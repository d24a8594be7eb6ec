/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What kind of memory a buffer is (pointer.h), and what it costs to know:
 *
 *      in an allocation seen lately   one driver call for one attribute: the allocation's buffer id
 *      anything else                  one driver call for all attributes
 *      first sight of device memory   two more: SYNC_MEMOPS is set, and the state of the primary context
 *
 * Nothing is known of an address without the driver: a range may have been freed and its addresses
 * given to another allocation, of another kind or on another device, or to malloc. The buffer id,
 * never given twice, tells. So plain host memory costs a call each time, since what was host memory
 * may be a device's by now. Only memory of a context (cudaMalloc, cudaMallocManaged) is remembered:
 * in a pool's or a reserved range the memory below an address changes without a new id being
 * promised.
 *
 * No call here creates a context.
 */
#include "cuda/pointer.h"

#include "base/cma.h"
#include "cuda/state.h"

/* An allocation seen by this thread. */
struct seen {
    uint64_t serial; /* of the driver's owner; 0: nothing here */
    uintptr_t start;
    size_t bytes;
    unsigned long long id;
    struct gr_pointer what; /* at: of start */
};

#define SEEN 16
static _Thread_local struct seen table[SEEN];
static _Thread_local unsigned oldest;

static const struct gr_pointer host = {GR_MEMORY_HOST, -1, 0, 0};

/* What the driver says of an address. */
struct said {
    unsigned int type; /* a CUmemorytype; 0: nothing known */
    unsigned int managed;
    int ordinal;
    CUcontext context; /* NULL: of a pool, or a mapping */
    CUdeviceptr start, at;
    size_t bytes;
    unsigned long long id;
};

/* The allocation that holds the address, if it was seen and is still the same. */
static const struct seen *look_up(const struct gr_gpus *gpus, uintptr_t address)
{
    int k;

    for (k = 0; k < SEEN; k++) {
        struct seen *s = &table[k];
        unsigned long long id = 0;

        if (s->serial != gpus->serial || address - s->start >= s->bytes) {
            continue;
        }
        if (CUDA_SUCCESS ==
                gpus->cuda.cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address) &&
            id == s->id) {
            return s;
        }
        s->serial = 0;
    }
    return NULL;
}

static int ask(const struct gr_gpus *gpus, uintptr_t address, struct said *said)
{
    CUpointer_attribute names[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_CONTEXT,
        CU_POINTER_ATTRIBUTE_BUFFER_ID,        CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    };
    void *values[] = {
        &said->type, &said->managed, &said->ordinal, &said->context,
        &said->id,   &said->at,      &said->start,   &said->bytes,
    };

    *said = (struct said) {0};
    return CUDA_SUCCESS == gpus->cuda.cuPointerGetAttributes(sizeof(names) / sizeof(names[0]),
                                                             names, values, address);
}

/*
 * Whether memory of this context, on that device, is the primary context's; a context that is not
 * active owns none.
 */
static int is_primary(const struct gr_gpus *gpus, int ordinal, CUcontext context)
{
    CUdevice device = gpus->slots[ordinal].device;
    CUcontext primary = NULL;
    unsigned int flags;
    int active = 0;

    if (NULL == context) {
        return 1;
    }
    if (CUDA_SUCCESS != gpus->cuda.cuDevicePrimaryCtxGetState(device, &flags, &active) || !active ||
        CUDA_SUCCESS != gpus->cuda.cuDevicePrimaryCtxRetain(&primary, device)) {
        return 0;
    }
    (void) gpus->cuda.cuDevicePrimaryCtxRelease(device);
    return primary == context;
}

static struct gr_pointer classify(const struct gr_gpus *gpus, const struct said *said)
{
    struct gr_pointer p = host;
    int known = said->ordinal >= 0 && said->ordinal < gpus->count;

    if (said->managed) {
        p.memory = GR_MEMORY_MANAGED;
    } else if (CU_MEMORYTYPE_DEVICE == said->type) {
        p.memory = GR_MEMORY_DEVICE;
    } else if (CU_MEMORYTYPE_HOST == said->type && 0 != said->at) {
        p.memory = GR_MEMORY_PINNED;
    } else {
        return p;
    }
    p.at = said->at;
    if (GR_MEMORY_PINNED != p.memory && known) {
        p.device = said->ordinal;
        p.primary = is_primary(gpus, said->ordinal, said->context);
    }
    return p;
}

/* Memory of a context that was not seen, or not lately. */
static void remember(const struct gr_gpus *gpus, uintptr_t address, const struct said *said,
                     const struct gr_pointer *p)
{
    unsigned int yes = 1;
    struct seen *s;

    if (GR_MEMORY_DEVICE == p->memory) {
        /* refused for memory of some kinds, which are synchronised by their stream */
        (void) gpus->cuda.cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                                said->start);
    }
    if (0 == said->id || 0 == said->bytes) {
        return;
    }
    s = &table[oldest++ % SEEN];
    s->serial = gpus->serial;
    s->start = (uintptr_t) said->start;
    s->bytes = said->bytes;
    s->id = said->id;
    s->what = *p;
    s->what.at = said->at - (address - s->start);
}

struct gr_pointer gr_pointer_guess(const void *pointer)
{
    struct gr_pointer device = {GR_MEMORY_DEVICE, -1, 0, 0};

    return NULL == pointer || gr_cma_readable(pointer) ? host : device;
}

/* Memory that was not seen lately. */
static struct gr_pointer find_new(const struct gr_gpus *gpus, uintptr_t address)
{
    struct said said;
    struct gr_pointer p;

    if (!ask(gpus, address, &said)) {
        return gr_pointer_guess((const void *) address);
    }
    p = classify(gpus, &said);
    if (NULL != said.context && (GR_MEMORY_DEVICE == p.memory || GR_MEMORY_MANAGED == p.memory)) {
        remember(gpus, address, &said, &p);
    }
    return p;
}

struct gr_pointer gr_pointer_find(struct gr_gpus *gpus, const void *pointer)
{
    uintptr_t address = (uintptr_t) pointer;
    const struct seen *s;
    CUstreamCaptureMode mode;
    struct gr_pointer p;

    if (NULL == gpus || NULL == pointer) {
        return host;
    }
    s = look_up(gpus, address);
    if (NULL != s) {
        p = s->what;
        p.at += address - s->start;
        return p;
    }
    mode = gr_cuda_relax(&gpus->cuda);
    p = find_new(gpus, address);
    gr_cuda_restore(&gpus->cuda, mode);
    return p;
}
