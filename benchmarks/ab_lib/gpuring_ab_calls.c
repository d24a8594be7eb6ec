/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded by gpuring_ab into every rank, of stock and of gpuring: counts collective calls and how
 * long they take, and writes that to a file in the folder $GPURING_AB at the end of MPI.
 *
 * It is linked with no MPI, and knows none: handles are pointers, which it passes on. So one file
 * serves every Open MPI, and every process that a job starts may load it. A function is found by
 * its name behind this file, MPI_ and PMPI_ alike: Fortran's functions call the latter ones.
 */
#define _GNU_SOURCE 1 /* RTLD_NEXT, dl_iterate_phdr() */
#include "base/size_class.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))
#define IN_PLACE ((const void *) 1) /* of Open MPI, and of MPI's ABI */

typedef void *handle_t;
typedef long long count_t; /* MPI_Count; MPI_Aint is a long */

/* Each collective: what it is called here, and in the file. */
#define CALLS(CALL)                                  \
    CALL(ALLGATHER, allgather)                       \
    CALL(ALLGATHERV, allgatherv)                     \
    CALL(ALLREDUCE, allreduce)                       \
    CALL(ALLTOALL, alltoall)                         \
    CALL(ALLTOALLV, alltoallv)                       \
    CALL(ALLTOALLW, alltoallw)                       \
    CALL(BARRIER, barrier)                           \
    CALL(BCAST, bcast)                               \
    CALL(EXSCAN, exscan)                             \
    CALL(GATHER, gather)                             \
    CALL(GATHERV, gatherv)                           \
    CALL(NEIGHBOR_ALLGATHER, neighbor_allgather)     \
    CALL(NEIGHBOR_ALLGATHERV, neighbor_allgatherv)   \
    CALL(NEIGHBOR_ALLTOALL, neighbor_alltoall)       \
    CALL(NEIGHBOR_ALLTOALLV, neighbor_alltoallv)     \
    CALL(NEIGHBOR_ALLTOALLW, neighbor_alltoallw)     \
    CALL(REDUCE, reduce)                             \
    CALL(REDUCE_SCATTER, reduce_scatter)             \
    CALL(REDUCE_SCATTER_BLOCK, reduce_scatter_block) \
    CALL(SCAN, scan)                                 \
    CALL(SCATTER, scatter)                           \
    CALL(SCATTERV, scatterv)

#define ID(id, name) id,
enum id { CALLS(ID) NCALLS };
#define NAME(id, name) #name,
static const char *const names[NCALLS] = {CALLS(NAME)};

enum { NCLASSES = GR_NSIZE_CLASSES, NFORMS = 2 /* blocking or not */ };

struct sum {
    uint64_t calls, ns;
};
static struct sum sums[NCALLS][NFORMS][NCLASSES];
static bool threads; /* several may be in MPI at once */
static uint64_t began, init_ns;
static bool written;
static __thread int depth; /* within our functions: only the outermost call counts */

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* ---- the functions behind ours ---- */

/* A library of MPI that was loaded for one module of Python only is not searched by RTLD_NEXT. */
static int find_libmpi(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *base = strrchr(info->dlpi_name, '/');

    (void) size;
    base = NULL == base ? info->dlpi_name : base + 1;
    if (0 != strncmp(base, "libmpi", 6) ||
        (NULL == strchr(".-", base[6]) && 0 != strncmp(base + 6, "_abi", 4))) {
        return 0;
    }
    *(void **) data = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return NULL != *(void **) data;
}

static void *find(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name), *libmpi = NULL;

    if (NULL == found && 0 != dl_iterate_phdr(find_libmpi, &libmpi)) {
        found = dlsym(libmpi, name);
    }
    return found;
}

static void *need(const char *name)
{
    void *found = find(name);

    if (NULL == found) {
        fprintf(stderr, "gpuring_ab: this MPI has no %s\n", name);
        abort();
    }
    return found;
}

/* ---- sums ---- */

static void add(uint64_t *to, uint64_t value)
{
    if (threads) {
        __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
    } else {
        *to += value;
    }
}

static count_t type_bytes(count_t n, handle_t type)
{
    static int (*next)(handle_t, int *);
    int size = 0;

    if (0 >= n) {
        return 0;
    }
    if (NULL == next) {
        next = (int (*)(handle_t, int *)) need("MPI_Type_size");
    }
    next(type, &size);
    return size < 0 ? LLONG_MAX : n * size;
}

static int class_of(count_t bytes)
{
    return gr_size_class((unsigned long long) bytes);
}

/* ---- requests of collectives: their waiting is the collectives' time ---- */

struct request {
    handle_t key;
    short id, class;
    bool persistent;
};
enum { NREQUESTS = 4096, MOST_REQUESTS = NREQUESTS / 2 };
static struct request requests[NREQUESTS]; /* open addressing; what is too much is not followed */
static int nrequests;
static char requests_lock;

static void lock(void)
{
    while (threads && __atomic_test_and_set(&requests_lock, __ATOMIC_ACQUIRE)) {
    }
}

static void unlock(void)
{
    if (threads) {
        __atomic_clear(&requests_lock, __ATOMIC_RELEASE);
    }
}

static unsigned place(handle_t key)
{
    return (unsigned) (((uintptr_t) key >> 4) * 0x9e3779b1u) % NREQUESTS;
}

static unsigned slot_of(handle_t key)
{
    unsigned at = place(key);

    while (NULL != requests[at].key && key != requests[at].key) {
        at = (at + 1) % NREQUESTS;
    }
    return at;
}

static void remember(handle_t key, enum id id, int class, bool persistent)
{
    unsigned at;

    lock();
    at = slot_of(key);
    if (NULL != key && (NULL != requests[at].key || nrequests < MOST_REQUESTS)) {
        nrequests += NULL == requests[at].key;
        requests[at] = (struct request) {key, (short) id, (short) class, persistent};
    }
    unlock();
}

static bool recall(handle_t key, struct request *found)
{
    lock();
    *found = requests[slot_of(key)];
    unlock();
    return NULL != found->key;
}

static void forget(handle_t key)
{
    unsigned at, next;

    lock();
    at = slot_of(key);
    nrequests -= NULL != requests[at].key;
    /* what lies behind it, and was put there because of it, moves up */
    for (next = (at + 1) % NREQUESTS; NULL != requests[at].key; next = (next + 1) % NREQUESTS) {
        if (NULL == requests[next].key) {
            requests[at].key = NULL;
        } else if ((next - place(requests[next].key)) % NREQUESTS >= (next - at) % NREQUESTS) {
            requests[at] = requests[next];
            at = next;
        }
    }
    unlock();
}

/* ---- collectives ---- */

static void done(enum id id, int class, uint64_t since)
{
    add(&sums[id][0][class].ns, now() - since);
    add(&sums[id][0][class].calls, 1);
}

/* A nonblocking call, or one that makes a persistent request, whose calls are its starts. */
static void pending(enum id id, int class, uint64_t since, handle_t request, bool persistent)
{
    if (!persistent) {
        add(&sums[id][1][class].ns, now() - since);
        add(&sums[id][1][class].calls, 1);
    }
    remember(request, id, class, persistent);
}

/*
 * A function of MPI: name, its parameters and their names in parentheses, what comes before the
 * call behind it, and after. In these, class is that of bytes, and since the time before the call.
 */
#define FUNCTION(name, params, args, bytes, after) \
    VISIBLE int name params;                       \
    int name params                                \
    {                                              \
        static int(*next) params;                  \
        int rc, class;                             \
        uint64_t since;                            \
                                                   \
        if (NULL == next) {                        \
            next = (int(*) params) need(#name);    \
        }                                          \
        if (0 < depth) {                           \
            return next args;                      \
        }                                          \
        depth++;                                   \
        class = class_of(bytes);                   \
        since = now();                             \
        rc = next args;                            \
        after;                                     \
        depth--;                                   \
        return rc;                                 \
    }

#define BOTH(name, params, args, bytes, after)       \
    FUNCTION(MPI_##name, params, args, bytes, after) \
    FUNCTION(PMPI_##name, params, args, bytes, after)
#define EXTENSION(name, params, args, bytes, after)   \
    FUNCTION(MPIX_##name, params, args, bytes, after) \
    FUNCTION(PMPIX_##name, params, args, bytes, after)

#define P(...) __VA_ARGS__
#define STARTED(id) pending(id, class, since, *request, false)
#define MADE(id) pending(id, class, since, *request, true)

/* The forms of a collective, with a suffix for large counts. params end with the communicator. */
#define COLLECTIVE(id, name, small, suffix, params, args, bytes)                                  \
    BOTH(name##suffix, (params), (args), bytes, done(id, class, since))                           \
    BOTH(I##small##suffix, (params, handle_t * request), (args, request), bytes, STARTED(id))     \
    BOTH(name##_init##suffix, (params, handle_t info, handle_t * request), (args, info, request), \
         bytes, MADE(id))
/* ... and Open MPI 4.1's name of the third one */
#define COLLECTIVES(id, name, small, PARAMS, args, bytes)                         \
    COLLECTIVE(id, name, small, , P(PARAMS(int, int)), P(args), bytes)            \
    COLLECTIVE(id, name, small, _c, P(PARAMS(count_t, long)), P(args), bytes)     \
    EXTENSION(name##_init, (PARAMS(int, int), handle_t info, handle_t * request), \
              (args, info, request), bytes, MADE(id))

/*
 * N: the type of counts, D: that of displacements. Of the arguments only those are looked at that
 * MPI uses at every rank.
 */
#define ALL_TO_ALL(N, D) const void *s, N sn, handle_t st, void *r, N rn, handle_t rt, handle_t comm
#define ROOTED(N, D) \
    const void *s, N sn, handle_t st, void *r, N rn, handle_t rt, int root, handle_t comm
#define GATHERS_V(N, D)                                                                         \
    const void *s, N sn, handle_t st, void *r, const N *rn, const D *rd, handle_t rt, int root, \
        handle_t comm
#define SCATTERS_V(N, D)                                                                        \
    const void *s, const N *sn, const D *sd, handle_t st, void *r, N rn, handle_t rt, int root, \
        handle_t comm
#define ALLGATHERS_V(N, D) \
    const void *s, N sn, handle_t st, void *r, const N *rn, const D *rd, handle_t rt, handle_t comm
#define ALLTOALLS_V(N, D)                                                                    \
    const void *s, const N *sn, const D *sd, handle_t st, void *r, const N *rn, const D *rd, \
        handle_t rt, handle_t comm
#define ALLTOALLS_W(N, D)                                                              \
    const void *s, const N *sn, const D *sd, const handle_t *st, void *r, const N *rn, \
        const D *rd, const handle_t *rt, handle_t comm
#define NEIGHBORS_W(N, D) ALLTOALLS_W(N, long)
#define BROADCASTS(N, D) void *s, N n, handle_t t, int root, handle_t comm
#define REDUCES_TO(N, D) \
    const void *s, void *r, N n, handle_t t, handle_t op, int root, handle_t comm
#define REDUCES(N, D) const void *s, void *r, N n, handle_t t, handle_t op, handle_t comm
#define REDUCES_V(N, D) const void *s, void *r, const N *n, handle_t t, handle_t op, handle_t comm

#define SENT_OR_RECEIVED (IN_PLACE == s ? type_bytes(rn, rt) : type_bytes(sn, st))
#define RECEIVED_OR_SENT (IN_PLACE == r ? type_bytes(sn, st) : type_bytes(rn, rt))

COLLECTIVES(ALLGATHER, Allgather, allgather, ALL_TO_ALL, P(s, sn, st, r, rn, rt, comm),
            SENT_OR_RECEIVED)
COLLECTIVES(ALLTOALL, Alltoall, alltoall, ALL_TO_ALL, P(s, sn, st, r, rn, rt, comm),
            SENT_OR_RECEIVED)
COLLECTIVES(NEIGHBOR_ALLGATHER, Neighbor_allgather, neighbor_allgather, ALL_TO_ALL,
            P(s, sn, st, r, rn, rt, comm), type_bytes(sn, st))
COLLECTIVES(NEIGHBOR_ALLTOALL, Neighbor_alltoall, neighbor_alltoall, ALL_TO_ALL,
            P(s, sn, st, r, rn, rt, comm), type_bytes(sn, st))
COLLECTIVES(GATHER, Gather, gather, ROOTED, P(s, sn, st, r, rn, rt, root, comm), SENT_OR_RECEIVED)
COLLECTIVES(SCATTER, Scatter, scatter, ROOTED, P(s, sn, st, r, rn, rt, root, comm),
            RECEIVED_OR_SENT)
COLLECTIVES(GATHERV, Gatherv, gatherv, GATHERS_V, P(s, sn, st, r, rn, rd, rt, root, comm),
            IN_PLACE == s ? type_bytes(rn[0], rt) : type_bytes(sn, st))
COLLECTIVES(SCATTERV, Scatterv, scatterv, SCATTERS_V, P(s, sn, sd, st, r, rn, rt, root, comm),
            IN_PLACE == r ? type_bytes(sn[0], st) : type_bytes(rn, rt))
COLLECTIVES(ALLGATHERV, Allgatherv, allgatherv, ALLGATHERS_V, P(s, sn, st, r, rn, rd, rt, comm),
            IN_PLACE == s ? type_bytes(rn[0], rt) : type_bytes(sn, st))
COLLECTIVES(NEIGHBOR_ALLGATHERV, Neighbor_allgatherv, neighbor_allgatherv, ALLGATHERS_V,
            P(s, sn, st, r, rn, rd, rt, comm), type_bytes(sn, st))
COLLECTIVES(ALLTOALLV, Alltoallv, alltoallv, ALLTOALLS_V, P(s, sn, sd, st, r, rn, rd, rt, comm),
            type_bytes(rn[0], rt))
COLLECTIVES(ALLTOALLW, Alltoallw, alltoallw, ALLTOALLS_W, P(s, sn, sd, st, r, rn, rd, rt, comm),
            type_bytes(rn[0], rt[0]))
/* a rank may have no neighbour */
COLLECTIVES(NEIGHBOR_ALLTOALLV, Neighbor_alltoallv, neighbor_alltoallv, ALLTOALLS_V,
            P(s, sn, sd, st, r, rn, rd, rt, comm), 0)
COLLECTIVES(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw, neighbor_alltoallw, NEIGHBORS_W,
            P(s, sn, sd, st, r, rn, rd, rt, comm), 0)
COLLECTIVES(BCAST, Bcast, bcast, BROADCASTS, P(s, n, t, root, comm), type_bytes(n, t))
COLLECTIVES(REDUCE, Reduce, reduce, REDUCES_TO, P(s, r, n, t, op, root, comm), type_bytes(n, t))
COLLECTIVES(ALLREDUCE, Allreduce, allreduce, REDUCES, P(s, r, n, t, op, comm), type_bytes(n, t))
COLLECTIVES(SCAN, Scan, scan, REDUCES, P(s, r, n, t, op, comm), type_bytes(n, t))
COLLECTIVES(EXSCAN, Exscan, exscan, REDUCES, P(s, r, n, t, op, comm), type_bytes(n, t))
COLLECTIVES(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, reduce_scatter_block, REDUCES,
            P(s, r, n, t, op, comm), type_bytes(n, t))
COLLECTIVES(REDUCE_SCATTER, Reduce_scatter, reduce_scatter, REDUCES_V, P(s, r, n, t, op, comm),
            type_bytes(n[0], t))
COLLECTIVE(BARRIER, Barrier, barrier, , P(handle_t comm), P(comm), 0)
EXTENSION(Barrier_init, (handle_t comm, handle_t info, handle_t *request), (comm, info, request), 0,
          MADE(BARRIER))

/* ---- starting, waiting, testing ---- */

/* What a call that gets requests is about: a collective among them, and the requests before it. */
struct about {
    struct request of;
    handle_t few[64], *before;
};

static bool about_collectives(struct about *a, int n, const handle_t *keys)
{
    int k = 0;

    if (0 < depth || 0 == __atomic_load_n(&nrequests, __ATOMIC_RELAXED)) {
        return false;
    }
    while (k < n && !recall(keys[k], &a->of)) {
        k++;
    }
    if (k >= n) {
        return false;
    }
    a->before = n <= 64 ? a->few : malloc((size_t) n * sizeof *keys);
    if (NULL != a->before) {
        memcpy(a->before, keys, (size_t) n * sizeof *keys);
    }
    return true;
}

/* Requests that ended have another value now. */
static void end_about(struct about *a, int n, const handle_t *keys)
{
    for (int k = 0; NULL != a->before && k < n; k++) {
        if (keys[k] != a->before[k]) {
            forget(a->before[k]);
        }
    }
    if (a->before != a->few) {
        free(a->before);
    }
}

static void count_starts(int n, const handle_t *keys)
{
    struct request of;

    for (int k = 0; k < n; k++) {
        if (recall(keys[k], &of)) {
            add(&sums[of.id][1][of.class].calls, 1);
        }
    }
}

#define ONE_ABOUT(name, params, args, n, keys, after)                 \
    VISIBLE int name params;                                          \
    int name params                                                   \
    {                                                                 \
        static int(*next) params;                                     \
        struct about about;                                           \
        int rc;                                                       \
        uint64_t since;                                               \
                                                                      \
        if (NULL == next) {                                           \
            next = (int(*) params) need(#name);                       \
        }                                                             \
        if (!about_collectives(&about, n, keys)) {                    \
            return next args;                                         \
        }                                                             \
        depth++;                                                      \
        since = now();                                                \
        rc = next args;                                               \
        add(&sums[about.of.id][1][about.of.class].ns, now() - since); \
        after;                                                        \
        end_about(&about, n, keys);                                   \
        depth--;                                                      \
        return rc;                                                    \
    }
#define ABOUT(name, params, args, n, keys, after)       \
    ONE_ABOUT(MPI_##name, params, args, n, keys, after) \
    ONE_ABOUT(PMPI_##name, params, args, n, keys, after)

ABOUT(Start, (handle_t * q), (q), 1, q, count_starts(1, q))
ABOUT(Startall, (int n, handle_t *q), (n, q), n, q, count_starts(n, q))
ABOUT(Wait, (handle_t * q, void *status), (q, status), 1, q, )
ABOUT(Test, (handle_t * q, int *flag, void *status), (q, flag, status), 1, q, )
ABOUT(Waitall, (int n, handle_t *q, void *statuses), (n, q, statuses), n, q, )
ABOUT(Testall, (int n, handle_t *q, int *flag, void *statuses), (n, q, flag, statuses), n, q, )
ABOUT(Waitany, (int n, handle_t *q, int *index, void *status), (n, q, index, status), n, q, )
ABOUT(Testany, (int n, handle_t *q, int *index, int *flag, void *status),
      (n, q, index, flag, status), n, q, )
ABOUT(Waitsome, (int n, handle_t *q, int *m, int *indices, void *statuses),
      (n, q, m, indices, statuses), n, q, )
ABOUT(Testsome, (int n, handle_t *q, int *m, int *indices, void *statuses),
      (n, q, m, indices, statuses), n, q, )
ABOUT(Request_free, (handle_t * q), (q), 1, q, )

/* ---- gpuring's own counters ---- */

/*
 * The component has been loaded where MPI_T has counters of its prefix. A counter's handle counts
 * from its making on, so handles are made when MPI has begun.
 */
struct counter {
    handle_t handle;
    char name[64], help[160];
};
static const char prefix[] = "coll_gpuring_";
static struct counter counters[256];
static int ncounters;
static handle_t session;

static bool describe(int index, struct counter *c)
{
    static int (*info)(int, char *, int *, int *, int *, handle_t *, handle_t *, char *, int *,
                       int *, int *, int *, int *);
    int name_len = sizeof c->name, help_len = sizeof c->help, verbosity, class, bind, readonly;
    int continuous, atomic;
    handle_t type, values;

    *(void **) &info = find("MPI_T_pvar_get_info");
    return NULL != info &&
           0 == info(index, c->name, &name_len, &verbosity, &class, &type, &values, c->help,
                     &help_len, &bind, &readonly, &continuous, &atomic) &&
           0 == strncmp(c->name, prefix, sizeof prefix - 1);
}

static void open_counters(void)
{
    int (*init)(int, int *), (*create)(handle_t *), (*number)(int *);
    int (*alloc)(handle_t, int, void *, handle_t *, int *);
    int n = 0, provided, values;

    *(void **) &init = find("MPI_T_init_thread");
    *(void **) &create = find("MPI_T_pvar_session_create");
    *(void **) &number = find("MPI_T_pvar_get_num");
    *(void **) &alloc = find("MPI_T_pvar_handle_alloc");
    if (NULL == init || NULL == create || NULL == number || NULL == alloc ||
        0 != init(0, &provided) || 0 != create(&session) || 0 != number(&n)) {
        return;
    }
    for (int k = 0; k < n && ncounters < (int) (sizeof counters / sizeof counters[0]); k++) {
        struct counter *c = &counters[ncounters];

        if (describe(k, c) && 0 == alloc(session, k, NULL, &c->handle, &values) && 1 == values) {
            ncounters++;
        }
    }
}

/* Those that are not 0, with what they count. */
static void write_counters(FILE *f)
{
    int (*get)(handle_t, handle_t, void *);

    *(void **) &get = find("MPI_T_pvar_read");
    for (int k = 0; k < ncounters; k++) {
        unsigned long long value = 0;

        if (0 == get(session, counters[k].handle, &value) && 0 < value) {
            fprintf(f, "counter %s %llu %s\n", counters[k].name + sizeof prefix - 1, value,
                    counters[k].help);
        }
    }
    fprintf(f, "counters %d\n", ncounters);
}

/* ---- the beginning and the end ---- */

static void write_number(FILE *f, const char *what, const char *function)
{
    int (*get)(handle_t, int *);
    handle_t world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"); /* the program may have a copy */
    int value = -1;

    *(void **) &get = find(function);
    world = NULL == world ? find("ompi_mpi_comm_world") : world;
    if (NULL != get && NULL != world) {
        get(world, &value);
    }
    fprintf(f, "%s %d\n", what, value);
}

static FILE *open_file(void)
{
    const char *folder = getenv("GPURING_AB");
    char path[PATH_MAX], host[256] = "";

    if (NULL == folder || written) {
        return NULL;
    }
    written = true;
    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/%s.%ld", folder, host, (long) getpid());
    return fopen(path, "w");
}

static void write_sums(FILE *f, uint64_t run_ns)
{
    fprintf(f, "init_ns %llu\nrun_ns %llu\n", (unsigned long long) init_ns,
            (unsigned long long) run_ns);
    for (int k = 0; k < NCLASSES; k++) {
        fprintf(f, "class %d %s\n", k, gr_size_class_name(k));
    }
    for (int k = 0; k < NCALLS * NFORMS * NCLASSES; k++) {
        int id = k / (NFORMS * NCLASSES), form = k / NCLASSES % NFORMS, class = k % NCLASSES;
        struct sum *sum = &sums[id][form][class];

        if (0 < sum->calls) {
            fprintf(f, "call %s%s %d %llu %llu\n", 0 == form ? "" : "i", names[id], class,
                    (unsigned long long) sum->calls, (unsigned long long) sum->ns);
        }
    }
    fclose(f);
}

static void initialised(uint64_t since)
{
    int (*level)(int *), provided = 3;

    *(void **) &level = find("MPI_Query_thread");
    if (NULL != level) {
        level(&provided);
    }
    threads = 3 <= provided; /* MPI_THREAD_MULTIPLE, of Open MPI */
    init_ns = now() - since;
    open_counters();
    began = now() - init_ns;
}

static int finalized(int (*next)(void))
{
    uint64_t ended = now(), since;
    FILE *f = 0 == began ? NULL : open_file();
    int rc;

    if (NULL != f) {
        write_number(f, "rank", "MPI_Comm_rank");
        write_number(f, "size", "MPI_Comm_size");
        write_counters(f);
    }
    since = now();
    rc = next();
    if (NULL != f) {
        write_sums(f, ended - began + now() - since);
    }
    return rc;
}

#define BEGIN(name, params, args)                        \
    VISIBLE int name params;                             \
    int name params                                      \
    {                                                    \
        int(*next) params = (int(*) params) need(#name); \
        uint64_t since = now();                          \
        int rc;                                          \
                                                         \
        if (0 < depth) {                                 \
            return next args;                            \
        }                                                \
        depth++;                                         \
        rc = next args;                                  \
        initialised(since);                              \
        depth--;                                         \
        return rc;                                       \
    }
#define FINISH(name)                                     \
    VISIBLE int name(void);                              \
    int name(void)                                       \
    {                                                    \
        int (*next)(void) = (int (*)(void)) need(#name); \
        int rc;                                          \
                                                         \
        if (0 < depth) {                                 \
            return next();                               \
        }                                                \
        depth++;                                         \
        rc = finalized(next);                            \
        depth--;                                         \
        return rc;                                       \
    }

BEGIN(MPI_Init, (int *argc, char ***argv), (argc, argv))
BEGIN(PMPI_Init, (int *argc, char ***argv), (argc, argv))
BEGIN(MPI_Init_thread, (int *argc, char ***argv, int wanted, int *got), (argc, argv, wanted, got))
BEGIN(PMPI_Init_thread, (int *argc, char ***argv, int wanted, int *got), (argc, argv, wanted, got))
FINISH(MPI_Finalize)
FINISH(PMPI_Finalize)

/* Of a process that ends without MPI_Finalize there are its sums, but not gpuring's counters. */
__attribute__((destructor)) static void left(void)
{
    FILE *f = 0 == began ? NULL : open_file();

    if (NULL != f) {
        write_sums(f, now() - began);
    }
}
