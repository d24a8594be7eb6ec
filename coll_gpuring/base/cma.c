/* SPDX-License-Identifier: BSD-3-Clause */
/* Cross-memory attach (cma.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* process_vm_readv, process_vm_writev */
#endif
#include "base/cma.h"

#include "base/errors.h"

#include <errno.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

/* This process's probe value, from its first gr_probe_make() on. */
static uint64_t secret;

struct gr_probe gr_probe_make(void)
{
    struct gr_probe probe = {.addr = (uint64_t) (uintptr_t) &secret, .pid = (int32_t) getpid()};

    if (0 == secret &&
        (ssize_t) sizeof(secret) != getrandom(&secret, sizeof(secret), GRND_NONBLOCK)) {
        secret = probe.addr ^ (uint64_t) probe.pid; /* must differ between processes, no more */
    }
    probe.value = secret;
    return probe;
}

int gr_probe_test(const struct gr_probe *probe)
{
    uint64_t value = ~probe->value;

    return 0 == gr_cma_read(probe->pid, &value, probe->addr, sizeof(value)) &&
           value == probe->value;
}

int gr_cma_readable(const void *at)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {(void *) at, 1};

    return 1 == process_vm_readv(getpid(), &local, 1, &remote, 1, 0) || EFAULT != errno;
}

/* Copy all bytes, by as many calls as it takes. */
static int copy_all(bool write, int pid, struct iovec local, struct iovec remote)
{
    ssize_t n;

    while (local.iov_len > 0) {
        n = write ? process_vm_writev(pid, &local, 1, &remote, 1, 0)
                  : process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if (n < 0 && EINTR == errno) {
            continue;
        }
        if (n <= 0) {
            errno = 0 == n ? EFAULT : errno; /* nothing was copied, and no reason given */
            return GR_ERR_SYS;
        }
        local.iov_base = (char *) local.iov_base + n;
        local.iov_len -= (size_t) n;
        remote.iov_base = (char *) remote.iov_base + n;
        remote.iov_len -= (size_t) n;
    }
    return 0;
}

int gr_cma_read(int pid, void *to, uint64_t from, size_t bytes)
{
    return copy_all(false, pid, (struct iovec) {to, bytes},
                    (struct iovec) {(void *) (uintptr_t) from, bytes});
}

int gr_cma_write(int pid, uint64_t to, const void *from, size_t bytes)
{
    return copy_all(true, pid, (struct iovec) {(void *) from, bytes},
                    (struct iovec) {(void *) (uintptr_t) to, bytes});
}

bool gr_cma_is_forbidden(int error)
{
    return EFAULT != error && ENOMEM != error;
}

bool gr_cma_is_gone(int pid)
{
    return 0 != kill(pid, 0) && ESRCH == errno;
}
