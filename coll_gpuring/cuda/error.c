/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of errors, one for each thread (error.h). */
#include "cuda/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char message[256];

const char *gr_gpu_error(void)
{
    return '\0' == message[0] ? "no error" : message;
}

void gr_gpu_error_set(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
}
