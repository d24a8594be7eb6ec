/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of MPI calls, and the choice of random ones (forms.h). Buffers: forms_data.c. */
#include "forms.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rng.h"
#include "tap.h"

const char *const form_names[NUM_FORMS] = {"blocking", "nonblocking", "persistent"};

#if defined(NO_PERSISTENT)
const int forms_here = FORM_PERSISTENT;
#else
const int forms_here = NUM_FORMS;
#endif

/*
 * The three forms of one collective, which share their arguments; of the persistent one that which
 * makes it. With counts and displs of one width.
 */
#define FORMS_OF_WIDTH(tail, ARRAYS, name, Name, ...)                                    \
    static int name##_blocking##tail(const struct form_call *c, MPI_Request *request)    \
    {                                                                                    \
        ARRAYS;                                                                          \
        (void) request;                                                                  \
        return MPI_##Name##tail(__VA_ARGS__);                                            \
    }                                                                                    \
    static int name##_nonblocking##tail(const struct form_call *c, MPI_Request *request) \
    {                                                                                    \
        ARRAYS;                                                                          \
        return MPI_I##name##tail(__VA_ARGS__, request);                                  \
    }                                                                                    \
    static int name##_init##tail(const struct form_call *c, MPI_Request *request)        \
    {                                                                                    \
        ARRAYS;                                                                          \
        return FORM_INIT##tail(Name, __VA_ARGS__, MPI_INFO_NULL, request);               \
    }
#define USED       \
    (void) counts; \
    (void) displs
#define NARROW                                          \
    const int *counts = c->counts, *displs = c->displs; \
    USED
#define WIDE                                  \
    const MPI_Count *counts = c->wide_counts; \
    const MPI_Aint *displs = c->wide_displs;  \
    USED
#if FORM_WIDTHS > 1
#define FORMS(...)                        \
    FORMS_OF_WIDTH(, NARROW, __VA_ARGS__) \
    FORMS_OF_WIDTH(_c, WIDE, __VA_ARGS__)
#else
#define FORMS(...) FORMS_OF_WIDTH(, NARROW, __VA_ARGS__)
#endif

FORMS(allreduce, Allreduce, c->send, c->recv, c->count, c->type, c->op, c->comm)
FORMS(allgather, Allgather, c->send, c->count, c->type, c->recv, c->count, c->type, c->comm)
FORMS(allgatherv, Allgatherv, c->send, counts[c->rank], c->type, c->recv, counts, displs, c->type,
      c->comm)
FORMS(reduce_scatter, Reduce_scatter, c->send, c->recv, counts, c->type, c->op, c->comm)
FORMS(reduce_scatter_block, Reduce_scatter_block, c->send, c->recv, c->count, c->type, c->op,
      c->comm)
FORMS(bcast, Bcast, c->recv, c->count, c->type, c->root, c->comm)
FORMS(reduce, Reduce, c->send, c->recv, c->count, c->type, c->op, c->root, c->comm)
FORMS(alltoall, Alltoall, c->send, c->count, c->type, c->recv, c->count, c->type, c->comm)

#define ROW(name, tail)                                                    \
    {                                                                      \
        name##_blocking##tail, name##_nonblocking##tail, name##_init##tail \
    }
#define ROWS(tail)                                                                        \
    {                                                                                     \
        [COLL_ALLREDUCE] = ROW(allreduce, tail), [COLL_ALLGATHER] = ROW(allgather, tail), \
        [COLL_ALLGATHERV] = ROW(allgatherv, tail),                                        \
        [COLL_REDUCE_SCATTER] = ROW(reduce_scatter, tail),                                \
        [COLL_REDUCE_SCATTER_BLOCK] = ROW(reduce_scatter_block, tail),                    \
        [COLL_BCAST] = ROW(bcast, tail), [COLL_REDUCE] = ROW(reduce, tail),               \
        [COLL_ALLTOALL] = ROW(alltoall, tail),                                            \
    }

typedef int form_fn(const struct form_call *c, MPI_Request *request);
static form_fn *const rows[FORM_WIDTHS][NUM_COLLS][NUM_FORMS] = {
    ROWS(),
#if FORM_WIDTHS > 1
    ROWS(_c),
#endif
};

static int call(const struct form_call *c, enum form form, MPI_Request *request)
{
    return rows[form_is_wide(c->shape.key)][c->shape.coll][form](c, request);
}

/* ---- what to call ---- */

static enum form_sizes draw_sizes(uint64_t *rng)
{
    int percent = rng_below(rng, 100);

    return percent < 40   ? SIZES_TINY
           : percent < 70 ? SIZES_EDGE
           : percent < 95 ? SIZES_MIDDLE
                          : SIZES_LARGE;
}

static int draw_bytes(uint64_t *rng, enum form_sizes sizes)
{
    static const int edges[] = {64, 4096, 8192};

    switch (SIZES_ANY == sizes ? draw_sizes(rng) : sizes) {
    case SIZES_TINY:
        return rng_below(rng, 71);
    case SIZES_EDGE:
        return edges[rng_below(rng, 3)] - 40 + rng_below(rng, 120);
    case SIZES_MIDDLE:
        return rng_below(rng, 65537);
    default:
        return 200000 + rng_below(rng, 850000);
    }
}

bool form_takes(enum coll coll, enum kind_id kind)
{
    return coll_infos[coll].reduces ? kinds[kind].reduces : kinds[kind].moves;
}

struct form_shape form_draw_kind(uint64_t *rng, enum form_sizes sizes, enum coll coll,
                                 enum kind_id kind)
{
    struct form_shape s = {.coll = coll, .kind = kind};

    s.count = draw_bytes(rng, sizes) / kinds[kind].extent;
    s.root = rng_below(rng, 1 << 20);
    s.in_place = 0 == rng_below(rng, 4);
    s.key = rng_next(rng);
    return s;
}

struct form_shape form_draw_coll(uint64_t *rng, enum form_sizes sizes, enum coll coll)
{
    enum kind_id kind;

    do { /* user-defined operations fall back: not too many of them */
        kind = (enum kind_id) rng_below(rng, NUM_KINDS);
    } while (!form_takes(coll, kind) || (NULL != kinds[kind].function && 0 != rng_below(rng, 4)));
    return form_draw_kind(rng, sizes, coll, kind);
}

struct form_shape form_draw(uint64_t *rng, enum form_sizes sizes)
{
    return form_draw_coll(rng, sizes, (enum coll) rng_below(rng, NUM_COLLS));
}

/* ---- calling ---- */

/*
 * Lends the call copies of its arrays, and spoils them at once, as bindings of other languages do
 * that free theirs.
 */
int form_init(const struct form_call *c, MPI_Request *request)
{
    struct form_call borrowed = *c;
    size_t bytes = form_arrays(&borrowed);
    int rc = call(&borrowed, FORM_PERSISTENT, request);

    memset(borrowed.wide_counts, 0x5a, bytes);
    free(borrowed.wide_counts);
    return rc;
}

int form_start(const struct form_call *c, enum form form, MPI_Request *request)
{
    int rc = MPI_SUCCESS;

    if (FORM_PERSISTENT != form) {
        return call(c, form, request);
    } else if (MPI_REQUEST_NULL == *request) {
        rc = form_init(c, request);
    }
    return MPI_SUCCESS == rc ? MPI_Start(request) : rc;
}

bool form_run(MPI_Comm comm, const struct form_shape *shape, enum form form, uint64_t salt)
{
    MPI_Request request = MPI_REQUEST_NULL;
    struct form_call c;
    bool ok;

    form_make(&c, comm, shape);
    form_fill(&c, salt);
    form_start(&c, form, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ok = form_check(&c);
    if (MPI_REQUEST_NULL != request) {
        MPI_Request_free(&request);
    }
    form_free(&c);
    return ok;
}

void form_delay(uint64_t *rng)
{
    double end;

    switch (rng_below(rng, 6)) {
    case 0:
        usleep((useconds_t) rng_below(rng, 2000));
        break;
    case 1:
        end = seconds_now() + 1e-6 * rng_below(rng, 300);
        while (seconds_now() < end) {
        }
        break;
    default:
        break;
    }
}
