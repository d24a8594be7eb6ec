/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices of this process, through the CUDA driver. No CUDA header is needed to include this.
 *
 * libcuda is loaded when gr_gpus_open() is called, not before; a device's context (the primary one,
 * shared with the runtime API) is retained when gr_gpu_get() first asks for that device. At that
 * moment all kernels are resolved and loaded: later launches allocate nothing and synchronise with
 * nothing.
 *
 * Every function leaves the calling thread's current context as it was. All are thread-safe. Errors
 * are enum gr_error: where nothing else is said GR_ERR_GPU_SPACE when the driver was out of memory,
 * GR_ERR_CUDA otherwise; gr_gpu_error() has the driver's words for the last one of this thread.
 */
#ifndef GR_CUDA_DEVICE_H
#define GR_CUDA_DEVICE_H

#include "base/errors.h"
#include "exec/gpu/args.h"
#include "exec/gpu/kernels.h"

#include <stddef.h>
#include <stdint.h>

/* The driver of this process. */
struct gr_gpus;

/* One device of it. */
struct gr_gpu;

/* A stream of ours: non-blocking, of the highest priority. */
struct gr_gpu_stream;

/* What tells devices apart on one host, whatever number a process gives them. */
struct gr_gpu_id {
    unsigned char uuid[16];
    uint32_t domain, bus, device; /* PCI */
    uint32_t pad;
};

/*
 * Load the driver (library NULL: libcuda.so.1) and count its devices; creates no context. NULL on
 * error, with *error set to GR_ERR_NODRIVER, GR_ERR_NODEVICE, GR_ERR_CUDA or GR_ERR_NOMEM.
 */
struct gr_gpus *gr_gpus_open(const char *library, int *error);

/*
 * Give back what was retained. Streams must be destroyed before. Tolerates a driver that is
 * shutting down (at exit), and contexts that the application has destroyed. NULL is fine.
 */
void gr_gpus_close(struct gr_gpus *gpus);

int gr_gpus_count(const struct gr_gpus *gpus);

/* The device that is current for the calling thread, or -1 when no context is current. */
int gr_gpus_current(const struct gr_gpus *gpus);

/*
 * Wait for what the application has put on the legacy default stream of the calling thread's
 * current context, unless that is the primary one of device `but`. 0 or GR_ERR_CUDA.
 */
int gr_gpus_wait_current(struct gr_gpus *gpus, int but);

/* Device number `ordinal`, made ready at the first time. NULL on error, with *error set. */
struct gr_gpu *gr_gpu_get(struct gr_gpus *gpus, int ordinal, int *error);

struct gr_gpus *gr_gpu_owner(const struct gr_gpu *gpu);
int gr_gpu_ordinal(const struct gr_gpu *gpu);
struct gr_gpu_id gr_gpu_id(const struct gr_gpu *gpu);

/* The NUMA node beside it, where pinned memory is taken from; -1: unknown. */
int gr_gpu_numa(const struct gr_gpu *gpu);

/*
 * Blocks of GR_GPU_THREADS threads of our largest kernel that can be resident on the device at
 * once.
 */
int gr_gpu_resident_blocks(const struct gr_gpu *gpu);

/*
 * Wait for what was put on the legacy default stream of the device's primary context. 0 or
 * GR_ERR_CUDA.
 */
int gr_gpu_wait_default(struct gr_gpu *gpu);

/* Whether kernels on gpu can use memory of device `other` of this process; enables it. 1 or 0. */
int gr_gpu_reaches(struct gr_gpu *gpu, int other);

/* ---- memory ---- */

/* Device memory, not initialised; 256-byte aligned. 0, GR_ERR_GPU_SPACE or GR_ERR_CUDA. */
int gr_gpu_alloc(struct gr_gpu *gpu, size_t bytes, gr_gpu_ptr *at);
void gr_gpu_free(struct gr_gpu *gpu, gr_gpu_ptr at);

/*
 * Pinned host memory that the host and all devices of this process use at the same address; zeroed.
 * NULL: none.
 */
void *gr_gpu_host_alloc(struct gr_gpu *gpu, size_t bytes);
void gr_gpu_host_free(struct gr_gpu *gpu, void *at);

/*
 * Pin host memory that is there already (whole pages), and undo it. *at is its address for the
 * devices.
 */
int gr_gpu_host_pin(struct gr_gpu *gpu, void *base, size_t bytes, gr_gpu_ptr *at);
void gr_gpu_host_unpin(struct gr_gpu *gpu, void *base);

/*
 * Copy bytes between any two places (device, managed, host; of any device or context of this
 * process) and wait until it is done. What the application has put on the legacy default stream
 * before comes first.
 */
int gr_gpu_copy(struct gr_gpu *gpu, void *dst, const void *src, size_t bytes);

/* Bytes to be copied: a row of them, and maybe more rows, each so far behind the one before. */
struct gr_gpu_run {
    void *dst;
    const void *src;
    size_t bytes;
    size_t more; /* rows */
    size_t dst_pitch, src_pitch;
};

/*
 * Add next, one row, to the run where it goes on with its bytes, or is its next row: so the
 * elements of a vector type are one copy, however many they are. 1, or 0 when it is another run.
 */
int gr_gpu_run_join(struct gr_gpu_run *run, const struct gr_gpu_run *next);

/* Copy many runs, in that order, waited for once. */
int gr_gpu_copy_runs(struct gr_gpu *gpu, const struct gr_gpu_run *runs, size_t n);

/* ---- memory that networks write to (GPUDirect RDMA) ---- */

/*
 * What kernels on the device see of it, where the host has heard that it is written, and then tells
 * them in its own memory.
 */
enum gr_gpu_direct {
    GR_DIRECT_NO,      /* nothing is promised, or networks cannot write there; */
    GR_DIRECT_FLUSHED, /* it, when gr_gpu_flush() has returned in between; */
    GR_DIRECT_ORDERED  /* it */
};
enum gr_gpu_direct gr_gpu_direct(const struct gr_gpu *gpu);

/*
 * Until what networks have written to the device's memory is there for its kernels. 0 or
 * GR_ERR_CUDA.
 */
int gr_gpu_flush(struct gr_gpu *gpu);

/* ---- memory of other processes ---- */

#define GR_GPU_IPC_BYTES 64

/*
 * A handle of an allocation of gr_gpu_alloc(), or of the application's cuMemAlloc, for other
 * processes; and its use there. GR_ERR_PEER: it has none.
 */
int gr_gpu_ipc_export(struct gr_gpu *gpu, gr_gpu_ptr at, unsigned char handle[GR_GPU_IPC_BYTES]);
int gr_gpu_ipc_open(struct gr_gpu *gpu, const unsigned char handle[GR_GPU_IPC_BYTES],
                    gr_gpu_ptr *at);
void gr_gpu_ipc_close(struct gr_gpu *gpu, gr_gpu_ptr at);

/*
 * The allocation that holds an address, if other processes can have it by a handle. 0, or
 * GR_ERR_PEER.
 */
int gr_gpu_ipc_range(struct gr_gpu *gpu, gr_gpu_ptr at, gr_gpu_ptr *base, size_t *bytes);

/*
 * The driver's number of the allocation, of any kind, that holds an address: no other allocation of
 * this process has it or will have it. 0: there is none. One driver call, without a context.
 */
uint64_t gr_gpus_buffer_id(const struct gr_gpus *gpus, gr_gpu_ptr at);

/* ---- streams and kernels ---- */

int gr_gpu_stream_open(struct gr_gpu *gpu, struct gr_gpu_stream **stream);

/*
 * Waits until the stream is empty; every kernel of ours ends by itself in bounded time. NULL is
 * fine.
 */
void gr_gpu_stream_close(struct gr_gpu_stream *stream);

/*
 * What was put on the legacy default stream of the device's primary context so far comes before
 * what follows here.
 */
int gr_gpu_stream_follow(struct gr_gpu_stream *stream);

/* A point in the legacy default stream of a device's primary context. All zero at first. */
struct gr_gpu_point {
    struct gr_gpu *gpu; /* the device; NULL: never set */
    void *event;        /* kept from one time to the next */
};

/* Put it behind what is on the stream now. 0, or an error: then it is not set. */
int gr_gpu_point_set(struct gr_gpu_point *point, struct gr_gpu *gpu);
void gr_gpu_point_free(struct gr_gpu_point *point);

/* gr_gpu_stream_follow() as of the moment when the point, of any device, was set. */
int gr_gpu_stream_follow_point(struct gr_gpu_stream *stream, const struct gr_gpu_point *point);

/* Put a launch of nblocks blocks of args->threads threads on the stream; args is copied. */
int gr_gpu_launch(struct gr_gpu_stream *stream, enum gr_kernel kernel, uint32_t nblocks,
                  const struct gr_gpu_args *args);

/* Copy, in the order of the stream; host memory must be pinned. */
int gr_gpu_stream_copy(struct gr_gpu_stream *stream, gr_gpu_ptr dst, gr_gpu_ptr src, size_t bytes);

int gr_gpu_stream_copy_runs(struct gr_gpu_stream *stream, const struct gr_gpu_run *runs, size_t n);

/*
 * Marks are points in a stream, told apart by a number below GR_GPU_MARKS: put one behind all that
 * is on the stream, in the place of the earlier one of that number; and ask whether the stream has
 * come there: 1, 0, or negative.
 */
#define GR_GPU_MARKS 32
int gr_gpu_stream_mark(struct gr_gpu_stream *stream, uint32_t mark);
int gr_gpu_stream_reached(struct gr_gpu_stream *stream, uint32_t mark);

/* Fill device memory with zeros, in the order of the stream. */
int gr_gpu_stream_zero(struct gr_gpu_stream *stream, gr_gpu_ptr at, size_t bytes);

/*
 * 1: all that was put on the stream is done; 0: not yet; negative: something failed, for good.
 * wait: until it is 1.
 */
int gr_gpu_stream_done(struct gr_gpu_stream *stream);
int gr_gpu_stream_wait(struct gr_gpu_stream *stream);

/*
 * The driver's words for the last error of this thread: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY".
 * Never NULL.
 */
const char *gr_gpu_error(void);

#endif
