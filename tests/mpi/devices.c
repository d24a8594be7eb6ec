/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What only buffers on devices have: devices TEST, with GPURING_MEMORY set.
 *
 *     progress   a nonblocking call ends while nobody calls MPI
 *     context    the current context is left as it was
 *     steady     calls after the first ones allocate nothing
 *     granted    memory of another device's pool, or mapped from it: used where it lies while this
 *                rank's device has access
 *     sharing    the application maps memory of other ranks by CUDA IPC itself
 *     busy       links are made while a kernel waits
 *     inter      an intercommunicator is freed while a call on it is under way
 *     single     buffers on devices at some ranks only
 *     differ     ranks that make different calls get an error, and are told
 *     late       the driver is loaded after MPI_Init (GPURING_MEMORY=host)
 *     threads    several threads make the first calls of the process (MPI_THREAD_MULTIPLE)
 *     crossed    two communicators, nonblocking calls in opposite order, waits in the calls' order
 *     queued     short calls wait for each other, before a long one that asks where buffers are
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devlog.h"
#include "devmem.h"
#include "forms.h"
#include "mpit_counts.h"
#include "quick.h"
#include "tap.h"
#include "workers.h"

#define COUNT 20000
#define BYTES (COUNT * sizeof(int))

struct buffers {
    int *in, *out; /* for MPI */
    int host[COUNT];
};

static struct buffers *make(void)
{
    struct buffers *b = malloc(sizeof *b);

    b->in = devmem_alloc(DEVMEM_DEVICE, BYTES);
    b->out = devmem_alloc(DEVMEM_DEVICE, BYTES);
    return b;
}

static void fill(struct buffers *b, int salt)
{
    for (int i = 0; i < COUNT; i++) {
        b->host[i] = salt + test_rank + i;
    }
    devmem_put(b->in, b->host, BYTES);
    memset(b->host, 0x5c, BYTES);
    devmem_put(b->out, b->host, BYTES);
}

/* Whether the output holds the sum, as it is now. */
static bool is_sum(struct buffers *b, int salt)
{
    devmem_get(b->host, b->out, BYTES);
    for (int i = 0; i < COUNT; i++) {
        if (b->host[i] != test_size * (salt + i) + test_size * (test_size - 1) / 2) {
            return false;
        }
    }
    return true;
}

static void drop(struct buffers *b)
{
    if (NULL != b) {
        devmem_free(DEVMEM_DEVICE, b->in);
        devmem_free(DEVMEM_DEVICE, b->out);
        free(b);
    }
}

static void progress(void)
{
    struct buffers *b = make();
    MPI_Request request;
    bool ok = true, there;

    fill(b, 0);
    MPI_Iallreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* links are made in MPI calls */
    for (int k = 0; k < 3; k++) {
        fill(b, k);
        tap_sync();
        MPI_Iallreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        there = false;
        for (double end = seconds_now() + 240; !there && seconds_now() < end;) {
            quick_sleep(20000);
            there = is_sum(b, k);
        }
        ok = ok && there;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    tap_check(ok, "a nonblocking call ends while nobody calls MPI");
    drop(b);
}

/*
 * A context is current that is not the buffers' (of another device, where there is one), none, or
 * theirs.
 */
static void context(void)
{
    static const char *const names[] = {"the device's context", "no context",
                                        "another device's context"};
    int (*get)(void **) = (int (*)(void **)) devmem_driver("cuCtxGetCurrent");
    int (*set)(void *) = (int (*)(void *)) devmem_driver("cuCtxSetCurrent");
    int (*retain)(void **, int) = (int (*)(void **, int)) devmem_driver("cuDevicePrimaryCtxRetain");
    int (*count)(int *) = (int (*)(int *)) devmem_driver("cuDeviceGetCount");
    struct buffers *b = make();
    void *contexts[3] = {NULL, NULL, NULL}, *after = NULL;
    int devices = 1;

    count(&devices);
    get(&contexts[0]);
    /* devmem.c: this rank's device is the one before */
    retain(&contexts[2], (test_rank + 1) % devices);
    for (int k = 0; k < 3; k++) {
        fill(b, k);
        set(contexts[k]);
        MPI_Allreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        get(&after);
        tap_check(after == contexts[k] && is_sum(b, k), "%s is current: the same after the call",
                  names[k]);
    }
    drop(b);
}

/* This process's copies so far, of all kinds. */
static int all_copies(void)
{
    struct devlog_copies copies = devlog_copies();

    return copies.n[TO_HOST] + copies.n[TO_DEVICE] + copies.n[ELSEWHERE];
}

static void steady(void)
{
    struct buffers *b = make();
    MPI_Request request;
    int before = 0;
    bool ok = true;

    fill(b, 0);
    for (int k = 0; k < 10; k++) {
        before = 3 == k ? devlog_allocations() : before;
        MPI_Allreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        ok = ok && is_sum(b, 0);
        MPI_Iallreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    tap_note("%d allocations", before);
    tap_check(ok && before > 0 && devlog_allocations() == before,
              "calls after the first ones allocate nothing");
    drop(b);
}

/* Copies of this rank during an Allreduce whose result is right; -1: it is wrong. */
static int copies_of_call(struct buffers *b, int salt, enum devmem_kind kind, bool access)
{
    int before, after;

    devmem_grant(kind, b->out, true);
    fill(b, salt);
    devmem_grant(kind, b->out, access);
    before = all_copies();
    MPI_Allreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    after = all_copies();
    devmem_grant(kind, b->out, true);
    return is_sum(b, salt) ? after - before : -1;
}

static void granted(void)
{
    static const enum devmem_kind kinds[] = {DEVMEM_OTHER_POOL, DEVMEM_OTHER_VMM};
    static const char *const names[] = {"pool", "mapping"};
    struct buffers *b = make();
    void *own = b->out;

    fill(b, 1);
    MPI_Allreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* links, tables */
    for (int k = 0; k < 2; k++) {
        b->out = devmem_alloc(kinds[k], BYTES);
        for (int round = 0; round < 4; round++) {
            int copies = copies_of_call(b, round, kinds[k], 0 == round % 2);

            tap_check(round % 2 ? copies > 0 : 0 == copies, "a %s of another device, %s access",
                      names[k], round % 2 ? "without" : "with");
        }
        devmem_free(kinds[k], b->out);
    }
    b->out = own;
    drop(b);
}

/* As CUipcMemHandle. */
struct memory_handle {
    char bytes[64];
};

/*
 * Whether this rank can map another rank's memory, which holds `value`: twice, as CUDA permits, and
 * at the same address.
 */
static bool maps(const struct memory_handle *handle, int value)
{
    enum { LAZY_PEER_ACCESS = 1 };
    int (*open)(void **, struct memory_handle, unsigned) =
        (int (*)(void **, struct memory_handle, unsigned)) devmem_driver("cuIpcOpenMemHandle_v2");
    int (*shut)(void *) = (int (*)(void *)) devmem_driver("cuIpcCloseMemHandle");
    void *at = NULL, *again = NULL;
    int there = -1, rc = open(&at, *handle, LAZY_PEER_ACCESS), second;

    if (0 != rc) {
        tap_note("cuIpcOpenMemHandle: %d", rc);
        return false;
    }
    devmem_get(&there, at, sizeof there);
    second = open(&again, *handle, LAZY_PEER_ACCESS);
    return 0 == second && again == at && value == there && 0 == shut(again) && 0 == shut(at);
}

/*
 * Rank 1 allocates, all call Allreduce on such memory, and rank 0 maps rank 1's, which gpuring may
 * have mapped, too; then rank 1 frees it, and its next allocations get the same addresses. Between
 * the last use and the end of the memory are as many calls as the round says.
 */
static void sharing(void)
{
    enum { N = 3, INTS = 1 << 19 };
    static const int calls_between[] = {0, 1, 20, 40, 0};
    int (*get)(struct memory_handle *, void *) =
        (int (*)(struct memory_handle *, void *)) devmem_driver("cuIpcGetMemHandle");
    struct memory_handle handles[N];
    int *at[N], *host = calloc(INTS, sizeof *host), one = 1, sum;

    for (size_t round = 0; round < sizeof calls_between / sizeof calls_between[0]; round++) {
        bool fresh = true, live = true;

        for (int k = 0; k < N; k++) {
            at[k] = devmem_alloc(DEVMEM_DEVICE, INTS * sizeof *host);
            host[0] = 10 * k + 1;
            devmem_put(at[k], host, INTS * sizeof *host);
            if (0 != get(&handles[k], at[k])) {
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        MPI_Bcast(handles, sizeof handles, MPI_BYTE, 1, MPI_COMM_WORLD);
        for (int k = 0; 0 == test_rank && k < N; k++) {
            fresh = maps(&handles[k], 10 * k + 1) && fresh;
        }
        tap_sync();
        for (int k = 0; k < N; k++) {
            MPI_Allreduce(MPI_IN_PLACE, at[k], INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        tap_sync(); /* rank 1 has its results */
        for (int k = 0; 0 == test_rank && k < N; k++) {
            live = maps(&handles[k], test_size * (10 * k + 1)) && live;
        }
        for (int k = 0; k < calls_between[round]; k++) {
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        tap_check(fresh, "round %zu: the application maps new memory", round);
        tap_check(live, "round %zu: ... and memory that calls have used", round);
        tap_sync();
        for (int k = 0; k < N; k++) {
            devmem_free(DEVMEM_DEVICE, at[k]);
        }
    }
    free(host);
}

/*
 * Rank 0 has started a persistent call for which it waits for rank 1, when both need memory for a
 * new communicator.
 */
static void busy(void)
{
    struct form_shape shape = {.coll = COLL_ALLREDUCE, .kind = KIND_UINT32, .count = COUNT};
    MPI_Request request = MPI_REQUEST_NULL;
    struct buffers *b = make();
    struct form_call c;
    MPI_Comm comm;
    bool ok = true;

    if (FORM_PERSISTENT >= forms_here) {
        tap_skip("this Open MPI has none", "persistent collectives");
        return;
    }
    kinds_open();
    form_make(&c, MPI_COMM_WORLD, &shape);
    form_init(&c, &request);
    for (int k = 0; k < 3; k++) {
        form_fill(&c, (uint64_t) k);
        fill(b, k);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int turn = 0; turn < 2; turn++) {
            if ((1 == test_rank) == turn) {
                form_start(&c, FORM_PERSISTENT, &request);
            }
            if (0 == turn) {
                quick_sleep(20000);
                MPI_Allreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, comm);
                ok = ok && is_sum(b, k);
            }
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        ok = ok && form_check(&c);
        MPI_Comm_free(&comm);
    }
    tap_check(ok, "a new communicator while a kernel waits for another rank");
    MPI_Request_free(&request);
    form_free(&c);
    kinds_close();
    drop(b);
}

/* Ranks whose GPURING_MEMORY is host have their buffers there. */
static void single(void)
{
    bool host = 0 == strcmp(getenv("GPURING_MEMORY"), "host"), ok = true;
    struct buffers *b = host ? NULL : make();
    int *in = malloc(BYTES), *out = malloc(BYTES);

    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < COUNT; i++) {
            in[i] = test_rank + i + k;
        }
        memset(out, 0x5c, BYTES);
        if (!host) {
            fill(b, k);
        }
        MPI_Allreduce(host ? in : b->in, host ? out : b->out, COUNT, MPI_INT, MPI_SUM,
                      MPI_COMM_WORLD);
        for (int i = 0; host && i < COUNT; i++) {
            ok = ok && out[i] == test_size * (i + k) + test_size * (test_size - 1) / 2;
        }
        ok = ok && (host || is_sum(b, k));
    }
    tap_check(ok, "some ranks have their buffers in host memory");
    free(in);
    free(out);
    drop(b);
}

/* Rank 1's call differs from that of the others in one thing; each has a communicator. */
static void differ(void)
{
    static const char *const names[] = {"root", "operation", "type", "collective", "count"};
    enum { KINDS = sizeof names / sizeof names[0] };
    MPI_Comm comms[KINDS];
    struct buffers *b = make();
    int rc, again, odd = 1 == test_rank;

    for (int k = 0; k < KINDS; k++) {
        comms[k] = MPI_COMM_WORLD;
        if (k < KINDS - 1) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
        }
        MPI_Comm_set_errhandler(comms[k], MPI_ERRORS_RETURN);
    }
    fill(b, 0);
    for (int k = 0; k < KINDS; k++) {
        if (0 == k) {
            rc = MPI_Bcast(b->in, COUNT, MPI_INT, odd, comms[k]);
        } else if (3 == k && odd) {
            rc = MPI_Reduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, 0, comms[k]);
        } else {
            rc = MPI_Allreduce(b->in, b->out, 4 == k && odd ? COUNT / 2 : COUNT,
                               2 == k && odd ? MPI_FLOAT : MPI_INT,
                               1 == k && odd ? MPI_MAX : MPI_SUM, comms[k]);
        }
        again = MPI_Allreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, comms[k]);
        tap_check(MPI_SUCCESS != rc, "another %s on rank 1: all ranks get an error", names[k]);
        tap_check(MPI_SUCCESS != again,
                  "another %s on rank 1: and so do later calls on the communicator", names[k]);
        if (k < KINDS - 1) {
            MPI_Comm_free(&comms[k]);
        }
    }
    drop(b);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *n; i++) {
        ((int *) inout)[i] += ((int *) in)[i];
    }
}

/* Sums in host memory, with buffers that were seen before and others. */
static bool host_calls(void)
{
    static int seen = 1, in[COUNT], out[COUNT];
    int sum = 0, fresh = 1;

    memset(out, 0, sizeof out);
    for (int i = 0; i < COUNT; i++) {
        in[i] = test_rank + i;
    }
    MPI_Allreduce(&seen, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &fresh, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return test_size == sum && test_size == fresh &&
           out[7] == test_size * 7 + test_size * (test_size - 1) / 2;
}

/* A call in each form, a persistent one three times. */
static void call_late(struct buffers *b)
{
    MPI_Request request = MPI_REQUEST_NULL;

    for (int form = 0; form < forms_here; form++) {
        bool persistent = FORM_PERSISTENT == form, ok = true;

        if (persistent) {
            FORM_INIT(Allreduce, b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &request);
        }
        for (int round = 0; round < (persistent ? 3 : 1); round++) {
            fill(b, form + round);
            if (FORM_BLOCKING == form) {
                MPI_Allreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            } else if (FORM_NONBLOCKING == form) {
                MPI_Iallreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
            } else {
                MPI_Start(&request);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            ok = ok && is_sum(b, form + round);
        }
        tap_check(ok, "buffers on a device, %s", form_names[form]);
        if (persistent) {
            MPI_Request_free(&request);
        }
    }
}

/* Whether the first n elements of the output are that of a rank's input, for each rank in turn. */
static bool holds_inputs(struct buffers *b, int ranks, int first, int n, int salt)
{
    bool ok = true;

    devmem_get(b->host, b->out, BYTES);
    for (int i = 0; i < n * ranks; i++) {
        ok = ok && b->host[i] == salt + first + i / n + i % n;
    }
    return ok;
}

/* Collectives that gpuring only stages, on MPI_COMM_WORLD and alone. */
static void outside_late(struct buffers *b)
{
    enum { N = 100 };
    MPI_Request request;
    bool ok;

    fill(b, 1);
    MPI_Gather(b->in, N, MPI_INT, b->out, N, MPI_INT, 0, MPI_COMM_WORLD);
    tap_check(0 != test_rank || holds_inputs(b, test_size, 0, N, 1), "Gather on devices");
    fill(b, 2);
    MPI_Igather(b->in, N, MPI_INT, b->out, N, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tap_check(0 != test_rank || holds_inputs(b, test_size, 0, N, 2), "Igather on devices");
    fill(b, 3);
    MPI_Scan(b->in, b->out, COUNT, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    ok = holds_inputs(b, 1, test_rank, COUNT, 3);
    tap_check(ok, "Scan on devices");
    fill(b, 4);
    MPI_Reduce_local(b->in, b->out, COUNT, MPI_INT, MPI_MIN);
    devmem_get(b->host, b->out, BYTES);
    tap_check(4 + test_rank == b->host[0] && 4 + test_rank + COUNT - 1 == b->host[COUNT - 1],
              "Reduce_local on devices");
    fill(b, 5);
    MPI_Alltoall(b->in, COUNT, MPI_INT, b->out, COUNT, MPI_INT, MPI_COMM_SELF);
    tap_check(holds_inputs(b, 1, test_rank, COUNT, 5), "a communicator of one rank on devices");
}

/* One that is cut into segments where all ranks expect device buffers. */
static void scan_late(void)
{
    enum { MANY = 5 << 18 };
    size_t bytes = MANY * sizeof(int);
    int *in = devmem_alloc(DEVMEM_DEVICE, bytes), *out = devmem_alloc(DEVMEM_DEVICE, bytes);
    int *host = malloc(bytes);
    bool ok = true;

    for (int i = 0; i < MANY; i++) {
        host[i] = i % 1000 + test_rank;
    }
    devmem_put(in, host, bytes);
    MPI_Scan(in, out, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    devmem_get(host, out, bytes);
    for (int i = 0; i < MANY; i++) {
        ok = ok && host[i] == (test_rank + 1) * (i % 1000) + test_rank * (test_rank + 1) / 2;
    }
    tap_check(ok, "a large Scan on devices");
    devmem_free(DEVMEM_DEVICE, in);
    devmem_free(DEVMEM_DEVICE, out);
    free(host);
}

/* The driver is loaded after MPI_Init. */
static void late(void)
{
    struct buffers *b;
    void *managed;
    MPI_Op op;

    tap_check(host_calls(), "before the driver is loaded");
    setenv("GPURING_MEMORY", "device", 1);
    (void) devmem_open();
    tap_check(host_calls(), "buffers in host memory when it is");
    b = make();
    outside_late(b);
    scan_late();
    call_late(b);
    MPI_Op_create(add, 1, &op);
    fill(b, 9);
    MPI_Allreduce(b->in, b->out, COUNT, MPI_INT, op, MPI_COMM_WORLD);
    tap_check(is_sum(b, 9), "calls that fall back are right, on devices too");
    MPI_Op_free(&op);
    managed = devmem_alloc(DEVMEM_MANAGED, sizeof(int));
    *(int *) managed = 1;
    MPI_Allreduce(MPI_IN_PLACE, managed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    tap_check(test_size == *(int *) managed, "managed memory is the host's as well");
    devmem_free(DEVMEM_MANAGED, managed);
    tap_check(host_calls(), "host memory, afterwards");
    drop(b);
}

static void crossed(void)
{
    struct buffers *b[2] = {make(), make()};
    MPI_Comm comms[2];
    MPI_Request requests[2];
    bool ok = true;

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    for (int round = 0; round < 5; round++) {
        for (int k = 0; k < 2; k++) {
            int c = k ^ (test_rank & 1);

            fill(b[c], 10 * round + c);
            MPI_Iallreduce(b[c]->in, b[c]->out, COUNT, MPI_INT, MPI_SUM, comms[c], &requests[k]);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        ok = ok && is_sum(b[0], 10 * round) && is_sum(b[1], 10 * round + 1);
    }
    tap_check(ok, "two communicators in opposite order");
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    drop(b[0]);
    drop(b[1]);
}

static void queued(void)
{
    struct buffers *b = make();
    bool ok = true;

    for (int round = 0; round < 3; round++) {
        int token = 5, one = 1, sum = 0;
        MPI_Comm comm; /* without links */
        MPI_Request requests[3];

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        fill(b, round);
        MPI_Ibcast(&token, 1, MPI_INT, round % test_size, comm, &requests[0]);
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
        MPI_Iallreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, comm, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        ok = ok && 5 == token && test_size == sum && is_sum(b, round);
        MPI_Comm_free(&comm);
    }
    tap_check(ok, "short calls before one with an agreement");
    drop(b);
}

static void *call_in_thread(void *arg)
{
    struct worker *w = arg;
    struct buffers *b = make();

    for (int round = 0; round < w->rounds; round++) {
        fill(b, 7 * round);
        MPI_Allreduce(b->in, b->out, COUNT, MPI_INT, MPI_SUM, w->comm);
        w->ok = is_sum(b, 7 * round) && w->ok;
    }
    drop(b);
    return NULL;
}

static void threads(void)
{
    workers_run("first calls of several threads", call_in_thread, 6, 4, 50);
}

/*
 * Rank 0 gathers from the odd ranks. The context id is below that of the communicator that it is
 * made from: Open MPI 4 and 5 give such an intercommunicator a reference more.
 */
static void inter(void)
{
    struct buffers *b = make();
    MPI_Comm half, first, second, comm;
    MPI_Request request;
    bool even = 0 == test_rank % 2, ok = true;
    int root = 0 == test_rank ? MPI_ROOT : even ? MPI_PROC_NULL : 0;

    fill(b, 0);
    MPI_Comm_split(MPI_COMM_WORLD, even, test_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, even ? 1 : 0, 0, &first);
    MPI_Comm_dup(first, &second);
    MPI_Comm_free(&first);
    MPI_Comm_dup(second, &comm);
    if (!even) {
        quick_sleep(50000);
    }
    MPI_Igather(b->in, COUNT, MPI_INT, b->out, COUNT, MPI_INT, root, comm, &request);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    devmem_get(b->host, b->out, BYTES);
    for (int i = 0; i < COUNT && 0 == test_rank; i++) {
        ok = ok && b->host[i] == 1 + i;
    }
    tap_check(ok, "an intercommunicator is freed while a call on it is under way");
    MPI_Comm_free(&second);
    MPI_Comm_free(&half);
    drop(b);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"progress", progress}, {"context", context}, {"steady", steady},   {"busy", busy},
        {"single", single},     {"differ", differ},   {"crossed", crossed}, {"late", late},
        {"threads", threads},   {"granted", granted}, {"sharing", sharing}, {"queued", queued},
        {"inter", inter},
    };
    bool threaded = argc > 1 && 0 == strcmp(argv[1], "threads");

    test_begin(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    for (size_t k = 0; k < sizeof tests / sizeof tests[0]; k++) {
        if (argc > 1 && 0 == strcmp(argv[1], tests[k].name)) {
            tests[k].run();
        }
    }
    return test_end();
}
