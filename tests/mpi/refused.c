/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of 64 KiB to 4 MiB, of every collective and form, before and after some ranks lose the
 * right to have memory copied between processes:
 *
 *      refused HOW RANK ROUNDS
 *
 * HOW     seccomp    process_vm_readv and process_vm_writev give EPERM on that rank
 *         dumpable   that rank is not dumpable any more: the other ranks cannot read its memory
 *         nothing    no right is lost
 * RANK    of MPI_COMM_WORLD; -1: on all
 * ROUNDS  before it, and after it
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* syscall */
#endif
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "batch.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

#define LEAST 65536 /* bytes of a vector */
#define DOUBLINGS 6 /* up to 4 MiB */
#define AT_A_TIME 3 /* calls in flight */
#define NCAPS 2     /* words of a set of capabilities */

static uint64_t calls, mine; /* random numbers: the same on all ranks, and of each rank */

/* As root a process may read all others by this capability, dumpable or not. */
static bool drop_ptrace(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[NCAPS];
    unsigned bit = 1u << CAP_SYS_PTRACE;

    if (0 != syscall(SYS_capget, &header, sets)) {
        return false;
    }
    sets[0].effective &= ~bit;
    sets[0].permitted &= ~bit;
    return 0 == syscall(SYS_capset, &header, sets);
}

static bool forbid_copies(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

    return 0 == prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           0 == prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool lose(const char *how)
{
    return 0 == strcmp(how, "seccomp")    ? forbid_copies()
           : 0 == strcmp(how, "dumpable") ? 0 == prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
                                          : 0 == strcmp(how, "nothing");
}

/* Without user-defined operations, which other components do. */
static struct form_shape draw(enum coll coll)
{
    struct form_shape s;
    int bytes;

    do {
        s = form_draw_coll(&calls, SIZES_LARGE, coll);
    } while (NULL != kinds[s.kind].function);
    bytes = LEAST << rng_below(&calls, DOUBLINGS);
    bytes += rng_below(&calls, bytes);
    s.count = bytes / kinds[s.kind].extent / (coll_infos[coll].blocks ? test_size : 1);
    return s;
}

static bool call_some(enum coll coll, enum form form)
{
    struct batch b;

    batch_open(&b, AT_A_TIME);
    for (int i = 0; i < AT_A_TIME; i++) {
        struct form_shape shape = draw(coll);

        batch_post(&b, MPI_COMM_WORLD, &shape, form, rng_next(&calls));
    }
    return batch_finish(&b, &mine);
}

static void call_all(int rounds, const char *when)
{
    for (int coll = 0; coll < NUM_COLLS; coll++) {
        bool ok = true;

        for (int k = 0; k < rounds * forms_here; k++) {
            ok = call_some((enum coll) coll, (enum form)(k % forms_here)) && ok;
        }
        tap_check(ok, "%s %s", coll_infos[coll].name, when);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "nothing";
    int loser = argc > 2 ? atoi(argv[2]) : -1, rounds = argc > 3 ? atoi(argv[3]) : 1;
    bool dropped = drop_ptrace();

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    tap_check(dropped, "no rank may read all processes");
    calls = rng_key(test_seed, 160, 0);
    mine = rng_key(test_seed, 161, (uint64_t) test_rank);
    kinds_open();
    call_all(rounds, "before");
    tap_check((loser >= 0 && loser != test_rank) || lose(how), "%s", how);
    call_all(rounds, "after");
    kinds_close();
    return test_end();
}
