/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, files, mappings and threads: each function fails as the manual lets it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- memory ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
char *__real_strdup(const char *text);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *__wrap_malloc(size_t bytes)
{
    return FAULT_DUE("malloc") ? no_memory() : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return FAULT_DUE("calloc") ? no_memory() : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *at, size_t bytes)
{
    return FAULT_DUE("realloc") ? no_memory() : __real_realloc(at, bytes);
}

char *__wrap_strdup(const char *text)
{
    return FAULT_DUE("strdup") ? no_memory() : __real_strdup(text);
}

/* ---- the reserve (base/memory.h): without it an allocation that fails is not made again ---- */

bool __real_gr_reserve_release(void);
bool __wrap_gr_reserve_release(void);

bool __wrap_gr_reserve_release(void)
{
    return NULL != getenv("GPURING_FAULT_RESERVE") && __real_gr_reserve_release();
}

/* ---- files and mappings ---- */

int __real_open(const char *path, int flags, ...);
int __real_shmget(key_t key, size_t bytes, int flags);
void *__real_shmat(int id, const void *at, int flags);
int __real_shmctl(int id, int command, struct shmid_ds *segment);
ssize_t __real_getrandom(void *to, size_t bytes, unsigned flags);
int __real_fstat(int fd, struct stat *st);
int __real_access(const char *path, int mode);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__real_open_memstream(char **text, size_t *size);
void *__real_mmap(void *at, size_t bytes, int rights, int flags, int fd, off_t from);
int __real_madvise(void *at, size_t bytes, int advice);
long __real_syscall(long number, long a, long b, long c, long d, long e);

static int fail_with(int error)
{
    errno = error;
    return -1;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = 0 != (flags & (O_CREAT | O_TMPFILE)) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return FAULT_DUE("open") ? fail_with(EMFILE) : __real_open(path, flags, mode);
}

int __wrap_shmget(key_t key, size_t bytes, int flags)
{
    return FAULT_DUE("shmget") ? fail_with(ENOSPC) : __real_shmget(key, bytes, flags);
}

void *__wrap_shmat(int id, const void *at, int flags)
{
    if (FAULT_DUE("shmat")) {
        errno = ENOMEM;
        return (void *) -1;
    }
    return __real_shmat(id, at, flags);
}

/* The removal of a segment that the caller has made does not fail. */
int __wrap_shmctl(int id, int command, struct shmid_ds *segment)
{
    return IPC_STAT == command && FAULT_DUE("shmctl") ? fail_with(EINVAL)
                                                      : __real_shmctl(id, command, segment);
}

ssize_t __wrap_getrandom(void *to, size_t bytes, unsigned flags)
{
    return FAULT_DUE("getrandom") ? fail_with(ENOSYS) : __real_getrandom(to, bytes, flags);
}

int __wrap_fstat(int fd, struct stat *st)
{
    return FAULT_DUE("fstat") ? fail_with(EIO) : __real_fstat(fd, st);
}

int __wrap_access(const char *path, int mode)
{
    return FAULT_DUE("access") ? fail_with(EACCES) : __real_access(path, mode);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (FAULT_DUE("fopen")) {
        errno = EMFILE;
        return NULL;
    }
    return __real_fopen(path, mode);
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
    return FAULT_DUE("open_memstream") ? no_memory() : __real_open_memstream(text, size);
}

void *__wrap_mmap(void *at, size_t bytes, int rights, int flags, int fd, off_t from)
{
    if (FAULT_DUE("mmap")) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, bytes, rights, flags, fd, from);
}

int __wrap_madvise(void *at, size_t bytes, int advice)
{
    return FAULT_DUE("madvise") ? fail_with(EINVAL) : __real_madvise(at, bytes, advice);
}

/* The component's have no more than five arguments (topo/cpus.c). */
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
    return FAULT_DUE("syscall") ? fail_with(ENOSYS) : __real_syscall(number, a, b, c, d, e);
}

/* ---- other processes, threads, libraries ---- */

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
                                const struct iovec *from, unsigned long nfrom, unsigned long flags);
ssize_t __real_process_vm_writev(pid_t pid, const struct iovec *from, unsigned long nfrom,
                                 const struct iovec *to, unsigned long nto, unsigned long flags);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg);
void *__real_dlopen(const char *name, int flags);
void *__real_dlsym(void *library, const char *name);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
                                const struct iovec *from, unsigned long nfrom, unsigned long flags)
{
    return FAULT_DUE("process_vm_readv")
               ? fail_with(EPERM)
               : __real_process_vm_readv(pid, to, nto, from, nfrom, flags);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *from, unsigned long nfrom,
                                 const struct iovec *to, unsigned long nto, unsigned long flags)
{
    return FAULT_DUE("process_vm_writev")
               ? fail_with(EPERM)
               : __real_process_vm_writev(pid, from, nfrom, to, nto, flags);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                          void *arg)
{
    return FAULT_DUE("pthread_create") ? EAGAIN : __real_pthread_create(thread, attr, start, arg);
}

/* A failed one of theirs, so that dlerror() has words. */
void *__wrap_dlopen(const char *name, int flags)
{
    return __real_dlopen(FAULT_DUE("dlopen") ? "no library: a fault of the test" : name, flags);
}

void *__wrap_dlsym(void *library, const char *name)
{
    return __real_dlsym(library, FAULT_DUE("dlsym") ? "no_symbol_a_fault_of_the_test" : name);
}
