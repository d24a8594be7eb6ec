/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arguments that MPI does not look at: nonsense in their place, in every collective and form, in
 * host memory or as GPURING_MEMORY says. Results are compared with closed forms.
 *
 *     in place            count, type, counts, displacements, types of that side
 *     other ranks' side   the receive side of a gather or reduce, the send side of a scatter, away
 *                         from the root; between groups, both sides at MPI_PROC_NULL
 *     exscan              rank 0's receive buffer
 *     nothing to move     buffers of calls of 0 elements; displacements of blocks of 0 elements
 *     no neighbours       all arrays
 *
 * Types and operations of reductions and of calls of 0 elements stay: MPI looks at them. So do
 * count and type of a bcast or reduce at ranks that pass MPI_PROC_NULL, which Open MPI checks.
 *
 * An argument ("stock"): leave out what Open MPI itself crashes on.
 */
#include "ignored.h"

#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "tap.h"

/* Neither NULL nor MPI_IN_PLACE nor MPI_BOTTOM, and nothing lies there. Two: MPI_..._init of Open
 * MPI 4.1 refuses one address for both buffers, also away from the root and for no elements. */
#define WILD ((void *) 25)
#define WILD_THERE ((void *) 51)
#define FAR 0x40000000

/* ---- one call ---- */

static bool is_root(const struct job *j)
{
    return j->root == test_rank;
}

/* Between groups, whether this rank is of the root's. */
static bool is_beside_root(const struct job *j)
{
    const int last = test_size - 1;

    return ON_INTER == j->on->on && (j->root == last) == (test_rank == last);
}

static bool reduces(const struct job *j)
{
    return REDUCED_NOT != j->row->reduced;
}

/* Whether MPI looks at this rank's sides. */
static bool sends(const struct job *j)
{
    switch (j->row->rooted) {
    case ROOTED_TO:
        return !is_beside_root(j) && !(j->in_place && is_root(j));
    case ROOTED_FROM:
        return is_root(j);
    default:
        return !j->in_place;
    }
}

static bool is_bcast(const struct job *j)
{
    return 0 == strcmp(j->row->name, "bcast");
}

static bool receives(const struct job *j)
{
    if (is_bcast(j) && is_root(j)) {
        return true; /* its one buffer */
    }
    switch (j->row->rooted) {
    case ROOTED_TO:
        return is_root(j);
    case ROOTED_FROM:
        return !is_beside_root(j) && !(j->in_place && is_root(j));
    default:
        return REDUCED_BEFORE != j->row->reduced || 0 != test_rank || j->in_place;
    }
}

/* Elements that one rank has for another. */
static int size_of(const struct job *j, int from, int to)
{
    const int by = (j->row->by & BY_FROM ? from : 0) + (j->row->by & BY_TO ? to : 0);

    return j->uneven && 0 == by % 2 ? 0 : j->count;
}

static int value(const struct job *j, int from, int to, int i)
{
    const int first = j->row->by & BY_FROM ? from : 0, second = j->row->by & BY_TO ? to : 0;

    return 1 + first * 1000003 + second * 10007 + i;
}

/* What a rank gets: of one, or added up. */
static int result(const struct job *j, int from, int i)
{
    int sum = 0, first = 0, n = test_size;

    if (!reduces(j)) {
        return value(j, from, test_rank, i);
    }
    if (ON_INTER == j->on->on) {
        first = test_size - 1 == j->root ? 0 : test_size - 1;
        n = test_size - 1 == j->root ? test_size - 1 : test_size;
    } else if (REDUCED_ALL != j->row->reduced) {
        n = REDUCED_UP_TO == j->row->reduced ? test_rank + 1 : test_rank;
    }
    for (int r = first; r < n; r++) {
        sum += (j->row->by & BY_FROM ? 1 : 1 + r) * value(j, r, test_rank, i);
    }
    return sum;
}

/* Block k of a buffer: blocks lie as far apart as the largest is long. */
static int *block(const struct job *j, char *data, int k)
{
    return (int *) (void *) data + (size_t) k * (size_t) j->count * (size_t) j->stride;
}

static void put(const struct job *j, char *data, int k, int to, int n)
{
    const int weight = reduces(j) && !(j->row->by & BY_FROM) ? 1 + test_rank : 1;

    for (int i = 0; i < n; i++) {
        block(j, data, k)[i * j->stride] = weight * value(j, test_rank, to, i);
    }
}

/* A run of blocks of their own sizes, as a reduce_scatter takes it in. */
static void put_run(const struct job *j, char *data)
{
    int *at = (int *) (void *) data;

    for (int r = 0; r < test_size; r++) {
        const int n = size_of(j, test_rank, r);

        put(j, (char *) at, 0, r, n);
        at += n;
    }
}

/* This rank's input, where MPI takes it from. */
static void fill(struct job *j)
{
    const bool scatters = REDUCED_ALL == j->row->reduced && BY_TO == j->row->by;
    const struct scene *on = j->on;

    memset(j->out.data, 0, j->out.bytes);
    if (is_bcast(j)) {
        if (is_root(j)) {
            put(j, j->out.data, 0, 0, j->count);
        }
    } else if (scatters) {
        put_run(j, j->in_place ? j->out.data : j->in.data);
    } else if (sends(j)) {
        const int n = j->row->by & BY_TO ? on->ndests : 1;

        for (int k = 0; k < n; k++) {
            const int to = on->ndests > 0 ? on->dests[k] : 0;

            put(j, j->in.data, k, to, size_of(j, test_rank, to));
        }
    } else if (j->in_place && ROOTED_FROM != j->row->rooted &&
               (ROOTED_NOT == j->row->rooted || is_root(j))) {
        if (j->row->by & BY_TO) {
            for (int r = 0; r < test_size; r++) {
                put(j, j->out.data, r, r, size_of(j, test_rank, r));
            }
        } else {
            put(j, j->out.data, !reduces(j) ? test_rank : 0, 0, size_of(j, test_rank, 0));
        }
    }
    guarded_put(&j->in);
    guarded_put(&j->out);
}

/* Elements of block k of a side. */
static int block_size(const struct job *j, bool receive, int k)
{
    return receive ? size_of(j, j->on->sources[k], test_rank)
                   : size_of(j, test_rank, j->on->dests[k]);
}

/* Whether there is anything for that side: then its buffer is one. */
static bool moves(const struct job *j, bool receive)
{
    const struct scene *on = j->on;
    const int n = receive ? on->nsources : on->ndests;
    int sum = 0;

    for (int k = 0; k < n; k++) {
        sum += block_size(j, receive, k);
    }
    return sum > 0 || (reduces(j) && j->count > 0);
}

/* Nonsense for a side that MPI does not look at; at: what it gets for the buffer. */
static struct side ignored(void *at)
{
    return (struct side) {at, -7, (MPI_Datatype) WILD, WILD, WILD, WILD, WILD, WILD};
}

/* A side as it is, with nonsense only for the displacements of what is empty, and for a buffer
 * without data. */
static struct side described(struct job *j, bool receive)
{
    const struct scene *on = j->on;
    const int n = receive ? on->nsources : on->ndests;
    struct guarded *g = receive ? &j->out : &j->in;
    int *integers = j->integers + (receive ? 3 * test_size : 0);
    struct side s = {receive ? WILD_THERE : WILD,
                     j->count,
                     j->type,
                     integers,
                     integers + test_size,
                     integers + 2 * test_size,
                     j->places + (receive ? test_size : 0),
                     j->types + (receive ? test_size : 0)};

    if (moves(j, receive)) {
        s.at = guarded_lend(g);
    }
    if (!receive && !(j->row->by & BY_TO)) {
        s.count = size_of(j, test_rank, 0);
    }
    if (receive && ROOTED_FROM == j->row->rooted) {
        s.count = size_of(j, 0, test_rank);
    }
    for (int k = 0; k < n; k++) {
        const int stride = 4 * j->stride;

        s.counts[k] = block_size(j, receive, k);
        s.displs[k] = s.counts[k] > 0 ? (receive || j->row->by & BY_TO ? k * j->count : 0) : -FAR;
        s.bytes[k] = s.counts[k] > 0 ? stride * s.displs[k] : -FAR;
        s.places[k] = s.bytes[k];
        s.types[k] = j->type;
    }
    if (0 == n) {
        return (struct side) {s.at, s.count, s.type, WILD, WILD, WILD, WILD, WILD};
    }
    return s;
}

static struct args make(struct job *j)
{
    const bool marks = j->in_place && (ROOTED_NOT == j->row->rooted || is_root(j));
    struct args a = {.comm = j->on->comm, .shares = j->integers + 6 * test_size};

    a.s = sends(j) ? described(j, false)
                   : ignored(marks && ROOTED_FROM != j->row->rooted ? MPI_IN_PLACE : WILD);
    a.r = receives(j) ? described(j, true)
                      : ignored(marks && ROOTED_FROM == j->row->rooted ? MPI_IN_PLACE : WILD_THERE);
    if (reduces(j) || is_bcast(j)) { /* these are looked at */
        a.r.count = j->count;
        a.r.type = j->type;
    }
    for (int r = 0; r < test_size; r++) {
        a.shares[r] = size_of(j, 0, r);
    }
    a.root = j->root;
    if (ON_INTER == j->on->on) { /* the last rank is alone in its group */
        a.root = test_size - 1 == j->root ? 0 : j->root;
        a.root = is_root(j) ? MPI_ROOT : is_beside_root(j) ? MPI_PROC_NULL : a.root;
    }
    return a;
}

/* Whether this rank has what it was to get, and nothing beside it was written. */
static bool check(struct job *j)
{
    const struct scene *on = j->on;
    const bool one = reduces(j) || ROOTED_FROM == j->row->rooted;
    /* an exscan gives rank 0 nothing that is defined */
    const bool defined = REDUCED_BEFORE != j->row->reduced || 0 != test_rank;
    const int n = !receives(j) || !defined ? 0 : one ? 1 : on->nsources;
    bool ok = true;

    guarded_get(&j->in);
    guarded_get(&j->out);
    for (int k = 0; k < n && ok; k++) {
        const int from = ROOTED_FROM == j->row->rooted ? j->root : reduces(j) ? 0 : on->sources[k];
        const int m = size_of(j, from, test_rank);

        for (int i = 0; i < m && ok; i++) {
            ok = block(j, j->out.data, k)[i * j->stride] == result(j, from, i);
        }
    }
    if (!ok) {
        tap_fault("root %d, %d elements, stride %d", j->root, j->count, j->stride);
    }
    return ok && guarded_intact(&j->in) && guarded_intact(&j->out);
}

static bool do_job(struct job *j)
{
    const size_t blocks = (size_t) test_size + 1;
    const size_t room = blocks * (size_t) (j->count * j->stride) * sizeof(int);
    MPI_Request request = MPI_REQUEST_NULL;
    struct args a;
    bool ok = true;

    j->in = guarded_alloc(room, 0);
    j->out = guarded_alloc(room, 0);
    j->integers = malloc(7 * blocks * sizeof *j->integers);
    j->places = malloc(2 * blocks * sizeof *j->places);
    j->types = malloc(2 * blocks * sizeof *j->types);
    a = make(j);
    for (int start = 0; start < (FORM_PERSISTENT == j->form ? 2 : 1); start++) {
        fill(j);
        if (0 == start) {
            j->row->call[j->form](&a, &request);
        }
        if (FORM_PERSISTENT == j->form) {
            MPI_Start(&request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        ok = check(j) && ok;
    }
    if (FORM_PERSISTENT == j->form) {
        MPI_Request_free(&request);
    }
    guarded_free(&j->in);
    guarded_free(&j->out);
    free(j->integers);
    free(j->places);
    free(j->types);
    return ok;
}

/* ---- all of them ---- */

/* Sizes, layouts, roots. */
static bool do_all(struct job *j, MPI_Datatype gaps)
{
    static const int counts[] = {0, 5, 4000};
    bool ok = true;

    for (int c = 0; c < 3; c++) {
        for (int stride = 1; stride <= (reduces(j) ? 1 : 2); stride++) {
            for (int root = 0; root < (ROOTED_NOT == j->row->rooted ? 1 : 2); root++) {
                struct job one = *j;

                one.count = counts[c];
                one.stride = stride;
                one.type = 1 == stride ? MPI_INT : gaps;
                one.root = 0 == root ? 0 : test_size - 1;
                ok = do_job(&one) && ok;
            }
        }
    }
    return ok;
}

/* libnbc of Open MPI 4.1.4 and 5.0.7 reads the send type of an alltoall in place, and crashes. */
static bool stock_fails(const struct row *row, int form)
{
    return 0 == strcmp(row->name, "alltoall") && FORM_BLOCKING != form;
}

static void do_row(const struct row *row, const struct scene *on, MPI_Datatype gaps, bool stock)
{
    static const char *const variants[] = {"", ", blocks of 0", ", in place",
                                           ", in place, blocks of 0"};

    for (int form = 0; form < forms_here; form++) {
        const bool in_place =
            row->in_place && ON_INTRA == on->on && !(stock && stock_fails(row, form));

        for (int v = 0; v < (in_place ? 4 : 2); v++) {
            struct job j = {
                .row = row, .on = on, .form = (enum form) form, .uneven = v % 2, .in_place = v / 2};

            if (row->sizes || !j.uneven) {
                tap_check(do_all(&j, gaps), "%s, %s, %s%s", row->name, on->name, form_names[form],
                          variants[v]);
            }
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype gaps;
    struct scene scenes[IGNORED_SCENES];

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    ignored_scenes_open(scenes);
    for (int k = 0; k < IGNORED_ROWS; k++) {
        for (int s = 0; s < IGNORED_SCENES; s++) {
            if (ignored_rows[k].on & scenes[s].on) {
                do_row(&ignored_rows[k], &scenes[s], gaps, argc > 1);
            }
        }
    }
    ignored_scenes_close(scenes);
    MPI_Type_free(&gaps);
    return test_end();
}
