/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts calls and decides which one fails (inject.h). Linked into each module. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* dladdr() */
#endif
#include "inject.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fault_kind *_Atomic kinds; /* those that were called, the last one first */

static struct {
    char kind[64]; /* that fails; "": none */
    long first;    /* call that fails */
    bool on;       /* whether all later ones fail, too */
    int rank;      /* of this process in MPI_COMM_WORLD, or -1 */
    int trace;     /* file that all calls are written to, or -1 */
} wanted;

static int own_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");

    return NULL == text ? -1 : atoi(text);
}

/* This rank's own of the files that a variable of the environment names, or -1. */
static int open_own(const char *variable)
{
    const char *prefix = getenv(variable);
    char path[4096];

    if (NULL == prefix) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s.%d", prefix, wanted.rank);
    return openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static unsigned long offset_of(const void *caller, const Dl_info *info)
{
    return (unsigned long) ((const char *) caller - (const char *) info->dli_fbase);
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *fault = getenv("GPURING_FAULT"), *rank = getenv("GPURING_FAULT_RANK");
    const char *colon = NULL == fault ? NULL : strchr(fault, ':');

    wanted.rank = own_rank();
    wanted.trace = open_own("GPURING_FAULT_TRACE");
    if (NULL == colon || (size_t) (colon - fault) >= sizeof(wanted.kind) ||
        (NULL != rank && '\0' != *rank && 0 != strcmp(rank, "all") && atoi(rank) != wanted.rank)) {
        return;
    }
    memcpy(wanted.kind, fault, (size_t) (colon - fault));
    wanted.first = atol(colon + 1);
    wanted.on = NULL != strchr(colon, '+');
}

/* One write: lines of several ranks do not mix. */
static void say(const struct fault_kind *kind, long call, const void *caller)
{
    char line[300];
    Dl_info info = {0};
    int n;

    if (0 == dladdr(caller, &info) || NULL == info.dli_fname) {
        info.dli_fname = "?";
    }
    n = snprintf(line, sizeof(line), "fault: rank %d, %s %ld fails, called before %s+0x%lx\n",
                 wanted.rank, kind->name, call, info.dli_fname, offset_of(caller, &info));
    (void) !write(STDERR_FILENO, line, n < (int) sizeof(line) ? (size_t) n : sizeof(line) - 1);
}

static void trace(const struct fault_kind *kind, long call, const void *caller)
{
    Dl_info info = {0};

    if (wanted.trace >= 0 && 0 != dladdr(caller, &info)) {
        dprintf(wanted.trace, "%s %ld 0x%lx\n", kind->name, call, offset_of(caller, &info));
    }
}

bool fault_due(struct fault_kind *kind, const void *caller)
{
    long call = atomic_fetch_add(&kind->calls, 1) + 1;

    if (1 == call) {
        struct fault_kind *first = atomic_load(&kinds);

        do {
            kind->next = first;
        } while (!atomic_compare_exchange_weak(&kinds, &first, kind));
    }
    trace(kind, call, caller);
    if (0 != strcmp(kind->name, wanted.kind) || call < wanted.first ||
        (call > wanted.first && !wanted.on)) {
        return false;
    }
    if (call == wanted.first) {
        say(kind, call, caller);
    }
    return true;
}

/* Each module appends its own kinds. */
__attribute__((destructor)) static void write_counts(void)
{
    const struct fault_kind *kind;
    int fd = open_own("GPURING_FAULT_COUNTS");

    for (kind = atomic_load(&kinds); fd >= 0 && NULL != kind; kind = kind->next) {
        dprintf(fd, "%s %ld\n", kind->name, atomic_load(&kind->calls));
    }
    if (fd >= 0) {
        close(fd);
    }
}
