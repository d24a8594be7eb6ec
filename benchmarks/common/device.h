/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owns device memory: message buffers that the CUDA driver gives, and reaches where the CPU does
 * not. The driver is loaded at run time, so that one program runs on machines with and without it.
 * No MPI in here.
 */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "memory.h"

#define DEVICE_ERROR_CHARS 512
#define DEVICE_HANDLE_BYTES 64

/* This rank's number on its node, as Open MPI tells it before MPI_Init; 0 without mpirun. */
int device_local_rank(void);

/*
 * Loads the driver and makes the primary context of a device current: number modulo the devices
 * there are. Call it before MPI_Init: some libraries look for a driver and a context then. Returns
 * the device's number with error[0] = '\0', or -1 with a predicate, "needs ...", in
 * error[DEVICE_ERROR_CHARS].
 */
int device_open(int number, char *error);

/* Gives the context back. Nothing happens where device_open was not called or failed. */
void device_close(void);

/*
 * Buffers for the thread that called device_open: on that device; in memory that moves to whoever
 * uses it; in host memory that stays where it is. What moves is filled by the driver's copies, so
 * that it is on the device then. Any error of the driver but "no memory left" ends the process with
 * a line that names it. All functions return when what they do is done.
 */
extern const struct memory memory_cuda, memory_managed, memory_pinned;

/*
 * What another process of the node needs to use a buffer of ours. 0, or -1 where the driver
 * refuses.
 */
int device_export(const void *buffer, unsigned char handle[DEVICE_HANDLE_BYTES]);

/* Its address here, or NULL where the driver refuses; device_forget ends the use. */
void *device_import(const unsigned char handle[DEVICE_HANDLE_BYTES]);
void device_forget(void *buffer);

/* Copies between buffers on devices, `times` times the same, and returns when that is done. */
void device_copy(void *to, const void *from, size_t bytes, int times);

#endif
