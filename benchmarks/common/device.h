/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the CUDA driver for message buffers. The driver is loaded at run time, so that one
 * program runs on machines with and without it. No MPI.
 */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include "memory.h"

#define DEVICE_ERROR_CHARS 512
#define DEVICE_HANDLE_BYTES 64
#define DEVICE_ID_BYTES 16

/* This rank's number on its node, from Open MPI's environment before MPI_Init; 0 without mpirun. */
int device_local_rank(void);

/*
 * Loads the driver and makes the primary context of a device current: number modulo the devices
 * there are. Call it before MPI_Init: some libraries look for a driver and a context then. Returns
 * the device's number with error[0] = '\0', or -1 with a predicate, "needs ...", in
 * error[DEVICE_ERROR_CHARS].
 */
int device_open(int number, char *error);

/* What tells the device from all others of the node, whatever numbers the ranks know it by. */
void device_identity(unsigned char id[DEVICE_ID_BYTES]);

/* Gives the context back. Nothing happens where device_open was not called or failed. */
void device_close(void);

/*
 * Buffers for the thread that called device_open: on that device; managed; pinned host memory.
 * Managed memory is filled by the driver's copies, so that it is on the device at first. An error
 * of the driver other than lack of memory ends the process with a line that names it. Every
 * function waits until its work is done.
 */
extern const struct memory memory_cuda, memory_managed, memory_pinned;

/* A handle with which another process of the node maps the buffer. 0, or -1: the driver refuses. */
int device_export(const void *buffer, unsigned char handle[DEVICE_HANDLE_BYTES]);

/* Maps another process's buffer; device_forget unmaps it. NULL: the driver refuses. */
void *device_import(const unsigned char handle[DEVICE_HANDLE_BYTES]);
void device_forget(void *buffer);

/* Copies between buffers on devices, `times` times the same bytes, and waits. */
void device_copy(void *to, const void *from, size_t bytes, int times);

#endif
