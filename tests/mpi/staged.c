/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large calls on device buffers that no kernel does (long double), which are copied while steps
 * run, or while the saved collective works on another segment: staged [ROUNDS], with
 * GPURING_MEMORY=device and FAKECUDA_LOG. Results are right, each byte is copied once each way, in
 * several pieces (at one copy each way: staged whole), and calls after the first ones allocate
 * nothing.
 *
 * With GPURING_MEMORY=host a rank's own buffers are there.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "devlog.h"
#include "devmem.h"
#include "forms.h"
#include "tap.h"

#define COUNT 180000     /* elements of a vector: 2.75 MiB, what is kept between calls */
#define SEGMENTED 300000 /* of one that is cut into segments: 4.6 MiB */
#define WARM_UP 6
#define ROUNDS 6

/* calls after which nothing may be allocated, and calls before them */
static int rounds = ROUNDS, warm_up = WARM_UP;

enum what { ALLREDUCE, REDUCE, SCATTER, SCAN, EXSCAN, USER_OP, LOCAL, NUM_WHATS };

static const char *const names[NUM_WHATS] = {
    "allreduce",   "reduce", "reduce_scatter_block",
    "scan",        "exscan", "allreduce with an operation of the user's",
    "reduce_local"};

struct call {
    enum what what;
    enum form form;
    bool in_place;
    int n;                 /* elements of each block, or of the vector */
    long double *in, *out; /* on the device */
    long double *host;     /* room for one of them */
    size_t bytes;          /* of each */
};

static MPI_Op user_op;
static bool on_host; /* this rank's buffers */

static void *allocate(size_t bytes)
{
    return on_host ? malloc(bytes) : devmem_alloc(DEVMEM_DEVICE, bytes);
}

static void release(void *at)
{
    if (on_host) {
        free(at);
    } else {
        devmem_free(DEVMEM_DEVICE, at);
    }
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (on_host) {
        memcpy(to, from, bytes);
    } else {
        devmem_put(to, from, bytes); /* either way */
    }
}

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; i++) {
        ((long double *) inout)[i] += ((long double *) in)[i];
    }
}

static int elements(enum what what)
{
    return (what >= SCAN ? SEGMENTED : COUNT) / test_size * test_size;
}

static bool is_root(const struct call *c)
{
    return REDUCE != c->what || test_rank == test_size - 1;
}

static void fill(const struct call *c, int salt)
{
    const int n = elements(c->what);

    memset(c->host, 0x3b, c->bytes);
    copy(c->out, c->host, c->bytes);
    for (int i = 0; i < n; i++) {
        c->host[i] = salt + i % 1000 + test_rank;
    }
    copy(c->in_place ? c->out : c->in, c->host, c->bytes);
    if (LOCAL == c->what) {
        copy(c->out, c->host, c->bytes);
    }
}

/* Elements of the result at this rank; 0: it has none. */
static int results(const struct call *c)
{
    return is_root(c) && !(EXSCAN == c->what && 0 == test_rank) ? c->n : 0;
}

static bool is_right(const struct call *c, int salt)
{
    const int first = SCATTER == c->what ? test_rank * c->n : 0;
    /* ranks 0 ... p - 1 are in it; or twice this one */
    const int p = SCAN == c->what ? test_rank + 1 : EXSCAN == c->what ? test_rank : test_size;
    const int times = LOCAL == c->what ? 2 : p,
              ranks = LOCAL == c->what ? 2 * test_rank : p * (p - 1) / 2;

    copy(c->host, c->out, c->bytes);
    for (int i = 0; i < results(c); i++) {
        const long double want = (long double) times * (salt + (first + i) % 1000) + ranks;

        if (c->host[i] != want) {
            tap_fault("%s: element %d is %Lg, not %Lg", names[c->what], i, c->host[i], want);
            return false;
        }
    }
    return true;
}

/* Start it, or make the persistent request. */
static void start(const struct call *c, MPI_Request *request)
{
    const void *in = c->in_place && is_root(c) ? MPI_IN_PLACE : c->in_place ? c->out : c->in;
    MPI_Comm comm = MPI_COMM_WORLD;

#define EACH(Name, ...)                                             \
    if (FORM_BLOCKING == c->form) {                                 \
        MPI_##Name(__VA_ARGS__, comm);                              \
    } else if (FORM_NONBLOCKING == c->form) {                       \
        MPI_I##Name(__VA_ARGS__, comm, request);                    \
    } else {                                                        \
        FORM_INIT(Name, __VA_ARGS__, comm, MPI_INFO_NULL, request); \
    }
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce MPI_Ireduce
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
    switch (c->what) {
    case ALLREDUCE:
        EACH(Allreduce, in, c->out, c->n, MPI_LONG_DOUBLE, MPI_SUM)
        break;
    case REDUCE:
        EACH(Reduce, in, c->out, c->n, MPI_LONG_DOUBLE, MPI_SUM, test_size - 1)
        break;
    case SCATTER:
        EACH(Reduce_scatter_block, in, c->out, c->n, MPI_LONG_DOUBLE, MPI_SUM)
        break;
    case SCAN:
        MPI_Scan(in, c->out, c->n, MPI_LONG_DOUBLE, MPI_SUM, comm);
        break;
    case EXSCAN:
        MPI_Exscan(in, c->out, c->n, MPI_LONG_DOUBLE, MPI_SUM, comm);
        break;
    case USER_OP:
        MPI_Allreduce(in, c->out, c->n, MPI_LONG_DOUBLE, user_op, comm);
        break;
    default:
        MPI_Reduce_local(c->in, c->out, c->n, MPI_LONG_DOUBLE, MPI_SUM);
    }
}

static void make(struct call *c, enum what what, enum form form, bool in_place)
{
    *c = (struct call) {.what = what, .form = form, .in_place = in_place};
    c->n = SCATTER == what ? COUNT / test_size : elements(what);
    c->bytes = (size_t) elements(what) * sizeof(long double);
    c->in = allocate(c->bytes);
    c->out = allocate(c->bytes);
    c->host = malloc(c->bytes);
}

static void drop(struct call *c)
{
    release(c->in);
    release(c->out);
    free(c->host);
}

/* One call, from its input to its result. */
static bool once(const struct call *c, MPI_Request *request, int salt, struct devlog_copies *before,
                 struct devlog_copies *after)
{
    fill(c, salt);
    tap_sync();
    *before = devlog_copies();
    if (FORM_PERSISTENT == c->form) {
        MPI_Start(request);
    } else {
        start(c, request);
    }
    if (FORM_BLOCKING != c->form) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    *after = devlog_copies();
    return is_right(c, salt);
}

/* What this rank's call reads and writes of device memory. */
static void expect(const struct call *c, long bytes[COPY_WAYS])
{
    bytes[TO_HOST] = on_host ? 0 : (LOCAL == c->what ? 2 : 1) * (long) c->bytes;
    bytes[TO_DEVICE] = on_host ? 0 : (long) results(c) * (long) sizeof(long double);
    bytes[ELSEWHERE] = 0;
}

static bool is_once(const struct call *c, const struct devlog_copies *before,
                    const struct devlog_copies *after, int least)
{
    /* the sum of a block in place lies over input until all of that is used: it comes at once */
    const bool whole = SCATTER == c->what && c->in_place;
    long bytes[COPY_WAYS];
    bool ok = true;

    expect(c, bytes);
    for (int way = 0; way < COPY_WAYS; way++) {
        const int n = after->n[way] - before->n[way];
        const long copied = after->bytes[way] - before->bytes[way];
        const int wanted = 0 == bytes[way] ? 0 : TO_DEVICE == way && whole ? 1 : least;

        if (copied != bytes[way] || n < wanted || (1 >= wanted && n != wanted)) {
            tap_fault("%s: %ld bytes in %d copies, way %d (0: to the host); must be %ld",
                      names[c->what], copied, n, way, bytes[way]);
            ok = false;
        }
    }
    return ok;
}

static void copies(enum what what, enum form form, bool in_place, int least)
{
    MPI_Request request = MPI_REQUEST_NULL;
    bool right = true, single = true;
    struct devlog_copies before, after;
    struct call c;
    int allocations = 0, more;

    make(&c, what, form, in_place);
    if (FORM_PERSISTENT == form) {
        start(&c, &request);
    }
    for (int k = 0; k < warm_up + rounds; k++) {
        allocations = warm_up == k ? devlog_allocations() : allocations;
        right = once(&c, &request, 7 * k, &before, &after) && right;
        single = is_once(&c, &before, &after, least) && single;
    }
    more = devlog_allocations() - allocations;
    if (FORM_PERSISTENT == form) {
        MPI_Request_free(&request);
    }
    drop(&c);
    tap_check(right, "%s%s, %s: right", names[what], in_place ? " in place" : "", form_names[form]);
    tap_check(single, "each byte is copied once each way, %s", least > 1 ? "in pieces" : "at once");
    tap_check(0 == more, "nothing is allocated");
}

/*
 * Pairs with gaps behind their index: the whole is staged, and then cut as the others cut theirs.
 */
static void gaps(void)
{
    enum { N = 400000 };
    struct pair {
        double value;
        int at, gap;
    } *host = malloc(N * sizeof *host), *in = allocate(N * sizeof *host),
      *out = allocate(N * sizeof *host);
    bool ok = true;

    for (int i = 0; i < N; i++) {
        host[i] = (struct pair) {i % 100 + test_rank, test_rank, 1};
    }
    copy(in, host, N * sizeof *host);
    memset(host, 0x77, N * sizeof *host);
    copy(out, host, N * sizeof *host);
    MPI_Scan(in, out, N, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    copy(host, out, N * sizeof *host);
    for (int i = 0; i < N; i++) {
        ok = ok && i % 100 + test_rank == host[i].value && test_rank == host[i].at &&
             0x77777777 == host[i].gap;
    }
    tap_check(ok, "scan of pairs with gaps: right, and the gaps are as they were");
    release(in);
    release(out);
    free(host);
}

int main(int argc, char **argv)
{
    const char *memory = getenv("GPURING_MEMORY");

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    on_host = NULL != memory && 0 == strcmp(memory, "host");
    rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    warm_up = argc > 1 ? rounds : WARM_UP;
    MPI_Op_create(add, 1, &user_op);
    for (int what = 0; what < NUM_WHATS; what++) {
        /* only blocking calls are cut */
        for (int form = 0; form < (what < SCAN ? forms_here : 1); form++) {
            for (int in_place = 0; in_place < (LOCAL == what ? 1 : 2); in_place++) {
                copies((enum what) what, (enum form) form, 0 != in_place,
                       what < SCAN ? (int) env_long("GPURING_PIECES", 2) : 5);
            }
        }
    }
    gaps();
    MPI_Op_free(&user_op);
    return test_end();
}
