/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error codes below zero of all that knows no MPI. These functions log nothing; the engine turns
 * codes into words.
 */
#ifndef GR_BASE_ERRORS_H
#define GR_BASE_ERRORS_H

enum gr_error {
    GR_ERR_NOMEM = -1, /* malloc failed */
    GR_ERR_SPACE = -2, /* shared memory: the file system is full */
    GR_ERR_LIMIT = -3, /* shared memory: the bound of this process is reached */
    GR_ERR_SYS = -4,   /* a system call failed; errno says why */
    /* a peer's memory cannot be seen from here (other PID namespace, no permission) */
    GR_ERR_FOREIGN = -5,
    GR_ERR_NODRIVER = -7,   /* no CUDA driver, or none that can be used */
    GR_ERR_NODEVICE = -8,   /* the driver shows this process no device */
    GR_ERR_CUDA = -9,       /* a driver function failed; gr_gpu_error() says which and why */
    GR_ERR_GPU_SPACE = -10, /* the device has no memory left */
    GR_ERR_GPU_LIMIT = -11, /* the bound of this process's device memory is reached */
    GR_ERR_PEER = -12,      /* a peer's device memory cannot be mapped here */
    GR_ERR_NET = -13,       /* the network cannot be used at all, or was used against its rules */
    GR_ERR_UNREACHED = -14, /* no transport leads to a peer */
    GR_ERR_LOST = -15       /* the connection to a peer broke */
};

#endif
