/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of which one may fail (failing.py): blocking, nonblocking and persistent ones on
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
#define BARRIER NUM_COLLS

struct shape {
    int what;      /* enum coll, or BARRIER */
    int n;         /* elements of the vector; of all blocks together */
    bool in_place; /* reduce_scatter_block */
    bool gaps;     /* bcast of a type with gaps */
};

struct call {
    struct shape shape;
    MPI_Comm comm;
    struct form_call form; /* but of a barrier */
    long number;           /* of a barrier */
    MPI_Request request;
};

static int rank, size;
static struct tally {
    int right, error, wrong;
} first, others, *tally = &first;
static const char *where = "MPI_COMM_WORLD";
static int world_rank;
static _Atomic long *entered; /* [rank of MPI_COMM_WORLD]: how many barriers */
static char outcomes[100];    /* of each call, a letter */
static size_t noutcomes;

/* ---- data ---- */

static void make(struct call *c, const struct shape *shape, MPI_Comm comm)
{
    const bool blocks = BARRIER != shape->what && coll_infos[shape->what].blocks;
    struct form_shape form = {.coll = (enum coll) shape->what,
                              .kind = shape->gaps ? KIND_GAPS : KIND_UINT32,
                              .count = shape->n,
                              .in_place = shape->in_place};

    *c = (struct call) {.shape = *shape, .comm = comm, .request = MPI_REQUEST_NULL};
    if (blocks && shape->n / size * (int) sizeof(int) <= 65536) {
        form.count = shape->n / size; /* form_make() shares out larger ones */
    }
    if (BARRIER != shape->what) {
        form_make(&c->form, comm, &form);
    }
}

static void unmake(struct call *c)
{
    if (BARRIER != c->shape.what) {
        form_free(&c->form);
    }
}

static void fill(struct call *c)
{
    if (BARRIER == c->shape.what) {
        c->number = ++entered[world_rank]; /* all ranks make the same calls */
    } else {
        form_fill(&c->form, 1);
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
    return BARRIER == c->shape.what ? all_entered(c) : form_check(&c->form);
}

static const char *name_of(const struct shape *shape)
{
    return BARRIER == shape->what ? "barrier" : coll_infos[shape->what].name;
}

/* ---- calls ---- */

static int init(struct call *c)
{
    if (BARRIER != c->shape.what) {
        return form_init(&c->form, &c->request);
    }
    return FORM_INIT(Barrier, c->comm, MPI_INFO_NULL, &c->request);
}

/* Carries out or starts. */
static int start(struct call *c, enum form form)
{
    if (BARRIER != c->shape.what) {
        return form_start(&c->form, form, &c->request);
    }
    return FORM_BLOCKING == form      ? MPI_Barrier(c->comm)
           : FORM_NONBLOCKING == form ? MPI_Ibarrier(c->comm, &c->request)
                                      : MPI_Start(&c->request);
}

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
        failed(rc, "%s %s of %d elements", form_names[form], name_of(&c->shape), c->shape.n);
        outcome = 'e';
    } else if (is_right(c)) {
        tally->right++;
    } else {
        printf("WRONG rank %d: %s %s of %d elements on %s\n", rank, form_names[form],
               name_of(&c->shape), c->shape.n, where);
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
    {COLL_ALLREDUCE, SMALL, false, false},    {COLL_BCAST, SMALL, false, false},
    {COLL_ALLREDUCE, LARGE, false, false},    {COLL_BCAST, MIDDLE, false, true},
    {COLL_ALLGATHER, MIDDLE, false, false},   {COLL_REDUCE_SCATTER_BLOCK, LARGE / 4, true, false},
    {COLL_ALLTOALL, LARGE / 4, false, false}, {COLL_REDUCE, LARGE, false, false},
    {COLL_ALLREDUCE, LARGE, false, false},
};
static const struct shape together[] = {
    {COLL_ALLREDUCE, SMALL, false, false},
    {COLL_BCAST, LARGE, false, false},
    {COLL_ALLTOALL, MIDDLE, false, false},
};
static const struct shape again[] = {{COLL_ALLREDUCE, SMALL, false, false},
                                     {COLL_ALLREDUCE, LARGE, false, false}};
static const struct shape later[] = {
    {COLL_ALLREDUCE, LARGE, false, false},
    {COLL_ALLREDUCE, SMALL, false, false},
    {COLL_ALLGATHER, MIDDLE, false, false},
};
static const struct shape barriers[] = {{BARRIER, 1, false, false}, {BARRIER, 1, false, false}};
/* through slots, and by zero copy */
static const struct shape life[] = {
    {COLL_ALLREDUCE, MIDDLE, false, false},
    {COLL_ALLREDUCE, MIDDLE, false, false},
    {COLL_ALLREDUCE, LARGE, false, false},
};
static const struct shape short_life[] = {{COLL_ALLREDUCE, MIDDLE, false, false}};
static const struct shape small[] = {
    {COLL_ALLREDUCE, SMALL, false, false},
    {COLL_BCAST, SMALL, false, true},
    {COLL_ALLGATHER, SMALL, false, false},
    {COLL_REDUCE_SCATTER_BLOCK, SMALL, false, false},
    {COLL_ALLTOALL, SMALL, false, false},
    {COLL_REDUCE, SMALL, false, false},
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
        judge(&c, FORM_BLOCKING, start(&c, FORM_BLOCKING));
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
        rc[k] = start(&calls[k], FORM_NONBLOCKING);
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
    rc = init(&c);
    if (MPI_SUCCESS != rc) {
        failed(rc, "%s_init of %d elements", name_of(shape), c.shape.n);
    }
    if (everywhere(MPI_SUCCESS == rc)) {
        for (k = 0; k < 2; k++) {
            fill(&c);
            rc = start(&c, FORM_PERSISTENT);
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

    (void) devmem_open();
    MPI_Init(&argc, &argv);
    kinds_open();
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
    kinds_close();
    return MPI_Finalize();
}
