/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages for the user. */
#include "engine/log.h"

#include "engine/process.h"

#include "opal/util/show_help.h"

#include <stdarg.h>
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

bool mca_coll_gpuring_should_log(struct ompi_communicator_t *comm, int level)
{
    return gr_process.verbose >= level && NULL != comm && 0 == ompi_comm_rank(comm);
}
