/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for the user (engine/log.h), as lines on stderr. Their texts are in a file in the
 * format of Open MPI's show_help, which reads no files any more from 6.0 on.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dladdr, vasprintf */
#endif
#include "mpi/ompi.h"

#include "engine/log.h"

#include "opal/mca/installdirs/installdirs.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void write_all(const char *line, size_t length)
{
    while (write(STDERR_FILENO, line, length) < 0 && EINTR == errno) {
    }
}

/*
 * A line on stderr, in the form of opal_output(), which takes 9 KiB of stack: a thread of the
 * application may have no more than 16 KiB. It also uses memory without asking whether it got some,
 * and that there is none may be what the line is about: then its beginning is written. It is one
 * write(), so that lines of ranks do not mix.
 */
static void write_line(const char *format, va_list args)
{
    char host[64] = "", spare[512], *text = NULL, *line = NULL;
    int length = -1;
    va_list again;

    (void) gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    va_copy(again, args);
    if (vasprintf(&text, format, args) >= 0) {
        length = asprintf(&line, "[%s:%05d] %s\n", host, (int) getpid(), text);
        free(text);
    }
    if (length >= 0) {
        write_all(line, (size_t) length);
        free(line);
    } else {
        vsnprintf(spare, sizeof(spare) - 1, format, again);
        write_all(spare, strlen(strcat(spare, "\n")));
    }
    va_end(again);
}

/* Rendered here and printed as it is: mpirun's own aggregation shows only one message per topic. */
void mca_coll_gpuring_warn(const char *topic, ...)
{
    char *format = find_text(topic);
    va_list args;

    if (NULL == format) {
        mca_coll_gpuring_print("gpuring: %s (the file " TEXTS ", which cannot be read, says more)",
                               topic);
        return;
    }
    va_start(args, topic);
    write_line(format, args);
    va_end(args);
    free(format);
}

void mca_coll_gpuring_print(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line(format, args);
    va_end(args);
}
