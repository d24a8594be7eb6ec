/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives without kernels on device buffers, whose copies and allocations the fake driver logs
 * in FAKECUDA_LOG: others MODE. Random programs show that their results are right.
 *
 *     copies   calls on contiguous buffers copy each byte once
 *     parcels  large messages go in pieces: each byte is copied once each way, and pieces come back
 *              at the receiver while others have not left the sender; coll_gpuring_stage_bytes is
 *              PIECE
 *     steady   calls after the first ones allocate nothing
 *     local    MPI_Reduce_local, which no random program has, is right; needs no log
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devlog.h"
#include "devmem.h"
#include "forms.h"
#include "kinds.h"
#include "rng.h"
#include "tap.h"

#define PIECE 32768
#define LARGE 65536 /* integers of a message: 8 pieces */
#define SMALL 100   /* of one that is none of these */
#define PIECES ((LARGE * (int) sizeof(int) + PIECE - 1) / PIECE)

enum call { GATHER, SCATTERV, ALLTOALLV, ALLTOALLW, NEIGHBORS, SCAN, NUM_CALLS };

static const char *const names[NUM_CALLS] = {
    "gather", "scatterv", "alltoallv", "alltoallw", "neighbor_allgather on a ring", "scan"};

/*
 * What this rank sends to each other and receives, in integers at k * LARGE: not all of them are
 * large.
 */
struct plan {
    enum call call;
    MPI_Comm comm;
    int root;
    int *scounts, *rcounts, *displs, *byte_displs;
    MPI_Datatype *types;
    int *in, *out, *host; /* in, out: on the device */
};

/* Integers from one rank to another. */
static int count(enum call call, int from, int to)
{
    return ALLTOALLV == call || ALLTOALLW == call ? ((from + to) % 3 ? LARGE : SMALL)
           : SCATTERV == call                     ? (to % 2 ? SMALL : LARGE)
                                                  : LARGE;
}

static bool sends(const struct plan *p, int to)
{
    return GATHER == p->call ? to == p->root : SCATTERV == p->call ? test_rank == p->root : true;
}

static bool receives(const struct plan *p, int from)
{
    return GATHER == p->call ? test_rank == p->root : SCATTERV == p->call ? from == p->root : true;
}

/* Only what a rank's two neighbours send comes in, in the places of their directions. */
static int source(const struct plan *p, int block)
{
    return NEIGHBORS == p->call ? (test_rank + (block ? 1 : test_size - 1)) % test_size : block;
}

static int blocks(const struct plan *p)
{
    return NEIGHBORS == p->call ? 2 : test_size;
}

/* Sends of one block, to all alike. */
static bool sends_one(const struct plan *p)
{
    return GATHER == p->call || NEIGHBORS == p->call;
}

static int element(int from, int to, int i, int salt)
{
    return salt + 1000 * from + (to < 0 ? 0 : 17 * to) + i % 997;
}

static void fill(const struct plan *p, int salt)
{
    for (int to = 0; to < test_size; to++) {
        for (int i = 0; i < LARGE; i++) {
            p->host[to * LARGE + i] = element(test_rank, sends_one(p) ? -1 : to, i, salt);
        }
    }
    devmem_put(p->in, p->host, (size_t) test_size * LARGE * sizeof(int));
    memset(p->host, 0x5a, (size_t) test_size * LARGE * sizeof(int));
    devmem_put(p->out, p->host, (size_t) test_size * LARGE * sizeof(int));
}

static bool is_right(const struct plan *p, int salt)
{
    devmem_put(p->host, p->out, (size_t) test_size * LARGE * sizeof(int));
    for (int k = 0; k < (SCATTERV == p->call ? 1 : blocks(p)); k++) {
        int from = SCATTERV == p->call ? p->root : source(p, k);
        int n = receives(p, from) ? count(p->call, from, test_rank) : 0;

        for (int i = 0; i < LARGE; i++) {
            int want = i < n ? element(from, sends_one(p) ? -1 : test_rank, i, salt) : 0x5a5a5a5a;

            if (p->host[k * LARGE + i] != want) {
                tap_fault("%s: integer %d from rank %d is %d, not %d", names[p->call], i, from,
                          p->host[k * LARGE + i], want);
                return false;
            }
        }
    }
    return true;
}

static void start(const struct plan *p, enum form form, MPI_Request *request)
{
#define EACH(Name, IName, ...)                                         \
    if (FORM_BLOCKING == form) {                                       \
        MPI_##Name(__VA_ARGS__, p->comm);                              \
    } else if (FORM_NONBLOCKING == form) {                             \
        MPI_##IName(__VA_ARGS__, p->comm, request);                    \
    } else {                                                           \
        FORM_INIT(Name, __VA_ARGS__, p->comm, MPI_INFO_NULL, request); \
    }
    switch (p->call) {
    case GATHER:
        EACH(Gather, Igather, p->in, LARGE, MPI_INT, p->out, LARGE, MPI_INT, p->root)
        break;
    case SCATTERV:
        EACH(Scatterv, Iscatterv, p->in, p->scounts, p->displs, MPI_INT, p->out,
             count(SCATTERV, p->root, test_rank), MPI_INT, p->root)
        break;
    case ALLTOALLV:
        EACH(Alltoallv, Ialltoallv, p->in, p->scounts, p->displs, MPI_INT, p->out, p->rcounts,
             p->displs, MPI_INT)
        break;
    case ALLTOALLW:
        EACH(Alltoallw, Ialltoallw, p->in, p->scounts, p->byte_displs, p->types, p->out, p->rcounts,
             p->byte_displs, p->types)
        break;
    case SCAN:
        EACH(Scan, Iscan, p->in, p->out, LARGE, MPI_INT, MPI_SUM)
        break;
    default:
        EACH(Neighbor_allgather, Ineighbor_allgather, p->in, LARGE, MPI_INT, p->out, LARGE, MPI_INT)
    }
}

/* ---- what is to be seen ---- */

/*
 * Copies of a side: of each large message to or from another rank its pieces, of all else together
 * at most `rest`.
 */
struct expected {
    int pieces, rest;
    long bytes;
};

static void expect(struct expected *e, int n, bool own, bool alone)
{
    e->bytes += own && alone ? 0 : n * (long) sizeof(int);
    e->pieces += own || SMALL == n ? 0 : PIECES;
    e->rest += (own && !alone) || SMALL == n;
}

static bool copied(const struct plan *p, const char *side, int n, long bytes,
                   const struct expected *e)
{
    if (bytes == e->bytes && n >= e->pieces && n <= e->pieces + e->rest) {
        return true;
    }
    tap_fault("%s: %d copies of %ld bytes %s; expected %ld bytes in %d pieces and up to %d copies",
              names[p->call], n, bytes, side, e->bytes, e->pieces, e->rest);
    return false;
}

static bool copies_are_right(const struct plan *p, const struct devlog_copies *before,
                             const struct devlog_copies *after)
{
    struct expected out = {0, 0, 0}, in = {0, 0, 0};
    bool alone = sends_one(p), ok;

    for (int k = 0; k < blocks(p); k++) {
        int other = source(p, k);

        if (sends(p, other)) {
            expect(&out, count(p->call, test_rank, other), test_rank == other, alone);
        }
        if (receives(p, other)) {
            expect(&in, count(p->call, other, test_rank), test_rank == other, alone);
        }
    }
    ok = copied(p, "to the host", after->n[TO_HOST] - before->n[TO_HOST],
                after->bytes[TO_HOST] - before->bytes[TO_HOST], &out);
    return copied(p, "to the device", after->n[TO_DEVICE] - before->n[TO_DEVICE],
                  after->bytes[TO_DEVICE] - before->bytes[TO_DEVICE], &in) &&
           ok;
}

/*
 * Whether the log says that a piece came back before the last one had left: there are places for a
 * few only.
 */
static bool is_overlapped(long from)
{
    FILE *log = devlog_open();
    long line_no = 0, first_in = -1, last_out = -1, pid, bytes;
    char line[256], a[20], b[20];

    for (; NULL != log && NULL != fgets(line, sizeof line, log); line_no++) {
        if (line_no < from ||
            4 != sscanf(line, "fakecuda: pid %ld copy %ld from %19s to %19s", &pid, &bytes, a, b)) {
            continue;
        }
        if (0 == strcmp(b, "device") && first_in < 0) {
            first_in = line_no;
        }
        last_out = 0 == strcmp(a, "device") && 0 != strcmp(b, "device") ? line_no : last_out;
    }
    if (NULL != log) {
        fclose(log);
    }
    return first_in >= 0 && first_in < last_out;
}

static long lines(void)
{
    FILE *log = devlog_open();
    char line[256];
    long n = 0;

    while (NULL != log && NULL != fgets(line, sizeof line, log)) {
        n++;
    }
    if (NULL != log) {
        fclose(log);
    }
    return n;
}

static bool once(const struct plan *p, enum form form, MPI_Request *request, int salt)
{
    struct devlog_copies before, after;
    long from;
    bool ok;

    fill(p, salt);
    tap_sync();
    before = devlog_copies();
    from = lines();
    tap_sync();
    if (FORM_PERSISTENT == form) {
        MPI_Start(request);
    } else {
        start(p, form, request);
    }
    if (FORM_BLOCKING != form) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    tap_sync();
    after = devlog_copies();
    ok = copies_are_right(p, &before, &after);
    if (!is_overlapped(from)) {
        tap_fault("%s: nothing came back before all had left", names[p->call]);
        ok = false;
    }
    tap_sync();
    return is_right(p, salt) && ok;
}

static void make(struct plan *p, enum call call)
{
    const size_t n = (size_t) test_size;
    int dims[1] = {test_size}, periods[1] = {1};

    *p = (struct plan) {.call = call, .comm = MPI_COMM_WORLD, .root = test_size / 2};
    if (NEIGHBORS == call) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &p->comm);
    }
    p->scounts = calloc(4 * n, sizeof(int));
    p->rcounts = p->scounts + n;
    p->displs = p->rcounts + n;
    p->byte_displs = p->displs + n;
    p->types = calloc(n, sizeof p->types[0]);
    for (int r = 0; r < test_size; r++) {
        p->scounts[r] = count(call, test_rank, r);
        p->rcounts[r] = count(call, r, test_rank);
        p->displs[r] = r * LARGE;
        p->byte_displs[r] = r * LARGE * (int) sizeof(int);
        p->types[r] = MPI_INT;
    }
    p->in = devmem_alloc(DEVMEM_DEVICE, n * LARGE * sizeof(int));
    p->out = devmem_alloc(DEVMEM_DEVICE, n * LARGE * sizeof(int));
    p->host = malloc(n * LARGE * sizeof(int));
}

static void drop(struct plan *p)
{
    if (NEIGHBORS == p->call) {
        MPI_Comm_free(&p->comm);
    }
    devmem_free(DEVMEM_DEVICE, p->in);
    devmem_free(DEVMEM_DEVICE, p->out);
    free(p->host);
    free(p->scounts);
    free(p->types);
}

static void test_parcels(void)
{
    struct plan p;

    for (int call = 0; call < SCAN; call++) {
        make(&p, (enum call) call);
        for (int form = 0; form < forms_here; form++) {
            MPI_Request request = MPI_REQUEST_NULL;
            bool ok = true;

            if (FORM_PERSISTENT == form) {
                start(&p, FORM_PERSISTENT, &request);
            }
            for (int k = 0; k < 3; k++) {
                ok = once(&p, (enum form) form, &request, 3 * form + k) && ok;
            }
            if (MPI_REQUEST_NULL != request) {
                MPI_Request_free(&request);
            }
            tap_check(ok, "%s, %s: large messages are copied in pieces, on both sides at a time",
                      names[call], form_names[form]);
        }
        drop(&p);
    }
}

/* ---- allocations ---- */

#define WARM_UP 10
#define ROUNDS 50
#define REPEATED (NUM_CALLS * NUM_FORMS)

static enum form form_of(int i)
{
    return (enum form)(i % forms_here);
}

/* Calls first ... last - 1 under way together, again and again: whether none allocates. */
static bool repeat(const struct plan *p, int first, int last)
{
    MPI_Request requests[REPEATED];
    int before = 0, after;

    for (int i = 0; i < REPEATED; i++) {
        requests[i] = MPI_REQUEST_NULL;
    }
    for (int i = first; i < last; i++) {
        if (FORM_PERSISTENT == form_of(i)) {
            start(&p[i], FORM_PERSISTENT, &requests[i]);
        }
    }
    for (int k = 0; k < WARM_UP + ROUNDS; k++) {
        before = WARM_UP == k ? devlog_allocations() : before;
        for (int i = first; i < last; i++) {
            if (FORM_PERSISTENT == form_of(i)) {
                MPI_Start(&requests[i]);
            } else {
                start(&p[i], form_of(i), &requests[i]);
            }
        }
        MPI_Waitall(REPEATED, requests, MPI_STATUSES_IGNORE);
    }
    after = devlog_allocations();
    tap_note("%d allocations, %d more in %d rounds", before, after - before, ROUNDS);
    for (int i = first; i < last; i++) {
        if (MPI_REQUEST_NULL != requests[i]) {
            MPI_Request_free(&requests[i]);
        }
    }
    /* of several, it is the machine's business how many pieces are under way at a time, and so when
     * there are the most */
    return before > 0 && after - before <= (last - first > 1 ? ROUNDS / 10 : 0);
}

static void test_steady(void)
{
    const int n = NUM_CALLS * forms_here;
    struct plan p[REPEATED] = {{0}};
    bool ok = true;

    for (int i = 0; i < n; i++) {
        make(&p[i], (enum call)(i / forms_here));
        fill(&p[i], i);
    }
    for (int i = 0; i < n; i++) {
        tap_check(repeat(p, i, i + 1), "%s, %s, again and again: nothing is allocated",
                  names[p[i].call], form_names[form_of(i)]);
    }
    tap_check(repeat(p, 0, n), "all of these under way: nothing is allocated");
    for (int i = 0; i < n; i++) {
        ok = (SCAN == p[i].call || is_right(&p[i], i)) && ok;
        drop(&p[i]);
    }
    tap_check(ok, "and all are right");
}

/* ---- copies ---- */

#define COUNT 5000 /* integers to or from each rank */
#define ROWS 1000  /* of one integer, every third is used */

/*
 * Whether the copies since then are one of so many bytes each way; none where there are no bytes.
 */
static bool copied_once(const char *name, const struct devlog_copies *before, long out, long in)
{
    struct devlog_copies now = devlog_copies();
    const long expected[COPY_WAYS] = {out, in, 0};
    bool ok = true;

    for (int way = 0; way < COPY_WAYS; way++) {
        int n = now.n[way] - before->n[way];
        long bytes = now.bytes[way] - before->bytes[way];

        if ((expected[way] > 0) != n || expected[way] != bytes) {
            tap_fault("%s: %d copies of %ld bytes, way %d (0: to the host, 1: to the device); "
                      "expected %ld bytes",
                      name, n, bytes, way, expected[way]);
            ok = false;
        }
    }
    return ok;
}

static void test_copies(void)
{
    const long block = COUNT * (long) sizeof(int),
               row_bytes = test_size * ROWS * (long) sizeof(int);
    int *host = calloc((size_t) test_size, (size_t) block);
    int *in = devmem_alloc(DEVMEM_DEVICE, (size_t) (test_size * block));
    int *out = devmem_alloc(DEVMEM_DEVICE, (size_t) (test_size * block));
    struct devlog_copies before = devlog_copies();
    bool gather = true, alltoall = true, rows = true;
    int *counts = calloc(6 * (size_t) test_size, sizeof *counts), *displs = counts + test_size;
    int *few = displs + test_size, *few_displs = few + test_size, *one = few_displs + test_size,
        *one_displs = one + test_size;
    MPI_Datatype vector, resized;

    MPI_Type_vector(ROWS, 1, 3, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 3 * ROWS * (MPI_Aint) sizeof(int), &resized);
    MPI_Type_commit(&resized);
    devmem_put(in, host, (size_t) (test_size * block));
    for (int r = 0; r < test_size; r++) {
        counts[r] = COUNT;
        displs[r] = r * COUNT;
        few[r] = ROWS;
        few_displs[r] = r * ROWS;
        one[r] = 1;
        one_displs[r] = r;
    }
    if (tap_agree(devlog_copies().n[TO_DEVICE] == before.n[TO_DEVICE])) {
        tap_skip("the driver does not log copies", "each byte is copied once");
    } else {
        for (int k = 0; k < 3; k++) {
            before = devlog_copies();
            MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT,
                          MPI_COMM_WORLD);
            alltoall =
                copied_once("alltoallv", &before, test_size * block, test_size * block) && alltoall;
            before = devlog_copies();
            MPI_Gather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
            gather =
                copied_once("gather", &before, block, 0 == test_rank ? test_size * block : 0) &&
                gather;
            before = devlog_copies();
            MPI_Alltoallv(in, few, few_displs, MPI_INT, out, one, one_displs, resized,
                          MPI_COMM_WORLD);
            rows = copied_once("alltoallv to rows", &before, row_bytes, row_bytes) && rows;
        }
        tap_check(alltoall, "alltoallv: one copy to the host, one back");
        tap_check(gather, "gather: one copy to the host, the root's also back");
        tap_check(rows, "alltoallv to integers with gaps between them: one copy back");
    }
    MPI_Type_free(&resized);
    MPI_Type_free(&vector);
    devmem_free(DEVMEM_DEVICE, in);
    devmem_free(DEVMEM_DEVICE, out);
    free(host);
    free(counts);
}

/* ---- MPI_Reduce_local ---- */

/* n elements of a kind on the device, of two ranks, against the same in host memory. */
static bool reduce_local(enum kind_id kind, int n)
{
    const struct kind *k = &kinds[kind];
    const size_t bytes = (size_t) (n * k->extent);
    char *host = malloc(2 * bytes + 1), *in = devmem_alloc(DEVMEM_DEVICE, bytes + 1),
         *inout = devmem_alloc(DEVMEM_DEVICE, bytes + 1);
    bool ok;

    kind_fill(k, host, 0, n, test_seed, 0);
    devmem_put(in, host, bytes);
    kind_fill(k, host, 0, n, test_seed, 1);
    devmem_put(inout, host, bytes);
    MPI_Reduce_local(in, inout, n, k->type, k->op);
    devmem_get(host, inout, bytes);
    kind_reduce(k, host + bytes, 0, n, test_seed, 2);
    ok = 0 == memcmp(host, host + bytes, bytes);
    devmem_free(DEVMEM_DEVICE, in);
    devmem_free(DEVMEM_DEVICE, inout);
    free(host);
    return ok;
}

static void test_local(void)
{
    static const int counts[] = {0, 1, 7, 1000, 50000};

    kinds_open();
    for (int kind = 0; kind < NUM_KINDS; kind++) {
        bool ok = true;

        for (size_t i = 0; i < sizeof counts / sizeof counts[0] && kinds[kind].reduces; i++) {
            ok = reduce_local((enum kind_id) kind, counts[i]) && ok;
        }
        tap_check(ok, "reduce_local, %s", kinds[kind].name);
    }
    kinds_close();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"copies", test_copies},
                 {"parcels", test_parcels},
                 {"steady", test_steady},
                 {"local", test_local}};

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (size_t k = 0; argc > 1 && k < sizeof modes / sizeof modes[0]; k++) {
        if (0 == strcmp(argv[1], modes[k].name)) {
            modes[k].run();
        }
    }
    return test_end();
}
