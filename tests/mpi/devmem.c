/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory of test programs, through the CUDA driver, which is loaded at run time, and secret
 * memory of the host (devmem.h).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* syscall */
#endif
#include "devmem.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((size_t) 4096)
#define MAX_DEVICES 16
#define GRANULE ((size_t) 2 << 20) /* of memory that is mapped */
#define INVALID_DEVICE 101         /* CUDA_ERROR_INVALID_DEVICE */

static const char *const names[] = {"host",      "device",     "managed", "pinned",
                                    "pool",      "other",      "vmm",     "other_pool",
                                    "other_vmm", "registered", "mixed",   "secret"};

/* cuda.h's, which need not be there: memory of a device, and the right to use it. */
struct place {
    int type, id; /* type 1: a device */
};
struct physical {
    int type, handles; /* type 1: pinned */
    struct place place;
    void *unused[2];
};
struct right {
    struct place place;
    int flags; /* 3: read and write; 0: none */
};

static struct {
    int (*init)(unsigned);
    int (*count)(int *);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*alloc)(uint64_t *, size_t);
    int (*free)(uint64_t);
    int (*alloc_managed)(uint64_t *, size_t, unsigned);
    int (*alloc_host)(void **, size_t, unsigned);
    int (*free_host)(void *);
    int (*alloc_async)(uint64_t *, size_t, void *);
    int (*free_async)(uint64_t, void *);
    int (*pool)(void **, int);
    int (*allow_pool)(void *, const struct right *, size_t);
    int (*register_host)(void *, size_t, unsigned);
    int (*unregister_host)(void *);
    int (*create)(uint64_t *, size_t, const struct physical *, unsigned long long);
    int (*reserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
    int (*map)(uint64_t, size_t, size_t, uint64_t, unsigned long long);
    int (*allow)(uint64_t, size_t, const struct right *, size_t);
    int (*unmap)(uint64_t, size_t);
    int (*unreserve)(uint64_t, size_t);
    int (*release)(uint64_t);
    int (*range)(uint64_t *, size_t *, uint64_t);
    int (*copy)(uint64_t, uint64_t, size_t);
    int (*memset_async)(uint64_t, unsigned char, size_t, void *);
    int (*synchronize)(void);
} cu;

static const struct {
    const char *name;
    void *function;
} functions[] = {
    {"cuInit", &cu.init},
    {"cuDeviceGetCount", &cu.count},
    {"cuDevicePrimaryCtxRetain", &cu.retain},
    {"cuCtxSetCurrent", &cu.set_current},
    {"cuMemAlloc_v2", &cu.alloc},
    {"cuMemFree_v2", &cu.free},
    {"cuMemAllocManaged", &cu.alloc_managed},
    {"cuMemHostAlloc", &cu.alloc_host},
    {"cuMemFreeHost", &cu.free_host},
    {"cuMemAllocAsync", &cu.alloc_async},
    {"cuMemFreeAsync", &cu.free_async},
    {"cuDeviceGetDefaultMemPool", &cu.pool},
    {"cuMemPoolSetAccess", &cu.allow_pool},
    {"cuMemHostRegister_v2", &cu.register_host},
    {"cuMemHostUnregister", &cu.unregister_host},
    {"cuMemCreate", &cu.create},
    {"cuMemAddressReserve", &cu.reserve},
    {"cuMemMap", &cu.map},
    {"cuMemSetAccess", &cu.allow},
    {"cuMemUnmap", &cu.unmap},
    {"cuMemAddressFree", &cu.unreserve},
    {"cuMemRelease", &cu.release},
    {"cuMemGetAddressRange_v2", &cu.range},
    {"cuMemcpy", &cu.copy},
    {"cuMemsetD8Async", &cu.memset_async},
    {"cuCtxSynchronize", &cu.synchronize},
};

static void *library;
static enum devmem_kind kind;
static void *contexts[MAX_DEVICES];
static int rank, devices, device;

static void check(int rc, const char *what)
{
    if (0 != rc) {
        fprintf(stderr, "devmem: %s: CUDA error %d\n", what, rc);
        abort();
    }
}

void *devmem_driver(const char *name)
{
    void *function = NULL == library ? NULL : dlsym(library, name);

    if (NULL == function) {
        fprintf(stderr, "devmem: the CUDA driver has no %s\n", name);
        exit(1);
    }
    return function;
}

static void load(void)
{
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (NULL == library) {
        fprintf(stderr, "devmem: GPURING_MEMORY needs a CUDA driver: %s\n", dlerror());
        exit(1);
    }
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        void *function = devmem_driver(functions[k].name);

        memcpy(functions[k].function, &function, sizeof function);
    }
    check(cu.init(0), "cuInit");
    check(cu.count(&devices), "cuDeviceGetCount");
    devices = devices < MAX_DEVICES ? devices : MAX_DEVICES;
}

static int next_device(void)
{
    return (device + 1) % devices;
}

static void *context(int ordinal)
{
    if (NULL == contexts[ordinal]) {
        check(cu.retain(&contexts[ordinal], ordinal), "cuDevicePrimaryCtxRetain");
    }
    return contexts[ordinal];
}

enum devmem_kind devmem_open(void)
{
    const char *text = getenv("GPURING_MEMORY"), *number = getenv("OMPI_COMM_WORLD_RANK");
    size_t k = 0;

    while (NULL != text && k < sizeof names / sizeof names[0] && 0 != strcmp(text, names[k])) {
        k++;
    }
    if (k == sizeof names / sizeof names[0]) {
        fprintf(stderr, "devmem: GPURING_MEMORY=%s: no such kind\n", text);
        exit(1);
    }
    kind = (enum devmem_kind) k;
    if (DEVMEM_HOST != kind && DEVMEM_SECRET != kind && 0 == devices) {
        load();
        rank = NULL != number ? atoi(number) : 0;
        device = rank % devices;
        check(cu.set_current(context(device)), "cuCtxSetCurrent");
    }
    return kind;
}

enum devmem_kind devmem_next(void)
{
    static atomic_uint count;
    uint64_t mixed = ((uint64_t) rank << 32 | atomic_fetch_add(&count, 1)) * 0x9e3779b97f4a7c15u;

    return DEVMEM_MIXED == kind ? (enum devmem_kind)((mixed >> 40) % DEVMEM_MIXED) : kind;
}

/* Addresses of their own, for memory that nobody else can name once it is mapped. */
static uint64_t map_alloc(int on, size_t bytes)
{
    const size_t whole = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    const struct physical physical = {.type = 1, .place = {1, on}};
    const struct right right = {{1, on}, 3};
    uint64_t handle, at = 0;

    check(cu.create(&handle, whole, &physical, 0), "cuMemCreate");
    check(cu.reserve(&at, whole, 0, 0, 0), "cuMemAddressReserve");
    check(cu.map(at, whole, 0, handle, 0), "cuMemMap");
    check(cu.allow(at, whole, &right, 1), "cuMemSetAccess");
    check(cu.release(handle), "cuMemRelease");
    return at;
}

static void map_free(uint64_t at)
{
    uint64_t base = 0;
    size_t bytes = 0;

    check(cu.range(&base, &bytes, at), "cuMemGetAddressRange");
    check(cu.unmap(base, bytes), "cuMemUnmap");
    check(cu.unreserve(base, bytes), "cuMemAddressFree");
}

/* Devices that do not reach each other get no access. */
static void check_grant(int rc, const char *what)
{
    check(INVALID_DEVICE == rc ? 0 : rc, what);
}

void devmem_grant(enum devmem_kind of, void *at, bool yes)
{
    const struct right right = {{1, device}, yes ? 3 : 0};
    uint64_t base = 0;
    size_t bytes = 0;
    void *pool = NULL;

    if (next_device() == device) {
        return;
    }
    check(cu.set_current(context(device)), "cuCtxSetCurrent");
    if (DEVMEM_OTHER_POOL == of) {
        check(cu.pool(&pool, next_device()), "cuDeviceGetDefaultMemPool");
        check_grant(cu.allow_pool(pool, &right, 1), "cuMemPoolSetAccess");
    } else {
        check(cu.range(&base, &bytes, (uintptr_t) at), "cuMemGetAddressRange");
        check_grant(cu.allow(base, bytes, &right, 1), "cuMemSetAccess");
    }
}

static void *register_alloc(size_t bytes)
{
    void *at = malloc(bytes);

    if (NULL == at) {
        abort();
    }
    check(cu.register_host(at, bytes, 1), "cuMemHostRegister");
    return at;
}

/* A page before the buffer says how long the mapping is. */
static void *secret_alloc(size_t bytes)
{
#if defined(SYS_memfd_secret)
    int fd = (int) syscall(SYS_memfd_secret, 0);
#else
    int fd = -1;
#endif
    size_t whole = (bytes + 2 * PAGE - 1) / PAGE * PAGE;
    char *at = MAP_FAILED;

    if (fd >= 0 && 0 == ftruncate(fd, (off_t) whole)) {
        at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (MAP_FAILED == (void *) at) {
        perror("devmem: secret memory");
        abort();
    }
    close(fd);
    memcpy(at, &whole, sizeof whole);
    return at + PAGE;
}

static void secret_free(char *at)
{
    size_t whole;

    memcpy(&whole, at - PAGE, sizeof whole);
    munmap(at - PAGE, whole);
}

void *devmem_alloc(enum devmem_kind of, size_t bytes)
{
    uint64_t at = 0;
    void *host = NULL;

    if (DEVMEM_SECRET == of) {
        return secret_alloc(bytes);
    }
    check(cu.set_current(context(device)), "cuCtxSetCurrent");
    switch (of) {
    case DEVMEM_MANAGED:
        check(cu.alloc_managed(&at, bytes, 1), "cuMemAllocManaged");
        break;
    case DEVMEM_PINNED:
        check(cu.alloc_host(&host, bytes, 1), "cuMemHostAlloc");
        return host;
    case DEVMEM_POOL:
        check(cu.alloc_async(&at, bytes, NULL), "cuMemAllocAsync");
        check(cu.synchronize(), "cuCtxSynchronize");
        break;
    case DEVMEM_VMM:
        at = map_alloc(device, bytes);
        break;
    case DEVMEM_OTHER_POOL:
        check(cu.set_current(context(next_device())), "cuCtxSetCurrent");
        check(cu.alloc_async(&at, bytes, NULL), "cuMemAllocAsync");
        check(cu.synchronize(), "cuCtxSynchronize");
        devmem_grant(of, (void *) (uintptr_t) at, true);
        break;
    case DEVMEM_OTHER_VMM:
        at = map_alloc(next_device(), bytes);
        devmem_grant(of, (void *) (uintptr_t) at, true);
        break;
    case DEVMEM_REGISTERED:
        return register_alloc(bytes);
    case DEVMEM_OTHER:
        check(cu.set_current(context(next_device())), "cuCtxSetCurrent");
        check(cu.alloc(&at, bytes), "cuMemAlloc");
        check(cu.set_current(context(device)), "cuCtxSetCurrent");
        break;
    default:
        check(cu.alloc(&at, bytes), "cuMemAlloc");
    }
    return (void *) (uintptr_t) at;
}

void devmem_free(enum devmem_kind of, void *at)
{
    if (DEVMEM_SECRET == of) {
        secret_free(at);
        return;
    }
    check(cu.set_current(context(device)), "cuCtxSetCurrent");
    switch (of) {
    case DEVMEM_PINNED:
        check(cu.free_host(at), "cuMemFreeHost");
        break;
    case DEVMEM_VMM:
    case DEVMEM_OTHER_VMM:
        map_free((uintptr_t) at);
        break;
    case DEVMEM_REGISTERED:
        check(cu.unregister_host(at), "cuMemHostUnregister");
        free(at);
        break;
    case DEVMEM_OTHER_POOL:
        check(cu.set_current(context(next_device())), "cuCtxSetCurrent");
        check(cu.free_async((uintptr_t) at, NULL), "cuMemFreeAsync");
        check(cu.set_current(context(device)), "cuCtxSetCurrent");
        break;
    case DEVMEM_POOL:
        check(cu.free_async((uintptr_t) at, NULL), "cuMemFreeAsync");
        break;
    default:
        check(cu.free((uintptr_t) at), "cuMemFree");
    }
}

void devmem_put(void *to, const void *host, size_t bytes)
{
    if (NULL == library) { /* secret memory */
        memcpy(to, host, bytes);
        return;
    }
    check(cu.set_current(context(device)), "cuCtxSetCurrent");
    check(cu.copy((uintptr_t) to, (uintptr_t) host, bytes), "cuMemcpy");
}

void devmem_get(void *host, const void *from, size_t bytes)
{
    if (NULL == library) { /* secret memory */
        memcpy(host, from, bytes);
        return;
    }
    check(cu.set_current(context(device)), "cuCtxSetCurrent");
    check(cu.copy((uintptr_t) host, (uintptr_t) from, bytes), "cuMemcpy");
}

void devmem_set_later(void *at, unsigned char value, size_t bytes)
{
    check(cu.set_current(context(device)), "cuCtxSetCurrent");
    check(cu.memset_async((uintptr_t) at, value, bytes, NULL), "cuMemsetD8Async");
}
