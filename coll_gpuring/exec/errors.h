/* SPDX-License-Identifier: BSD-3-Clause */
/* What core functions return below zero. They log nothing; the glue turns these into words. */
#ifndef GR_EXEC_ERRORS_H
#define GR_EXEC_ERRORS_H

enum gr_error {
    GR_ERR_NOMEM = -1,   /* malloc failed */
    GR_ERR_SPACE = -2,   /* shared memory: the file system is full */
    GR_ERR_LIMIT = -3,   /* shared memory: the bound of this process is reached */
    GR_ERR_SYS = -4,     /* a system call failed; errno says why */
    GR_ERR_FOREIGN = -5, /* a peer's memory cannot be seen from here (other PID namespace, no permission) */
    GR_ERR_POISONED = -6 /* an earlier call on this team failed */
};

#endif
