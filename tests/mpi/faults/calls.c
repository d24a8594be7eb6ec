/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of which one may fail (faults.sh): blocking, nonblocking and persistent ones on
 * MPI_COMM_WORLD, then on a communicator that was made before them, then on one that is made after
 * them. MPI_Comm_create_group makes them, by point-to-point messages: where an allreduce of
 * MPI_Comm_dup's own fails, Open MPI 4.1.4 crashes. Errors are returned.
 *
 *      calls [mixed | barriers | small | life]
 *
 * mixed: calls of all sizes, the default; barriers: nothing else; small: messages of boards; life:
 * few allreduces, the first and a later one of each communicator. The file GPURING_ENTERED, zeros
 * at first, holds how many barriers each rank has entered.
 * Each rank prints each call that returned an error or a wrong result, and at its end
 *
 *     verdict rank R: right N error N wrong N, others right N error N wrong N
 *
 * with the calls on MPI_COMM_WORLD first, then those on the other two, and
 *
 *     outcomes rank R: CCC...
 *
 * with a letter for each call, in the order of the calls: r right, e error, w wrong. GPURING_MEMORY
 * as in devmem.h.
 */
#include <err.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "devmem.h"
#include "forms.h"

#define SMALL 16     /* elements: mailboxes */
#define MIDDLE 6000  /* through slots */
#define LARGE 300000 /* fetched from the sender's buffer */
#define GAP 2        /* elements from one to the next of the type with gaps */

enum what { ALLREDUCE, BCAST, ALLGATHER, SCATTER, ALLTOALL, REDUCE, BARRIER, NUM_WHATS };

static const char *const names[NUM_WHATS] = {
    "allreduce", "bcast", "allgather", "reduce_scatter_block", "alltoall", "reduce", "barrier"};

struct shape {
    enum what what;
    int n;         /* elements of the vector; of all blocks together */
    bool in_place; /* reduce_scatter_block */
    bool gaps;     /* bcast of a type with gaps */
};

struct call {
    struct shape shape;
    MPI_Comm comm;
    int count; /* what MPI gets */
    MPI_Datatype type;
    const void *send; /* what MPI gets */
    void *recv;
    size_t bytes;   /* of each buffer */
    int *host;      /* room for one buffer */
    void *in, *out; /* the buffers */
    long number;    /* of a barrier */
    MPI_Request request;
};

static int rank, size;
static enum devmem_kind memory;
static struct tally {
    int right, error, wrong;
} first, others, *tally = &first;
static const char *where = "MPI_COMM_WORLD";
static int world_rank;
static _Atomic long *entered; /* [rank of MPI_COMM_WORLD]: how many barriers */
static char outcomes[100];    /* of each call, a letter */
static size_t noutcomes;

/* ---- data ---- */

static int value_of(int r, int i)
{
    return (r + 1) * (i % 97 + 1);
}

static int sum_of(int i)
{
    return size * (size + 1) / 2 * (i % 97 + 1);
}

static int stride(const struct call *c)
{
    return c->shape.gaps ? GAP : 1;
}

static void *allocate(size_t bytes)
{
    return DEVMEM_HOST == memory ? malloc(bytes) : devmem_alloc(memory, bytes);
}

static void release(void *at)
{
    if (DEVMEM_HOST == memory) {
        free(at);
    } else {
        devmem_free(memory, at);
    }
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (DEVMEM_HOST == memory) {
        memcpy(to, from, bytes);
    } else {
        devmem_put(to, from, bytes); /* either way */
    }
}

static void make(struct call *c, const struct shape *shape, MPI_Comm comm)
{
    bool blocks = ALLGATHER == shape->what || SCATTER == shape->what || ALLTOALL == shape->what;

    *c =
        (struct call) {.shape = *shape, .comm = comm, .type = MPI_INT, .request = MPI_REQUEST_NULL};
    c->shape.n = blocks ? shape->n / size * size : shape->n;
    c->count = blocks ? shape->n / size : shape->n;
    if (shape->gaps) {
        MPI_Type_vector(c->count, 1, GAP, MPI_INT, &c->type);
        MPI_Type_commit(&c->type);
        c->count = 1;
    }
    c->bytes = sizeof(int) * (size_t) c->shape.n * (size_t) stride(c);
    c->host = malloc(c->bytes);
    c->in = allocate(c->bytes);
    c->out = allocate(c->bytes);
    c->send = shape->in_place ? MPI_IN_PLACE : c->in;
    c->recv = c->out;
}

static void unmake(struct call *c)
{
    if (MPI_INT != c->type) {
        MPI_Type_free(&c->type);
    }
    release(c->in);
    release(c->out);
    free(c->host);
}

static void fill(struct call *c)
{
    bool input = c->shape.in_place || (BCAST == c->shape.what && 0 == rank);
    int i;

    if (BARRIER == c->shape.what) {
        c->number = ++entered[world_rank]; /* all ranks make the same calls */
        return;
    }
    memset(c->host, 0x55, c->bytes);
    if (!input) {
        copy(c->out, c->host, c->bytes);
    }
    for (i = 0; i < c->shape.n; i++) {
        c->host[i * stride(c)] = value_of(rank, i);
    }
    copy(input ? c->out : c->in, c->host, c->bytes);
}

static int expected(const struct call *c, int i)
{
    int block = c->shape.n / size;

    switch (c->shape.what) {
    case BCAST:
        return value_of(0, i);
    case ALLGATHER:
        return value_of(i / block, i % block);
    case SCATTER:
        return sum_of(rank * block + i);
    case ALLTOALL:
        return value_of(i / block, rank * block + i % block);
    default:
        return sum_of(i);
    }
}

/* Whether all ranks have entered the barrier. */
static bool all_entered(const struct call *c)
{
    int r;

    for (r = 0; r < size && entered[r] >= c->number; r++) {
    }
    return r == size;
}

static bool is_right(struct call *c)
{
    int n = SCATTER == c->shape.what               ? c->shape.n / size
            : REDUCE == c->shape.what && 0 != rank ? 0
                                                   : c->shape.n,
        i;

    if (BARRIER == c->shape.what) {
        return all_entered(c);
    }
    copy(c->host, c->out, c->bytes);
    for (i = 0; i < n && c->host[i * stride(c)] == expected(c, i); i++) {
    }
    return i == n;
}

/* ---- calls ---- */

#define FORMS(name, Name, ...)                                           \
    static int name##_blocking(struct call *c)                           \
    {                                                                    \
        return MPI_##Name(__VA_ARGS__);                                  \
    }                                                                    \
    static int name##_nonblocking(struct call *c)                        \
    {                                                                    \
        return MPI_I##name(__VA_ARGS__, &c->request);                    \
    }                                                                    \
    static int name##_init(struct call *c)                               \
    {                                                                    \
        return FORM_INIT(Name, __VA_ARGS__, MPI_INFO_NULL, &c->request); \
    }

FORMS(allreduce, Allreduce, c->send, c->recv, c->count, c->type, MPI_SUM, c->comm)
FORMS(bcast, Bcast, c->recv, c->count, c->type, 0, c->comm)
FORMS(allgather, Allgather, c->send, c->count, c->type, c->recv, c->count, c->type, c->comm)
FORMS(reduce_scatter_block, Reduce_scatter_block, c->send, c->recv, c->count, c->type, MPI_SUM,
      c->comm)
FORMS(alltoall, Alltoall, c->send, c->count, c->type, c->recv, c->count, c->type, c->comm)
FORMS(reduce, Reduce, c->send, c->recv, c->count, c->type, MPI_SUM, 0, c->comm)
FORMS(barrier, Barrier, c->comm)

#define ROW(name)                                        \
    {                                                    \
        name##_blocking, name##_nonblocking, name##_init \
    }

static int (*const rows[NUM_WHATS][NUM_FORMS])(struct call *c) = {
    [ALLREDUCE] = ROW(allreduce), [BCAST] = ROW(bcast),
    [ALLGATHER] = ROW(allgather), [SCATTER] = ROW(reduce_scatter_block),
    [ALLTOALL] = ROW(alltoall),   [REDUCE] = ROW(reduce),
    [BARRIER] = ROW(barrier),
};

/* ---- judging ---- */

static void failed(int rc, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void failed(int rc, const char *format, ...)
{
    char what[100], words[MPI_MAX_ERROR_STRING];
    int n;
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    MPI_Error_string(rc, words, &n);
    printf("error rank %d: %s on %s: %s\n", rank, what, where, words);
    tally->error++;
}

static void judge(struct call *c, enum form form, int rc)
{
    char outcome = 'r';

    if (MPI_SUCCESS != rc) {
        failed(rc, "%s %s of %d elements", form_names[form], names[c->shape.what], c->shape.n);
        outcome = 'e';
    } else if (is_right(c)) {
        tally->right++;
    } else {
        printf("WRONG rank %d: %s %s of %d elements on %s\n", rank, form_names[form],
               names[c->shape.what], c->shape.n, where);
        tally->wrong++;
        outcome = 'w';
    }
    if (noutcomes < sizeof(outcomes) - 1) {
        outcomes[noutcomes++] = outcome;
    }
}

/* Whether it is so on all ranks: by point-to-point messages, which are not under test. */
static bool everywhere(bool mine)
{
    int all = mine, one, r;

    for (r = 1; r < size && 0 == rank; r++) {
        MPI_Recv(&one, 1, MPI_INT, r, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        all = all && one;
    }
    if (0 != rank) {
        MPI_Send(&all, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
        MPI_Recv(&all, 1, MPI_INT, 0, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (r = 1; r < size && 0 == rank; r++) {
        MPI_Send(&all, 1, MPI_INT, r, 78, MPI_COMM_WORLD);
    }
    return 0 != all;
}

/* ---- which calls ---- */

static const struct shape all[] = {
    {ALLREDUCE, SMALL, false, false},    {BCAST, SMALL, false, false},
    {ALLREDUCE, LARGE, false, false},    {BCAST, MIDDLE, false, true},
    {ALLGATHER, MIDDLE, false, false},   {SCATTER, LARGE / 4, true, false},
    {ALLTOALL, LARGE / 4, false, false}, {REDUCE, LARGE, false, false},
    {ALLREDUCE, LARGE, false, false},
};
static const struct shape together[] = {
    {ALLREDUCE, SMALL, false, false},
    {BCAST, LARGE, false, false},
    {ALLTOALL, MIDDLE, false, false},
};
static const struct shape again[] = {{ALLREDUCE, SMALL, false, false},
                                     {ALLREDUCE, LARGE, false, false}};
static const struct shape later[] = {
    {ALLREDUCE, LARGE, false, false},
    {ALLREDUCE, SMALL, false, false},
    {ALLGATHER, MIDDLE, false, false},
};
static const struct shape barriers[] = {{BARRIER, 1, false, false}, {BARRIER, 1, false, false}};
/* through slots, and by zero copy */
static const struct shape life[] = {
    {ALLREDUCE, MIDDLE, false, false},
    {ALLREDUCE, MIDDLE, false, false},
    {ALLREDUCE, LARGE, false, false},
};
static const struct shape short_life[] = {{ALLREDUCE, MIDDLE, false, false}};
static const struct shape small[] = {
    {ALLREDUCE, SMALL, false, false}, {BCAST, SMALL, false, true},
    {ALLGATHER, SMALL, false, false}, {SCATTER, SMALL, false, false},
    {ALLTOALL, SMALL, false, false},  {REDUCE, SMALL, false, false},
    {BARRIER, 1, false, false},
};

struct list {
    const struct shape *shapes;
    int n;
};

#define LIST(shapes)                                         \
    {                                                        \
        shapes, (int) (sizeof(shapes) / sizeof((shapes)[0])) \
    }

static const struct set {
    const char *name;
    struct list blocking, nonblocking, persistent; /* on MPI_COMM_WORLD */
    struct list others;     /* on the other communicators, blocking and nonblocking */
    bool nonblocking_first; /* there: so these make the links */
} sets[] = {
    {"mixed", LIST(all), LIST(together), LIST(again), LIST(later), false},
    {"barriers", LIST(barriers), LIST(barriers), LIST(barriers), LIST(barriers), true},
    {"small", LIST(small), LIST(small), LIST(small), LIST(small), true},
    {"life", LIST(life), LIST(short_life), {NULL, 0}, LIST(short_life), false},
};

/* ---- one form after the other ---- */

static void blocking(MPI_Comm comm, const struct list *list)
{
    struct call c;
    int k;

    for (k = 0; k < list->n; k++) {
        make(&c, &list->shapes[k], comm);
        fill(&c);
        judge(&c, FORM_BLOCKING, rows[list->shapes[k].what][FORM_BLOCKING](&c));
        unmake(&c);
    }
}

/* All at a time. */
static void nonblocking(MPI_Comm comm, const struct list *list)
{
    struct call calls[8];
    int k, rc[8];

    for (k = 0; k < list->n; k++) {
        make(&calls[k], &list->shapes[k], comm);
        fill(&calls[k]);
        rc[k] = rows[list->shapes[k].what][FORM_NONBLOCKING](&calls[k]);
    }
    for (k = 0; k < list->n; k++) {
        rc[k] = MPI_SUCCESS == rc[k] ? MPI_Wait(&calls[k].request, MPI_STATUS_IGNORE) : rc[k];
        judge(&calls[k], FORM_NONBLOCKING, rc[k]);
    }
    for (k = 0; k < list->n; k++) {
        unmake(&calls[k]);
    }
}

static void persistent(MPI_Comm comm, const struct shape *shape)
{
    struct call c;
    int k, rc;

    make(&c, shape, comm);
    rc = rows[shape->what][FORM_PERSISTENT](&c);
    if (MPI_SUCCESS != rc) {
        failed(rc, "%s_init of %d elements", names[shape->what], c.shape.n);
    }
    if (everywhere(MPI_SUCCESS == rc)) {
        for (k = 0; k < 2; k++) {
            fill(&c);
            rc = MPI_Start(&c.request);
            rc = MPI_SUCCESS == rc ? MPI_Wait(&c.request, MPI_STATUS_IGNORE) : rc;
            judge(&c, FORM_PERSISTENT, rc);
        }
    }
    if (MPI_REQUEST_NULL != c.request) {
        MPI_Request_free(&c.request);
    }
    unmake(&c);
}

static void calls_on_world(const struct set *set)
{
    int k;

    blocking(MPI_COMM_WORLD, &set->blocking);
    nonblocking(MPI_COMM_WORLD, &set->nonblocking);
    for (k = 0; k < set->persistent.n && forms_here > FORM_PERSISTENT; k++) {
        persistent(MPI_COMM_WORLD, &set->persistent.shapes[k]);
    }
}

/* A communicator must not have the id of one that has failed; in Open MPI the handle is the id. */
static void check_id(MPI_Comm comm, bool failed)
{
    static MPI_Fint of_failed = -1;

    if (failed) {
        of_failed = MPI_Comm_c2f(comm);
    } else if (of_failed == MPI_Comm_c2f(comm)) {
        printf("WRONG rank %d: %s has the id of a communicator that has failed\n", rank, where);
        tally->wrong++;
    }
}

/* A communicator that this rank has, or rc says why not; it is of use when all ranks have it. */
static void calls_on(MPI_Comm comm, int rc, const char *name, const struct set *set)
{
    int errors = tally->error;

    where = name;
    if (MPI_SUCCESS != rc) {
        failed(rc, "making the communicator");
    }
    if (everywhere(MPI_SUCCESS == rc)) {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(comm, &rank);
        if (set->nonblocking_first) {
            nonblocking(comm, &set->others);
        }
        blocking(comm, &set->others);
        if (!set->nonblocking_first) {
            nonblocking(comm, &set->others);
        }
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (MPI_SUCCESS == rc) {
        check_id(comm, false);
        if (tally->error > errors) {
            check_id(comm, true);
        }
        MPI_Comm_free(&comm);
    }
}

/* A communicator of all ranks, in their order or the other way round. MPI's error code. */
static int make_comm(bool reversed, MPI_Comm *comm)
{
    MPI_Group world, turned = MPI_GROUP_NULL;
    int range[3] = {size - 1, 0, -1}, rc;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, &range, &turned);
    rc = MPI_Comm_create_group(MPI_COMM_WORLD, reversed ? turned : world, 0, comm);
    MPI_Group_free(&turned);
    MPI_Group_free(&world);
    return rc;
}

static const struct set *set_named(const char *name)
{
    size_t k;

    for (k = 0; k < sizeof(sets) / sizeof(sets[0]); k++) {
        if (0 == strcmp(name, sets[k].name)) {
            return &sets[k];
        }
    }
    errx(2, "calls [mixed | barriers | small | life]");
}

/* The memory in which all ranks count the barriers that they have entered. */
static void map_entered(void)
{
    const char *path = getenv("GPURING_ENTERED");
    int fd = NULL == path ? -1 : open(path, O_RDWR);

    entered =
        mmap(NULL, (size_t) size * sizeof(*entered), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (MAP_FAILED == entered) {
        err(2, "GPURING_ENTERED");
    }
}

int main(int argc, char **argv)
{
    const struct set *set = set_named(argc > 1 ? argv[1] : "mixed");
    MPI_Comm older = MPI_COMM_NULL, newer = MPI_COMM_NULL;
    int old_rc, new_rc;

    memory = devmem_open();
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    setlinebuf(stdout);
    world_rank = rank;
    map_entered();
    old_rc = make_comm(false, &older);
    calls_on_world(set);
    tally = &others;
    calls_on(older, old_rc, "the older one", set);
    new_rc = make_comm(true, &newer);
    calls_on(newer, new_rc, "the newer one", set);
    printf("verdict rank %d: right %d error %d wrong %d, others right %d error %d wrong %d\n", rank,
           first.right, first.error, first.wrong, others.right, others.error, others.wrong);
    printf("outcomes rank %d: %s\n", rank, outcomes);
    return MPI_Finalize();
}
