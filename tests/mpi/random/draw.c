/* SPDX-License-Identifier: BSD-3-Clause */
/* The random choice of the steps of a program. */
#include <string.h>

#include "layout.h"
#include "profile.h"
#include "program.h"
#include "rng.h"
#include "values.h"

#define BIG_BYTES (4 << 20)

/* What there is while a program is being drawn. */
struct drawing {
    const struct draw_options *options;
    struct program *p;
    uint64_t rng;
    int comms[MAX_COMMS], num_comms; /* those that may be used */
    uint64_t persistent;             /* requests of these steps may be started */
    int idup;                        /* the step whose MPI_Comm_idup is pending, or -1 */
};

static int below(struct drawing *d, int n)
{
    return rng_below(&d->rng, n);
}

static int any_comm(struct drawing *d)
{
    return d->comms[below(d, d->num_comms)];
}

/* The newest half of the time, since those with neighbors and intercommunicators are few. */
static int any_or_newest(struct drawing *d)
{
    const int comm = any_comm(d);
    const bool newest = (d->options->neighbors || d->options->inter) && 0 == below(d, 2);

    return newest ? d->comms[d->num_comms - 1] : comm;
}

static int draw_bytes(struct drawing *d)
{
    static const int edges[] = {64, 4096, 8192, 65536, 262144, 1048576};
    const int percent = below(d, 1000);
    int edge;

    if (percent < 80) {
        return 0;
    } else if (percent < 450) {
        return 1 + below(d, 70);
    } else if (percent < 600) {
        edge = below(d, 40); /* the last two once each */
        return edges[edge < 38 ? edge % 4 : edge - 34] - 40 + below(d, 80);
    } else if (percent < 930) {
        return below(d, 12000);
    } else if (percent < 990) {
        return below(d, 150000);
    }
    return 200000 + below(d, 2500000);
}

/* Whether the program takes the operation that was drawn for it. */
static bool takes_op(struct drawing *d, const struct profile *p, int op)
{
    if (!op_is_users(op)) {
        return OP_NONE == op || p->users < 2;
    }
    return d->options->user_ops && below(d, 2) < p->users;
}

/* Another operation for the same type; NONE stays so. */
static void draw_operation(struct drawing *d, struct step *s)
{
    const int given = s->op;

    do {
        s->op = OP_NONE == given ? OP_NONE : 1 + below(d, num_operations - 1);
    } while (!value_goes(s->basic, s->op) || !takes_op(d, d->options->profile, s->op));
}

/* For what Open MPI's messages carry: see main.c. */
static void draw_no_long_elements(struct step *s)
{
    if (basics[s->basic].bytes > 16) {
        s->derived = false;
    }
}

/* Type, operation, count, root and the like of a call that moves or reduces. */
static void draw_data(struct drawing *d, struct step *s, bool reduces)
{
    const struct profile *p = d->options->profile;
    int bytes;

    do {
        s->basic = basic_first(below(d, num_basic_kinds));
        s->op = reduces ? 1 + below(d, num_operations - 1) : OP_NONE;
    } while (!value_goes(s->basic, s->op) || !takes_op(d, p, s->op));
    s->basic = basic_variant(s->basic, s->op, s->key);
    s->derived = !reduces && below(d, 3) < p->derived;
    bytes = draw_bytes(d);
    s->count =
        (bytes < d->options->max_bytes ? bytes : d->options->max_bytes) / basics[s->basic].bytes;
    if (s->derived) {
        s->count = (s->count + LAYOUT_UNIT / 2) / LAYOUT_UNIT * LAYOUT_UNIT;
    }
    s->root = below(d, MAX_ROOT);
    s->in_place = below(d, 4) < p->in_place;
    s->nonsense = d->options->nonsense && below(d, 3) < p->nonsense;
}

enum origin program_origin(const struct program *p, int comm)
{
    const struct step *s;

    for (; comm > 0; comm = s->comm) {
        s = &p->steps[comm - 1];
        if (STEP_COMM == s->kind && O_DUP != s->what) {
            return (enum origin) s->what;
        }
    }
    return NUM_ORIGINS;
}

/* Whether a communicator has a topology: a duplicate has its parent's. */
static bool has_neighbors(const struct drawing *d, int comm)
{
    const enum origin origin = program_origin(d->p, comm);

    return O_CART == origin || O_GRAPH == origin;
}

/* Whether Open MPI takes it for one with a topology: MPI_Comm_create_group() keeps the parent's. */
static bool has_topology_marks(const struct drawing *d, int comm)
{
    for (; comm > 0; comm = d->p->steps[comm - 1].comm) {
        const struct step *s = &d->p->steps[comm - 1];

        if (STEP_COMM == s->kind && O_DUP != s->what && O_CREATE_GROUP != s->what) {
            return O_CART == s->what || O_GRAPH == s->what;
        }
    }
    return false;
}

/* Whether Open MPI does neighbourhood collectives there: see main.c. */
static bool may_call_neighbors(const struct drawing *d, int comm)
{
    int topologies = 0;

    for (int c = comm; c > 0; c = d->p->steps[c - 1].comm) {
        const struct step *s = &d->p->steps[c - 1];

        topologies += STEP_COMM == s->kind && (O_CART == s->what || O_GRAPH == s->what);
    }
    return has_neighbors(d, comm) && (OMPI_MAJOR_VERSION < 5 || 1 == topologies);
}

static bool is_inter(const struct drawing *d, int comm)
{
    return O_INTER == program_origin(d->p, comm);
}

/* Whether this, if not blocking, hangs or crashes in Open MPI itself: see main.c. */
static bool only_blocking(const struct drawing *d, const struct step *s)
{
    return (d->idup >= 0 && d->p->steps[d->idup].comm == s->comm) ||
           (s->what >= C_ALLTOALLV && s->in_place) ||
           (C_ALLTOALLW == s->what && has_topology_marks(d, s->comm)) ||
           (is_inter(d, s->comm) &&
            (C_REDUCE_SCATTER == s->what || C_REDUCE_SCATTER_BLOCK == s->what));
}

static enum collective draw_which(struct drawing *d, bool inter)
{
    enum collective what;

    do {
        what = (enum collective) below(d, C_NEIGHBOR_ALLGATHER);
    } while (!profile_has(d->options->profile, what, inter));
    return what;
}

static enum call_form draw_form(struct drawing *d)
{
    const char *forms = d->options->profile->forms;
    const size_t n = d->options->persistent ? strlen(forms) : strcspn(forms, "p");

    switch (forms[below(d, (int) n)]) {
    case 'b':
        return BLOCKING;
    case 'n':
        return NONBLOCKING;
    default:
        return PERSISTENT;
    }
}

static void draw_collective(struct drawing *d, struct step *s, int k)
{
    s->kind = STEP_COLLECTIVE;
    s->what = draw_which(d, false);
    s->comm = any_or_newest(d);
    if (d->options->neighbors && profile_has(d->options->profile, C_NEIGHBOR_ALLGATHER, false) &&
        may_call_neighbors(d, s->comm) && 0 != below(d, 3)) {
        s->what = C_NEIGHBOR_ALLGATHER + below(d, NUM_COLLECTIVES - C_NEIGHBOR_ALLGATHER);
        if (OMPI_MAJOR_VERSION >= 5 && C_NEIGHBOR_ALLGATHERV == s->what) {
            s->what = C_NEIGHBOR_ALLGATHER;
        }
    }
    while (is_inter(d, s->comm) && (C_SCAN == s->what || C_EXSCAN == s->what)) {
        s->what = draw_which(d, true);
    }
    draw_data(d, s, s->what >= C_REDUCE && s->what <= C_REDUCE_SCATTER_BLOCK);
    if (is_inter(d, s->comm) || s->what >= C_NEIGHBOR_ALLGATHER) {
        s->in_place = false;
    }
    if (s->what >= C_REDUCE_SCATTER && C_GATHER != s->what && C_SCATTER != s->what) {
        s->count /= 2; /* a block of several */
        s->count -= s->derived ? s->count % LAYOUT_UNIT : 0;
    }
    s->form = draw_form(d);
    if (C_ALLGATHERV == s->what && !d->options->beyond) {
        s->derived = false;
    }
    if (only_blocking(d, s)) {
        s->form = BLOCKING;
    }
    if (is_inter(d, s->comm) && BLOCKING == s->form &&
        (C_ALLGATHERV == s->what || C_GATHERV == s->what || C_SCATTERV == s->what)) {
        s->derived = false;
    }
    if (!(d->options->beyond && step_is_of_eight(d->p, s))) {
        draw_no_long_elements(s);
    }
    if (s->derived && !(d->options->beyond && step_is_of_eight(d->p, s)) &&
        s->count * basics[s->basic].bytes > 65536) {
        s->count = 65536 / basics[s->basic].bytes / LAYOUT_UNIT * LAYOUT_UNIT;
    }
    s->signs = d->options->beyond && step_is_of_eight(d->p, s);
    if (PERSISTENT == s->form) {
        d->persistent |= 1ull << k;
    }
}

/*
 * Whether step k is the collective before it once more: what gpuring keeps of a kind of call is used
 * where calls repeat.
 */
static bool draw_again(struct drawing *d, struct step *s, int k)
{
    const int percent = d->options->profile->again;
    const struct step *before = s - 1;
    const uint64_t key = s->key;

    if (0 == percent || k < 1 || STEP_COLLECTIVE != before->kind || PERSISTENT == before->form ||
        below(d, 100) >= percent) {
        return false;
    }
    *s = *before;
    s->again++;
    if (0 == below(d, 2)) { /* with other counts and layouts */
        s->key = key;
        s->again = 0;
    }
    if (0 == below(d, 3)) {
        s->root = below(d, MAX_ROOT);
        draw_operation(d, s);
    }
    return true;
}

static void draw_messages(struct drawing *d, struct step *s)
{
    s->kind = STEP_MESSAGES;
    s->what = below(d, NUM_PATTERNS);
    do {
        s->comm = any_comm(d);
    } while (is_inter(d, s->comm));
    draw_data(d, s, false);
    draw_no_long_elements(s);
    s->form = (enum call_form) below(d, PERSISTENT);
    if (P_WILD == s->what) {
        s->form = BLOCKING;
    }
}

static void draw_comm(struct drawing *d, struct step *s, int k)
{
    const bool idup = d->options->idup && 0 == below(d, 3);

    s->kind = idup ? STEP_IDUP : STEP_COMM;
    s->what = below(d, O_GRAPH);
    s->comm = any_or_newest(d);
    if (is_inter(d, s->comm)) {
        s->what = 0 == below(d, 3) ? O_DUP : O_MERGE;
    } else if (d->options->inter && 0 == below(d, 3)) {
        s->what = O_INTER;
    } else if (d->options->neighbors && 0 == below(d, 3)) {
        s->what = O_GRAPH;
    }
    if (idup) {
        d->idup = k;
    } else {
        d->comms[d->num_comms++] = k + 1;
    }
}

static void draw_free(struct drawing *d, struct step *s)
{
    const int at = 1 + below(d, d->num_comms - 1);

    s->kind = STEP_FREE;
    s->comm = d->comms[at];
    d->comms[at] = d->comms[--d->num_comms];
    /* what is on it may be waited for, and not started again */
    for (int k = 0; k < MAX_STEPS; k++) {
        if (0 != (d->persistent >> k & 1) && d->p->steps[k].comm == s->comm) {
            d->persistent &= ~(1ull << k);
        }
    }
}

static void draw_idup_wait(struct drawing *d, struct step *s)
{
    s->kind = STEP_IDUP_WAIT;
    s->target = d->idup;
    s->comm = d->p->steps[d->idup].comm;
    d->comms[d->num_comms++] = d->idup + 1;
    d->idup = -1;
}

static void draw_start(struct drawing *d, struct step *s)
{
    s->kind = STEP_START;
    s->starts = 0 == below(d, 2) ? d->persistent : d->persistent & rng_next(&d->rng);
}

static void draw_release(struct drawing *d, struct step *s)
{
    int target = below(d, MAX_STEPS);

    while (0 == (d->persistent >> target & 1)) {
        target = (target + 1) % MAX_STEPS;
    }
    s->kind = STEP_RELEASE;
    s->target = target;
    s->comm = d->p->steps[target].comm;
    d->persistent &= ~(1ull << target);
}

static void draw_step(struct drawing *d, int k)
{
    const struct profile *p = d->options->profile;
    struct step *s = &d->p->steps[k];
    const int percent = below(d, 100), messages = p->messages, comms = messages + p->comms,
              frees = comms + p->frees, starts = frees + p->starts, releases = starts + p->releases;

    s->key = rng_next(&d->rng);
    if (draw_again(d, s, k)) {
        return;
    }
    if (d->idup >= 0 && percent >= 75) {
        draw_idup_wait(d, s);
    } else if (percent < messages) {
        draw_messages(d, s);
    } else if (percent < comms && d->options->comms && d->num_comms < 6 && d->idup < 0) {
        draw_comm(d, s, k);
    } else if (percent < frees && d->num_comms > 1 && d->idup < 0) {
        draw_free(d, s);
    } else if (percent < starts && 0 != d->persistent) {
        draw_start(d, s);
    } else if (percent < releases && 0 != d->persistent) {
        draw_release(d, s);
    } else {
        draw_collective(d, s, k);
    }
}

void program_draw(struct program *p, uint64_t seed, int thread, const struct draw_options *options)
{
    struct drawing d = {.options = options,
                        .p = p,
                        .rng = rng_key(seed, (uint64_t) thread, 1),
                        .num_comms = 1,
                        .idup = -1};

    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->thread = thread;
    p->beyond = options->beyond;
    p->n = 4 + below(&d, 32);
    for (int k = 0; k < p->n; k++) {
        draw_step(&d, k);
    }
    if (d.idup >= 0) {
        draw_idup_wait(&d, &p->steps[p->n++]);
    }
}

/* Whether the profile has this case: a type with an operation in a collective, in place or not. */
static bool has_case(const struct profile *p, const struct step *s, bool big)
{
    const bool reduces = s->what >= C_REDUCE && s->what <= C_REDUCE_SCATTER_BLOCK;
    const bool of_big =
        MPI_FLOAT == basics[s->basic].type && MPI_MAX != operations[s->op].op && !s->in_place;

    return (big ? p->big && of_big : p->every) &&
           collective_is_of_eight((enum collective) s->what) && reduces == (OP_NONE != s->op) &&
           value_goes(s->basic, s->op) && !op_is_users(s->op) &&
           !(C_BCAST == s->what && s->in_place);
}

static int count_of_case(const struct step *s, bool big, int ranks)
{
    static const int lengths[] = {1, 2, 5, 8, 13, 31, 64, 100};
    const bool whole = C_BCAST == s->what || C_REDUCE == s->what || C_ALLREDUCE == s->what;

    return big ? BIG_BYTES / basics[s->basic].bytes / (whole ? 1 : ranks) + 1
               : lengths[s->key / 8 % 8];
}

bool program_of_cases(struct program *p, uint64_t seed, long *next, int ranks,
                      const struct draw_options *options)
{
    const long pairs = (long) num_basics * num_operations, cases = 2 * pairs * C_NEIGHBOR_ALLGATHER;

    memset(p, 0, sizeof *p);
    p->seed = seed;
    p->beyond = options->beyond;
    for (; *next < 2 * cases && p->n < MAX_STEPS; ++*next) {
        struct step *s = &p->steps[p->n];
        const bool big = *next >= cases;

        *s = (struct step) {.kind = STEP_COLLECTIVE,
                            .what = (int) (*next % cases / pairs / 2),
                            .in_place = 0 != *next / pairs % 2,
                            .basic = (int) (*next % pairs / num_operations),
                            .op = (int) (*next % num_operations),
                            .signs = options->beyond,
                            .key = rng_key(seed, (uint64_t) *next, 6)};
        s->root = (int) (s->key / 64 % MAX_ROOT);
        if (has_case(options->profile, s, big)) { /* else the type may have no bytes here */
            s->count = count_of_case(s, big, ranks);
            p->n++;
        }
    }
    return p->n > 0;
}

bool step_is_of_eight(const struct program *p, const struct step *s)
{
    return STEP_COLLECTIVE == s->kind && collective_is_of_eight((enum collective) s->what) &&
           !op_is_users(s->op) && O_INTER != program_origin(p, s->comm);
}

void program_leave_out(struct program *p, const bool *given)
{
    for (int k = 0; k < p->n; k++) {
        struct step *s = &p->steps[k];
        bool out = given[k] || (s->comm > 0 && p->left_out[s->comm - 1]);

        if (STEP_IDUP_WAIT == s->kind) {
            out = p->left_out[s->target]; /* the one goes with the other */
        } else if (STEP_RELEASE == s->kind) {
            out = out || p->left_out[s->target];
        }
        for (int j = 0; j < k; j++) {
            s->starts &= p->left_out[j] ? ~(1ull << j) : ~0ull;
        }
        p->left_out[k] = out || (STEP_START == s->kind && 0 == s->starts);
    }
}
