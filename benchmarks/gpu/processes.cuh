/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs that stand alone share (copies.cu, one_kernel.cu): N processes that use a device
 * at a time, their barrier, the clock, and a check of what CUDA returns.
 */
#ifndef GR_BENCH_GPU_PROCESSES_H
#define GR_BENCH_GPU_PROCESSES_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static int processes, rank;

/* Memory that the processes share, zero at first; before run_processes(). */
template <class T> static T *share()
{
    return (T *) mmap(NULL, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

struct barrier {
    std::atomic<int> came, round;
};
static struct barrier *together;

static void wait_for_all()
{
    int round = together->round.load();

    if (processes - 1 == together->came.fetch_add(1)) {
        together->came = 0;
        together->round = round + 1;
    } else {
        while (round == together->round.load()) {
        }
    }
}

static void must(int result, const char *what)
{
    if (0 != result) {
        printf("%s: error %d\n", what, result);
        fflush(stdout);
        _exit(3);
    }
}
#define MUST(call) must((int) (call), #call)

static double now_us()
{
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static double median_of(std::vector<double> us)
{
    std::sort(us.begin(), us.end());
    return us[us.size() / 2];
}

/* `run` in n processes, which know their rank. Returns whether one of them failed. */
template <class Run> static int run_processes(int n, Run run)
{
    int status, failed = 0;

    processes = n;
    together = share<struct barrier>();
    for (rank = 0; rank < processes; rank++) {
        if (0 == fork()) {
            run();
            _exit(0);
        }
    }
    while (wait(&status) > 0) {
        failed |= status;
    }
    return 0 != failed;
}

#endif
