/* SPDX-License-Identifier: BSD-3-Clause */
/* GR_HD marks functions that compile for host and device. */
#ifndef GR_BASE_HOST_DEVICE_H
#define GR_BASE_HOST_DEVICE_H

#if !defined(GR_HD)
#if defined(__CUDACC__)
#define GR_HD __host__ __device__
#else
#define GR_HD
#endif
#endif

#endif
