/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages for the user (engine/log.h), by Open MPI's output and help texts. */
#include "mpi/ompi.h"

#include "engine/log.h"

#include "opal/util/show_help.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rendered here and printed as it is: mpirun's own aggregation shows only one message per topic. */
void mca_coll_gpuring_warn(const char *topic, ...)
{
    va_list args;
    char *text;

    va_start(args, topic);
    text = opal_show_help_vstring("help-coll-gpuring.txt", topic, false, args);
    va_end(args);
    if (NULL != text) {
        text[strcspn(text, "\n")] = '\0';
        opal_output(0, "%s", text);
        free(text);
    }
}

void mca_coll_gpuring_print(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    opal_output(0, "%s", text);
}
