/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes whose data lie at unusual addresses: absolute ones, beyond 2 GiB on either side of the
 * buffer, several times at the same address, another layout on each rank, of size 0. Operations of
 * the program on such data. A type that is none, where MPI ignores it. Each element has UNIT
 * integers; what a call left is read by MPI_Pack.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "forms.h"
#include "tap.h"

#define UNIT 4
#define FAR (((MPI_Aint) 9 << 28) + 4096) /* bytes, more than 2^31 */
#define BEFORE (2 * FAR)                  /* mapped, mostly not used, before the origin */
#define ROOM (BEFORE + FAR + ((MPI_Aint) 4 << 20))

static char *origins[2]; /* of inputs and of outputs */

/* ---- layouts: how the integers of an element lie from the origin ---- */

static MPI_Datatype resized(MPI_Datatype t, MPI_Aint extent)
{
    MPI_Datatype r;

    MPI_Type_create_resized(t, 0, extent, &r);
    MPI_Type_free(&t);
    MPI_Type_commit(&r);
    return r;
}

static MPI_Datatype at_places(const MPI_Aint *places, MPI_Aint extent)
{
    MPI_Datatype t;

    MPI_Type_create_hindexed_block(UNIT, 1, places, MPI_INT, &t);
    return resized(t, extent);
}

static MPI_Datatype plain(const char *origin)
{
    (void) origin;
    return at_places((MPI_Aint[]) {0, 4, 8, 12}, 16);
}

static MPI_Datatype far(const char *origin)
{
    (void) origin;
    return at_places((MPI_Aint[]) {0, FAR, 4, FAR + 4}, 8);
}

/* In the order of falling addresses. */
static MPI_Datatype far_before(const char *origin)
{
    (void) origin;
    return at_places((MPI_Aint[]) {FAR, 0, -FAR, -2 * FAR}, 4);
}

static MPI_Datatype absolute(const char *origin)
{
    MPI_Aint at;

    MPI_Get_address(origin, &at);
    return at_places((MPI_Aint[]) {at, at + 8, at + 4, at + 12}, 16);
}

/* Four times the same integer. */
static MPI_Datatype same(const char *origin)
{
    MPI_Datatype t;

    (void) origin;
    MPI_Type_vector(UNIT, 1, 0, MPI_INT, &t);
    return resized(t, 4);
}

/* Each element has three integers of the one before. */
static MPI_Datatype overlapping(const char *origin)
{
    (void) origin;
    return at_places((MPI_Aint[]) {0, 4, 8, 12}, 4);
}

static MPI_Datatype backwards(const char *origin)
{
    (void) origin;
    return at_places((MPI_Aint[]) {12, 8, 4, 0}, 20);
}

typedef MPI_Datatype layout(const char *origin);

/* Of rank r: the layouts r and r + 1, modulo 2, of inputs and of outputs. */
static const struct row {
    const char *name;
    layout *in[2], *out[2];
} rows[] = {
    {"beyond 2 GiB", {far, plain}, {plain, far}},
    {"before the buffer", {far_before, far}, {far, far_before}},
    {"absolute addresses", {absolute, plain}, {absolute, absolute}},
    {"sent four times", {same, same}, {plain, backwards}},
    {"overlapping in what is sent", {overlapping, backwards}, {absolute, plain}},
};

struct side {
    void *at; /* what MPI gets */
    MPI_Datatype type;
};

static struct side side_make(int which, layout *l)
{
    struct side s = {absolute == l ? MPI_BOTTOM : origins[which], l(origins[which])};

    return s;
}

static void side_free(const struct side *s)
{
    MPI_Datatype type = s->type;

    MPI_Type_free(&type);
}

/* The integers of n elements, from element `first` on. */
static int *packed(const struct side *s, int first, int n)
{
    MPI_Aint lb, extent;
    int *to = malloc((size_t) n * UNIT * sizeof *to + 1), at = 0;

    MPI_Type_get_extent(s->type, &lb, &extent);
    MPI_Pack((char *) s->at + first * extent, n, s->type, to, n * UNIT * (int) sizeof *to, &at,
             MPI_COMM_SELF);
    return to;
}

/* The integers of n elements of each rank's input, rank by rank. */
static int *inputs_of_all(const struct side *in, int n)
{
    const int each = n * UNIT;
    int *all = malloc((size_t) (test_size * each) * sizeof *all), *own = packed(in, 0, n);

    for (int r = 0; r < test_size; r++) {
        for (int peer = 0; test_rank == r && peer < test_size; peer++) {
            if (peer != r) {
                MPI_Send(own, each, MPI_INT, peer, 0, MPI_COMM_WORLD);
            }
        }
        if (test_rank != r) {
            MPI_Recv(all + r * each, each, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    memcpy(all + test_rank * each, own, (size_t) each * sizeof *own);
    free(own);
    return all;
}

static void fill(const struct side *s, int n, int salt)
{
    MPI_Aint lb, extent;
    int unit[UNIT], at;

    MPI_Type_get_extent(s->type, &lb, &extent);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < UNIT; k++) {
            unit[k] = salt + 1009 * test_rank + UNIT * i + k;
        }
        at = 0;
        MPI_Unpack(unit, (int) sizeof unit, &at, (char *) s->at + i * extent, 1, s->type,
                   MPI_COMM_SELF);
    }
}

/* Whether element `first` of the output and those that follow are these integers. */
static bool holds(const struct side *out, int first, const int *expected, int n)
{
    int *got = packed(out, first, n);
    bool ok = 0 == memcmp(got, expected, (size_t) (n * UNIT) * sizeof *got);

    free(got);
    return ok;
}

/* ---- what is moved ---- */

/* One call of a collective: n elements for each rank, of a Bcast n. */
static void start(enum coll coll, enum form form, const struct side *in, const struct side *out,
                  int n, int root, MPI_Request *request)
{
    const struct side *one = test_rank == root ? in : out;

#define START(Name, name, ...)                                \
    if (FORM_BLOCKING == form) {                              \
        MPI_##Name(__VA_ARGS__);                              \
    } else if (FORM_NONBLOCKING == form) {                    \
        MPI_I##name(__VA_ARGS__, request);                    \
    } else {                                                  \
        FORM_INIT(Name, __VA_ARGS__, MPI_INFO_NULL, request); \
        MPI_Start(request);                                   \
    }
    if (COLL_ALLGATHER == coll) {
        START(Allgather, allgather, in->at, n, in->type, out->at, n, out->type, MPI_COMM_WORLD);
    } else if (COLL_ALLTOALL == coll) {
        START(Alltoall, alltoall, in->at, n, in->type, out->at, n, out->type, MPI_COMM_WORLD);
    } else {
        START(Bcast, bcast, one->at, n, one->type, root, MPI_COMM_WORLD);
    }
#undef START
}

static bool is_moved(enum coll coll, const struct side *out, const int *all, int n, int root)
{
    const int each = n * test_size * UNIT; /* of a rank's input */
    bool ok = true;

    if (COLL_BCAST == coll) {
        return test_rank == root || holds(out, 0, all + root * each, n);
    }
    for (int r = 0; r < test_size; r++) {
        const int block = COLL_ALLTOALL == coll ? test_rank * n * UNIT : 0;

        ok = holds(out, r * n, all + r * each + block, n) && ok;
    }
    return ok;
}

static bool move(const struct row *row, enum coll coll, enum form form, int n)
{
    const struct side in = side_make(0, row->in[test_rank % 2]);
    const struct side out = side_make(1, row->out[test_rank % 2]);
    const int root = n % test_size;
    MPI_Request request = MPI_REQUEST_NULL;
    int *all;
    bool ok;

    fill(&in, n * test_size, n);
    all = inputs_of_all(&in, n * test_size);
    start(coll, form, &in, &out, n, root, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (MPI_REQUEST_NULL != request) {
        MPI_Request_free(&request);
    }
    ok = is_moved(coll, &out, all, n, root);
    free(all);
    side_free(&in);
    side_free(&out);
    return ok;
}

static bool move_all(const struct row *row, enum coll coll)
{
    static const int counts[] = {1, 40, 3000};
    bool ok = true;

    for (int form = 0; form < forms_here; form++) {
        for (int i = 0; i < 3; i++) {
            if (!move(row, coll, (enum form) form, counts[i])) {
                tap_fault("%s, %s, %d elements", row->name, form_names[form], counts[i]);
                ok = false;
            }
        }
    }
    return ok;
}

/* ---- what is reduced ---- */

/* (a, b), which is x -> a x + b, becomes (c, d) after it, in rank order: not commutative. */
static void compose(unsigned c, unsigned d, unsigned *a, unsigned *b)
{
    *b = c * *b + d;
    *a = c * *a;
}

/* On the layout `far`: two pairs, a and b of each apart. */
static void compose_far(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < 2 * *len; i++) {
        const unsigned *c = (unsigned *) in + i, *d = (unsigned *) ((char *) in + FAR) + i;
        unsigned *a = (unsigned *) inout + i, *b = (unsigned *) ((char *) inout + FAR) + i;

        compose(*c, *d, a, b);
    }
}

static bool is_reduced(const struct side *out, int *all, int n)
{
    unsigned *sum = (unsigned *) all + (test_size - 1) * n * UNIT;

    for (int r = test_size - 2; r >= 0; r--) {
        const unsigned *in = (unsigned *) all + r * n * UNIT;

        for (int i = 0; i < n * UNIT; i += 2) {
            compose(in[i], in[i + 1], &sum[i], &sum[i + 1]);
        }
    }
    return holds(out, 0, (int *) sum, n);
}

static bool reduce_far(bool in_place, bool to_all, int n)
{
    const struct side in = side_make(in_place ? 1 : 0, far), out = side_make(1, far);
    const int root = n % test_size;
    const void *send = in_place && (to_all || test_rank == root) ? MPI_IN_PLACE : in.at;
    MPI_Op op;
    int *all;
    bool ok;

    MPI_Op_create(compose_far, 0, &op);
    fill(&in, n, n);
    all = inputs_of_all(&in, n);
    if (to_all) {
        MPI_Allreduce(send, out.at, n, out.type, op, MPI_COMM_WORLD);
    } else {
        MPI_Reduce(send, out.at, n, out.type, op, root, MPI_COMM_WORLD);
    }
    ok = (!to_all && test_rank != root) || is_reduced(&out, all, n);
    MPI_Op_free(&op);
    free(all);
    side_free(&in);
    side_free(&out);
    return ok;
}

/* Any number of instances of a type of size 0: nothing is moved. */
static bool move_nothing(void)
{
    int places[2] = {-1, test_rank};
    MPI_Datatype nothing, wide;

    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_create_resized(nothing, 0, 16, &wide);
    MPI_Type_commit(&wide);
    MPI_Bcast(places, 3, wide, 0, MPI_COMM_WORLD);
    MPI_Allgather(places, 3, wide, places, 3, wide, MPI_COMM_WORLD);
    MPI_Alltoall(places, 3, wide, places, 3, wide, MPI_COMM_WORLD);
    MPI_Type_free(&wide);
    MPI_Type_free(&nothing);
    return -1 == places[0] && test_rank == places[1];
}

/* In place, the type of what is sent may be no type at all. */
static bool send_type_ignored(void)
{
    int *blocks = malloc((size_t) test_size * sizeof *blocks);
    bool ok = true;

    for (int r = 0; r < test_size; r++) {
        blocks[r] = 100 * test_rank + r;
    }
    MPI_Alltoall(MPI_IN_PLACE, -7, (MPI_Datatype) 25, blocks, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < test_size; r++) {
        ok = blocks[r] == 100 * r + test_rank && ok;
    }
    free(blocks);
    return ok;
}

int main(int argc, char **argv)
{
    static const enum coll colls[] = {COLL_ALLGATHER, COLL_ALLTOALL, COLL_BCAST};

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; i < 2; i++) {
        origins[i] = mmap(NULL, (size_t) ROOM, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        origins[i] += BEFORE;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < 3; k++) {
            tap_check(move_all(&rows[i], colls[k]), "%s: %s", coll_infos[colls[k]].name,
                      rows[i].name);
        }
    }
    for (int i = 0; i < 4; i++) {
        tap_check(reduce_far(i % 2, i / 2, 40), "%s of data more than 2 GiB apart%s",
                  i / 2 ? "allreduce" : "reduce", i % 2 ? ", in place" : "");
    }
    tap_check(move_nothing(), "a type of size 0");
    tap_check(send_type_ignored(), "alltoall in place: the send type is not looked at");
    return test_end();
}
