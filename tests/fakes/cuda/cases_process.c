/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases with two processes: access to each other's memory, and a shared device. */
#include "cases.h"

#include <signal.h>
#include <sys/wait.h>

/* The parent exports, the child imports; each waits for the other's word on a pipe. */
struct pair {
    int child, to_child[2], to_parent[2];
    pid_t pid;
};

static struct pair split(void)
{
    struct pair p;

    CHECK(0 == pipe(p.to_child) && 0 == pipe(p.to_parent));
    p.pid = fork(); /* before cuInit, as the driver wants it */
    CHECK(p.pid >= 0);
    p.child = 0 == p.pid;
    return p;
}
static void say(const struct pair *p, const void *what, size_t bytes)
{
    CHECK((ssize_t) bytes == write(p->child ? p->to_parent[1] : p->to_child[1], what, bytes));
}
static void hear(const struct pair *p, void *what, size_t bytes)
{
    CHECK((ssize_t) bytes == read(p->child ? p->to_child[0] : p->to_parent[0], what, bytes));
}
static void go(const struct pair *p)
{
    say(p, "g", 1);
}
static void wait_go(const struct pair *p)
{
    char c;
    hear(p, &c, 1);
}
/* The parent ends as the child did. */
static void join(const struct pair *p)
{
    int status;

    if (p->child) {
        exit(0);
    }
    CHECK(p->pid == waitpid(p->pid, &status, 0));
    if (WIFSIGNALED(status)) {
        raise(WTERMSIG(status));
    }
    CHECK(0 == WEXITSTATUS(status));
}

static CUdeviceptr share(const struct pair *p, int device)
{
    CUdeviceptr at;
    CUipcMemHandle handle;

    begin(device);
    at = zeros(4096);
    set_word(at, 11);
    OK(cuIpcGetMemHandle(&handle, at));
    say(p, &handle, sizeof(handle));
    return at;
}

static void ipc(void)
{
    struct pair p = split();
    CUipcMemHandle handle;
    CUdeviceptr at, again;
    uint64_t add = 1, n = 1;
    unsigned capable;

    if (p.child) {
        begin(0);
        hear(&p, &handle, sizeof(handle));
        OK(cuIpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        OK(cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        CHECK(at == again && 11 == word_at(at));
        IS(ERROR_INVALID_VALUE, cuIpcGetMemHandle(&handle, at));
        OK(cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
        CHECK(0 == capable);
        IS(ERROR_INVALID_VALUE, cuMemFree(at));
        OK(cuIpcCloseMemHandle(at));
        launch("add_number", 1, 1, NULL, (void *[]) {&at, &at, &add, &n});
        go(&p);
        OK(cuIpcCloseMemHandle(at));
        IS(ERROR_INVALID_VALUE, cuIpcCloseMemHandle(at));
    } else {
        at = share(&p, 0);
        wait_go(&p);
        CHECK(12 == word_at(at));
        OK(cuIpcGetMemHandle(&handle, at));
        IS(ERROR_INVALID_CONTEXT,
           cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    }
    join(&p);
}

/* The exporter frees while the importer has it open: the importer's next access is a fault. */
static void ipc_freed(void)
{
    struct pair p = split();
    CUipcMemHandle handle;
    CUdeviceptr at;

    if (p.child) {
        begin(0);
        hear(&p, &handle, sizeof(handle));
        OK(cuIpcOpenMemHandle(&at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        launch("load_word", 1, 1, NULL, (void *[]) {&at});
        go(&p);
        wait_go(&p);
        launch("load_word", 1, 1, NULL, (void *[]) {&at});
    } else {
        at = share(&p, 0);
        wait_go(&p);
        OK(cuMemFree(at));
        go(&p);
    }
    join(&p);
}

/*
 * FAKECUDA_REUSE=1: handles of what the exporter has freed open nothing, whether they were open
 * before or not; and what it has at the same addresses by now opens when the old is closed.
 */
static void ipc_replaced(void)
{
    struct pair p = split();
    /* closed when it is freed; open when it is freed; the one after it */
    CUipcMemHandle handles[3];
    CUdeviceptr at, old, mapped[2];

    if (p.child) {
        begin(0);
        hear(&p, &handles[0], sizeof(handles[0]));
        go(&p);
        hear(&p, &handles[1], sizeof(handles[1]));
        IS(ERROR_INVALID_VALUE,
           cuIpcOpenMemHandle(&mapped[0], handles[0], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        OK(cuIpcOpenMemHandle(&mapped[0], handles[1], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        go(&p);
        hear(&p, &handles[2], sizeof(handles[2]));
        IS(ERROR_INVALID_VALUE,
           cuIpcOpenMemHandle(&mapped[1], handles[1], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        IS(ERROR_ALREADY_MAPPED,
           cuIpcOpenMemHandle(&mapped[1], handles[2], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        OK(cuIpcCloseMemHandle(mapped[0]));
        OK(cuIpcOpenMemHandle(&mapped[1], handles[2], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        CHECK(12 == word_at(mapped[1]));
        go(&p);
    } else {
        at = share(&p, 0);
        wait_go(&p);
        OK(cuMemFree(at));
        old = share(&p, 0);
        wait_go(&p);
        OK(cuMemFree(old));
        at = zeros(4000); /* as many pages */
        CHECK(at >= old && at < old + 4096);
        set_word(at, 12);
        OK(cuIpcGetMemHandle(&handles[2], at));
        say(&p, &handles[2], sizeof(handles[2]));
        wait_go(&p);
    }
    join(&p);
}

/*
 * FAKECUDA_SMS=1: the other process's kernel waits until this one's has left, or this process is
 * killed.
 */
static void shared_device(void)
{
    struct pair p = split();
    CUdeviceptr words = (begin(0), zeros(16)), seen = words + 8;
    CUstream s = new_stream(CU_STREAM_NON_BLOCKING);
    uint64_t one = 1;
    void *args[] = {&words, &one, &seen};

    if (p.child) {
        OK(cuLaunchKernel(kernel("wait_for"), 1, 1, 1, 544, 1, 1, 0, s, args, NULL));
        while (1 != word_at(seen)) {
            usleep(1000);
        }
        go(&p);
        pause();
    }
    wait_go(&p);
    set_word(words, 1);
    OK(cuLaunchKernel(kernel("wait_for"), 1, 1, 1, 544, 1, 1, 0, s, args, NULL));
    usleep(300000);
    CHECK(0 == word_at(seen));
    CHECK(0 == kill(p.pid, SIGKILL));
    OK(cuStreamSynchronize(s));
    CHECK(1 == word_at(seen));
}

const struct test_case process_cases[] = {
    {"ipc", ipc},
    {"ipc_freed", ipc_freed},
    {"ipc_replaced", ipc_replaced},
    {"shared_device", shared_device},
    {NULL, NULL},
};
