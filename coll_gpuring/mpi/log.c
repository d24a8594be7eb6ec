/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for the user (engine/log.h), by Open MPI's output. Their texts are in a file in the
 * format of Open MPI's show_help, which reads no files any more from 6.0 on.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dladdr, vasprintf */
#endif
#include "mpi/ompi.h"

#include "engine/log.h"

#include "opal/mca/installdirs/installdirs.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS "help-coll-gpuring.txt"

static const char here; /* an address in the component's file, for dladdr() */

/* The file of texts in a folder; length: of the folder's name. NULL: there is no such file. */
static FILE *open_texts(const char *folder, int length)
{
    char *path = NULL;
    FILE *file = NULL;

    if (asprintf(&path, "%.*s/" TEXTS, length, folder) > 0) {
        file = fopen(path, "r");
        free(path);
    }
    return file;
}

/* The file beside the component, where it is before an installation, or the installed one. */
static FILE *find_texts(void)
{
    const char *installed = opal_install_dirs.opaldatadir, *slash;
    Dl_info info;
    FILE *file = NULL;

    if (0 != dladdr(&here, &info) && NULL != info.dli_fname &&
        NULL != (slash = strrchr(info.dli_fname, '/'))) {
        file = open_texts(info.dli_fname, (int) (slash - info.dli_fname));
    }
    return NULL == file && NULL != installed ? open_texts(installed, (int) strlen(installed))
                                             : file;
}

/* The line below [topic], for vasprintf; to be freed. NULL: there is none, or no memory. */
static char *find_text(const char *topic)
{
    size_t size = 0, length = strlen(topic);
    FILE *file = find_texts();
    char *line = NULL;
    bool found = false;

    while (NULL != file && !found && getline(&line, &size, file) > 0) {
        found = '[' == line[0] && 0 == strncmp(line + 1, topic, length) && ']' == line[1 + length];
    }
    found = found && getline(&line, &size, file) > 0;
    if (NULL != file) {
        fclose(file);
    }
    if (!found) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* Rendered here and printed as it is: mpirun's own aggregation shows only one message per topic. */
void mca_coll_gpuring_warn(const char *topic, ...)
{
    char *format = find_text(topic), *text = NULL;
    va_list args;

    if (NULL == format) {
        opal_output(0, "gpuring: %s (there is no file " TEXTS ", which says more)", topic);
        return;
    }
    va_start(args, topic);
    if (vasprintf(&text, format, args) >= 0) {
        opal_output(0, "%s", text);
        free(text);
    }
    va_end(args);
    free(format);
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
