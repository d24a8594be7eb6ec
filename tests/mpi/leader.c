/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that share one device: leader [MIB | takeover | stopped | killed | fresh N | reset WHOSE].
 * Every result is compared bit for bit: sums of floats are those in the order of ranks, whichever
 * rank comes last, wherever buffers lie and however long they live.
 *
 *     MIB        calls of that many are made besides
 *     takeover   each rank in turn has come, and is stopped: the others end the call without it
 *     stopped    the leader stops itself in its kernel, on fakecuda; a script continues it
 *     killed     the leader kills itself there; the others wait for it, until a script ends them
 *     fresh N    N allreduces of 64 KiB, each with memory of its own
 *     reset      a rank resets its device between calls: the leader's (0), or another's (1)
 *
 * GPURING_MEMORY=device. A buffer is used by one call, by several, or by several on some ranks
 * only: a leader copies young buffers and maps old ones.
 */
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "colls.h"
#include "devmem.h"
#include "forms.h"
#include "quick.h"
#include "rng.h"
#include "tap.h"

enum { POISON = 0x5c, GUARD = 16 /* elements */ };

/* What a part of the output must be: elements [begin, begin + n) of a rank's input, or of the sum. */
struct part {
    int from; /* rank; SUM: the sum of all */
    int begin, n;
    int at; /* first element in the output */
};
enum { SUM = -1 };

/* Equal on all ranks. */
struct call {
    enum coll coll;
    int count;
    int root;
    bool in_place;
    int offset; /* first element of the buffers, from an address of the allocator's */
    uint64_t key;
};

/* Device memory of this rank, which some calls use. */
struct memory {
    int elements; /* 0: not there */
    float *in, *out;
};

static uint64_t calls, delays; /* random numbers: equal on all ranks, and this rank's own */
static char *scratch;          /* device memory that the default stream writes to */

/* Numbers of very different size: almost every order of addition rounds differently. */
static float value(const struct call *c, int rank, int i)
{
    uint64_t key = rng_key(c->key, (uint64_t) rank, (uint64_t) i);

    return (float) ldexp((double) (key >> 11) / 9007199254740992.0 - 0.5, (int) (key % 20));
}

static float sum(const struct call *c, int i)
{
    float s = value(c, 0, i);

    for (int r = 1; r < test_size; r++) {
        s += value(c, r, i);
    }
    return s;
}

/* Very uneven: none, few, and most elements. */
static int share(const struct call *c, int rank)
{
    return 0 == rank % 3 ? c->count : 1 == rank % 3 ? 0 : 1 + (int) (c->key % 5);
}

/* Each rank gathers the blocks in an order of its own, with gaps. */
static void place_blocks(const struct call *c, int *counts, int *displs)
{
    int at = 0;

    for (int k = 0; k < test_size; k++) {
        int b = (k + test_rank) % test_size;

        counts[b] = share(c, b);
        displs[b] = at;
        at += counts[b] + test_rank % 2;
    }
}

/* Elements that inputs and outputs have room for. */
static int room(const struct call *c)
{
    return test_size * (c->count + 8) + c->offset + GUARD;
}

/* The parts of this rank's output. */
static int parts_of(const struct call *c, const int *counts, const int *displs, struct part *parts)
{
    int n = 0, begin = 0;

    switch (c->coll) {
    case COLL_ALLREDUCE:
    case COLL_REDUCE:
        if (COLL_ALLREDUCE == c->coll || test_rank == c->root) {
            parts[n++] = (struct part) {SUM, 0, c->count, 0};
        }
        return n;
    case COLL_BCAST:
        parts[n++] = (struct part) {c->root, 0, c->count, 0};
        return n;
    case COLL_REDUCE_SCATTER:
        for (int r = 0; r < test_rank; r++) {
            begin += counts[r];
        }
        parts[n++] = (struct part) {SUM, begin, counts[test_rank], 0};
        return n;
    case COLL_REDUCE_SCATTER_BLOCK:
        parts[n++] = (struct part) {SUM, test_rank * c->count, c->count, 0};
        return n;
    default:
        break;
    }
    for (int r = 0; r < test_size; r++) {
        parts[n++] = COLL_ALLTOALL == c->coll
                         ? (struct part) {r, test_rank * c->count, c->count, r * c->count}
                     : COLL_ALLGATHER == c->coll ? (struct part) {r, 0, c->count, r * c->count}
                                                 : (struct part) {r, 0, counts[r], displs[r]};
    }
    return n;
}

static void carry_out(const struct call *c, const float *in, float *out, int *counts, int *displs)
{
    const void *send = c->in_place ? MPI_IN_PLACE : in;
    MPI_Comm comm = MPI_COMM_WORLD;

    switch (c->coll) {
    case COLL_ALLREDUCE:
        MPI_Allreduce(send, out, c->count, MPI_FLOAT, MPI_SUM, comm);
        break;
    case COLL_REDUCE:
        MPI_Reduce(in, out, c->count, MPI_FLOAT, MPI_SUM, c->root, comm);
        break;
    case COLL_BCAST:
        MPI_Bcast(out, c->count, MPI_FLOAT, c->root, comm);
        break;
    case COLL_REDUCE_SCATTER:
        MPI_Reduce_scatter(in, out, counts, MPI_FLOAT, MPI_SUM, comm);
        break;
    case COLL_REDUCE_SCATTER_BLOCK:
        MPI_Reduce_scatter_block(in, out, c->count, MPI_FLOAT, MPI_SUM, comm);
        break;
    case COLL_ALLGATHER:
        MPI_Allgather(in, c->count, MPI_FLOAT, out, c->count, MPI_FLOAT, comm);
        break;
    case COLL_ALLGATHERV:
        MPI_Allgatherv(in, counts[test_rank], MPI_FLOAT, out, counts, displs, MPI_FLOAT, comm);
        break;
    default:
        MPI_Alltoall(in, c->count, MPI_FLOAT, out, c->count, MPI_FLOAT, comm);
        break;
    }
}

/* Any rank may come last, and work on its default stream may be what it waits for. */
static void come_at_any_time(void)
{
    quick_delay(&delays, 1000);
    if (0 == rng_below(&delays, 3)) {
        devmem_set_later(scratch, 0, 4096);
    }
}

/* Whether the call's output is right, and nothing else was written. */
static bool make_call(const struct call *c, const struct memory *m)
{
    int n = m->elements, counts[64], displs[64];
    size_t bytes = (size_t) n * sizeof(float);
    float *in = malloc(bytes), *want = malloc(bytes), *got = malloc(bytes);
    struct part parts[64];
    bool ok;

    memset(want, POISON, bytes);
    for (int i = 0; i < n; i++) {
        in[i] = i < c->offset ? 0 : value(c, test_rank, i - c->offset);
    }
    devmem_put(m->in, in, bytes);
    devmem_put(m->out, c->in_place || COLL_BCAST == c->coll ? in : want, bytes);
    if (c->in_place || COLL_BCAST == c->coll) {
        memcpy(want, in, bytes);
    }
    place_blocks(c, counts, displs);
    come_at_any_time();
    carry_out(c, m->in + c->offset, m->out + c->offset, counts, displs);
    devmem_get(got, m->out, bytes);
    for (int k = parts_of(c, counts, displs, parts) - 1; k >= 0; k--) {
        for (int i = 0; i < parts[k].n; i++) {
            want[c->offset + parts[k].at + i] = SUM == parts[k].from
                                                    ? sum(c, parts[k].begin + i)
                                                    : value(c, parts[k].from, parts[k].begin + i);
        }
    }
    ok = 0 == memcmp(got, want, bytes);
    for (int i = 0; !ok && i < n; i++) {
        if (0 != memcmp(&got[i], &want[i], sizeof(float))) {
            tap_fault("collective %d of %d%s: element %d of %d is %g, not %g", c->coll, c->count,
                      c->in_place ? " in place" : "", i - c->offset, n, got[i], want[i]);
            break;
        }
    }
    free(in);
    free(want);
    free(got);
    return ok;
}

static void have(struct memory *m, int elements)
{
    if (m->elements > 0) {
        devmem_free(DEVMEM_DEVICE, m->in);
        devmem_free(DEVMEM_DEVICE, m->out);
    }
    m->elements = elements;
    if (elements > 0) {
        m->in = devmem_alloc(DEVMEM_DEVICE, (size_t) elements * sizeof(float));
        m->out = devmem_alloc(DEVMEM_DEVICE, (size_t) elements * sizeof(float));
    }
}

static struct call draw(enum coll coll, int count)
{
    return (struct call) {
        .coll = coll,
        .count = count,
        .root = rng_below(&calls, (uint64_t) test_size),
        .in_place = COLL_ALLREDUCE == coll && 0 == rng_below(&calls, 3),
        .offset = 0 == rng_below(&calls, 3) ? 0 : 1 + rng_below(&calls, 9),
        .key = rng_next(&calls),
    };
}

/* Every collective in several sizes, with memory of which each lives for so many calls on this rank. */
static bool run_all(int life)
{
    static const int counts[] = {1, 7, 1001, 20000};
    struct memory m = {0};
    bool ok = true;

    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        have(&m, 0);
        for (int call = 0; call < 2 * NUM_COLLS; call++) {
            struct call c = draw((enum coll)(call % NUM_COLLS), counts[k]);

            if (m.elements < room(&c) || 0 == call % life) {
                have(&m, room(&c) + 16);
            }
            ok = make_call(&c, &m) && ok;
        }
    }
    have(&m, 0);
    return ok;
}

/*
 * Calls of so many bytes, in pieces: even ranks have new memory for each, odd ones the same for all,
 * which is mapped at last.
 */
static void run_large(int mib)
{
    static const enum coll colls[] = {COLL_ALLTOALL, COLL_ALLGATHERV, COLL_REDUCE_SCATTER,
                                      COLL_ALLREDUCE};
    int count = (mib << 18) / test_size + 3;
    struct memory m = {0};

    for (size_t k = 0; k < sizeof colls / sizeof colls[0]; k++) {
        struct call c = draw(colls[k], COLL_ALLREDUCE == colls[k] ? mib << 18 : count);

        if (0 == m.elements || 0 == test_rank % 2) {
            have(&m, test_size * (mib << 18) + 1000);
        }
        tap_check(make_call(&c, &m), "collective %d of %d elements, in pieces", c.coll, c.count);
    }
    have(&m, 0);
}

static void run_fresh(int n)
{
    struct memory m = {0};
    bool ok = true;

    for (int k = 0; k < n; k++) {
        struct call c = {.coll = COLL_ALLREDUCE, .count = 16 << 10, .key = rng_next(&calls)};

        have(&m, room(&c));
        ok = make_call(&c, &m) && ok;
    }
    have(&m, 0);
    tap_check(ok, "calls with new memory each");
}

/* ---- ranks that are stopped ---- */

enum { TAG = 7 };

/* A persistent Allreduce, which asks no other rank anything before it moves data. */
struct persistent {
    struct call call;
    struct memory memory;
    float *host;
    MPI_Request request;
};

static void persistent_make(struct persistent *p, int count)
{
    struct form_call form = {.shape = {.coll = COLL_ALLREDUCE},
                             .comm = MPI_COMM_WORLD,
                             .type = MPI_FLOAT,
                             .op = MPI_SUM,
                             .rank = test_rank,
                             .size = test_size,
                             .count = count};

    *p = (struct persistent) {.call = {.coll = COLL_ALLREDUCE, .count = count},
                              .request = MPI_REQUEST_NULL};
    have(&p->memory, count);
    p->host = malloc((size_t) count * sizeof(float));
    form.send = p->memory.in;
    form.recv = p->memory.out;
    form_init(&form, &p->request);
}

static void persistent_free(struct persistent *p)
{
    MPI_Request_free(&p->request);
    have(&p->memory, 0);
    free(p->host);
}

/* Start, with new data, and look after it for so long; on a loaded machine, for some calls. */
static void persistent_begin(struct persistent *p, double seconds)
{
    size_t bytes = (size_t) p->call.count * sizeof(float);
    double end;
    int done;

    p->call.key = rng_next(&calls);
    for (int i = 0; i < p->call.count; i++) {
        p->host[i] = value(&p->call, test_rank, i);
    }
    devmem_put(p->memory.in, p->host, bytes);
    MPI_Start(&p->request);
    end = seconds_now() + seconds;
    for (int k = 0; seconds_now() < end || (seconds > 0 && k < 3); k++) {
        MPI_Test(&p->request, &done, MPI_STATUS_IGNORE);
    }
}

/* Whether the result is right on this rank. */
static bool persistent_end(struct persistent *p)
{
    bool ok = true;

    MPI_Wait(&p->request, MPI_STATUS_IGNORE);
    devmem_get(p->host, p->memory.out, (size_t) p->call.count * sizeof(float));
    for (int i = 0; i < p->call.count && ok; i++) {
        ok = p->host[i] == sum(&p->call, i);
    }
    return ok;
}

/* Calls after which the buffers are mapped. */
static bool persistent_warm(struct persistent *p)
{
    bool ok = true;

    for (int k = 0; k < 4; k++) {
        persistent_begin(p, 0);
        ok = persistent_end(p) && ok;
    }
    return ok;
}

/* Tell a rank of this process, and stop it. */
static void stop(int told)
{
    int pid = (int) getpid();

    MPI_Send(&pid, 1, MPI_INT, told, TAG, MPI_COMM_WORLD);
    raise(SIGSTOP);
}

/* The process that a rank tells of, once it is stopped. */
static int stopped_process(int rank)
{
    char path[40], state = ' ';
    int pid;

    MPI_Recv(&pid, 1, MPI_INT, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    while ('T' != state) {
        FILE *f = fopen(path, "r");

        if (NULL == f || 1 != fscanf(f, "%*d (%*[^)]) %c", &state)) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        fclose(f);
    }
    return pid;
}

/*
 * *without: the others ended the call while the rank was stopped. They may not, where it was
 * stopped before it had come.
 */
static bool end_without(struct persistent *p, int late, int *without)
{
    int next = (late + 1) % test_size, pid = 0;
    double end;

    if (test_rank == late) {
        persistent_begin(p, 10e-3);
        stop(next);
        *without = 1;
        return persistent_end(p);
    }
    if (test_rank == next) {
        pid = stopped_process(late);
    }
    for (int r = 0; r < test_size; r++) { /* the others wait for that */
        if (test_rank == next && r != late && r != next) {
            MPI_Send(&pid, 1, MPI_INT, r, TAG, MPI_COMM_WORLD);
        } else if (test_rank == r && r != next) {
            MPI_Recv(&pid, 1, MPI_INT, next, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    persistent_begin(p, 0);
    for (end = seconds_now() + 5; !*without && seconds_now() < end;) {
        MPI_Test(&p->request, without, MPI_STATUS_IGNORE);
    }
    if (test_rank == next) {
        kill(pid, SIGCONT);
    }
    return persistent_end(p);
}

static void takeover(void)
{
    struct persistent p;
    int calls_without = 0;
    bool ok;

    persistent_make(&p, 1000);
    ok = persistent_warm(&p);
    for (int k = 0; k < 2 * test_size; k++) {
        int without = 0;

        ok = end_without(&p, k % test_size, &without) && ok;
        calls_without += tap_agree(0 != without);
    }
    tap_check(ok && calls_without >= test_size,
              "calls end without a rank that has come and is stopped");
    persistent_free(&p);
}

/* Called by fakecuda in the next kernel that begins, before it has read anything. */
typedef void (*begin_with)(void (*what)(void));

static begin_with on_fakecuda(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    begin_with out = NULL;

    if (NULL != driver) {
        *(void **) &out = dlsym(driver, "fakecuda_begin_with");
    }
    if (NULL == out) {
        fprintf(stderr, "leader stopped: this driver does not stop a process in its kernel\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return out;
}

static void stop_in_kernel(void)
{
    raise(SIGSTOP);
}

static void die_in_kernel(void)
{
    raise(SIGKILL);
}

/* Whoever leads does this to itself in its kernel. */
static void in_kernel(void (*what)(void))
{
    struct persistent p;
    bool ok;

    persistent_make(&p, 1000);
    printf("# rank %d pid %d\n", test_rank, (int) getpid());
    fflush(stdout);
    ok = persistent_warm(&p);
    on_fakecuda()(what);
    persistent_begin(&p, 0);
    ok = persistent_end(&p) && ok;
    on_fakecuda()(NULL);
    tap_check(ok, "a leader that was stopped ends the call");
    persistent_free(&p);
}

/* ---- a rank that resets its device ---- */

enum { RESET_COUNT = 1000, RESET_WAYS = 4 };

/* A call in which rank 1 has no input or no output, and others. Returns MPI's code. */
static int call_of(int way, MPI_Comm comm, const struct memory *m)
{
    MPI_Request request;
    int rc;

    switch (way) {
    case 0:
        return MPI_Bcast(m->out, RESET_COUNT, MPI_FLOAT, 0, comm);
    case 1:
        return MPI_Reduce(m->in, m->out, RESET_COUNT, MPI_FLOAT, MPI_SUM, 0, comm);
    case 2:
        return MPI_Allreduce(m->in, m->out, RESET_COUNT, MPI_FLOAT, MPI_SUM, comm);
    default:
        rc = MPI_Iallreduce(m->in, m->out, RESET_COUNT, MPI_FLOAT, MPI_SUM, comm, &request);
        return MPI_SUCCESS == rc ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
    }
}

/* Inputs are 1 on rank 0, and 2 on others. */
static void fill_for_reset(const struct memory *m)
{
    float data[RESET_COUNT];

    for (int i = 0; i < RESET_COUNT; i++) {
        data[i] = 0 == test_rank ? 1 : 2;
    }
    devmem_put(m->in, data, sizeof data);
    devmem_put(m->out, data, sizeof data);
}

static bool is_after_reset(int way, const struct memory *m)
{
    float data[RESET_COUNT];
    float want = 0 == way ? 1 : 1 == way && 0 != test_rank ? 2 : 2 * test_size - 1;
    bool ok = true;

    devmem_get(data, m->out, sizeof data);
    for (int i = 0; i < RESET_COUNT; i++) {
        ok = ok && data[i] == want;
    }
    return ok;
}

static void reset_device(struct memory *m)
{
    int (*reset)(int) = (int (*)(int)) devmem_driver("cuDevicePrimaryCtxReset_v2");
    int (*retain)(void **, int) = (int (*)(void **, int)) devmem_driver("cuDevicePrimaryCtxRetain");
    void *context;

    if (0 != reset(0) || 0 != retain(&context, 0)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    scratch = devmem_alloc(DEVMEM_DEVICE, 4096);
    m->elements = 0;
    have(m, RESET_COUNT);
}

/*
 * Rank 1 comes last to the first calls, with work on its default stream, so it leads. Then one
 * rank's device is reset: each call fails on all ranks, or is right on all.
 */
static void reset(int whose)
{
    MPI_Comm comms[RESET_WAYS];
    struct memory m = {0};
    int victim = 0 == whose ? 1 : 0;

    have(&m, RESET_COUNT);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPI_Wait's */
    for (int way = 0; way < RESET_WAYS; way++) {
        bool ok = true;

        MPI_Comm_dup(MPI_COMM_WORLD, &comms[way]);
        MPI_Comm_set_errhandler(comms[way], MPI_ERRORS_RETURN);
        for (int k = 0; k < 4; k++) { /* their buffers are mapped at last */
            fill_for_reset(&m);
            if (1 == test_rank) {
                quick_sleep(5000);
                devmem_set_later(scratch, 0, 4096);
            }
            ok = MPI_SUCCESS == call_of(way, comms[way], &m) && is_after_reset(way, &m) && ok;
        }
        tap_check(ok, "before the reset, way %d", way);
    }
    tap_sync();
    if (victim == test_rank) {
        reset_device(&m);
    }
    for (int way = 0; way < RESET_WAYS; way++) {
        bool good, all_good;

        fill_for_reset(&m);
        good = MPI_SUCCESS == call_of(way, comms[way], &m);
        all_good = tap_agree(good);
        tap_check(good == all_good && (!good || is_after_reset(way, &m)),
                  "rank %d has reset its device, way %d: the same end on all ranks", victim, way);
        tap_note("way %d %s", way, all_good ? "was done" : "failed");
        MPI_Comm_free(&comms[way]);
    }
    have(&m, 0);
}

/* ---- the main program ---- */

static void all_lives(int mib)
{
    tap_check(run_all(1), "buffers that one call uses");
    tap_check(run_all(5), "buffers that five calls use");
    tap_check(run_all(0 == test_rank % 2 ? 1 : 8), "buffers that eight calls use, on odd ranks");
    if (mib > 0) {
        run_large(mib);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    calls = rng_key(test_seed, 1, 0);
    delays = rng_key((uint64_t) env_long("GPURING_DELAYS", 1), 2, (uint64_t) test_rank);
    scratch = devmem_alloc(DEVMEM_DEVICE, 4096);
    if (0 == strcmp(what, "fresh")) {
        run_fresh(argc > 2 ? atoi(argv[2]) : 1);
    } else if (0 == strcmp(what, "reset")) {
        reset(argc > 2 ? atoi(argv[2]) : 0);
    } else if (FORM_PERSISTENT >= forms_here && what[0] > '9') {
        tap_skip("this Open MPI has none", "persistent collectives");
    } else if (0 == strcmp(what, "takeover")) {
        takeover();
    } else if (0 == strcmp(what, "stopped")) {
        in_kernel(stop_in_kernel);
    } else if (0 == strcmp(what, "killed")) {
        in_kernel(die_in_kernel);
    } else {
        all_lives(atoi(what));
    }
    devmem_free(DEVMEM_DEVICE, scratch);
    return test_end();
}
