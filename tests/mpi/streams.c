/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What was put on a default stream before a call comes before it, in all forms: streams TEST
 * [capture], with GPURING_MEMORY set.
 *
 *     own        buffers, stream and current context are of this rank's device
 *     elsewhere  the same of another device, after a call that was of this one
 *     foreign    of a context that the application made
 *     capture    each call is made while the application captures a graph, in all modes
 *
 * streams beside: what is put on the default stream after a nonblocking call, or a start, is not
 * waited for, though rank 0 comes late, so that the others' calls begin when it is there already.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "depth.h"
#include "devmem.h"
#include "forms.h"
#include "quick.h"
#include "tap.h"

#define COUNT 10000
#define BYTES (COUNT * sizeof(int))

/* Functions of the driver. */
static struct {
    int (*count)(int *);
    int (*get)(void **);
    int (*set)(void *);
    int (*create)(void **, unsigned, int);
    int (*retain)(void **, int);
    int (*alloc)(uint64_t *, size_t);
    int (*memset_async)(uint64_t, unsigned char, size_t, void *);
    int (*copy)(uint64_t, uint64_t, size_t);
    int (*stream)(void **, unsigned);
    int (*synchronize)(void *);
    int (*call_host)(void *, void (*)(void *), void *);
    int (*begin)(void *, int);
    int (*end)(void *, void **);
    int (*instantiate)(void **, void *, unsigned long long);
    int (*launch)(void *, void *);
} cu;

static const struct {
    const char *name;
    void *function;
} functions[] = {
    {"cuDeviceGetCount", &cu.count},
    {"cuCtxGetCurrent", &cu.get},
    {"cuCtxSetCurrent", &cu.set},
    {"cuCtxCreate_v2", &cu.create},
    {"cuDevicePrimaryCtxRetain", &cu.retain},
    {"cuMemAlloc_v2", &cu.alloc},
    {"cuMemsetD8Async", &cu.memset_async},
    {"cuMemcpy", &cu.copy},
    {"cuStreamCreate", &cu.stream},
    {"cuStreamBeginCapture_v2", &cu.begin},
    {"cuStreamEndCapture", &cu.end},
    {"cuGraphInstantiateWithFlags", &cu.instantiate},
    {"cuGraphLaunch", &cu.launch},
    {"cuStreamSynchronize", &cu.synchronize},
    {"cuLaunchHostFunc", &cu.call_host},
};

/* Whether calls are made while a graph is captured; then the streams (blocking and non-blocking),
 * and what it writes to. */
static bool captures;
static void *streams[2];
static uint64_t drawn;

static void check(int rc)
{
    if (0 != rc) {
        fprintf(stderr, "streams: CUDA error %d\n", rc);
        abort();
    }
}

static void load(void)
{
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        void *function = devmem_driver(functions[k].name);

        memcpy(functions[k].function, &function, sizeof function);
    }
}

static int count_of(MPI_Datatype type)
{
    int bytes;

    MPI_Type_size(type, &bytes);
    return (int) (BYTES / (size_t) bytes);
}

/* An allreduce of BYTES in one of its forms, whole; *request: of the persistent one. */
static void allreduce(enum form form, void *in, void *out, MPI_Datatype type, MPI_Request *request)
{
    int count = count_of(type);

    if (FORM_BLOCKING == form) {
        MPI_Allreduce(in, out, count, type, MPI_MAX, MPI_COMM_WORLD);
        return;
    }
    if (FORM_NONBLOCKING == form) {
        MPI_Iallreduce(in, out, count, type, MPI_MAX, MPI_COMM_WORLD, request);
    } else {
        MPI_Start(request);
    }
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* Whether memory holds what a memset of that byte wrote. */
static bool holds(uint64_t at, int byte)
{
    static int host[COUNT];

    check(cu.copy((uintptr_t) host, at, BYTES));
    for (int i = 0; i < COUNT; i++) {
        if (host[i] != 0x01010101 * byte) {
            return false;
        }
    }
    return true;
}

static void capture_begin(int k)
{
    if (captures) {
        check(cu.begin(streams[k % 2], k % 3));
        check(cu.memset_async(drawn, (unsigned char) k, BYTES, streams[k % 2]));
    }
}

/* Whether the capture was left alone: its graph does what was put on the stream, now. */
static bool capture_end(int k)
{
    void *graph, *exec;

    if (!captures) {
        return true;
    }
    if (0 != cu.end(streams[k % 2], &graph) || holds(drawn, k)) {
        return false;
    }
    check(cu.instantiate(&exec, graph, 0));
    check(cu.launch(exec, streams[k % 2]));
    check(cu.synchronize(streams[k % 2]));
    return holds(drawn, k);
}

/*
 * Each call begins while memsets of its input are under way, which take a while together; the last
 * one counts.
 */
static bool calls_wait(enum form form, uint64_t in, uint64_t out, MPI_Datatype type)
{
    void *from = (void *) (uintptr_t) in, *to = (void *) (uintptr_t) out;
    MPI_Request request = MPI_REQUEST_NULL;
    bool ok = true;

    if (FORM_PERSISTENT == form) {
        FORM_INIT(Allreduce, from, to, count_of(type), type, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL,
                  &request);
    }
    for (int byte = 1; byte <= depth(8, 20); byte++) {
        for (int i = 10; i >= 0; i--) {
            check(cu.memset_async(in, (unsigned char) (byte + i), BYTES, NULL));
        }
        capture_begin(byte);
        allreduce(form, from, to, type, &request);
        ok = capture_end(byte) && holds(out, byte) && ok;
    }
    if (MPI_REQUEST_NULL != request) {
        MPI_Request_free(&request);
    }
    return ok;
}

/* With buffers of the current context. */
static void all_forms(void)
{
    const MPI_Datatype types[] = {MPI_LONG_DOUBLE, MPI_INT}; /* the first has no kernel: staged */
    uint64_t in, out;

    check(cu.alloc(&in, BYTES));
    check(cu.alloc(&out, BYTES));
    check(cu.alloc(&drawn, BYTES));
    check(cu.stream(&streams[0], 0));
    check(cu.stream(&streams[1], 1));
    for (int form = 0; form < forms_here; form++) {
        for (int k = 0; k < 2; k++) {
            tap_check(calls_wait((enum form) form, in, out, types[k]),
                      "memsets come before the calls%s: %s, %s",
                      captures ? ", and a capture goes on" : "", form_names[form],
                      0 == k ? "staged" : "kernels");
        }
    }
}

/* The first call decides which device is the communicator's. */
static void call_here(void)
{
    void *in = devmem_alloc(DEVMEM_DEVICE, BYTES), *out = devmem_alloc(DEVMEM_DEVICE, BYTES);

    MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    devmem_free(DEVMEM_DEVICE, in);
    devmem_free(DEVMEM_DEVICE, out);
}

/* ---- work that is put behind a call ---- */

/*
 * It takes until it is told to end. Were it waited for, it would be for ever: it gives up after so
 * many seconds.
 */
#define LONG 120.0

static atomic_bool may_end, gave_up;

static void compute(void *unused)
{
    double end = seconds_now() + LONG;

    (void) unused;
    while (!may_end && !gave_up) {
        gave_up = seconds_now() > end;
        quick_sleep(100);
    }
}

/*
 * Put memsets before the call, and long work behind it. Whether it ended before that, and is right.
 */
static bool ends_before(enum form form, int byte, uint64_t in, uint64_t out, MPI_Datatype type,
                        MPI_Op op, MPI_Request *request)
{
    void *from = (void *) (uintptr_t) in, *to = (void *) (uintptr_t) out;
    bool early;

    may_end = false;
    tap_sync();
    for (int i = 10; i >= 0; i--) {
        check(cu.memset_async(in, (unsigned char) (byte + i), BYTES, NULL));
    }
    if (0 == test_rank) {
        quick_sleep(50000);
    }
    if (FORM_PERSISTENT == form) {
        MPI_Start(request);
    } else {
        MPI_Iallreduce(from, to, count_of(type), type, op, MPI_COMM_WORLD, request);
    }
    check(cu.call_host(NULL, compute, NULL));
    MPI_Wait(request, MPI_STATUS_IGNORE);
    early = !gave_up;
    may_end = true;
    check(cu.synchronize(NULL));
    return holds(out, byte) && early;
}

static void take_max(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *n; i++) {
        ((int *) inout)[i] =
            ((int *) in)[i] > ((int *) inout)[i] ? ((int *) in)[i] : ((int *) inout)[i];
    }
}

static void beside(void)
{
    static const char *const ways[] = {"kernels", "staged", "fallback"};
    MPI_Op mine;
    uint64_t in, out;

    MPI_Op_create(take_max, 1, &mine);
    check(cu.alloc(&in, BYTES));
    check(cu.alloc(&out, BYTES));
    for (int form = FORM_BLOCKING + 1; form < forms_here; form++) {
        for (int way = 0; way < 3; way++) {
            const MPI_Datatype type = 1 == way ? MPI_LONG_DOUBLE : MPI_INT;
            const MPI_Op op = 2 == way ? mine : MPI_MAX;
            MPI_Request request = MPI_REQUEST_NULL;
            bool ok = true;

            if (FORM_PERSISTENT == form) {
                FORM_INIT(Allreduce, (void *) (uintptr_t) in, (void *) (uintptr_t) out,
                          count_of(type), type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
            } else { /* links are there */
                MPI_Iallreduce((void *) (uintptr_t) in, (void *) (uintptr_t) out, count_of(type),
                               type, op, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            for (int byte = 1; byte <= depth(3, 5); byte++) {
                ok = ends_before((enum form) form, byte, in, out, type, op, &request) && ok;
            }
            if (MPI_REQUEST_NULL != request) {
                MPI_Request_free(&request);
            }
            tap_check(ok, "work behind the call is not waited for: %s, %s", form_names[form],
                      ways[way]);
        }
    }
    MPI_Op_free(&mine);
}

int main(int argc, char **argv)
{
    void *context = NULL;
    int devices = 1;

    captures = argc > 2 && 0 == strcmp(argv[2], "capture");
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    devmem_open();
    load();
    if (argc > 1 && 0 == strcmp(argv[1], "elsewhere")) {
        call_here();
        check(cu.count(&devices));
        /* devmem.c: this rank's is the one before */
        check(cu.retain(&context, (test_rank + 1) % devices));
        check(cu.set(context));
    } else if (argc > 1 && 0 == strcmp(argv[1], "foreign")) {
        check(cu.create(&context, 0, 0));
        check(cu.set(context));
    } else {
        devmem_free(DEVMEM_DEVICE, devmem_alloc(DEVMEM_DEVICE, 1)); /* makes its context current */
    }
    if (argc > 1 && 0 == strcmp(argv[1], "beside")) {
        beside();
    } else {
        all_forms();
    }
    return test_end();
}
