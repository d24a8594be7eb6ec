/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tickets of device memory (link/ipc_cache.h) from other processes, on a driver of the target's
 * own: an address that is given out lies in what is open, as the ticket that it was opened for has
 * said; nothing in use is closed; nothing is opened over what is open.
 */
#include "fuzz.h"

#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/pointer.h"
#include "link/ipc_cache.h"

enum { OPEN = 32, TAKEN = 16, MAPPED = 4 };

/* What the driver has open: of a process, number k at AT(k). */
static struct gr_gpu_allocation opened[OPEN]; /* pid 0: nothing */
static int users[OPEN];
static int opens; /* so far */
#define AT(k) (((gr_gpu_ptr) 1 << 40) + ((gr_gpu_ptr) (k) << 33))

/* ---- the driver ---- */

static struct gr_gpu device = {.id = {.bus = 1}};

int gr_gpu_can_access(struct gr_gpu *gpu, int other)
{
    (void) gpu;
    return 0 == other;
}

uint64_t gr_gpus_buffer_id(const struct gr_gpus *gpus, gr_gpu_ptr at)
{
    (void) gpus;
    return at >> 20;
}

struct gr_pointer gr_pointer_find(struct gr_gpus *gpus, const void *pointer)
{
    (void) gpus;
    return (struct gr_pointer) {
        .memory = GR_MEMORY_DEVICE, .primary = 1, .at = (gr_gpu_ptr) (uintptr_t) pointer};
}

int gr_gpu_ipc_range(struct gr_gpu *gpu, gr_gpu_ptr at, gr_gpu_ptr *base, size_t *bytes)
{
    (void) gpu;
    *base = at >> 20 << 20;
    *bytes = (size_t) 1 << 20;
    return 0;
}

/* The handle says what it is of; the target's tickets have it in agreement with the rest, or not.
 */
int gr_gpu_ipc_export(struct gr_gpu *gpu, gr_gpu_ptr at, unsigned char handle[GR_GPU_IPC_BYTES])
{
    (void) gpu;
    memset(handle, 0, GR_GPU_IPC_BYTES);
    memcpy(handle, &at, sizeof(at));
    return 0;
}

/* Allocations of other processes are of so many bytes; handles are (process, base). */
static const uint64_t sizes[4] = {1 << 10, 1 << 16, 1 << 21, 1 << 30};

int gr_gpu_ipc_open(struct gr_gpu *gpu, const unsigned char handle[GR_GPU_IPC_BYTES],
                    gr_gpu_ptr *at)
{
    struct gr_gpu_allocation of = {.pid = 1};
    int k, room = -1;

    (void) gpu;
    of.process = handle[0] % 3;
    of.base = (uint64_t) (handle[1] % 8) << 20;
    of.bytes = sizes[handle[1] % 4];
    for (k = 0; k < OPEN; k++) {
        if (0 == opened[k].pid) {
            room = k;
        } else if (opened[k].process == of.process && opened[k].base < of.base + of.bytes &&
                   of.base < opened[k].base + opened[k].bytes) {
            return GR_ERR_CUDA; /* already mapped */
        }
    }
    FUZZ_NEED(room >= 0);
    opened[room] = of;
    opens++;
    *at = AT(room);
    return 0;
}

void gr_gpu_ipc_close(struct gr_gpu *gpu, gr_gpu_ptr at)
{
    int k;

    (void) gpu;
    for (k = 0; k < OPEN && AT(k) != at; k++) {
    }
    FUZZ_NEED(k < OPEN && 0 != opened[k].pid && 0 == users[k]);
    opened[k].pid = 0;
}

/* ---- the target ---- */

/* What a process says of one of its allocations: true, but for some bytes. */
static struct gr_ipc_handle some_ticket(struct fuzz_input *in)
{
    unsigned process = fuzz_below(in, 3), place = fuzz_below(in, 8);
    struct gr_ipc_handle t = {.of = {.process = 100 + process, .pid = 1 + (int32_t) process}};

    t.of.base = (uint64_t) place << 20;
    t.of.bytes = sizes[place % 4];
    t.of.id = 1 + fuzz_below(in, 2);
    t.offset = fuzz_u64(in) % (t.of.bytes + 1);
    t.ipc[0] = (unsigned char) process;
    t.ipc[1] = (unsigned char) place;
    if (0 == fuzz_below(in, 3)) {
        fuzz_patch(in, &t, sizeof(t));
    } else if (0 == fuzz_below(in, 3)) {
        t.of.bytes = fuzz_u64(in);
        t.offset = fuzz_u64(in) >> fuzz_below(in, 64);
    }
    t.of.bytes %=
        (uint64_t) 1
        << 33; /* only the owner knows how much there is: a ticket is believed that much */
    return t;
}

/* One that can be had lies no farther from the begin of what is open than the ticket that opened it
 * allows. */
static void check(const struct gr_ipc_mapped *shared, uint64_t most)
{
    int k = (int) ((shared->at - AT(0)) >> 33);

    FUZZ_NEED(shared->at >= AT(0) && k < OPEN && 0 != opened[k].pid);
    FUZZ_NEED(shared->at - AT(k) <= most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct gr_ipc_cache *share = gr_ipc_cache_open(&device, (struct gr_peer_id) {1, 2}, 2, MAPPED);
    struct gr_ipc_mapped taken[TAKEN];
    uint64_t promised[OPEN] = {0}; /* by the ticket for which it was opened */
    int at[TAKEN], k;

    FUZZ_NEED(NULL != share);
    memset(taken, 0, sizeof(taken));
    memset(opened, 0, sizeof(opened));
    memset(users, 0, sizeof(users));
    while (in.left > 0) {
        k = (int) fuzz_below(&in, TAKEN);
        if (NULL != taken[k].mapping) {
            users[at[k]]--;
            gr_ipc_cache_unmap(share, &taken[k]);
        } else {
            struct gr_ipc_handle t = some_ticket(&in);
            int before = opens;

            if (0 == gr_ipc_cache_map(share, &t, &taken[k]) && NULL != taken[k].mapping) {
                at[k] = (int) ((taken[k].at - AT(0)) >> 33);
                FUZZ_NEED(at[k] >= 0 && at[k] < OPEN);
                if (before != opens) { /* for this one */
                    promised[at[k]] = t.of.bytes;
                }
                check(&taken[k], promised[at[k]]);
                users[at[k]]++;
            }
        }
        if (0 == fuzz_below(&in, 32)) {
            gr_ipc_cache_trim(share);
        }
    }
    FUZZ_NEED(share->mapped <= MAPPED);
    memset(users, 0, sizeof(users));
    gr_ipc_cache_close(share);
    for (k = 0; k < OPEN; k++) {
        FUZZ_NEED(0 == opened[k].pid);
    }
    return 0;
}
