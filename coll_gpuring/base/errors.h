/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error codes of all folders but mpi/. Functions below engine/ do not log: the engine converts
 * their codes to messages.
 */
#ifndef GR_BASE_ERRORS_H
#define GR_BASE_ERRORS_H

enum gr_error {
    GR_ERR_NOMEM = -1, /* malloc failed */
    GR_ERR_SPACE = -2, /* shared memory: the system has none, or the process no addresses */
    GR_ERR_LIMIT = -3, /* shared memory: this process's limit is reached */
    GR_ERR_SYS = -4,   /* a system call failed; errno says why */
    /* a peer's memory is not accessible (other PID namespace, no permission) */
    GR_ERR_FOREIGN = -5,
    GR_ERR_TIMEOUT = -6,    /* the time did not suffice */
    GR_ERR_NODRIVER = -7,   /* no usable CUDA driver */
    GR_ERR_NODEVICE = -8,   /* the driver reports no device */
    GR_ERR_CUDA = -9,       /* a driver function failed; see gr_gpu_error() */
    GR_ERR_GPU_SPACE = -10, /* out of device memory */
    GR_ERR_GPU_LIMIT = -11, /* device memory: this process's limit is reached */
    GR_ERR_PEER = -12,      /* a peer's device memory cannot be mapped */
    GR_ERR_NET = -13,       /* no usable network, or a protocol error */
    GR_ERR_UNREACHED = -14, /* no transport reaches a peer */
    GR_ERR_LOST = -15,      /* the connection to a peer was lost */
    /* of the engine */
    GR_ERR_FAILED = -16,        /* the call has failed, and the reason was reported */
    GR_ERR_FALLBACK = -17,      /* the call is left to another implementation, on all ranks */
    GR_ERR_DIFFER = -18,        /* the ranks' calls do not match */
    GR_ERR_REVOKED = -19,       /* the communicator was revoked */
    GR_ERR_LOST_RANK = -20,     /* a rank of the communicator has ended */
    GR_ERR_NOT_SUPPORTED = -21, /* this machine does not have what it needs */
    GR_ERR_TRUNCATE = -22       /* the ranks' calls do not match: only in their bytes */
};

/* What functions that are polled return; a negative value is an error. */

enum gr_status {
    GR_DONE = 0,
    GR_AGAIN = 1 /* not yet: poll again later */
};

#endif
