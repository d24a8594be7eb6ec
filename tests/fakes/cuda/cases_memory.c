/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: allocations, copies, and accesses that must fault. */
#include "cases.h"

static void poisoned(void)
{
    unsigned char bytes[1000];
    CUdeviceptr at;

    begin(0);
    OK(cuMemAlloc(&at, sizeof(bytes)));
    OK(cuMemcpyDtoH(bytes, at, sizeof(bytes)));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        CHECK(0xff == bytes[i]);
    }
    CHECK(0 == at % 256);
}

static void host_reads_device(void)
{
    begin(0);
    printf("%d\n", *(volatile char *) zeros(8));
}

/*
 * The contents of pinned and managed memory are the host's too; past their end is a page that
 * faults.
 */
static void host_reads_past_pinned(void)
{
    volatile char *at;
    void *p;
    CUdeviceptr managed;

    begin(0);
    OK(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    *(volatile char *) managed = 1;
    OK(cuMemHostAlloc(&p, 4096, 0));
    at = p;
    at[4095] = 1;
    fprintf(stderr, "so far so good\n");
    at[4096] = 1;
}

static void host_reads_freed(void)
{
    void *p;

    begin(0);
    OK(cuMemHostAlloc(&p, 4096, 0));
    OK(cuMemFreeHost(p));
    fprintf(stderr, "so far so good\n");
    *(volatile char *) p = 1;
}

static void free_wrongly(void)
{
    CUdeviceptr at = (begin(0), zeros(4096));
    void *p;

    IS(ERROR_INVALID_VALUE, cuMemFree(at + 8));
    IS(ERROR_INVALID_VALUE, cuMemFreeHost((void *) at));
    OK(cuMemFree(at));
    IS(ERROR_INVALID_VALUE, cuMemFree(at));
    OK(cuMemFree(0));
    IS(ERROR_INVALID_VALUE, cuMemAlloc(&at, 0));
    OK(cuMemHostAlloc(&p, 10, 0));
    CHECK(0 == (uintptr_t) p % 4096);
    IS(ERROR_INVALID_VALUE, cuMemFree((CUdeviceptr) p));
    OK(cuMemFreeHost(p));
}

static void copies(void)
{
    CUdeviceptr a = (begin(0), zeros(4096)), b = zeros(4096);
    uint32_t in[1024], out[1024];

    for (uint32_t i = 0; i < 1024; i++) {
        in[i] = i;
    }
    OK(cuMemcpyHtoD(a, in, sizeof(in)));
    OK(cuMemcpyDtoD(b, a, sizeof(in)));
    OK(cuMemcpy((CUdeviceptr) out, b, sizeof(out)));
    CHECK(0 == memcmp(in, out, sizeof(in)));
    OK(cuMemsetD32(a + 4, 7, 1023));
    OK(cuMemcpyDtoH(out, a, sizeof(out)));
    CHECK(0 == out[0] && 7 == out[1] && 7 == out[1023]);
    IS(ERROR_INVALID_VALUE, cuMemcpyHtoD(a + 4, in, 4096));
    IS(ERROR_INVALID_VALUE, cuMemsetD8(a, 0, 4097));
    IS(ERROR_INVALID_VALUE, cuMemcpyDtoH((void *) b, a, 8));
    IS(ERROR_INVALID_VALUE, cuMemcpyHtoD((CUdeviceptr) out, in, 8));
    OK(cuMemFree(a));
    IS(ERROR_INVALID_VALUE, cuMemcpyHtoD(a, in, 8));
}

/* Each of these loads one word or vector from a kernel. */
static void load(const char *name, CUdeviceptr at, unsigned threads)
{
    launch(name, 1, threads, NULL, (void *[]) {&at});
}

static void kernel_past_end(void)
{
    CUdeviceptr at = (begin(0), zeros(1000));

    load("load_word", at + 996, 1);
    fprintf(stderr, "so far so good\n");
    load("load_word", at + 1000, 1);
}
static void kernel_before_begin(void)
{
    load("load_word", (begin(0), zeros(1000)) - 4, 1);
}
static void kernel_host_memory(void)
{
    load("load_word", (CUdeviceptr) (begin(0), malloc(8)), 1);
}
static void kernel_misaligned_word(void)
{
    load("load_word", (begin(0), zeros(16)) + 2, 1);
}
static void kernel_misaligned_vector(void)
{
    load("load_vector", (begin(0), zeros(64)) + 8, 32);
}

static void kernel_freed_memory(void)
{
    CUdeviceptr at = (begin(0), zeros(8));

    OK(cuMemFree(at));
    load("load_word", at, 1);
}

/* A kernel of device 0 on memory of device 1, with access enabled and taken away again. */
static void kernel_peer_memory(void)
{
    CUcontext other = begin(1);
    CUdeviceptr at = zeros(8);

    begin(0);
    OK(cuCtxEnablePeerAccess(other, 0));
    load("load_word", at, 1);
    fprintf(stderr, "so far so good\n");
    OK(cuCtxDisablePeerAccess(other));
    load("load_word", at, 1);
}

/* ---- a network's card ---- */

void fakecuda_nic_write(void *to, const void *from, size_t bytes);
void fakecuda_nic_read(void *to, const void *from, size_t bytes);

/* How many of these words are not there yet, one by one from 1. */
static int missing(CUdeviceptr at, int n)
{
    int late = 0;

    for (int i = 0; i < n; i++) {
        late += (uint64_t) i + 1 != word_at(at + 8 * (CUdeviceptr) i);
    }
    return late;
}

static CUdeviceptr nic_writes(int n)
{
    CUdeviceptr at = zeros(8 * (size_t) n);
    uint64_t i;

    for (i = 0; i < (uint64_t) n; i++) {
        fakecuda_nic_write((void *) (at + 8 * i), &(uint64_t) {i + 1}, 8);
    }
    return at;
}

/*
 * FAKECUDA_DEVICES=2: what it writes is there at the flush of that device, or, as some is, before;
 * the newest last.
 */
static void nic_late(void)
{
    CUdeviceptr at, there;
    CUcontext other;
    uint64_t word;
    int late;

    other = begin(1);
    there = nic_writes(50);
    begin(0);
    at = nic_writes(50);
    late = missing(at, 50);
    CHECK(0 < late && late < 50 && 0 < missing(there, 50));
    CHECK(1 == word_at(at) && 50 != word_at(at + 8 * 49));
    IS(ERROR_INVALID_VALUE,
       cuFlushGPUDirectRDMAWrites(1, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    IS(ERROR_INVALID_VALUE, cuFlushGPUDirectRDMAWrites(0, 1));
    OK(cuFlushGPUDirectRDMAWrites(0, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    CHECK(0 == missing(at, 50) && 0 < missing(there, 50));
    fakecuda_nic_read(&word, (void *) (at + 8), 8);
    CHECK(2 == word);
    OK(cuCtxSetCurrent(other));
    OK(cuFlushGPUDirectRDMAWrites(0, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    CHECK(0 == missing(there, 50));
    OK(cuCtxSetCurrent(NULL));
    IS(ERROR_INVALID_CONTEXT,
       cuFlushGPUDirectRDMAWrites(0, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
}

/* What the device says of it is what it does. */
static void nic_modes(void)
{
    const CUdevice_attribute names[] = {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED,
                                        CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS,
                                        CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING};
    int said[3];
    CUdeviceptr at;

    begin(0);
    for (int i = 0; i < 3; i++) {
        OK(cuDeviceGetAttribute(&said[i], names[i], 0));
    }
    if (!said[0]) {
        fprintf(stderr, "so far so good\n");
    }
    at = nic_writes(50);
    CHECK((0 == missing(at, 50)) == (CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER == said[2]));
    if (CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST == said[1]) {
        OK(cuFlushGPUDirectRDMAWrites(0, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
        CHECK(0 == missing(at, 50));
    } else if (0 == said[2]) {
        IS(ERROR_NOT_SUPPORTED,
           cuFlushGPUDirectRDMAWrites(0, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
    }
}

static void nic_past_end(void)
{
    char bytes[300] = "";
    CUdeviceptr at = (begin(0), zeros(256));

    fakecuda_nic_write((void *) at, bytes, 256);
    fprintf(stderr, "so far so good\n");
    fakecuda_nic_write((void *) at, bytes, sizeof(bytes));
}

const struct test_case memory_cases[] = {
    {"poisoned", poisoned},
    {"host_reads_device", host_reads_device},
    {"host_reads_past_pinned", host_reads_past_pinned},
    {"host_reads_freed", host_reads_freed},
    {"free_wrongly", free_wrongly},
    {"copies", copies},
    {"kernel_past_end", kernel_past_end},
    {"kernel_before_begin", kernel_before_begin},
    {"kernel_host_memory", kernel_host_memory},
    {"kernel_misaligned_word", kernel_misaligned_word},
    {"kernel_misaligned_vector", kernel_misaligned_vector},
    {"kernel_freed_memory", kernel_freed_memory},
    {"kernel_peer_memory", kernel_peer_memory},
    {"nic_late", nic_late},
    {"nic_modes", nic_modes},
    {"nic_past_end", nic_past_end},
    {NULL, NULL},
};
