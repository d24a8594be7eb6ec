/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A driver that notes what is opened of other processes, for the tests of link/ipc_cache.h: it
 * opens nothing over what is open, and closes nothing that the test uses. Tickets are made up.
 */
#ifndef GR_TESTS_GPU_SHARE_NOTED_H
#define GR_TESTS_GPU_SHARE_NOTED_H

#include "gpu_share_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

/* Where allocation number n of a process is open; its address here is OPENED + n * SPREAD. */
enum { NNOTED = 64 };
static const CUdeviceptr OPENED = (CUdeviceptr) 1 << 40, SPREAD = (CUdeviceptr) 1 << 32;

static struct {
    pthread_mutex_t lock;
    struct gr_gpu_allocation open[NNOTED]; /* pid 0: not open */
    atomic_int used[NNOTED];               /* by the test: must not be closed */
    int opens, closes, refuse;             /* refuse: so many opens */
    int refuse_beside;                     /* refuse while anything of that process is open */
} noted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline CUresult CUDAAPI note_open(CUdeviceptr *at, CUipcMemHandle handle, unsigned int flags)
{
    CUresult result = CUDA_SUCCESS;
    struct gr_gpu_allocation of;
    int k, number;

    CHECK_INT(flags, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    memcpy(&of, &handle, sizeof(of));
    memcpy(&number, (unsigned char *) &handle + sizeof(of), sizeof(number));
    pthread_mutex_lock(&noted.lock);
    noted.opens++;
    for (k = 0; k < NNOTED; k++) {
        const struct gr_gpu_allocation *o = &noted.open[k];

        if (o->pid == of.pid && o->process == of.process &&
            (noted.refuse_beside ||
             (o->base < of.base + of.bytes && of.base < o->base + o->bytes))) {
            result = CUDA_ERROR_ALREADY_MAPPED;
        }
    }
    if (noted.refuse > 0) {
        noted.refuse--;
        result = CUDA_ERROR_INVALID_VALUE;
    }
    if (CUDA_SUCCESS == result) {
        noted.open[number] = of;
        *at = OPENED + (CUdeviceptr) number * SPREAD;
    }
    pthread_mutex_unlock(&noted.lock);
    return result;
}

static inline CUresult CUDAAPI note_close(CUdeviceptr at)
{
    CUdeviceptr number = (at - OPENED) / SPREAD;

    CHECK(number < NNOTED && at == OPENED + number * SPREAD);
    pthread_mutex_lock(&noted.lock);
    CHECK(0 != noted.open[number].pid);
    CHECK_INT(atomic_load(&noted.used[number]), 0);
    noted.open[number].pid = 0;
    noted.closes++;
    pthread_mutex_unlock(&noted.lock);
    return CUDA_SUCCESS;
}

static inline struct sharer open_noted(int max_mapped)
{
    struct sharer s = open_sharer(0, 0, 8, max_mapped);

    s.gpus->cuda.cuIpcOpenMemHandle = note_open;
    s.gpus->cuda.cuIpcCloseMemHandle = note_close;
    return s;
}

/* So many were opened (or refused) and closed since the last time. */
static inline void noted_calls(int opens, int closes)
{
    CHECK_INT(noted.opens, opens);
    CHECK_INT(noted.closes, closes);
    noted.opens = noted.closes = 0;
}

/* The handle of an allocation of another process; number: of the note, and its buffer id. */
static inline struct gr_ipc_handle foreign(int process, int number, uint64_t base, uint64_t bytes)
{
    struct gr_ipc_handle t;

    memset(&t, 0, sizeof(t));
    t.of.process = 1000 + (uint64_t) process;
    t.of.pid = 77 + process;
    t.of.base = base;
    t.of.bytes = bytes;
    t.of.id = (uint64_t) number + 1;
    memcpy(t.ipc, &t.of, sizeof(t.of));
    memcpy(t.ipc + sizeof(t.of), &number, sizeof(number));
    return t;
}

/* Allocations of process 0 that lie apart. */
static inline struct gr_ipc_handle apart(int number)
{
    return foreign(0, number, (uint64_t) (number + 1) * MIB, BYTES);
}

static inline struct gr_ipc_mapped take(struct gr_ipc_cache *share, const struct gr_ipc_handle *t,
                                        int number)
{
    struct gr_ipc_mapped m = map_handle(share, t);

    CHECK_INT(m.at, OPENED + (CUdeviceptr) number * SPREAD + t->offset);
    atomic_fetch_add(&noted.used[number], 1);
    return m;
}

static inline void drop(struct gr_ipc_cache *share, struct gr_ipc_mapped *m, int number)
{
    atomic_fetch_sub(&noted.used[number], 1);
    gr_ipc_cache_unmap(share, m);
    CHECK(0 == m->at && NULL == m->mapping);
}

static inline void use_once(struct gr_ipc_cache *share, const struct gr_ipc_handle *t, int number)
{
    struct gr_ipc_mapped m = take(share, t, number);

    drop(share, &m, number);
}

/* Which of these are open, as a string of digits. */
static inline const char *open_now(void)
{
    static char digits[11];
    int k, n = 0;

    for (k = 0; k < 10; k++) {
        if (0 != noted.open[k].pid) {
            digits[n++] = (char) ('0' + k);
        }
    }
    digits[n] = '\0';
    return digits;
}

#define CHECK_OPEN(digits) CHECK(0 == strcmp(open_now(), digits))

#endif
