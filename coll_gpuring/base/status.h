/* SPDX-License-Identifier: BSD-3-Clause */
/* What functions that are polled return; a negative value is an error (errors.h). */
#ifndef GR_BASE_STATUS_H
#define GR_BASE_STATUS_H

enum gr_status {
    GR_DONE = 0,
    GR_AGAIN = 1 /* not yet: poll again later */
};

#endif
