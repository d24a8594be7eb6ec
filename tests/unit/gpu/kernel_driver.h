/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver as the tests of the kernels use it: by dlopen, one device, no code of the component
 * between. What goes wrong here ends the program.
 *
 * Environment: LIBCUDA (libcuda.so.1), KERNEL_IMAGE (a file; without, an empty image that fake
 * drivers accept).
 */
#ifndef GR_TESTS_KERNEL_DRIVER_H
#define GR_TESTS_KERNEL_DRIVER_H

#include "exec/gpu/args.h"
#include "exec/gpu/kernels.h"
#include "exec/gpu/leader_args.h"

/* Load the driver and the image, make a context. */
void kd_open(void);

/* Whether it is the fake driver: blocks may have any number of threads. */
int kd_is_fake(void);

gr_gpu_ptr kd_alloc(size_t bytes);
void kd_free(gr_gpu_ptr at);
void *kd_host_alloc(size_t bytes);
void kd_host_free(void *at);
void kd_put(gr_gpu_ptr at, const void *from, size_t bytes);
void kd_get(void *to, gr_gpu_ptr at, size_t bytes);

void *kd_stream(void);
void kd_stream_free(void *stream);
void kd_wait(void *stream);
void kd_launch(void *stream, enum gr_kernel kernel, uint32_t blocks, uint32_t threads,
               const struct gr_gpu_args *args);

/* A leader's entry. */
void kd_launch_leader(void *stream, enum gr_kernel kernel, uint32_t blocks, uint32_t threads,
                      const struct gr_leader_args *args);

/* "f32_sum", "f32", "sum"; of the kernel that copies: "copy", "bits", "copy" */
const char *kd_kernel_name(enum gr_kernel kernel);
const char *kd_type_name(enum gr_kernel kernel);
const char *kd_op_name(enum gr_kernel kernel);

/* Bytes of an element in memory, and those to which C aligns it. */
size_t kd_elem_bytes(enum gr_kernel kernel);
size_t kd_elem_align(enum gr_kernel kernel);

/* Memory of the host, zeroed; aborts where there is none. */
void *kd_calloc(size_t bytes);

#endif
