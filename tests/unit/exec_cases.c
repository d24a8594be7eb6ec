/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of random cases (exec_cases.h). */
#include "exec_cases.h"

#include "rng.h"

#include <stdlib.h>
#include <string.h>

static int has_root(enum gr_coll coll)
{
    return GR_COLL_BCAST == coll || GR_COLL_REDUCE == coll;
}

static struct ex_case *batch_add(struct ex_batch *b)
{
    if (b->n == b->room) {
        b->room = 2 * b->room + 64;
        b->cases = realloc(b->cases, b->room * sizeof(*b->cases));
        if (NULL == b->cases) {
            abort();
        }
    }
    memset(&b->cases[b->n], 0, sizeof(b->cases[b->n]));
    return &b->cases[b->n++];
}

void ex_shuffle(struct ex_batch *b)
{
    size_t k, other;

    for (k = b->n; k > 1; k--) {
        struct ex_case held = b->cases[k - 1];

        other = rng_below(b->random, k);
        b->cases[k - 1] = b->cases[other];
        b->cases[other] = held;
    }
}

/* Most chunks of a message. */
static uint32_t message_chunks(const struct ex_world *w, int algo, enum gr_coll coll)
{
    return GR_ALGO_MAILBOX == algo
               ? 1
               : gr_algo_message_chunks((enum gr_algo) algo, coll, w->params.p, &w->params.torus);
}

/* A case for this world: all that is not given is chosen at random. */
struct ex_case *ex_add(struct ex_batch *b, const struct ex_world *w, int algo, enum gr_coll coll)
{
    const size_t chunks[] = {0, 64, w->params.slot_bytes / 2, 1};
    struct ex_case *c = batch_add(b);

    c->algo = algo;
    c->coll = coll;
    c->torus = w->params.torus;
    c->kind = (enum ex_kind_id) rng_below(b->random, EX_NEXACT);
    if (GR_COLL_BARRIER == coll) { /* some elements are combined twice */
        c->kind = EX_F32_MAX;
    }
    c->root = has_root(coll) ? rng_below(b->random, w->params.p) : 0;
    c->nchannels = (uint32_t) (1 + rng_below(b->random, w->params.nchannels));
    c->chunk_bytes = chunks[rng_below(b->random, 16) < 15 ? rng_below(b->random, 3) : 3];
    /* messages of several chunks fill the slots as it is */
    c->halved =
        w->params.nslots >= 4 && 0 == rng_below(b->random, 4) && message_chunks(w, algo, coll) < 2;
    c->seed = rng_next(b->random);
    return c;
}

/* Counts of which some are zero; displacements in any order, with gaps. */
void ex_make_counts(struct ex_batch *b, struct ex_case *c, int p, size_t slot_elems, int displs)
{
    int where[EX_MAX_RANKS], k, other;
    size_t at = 0;

    c->has_counts = 1;
    c->has_displs = displs;
    for (k = 0; k < p; k++) {
        const size_t sizes[] = {
            0, 0, 1, rng_below(b->random, 9), slot_elems, rng_below(b->random, 3 * slot_elems)};

        c->counts[k] = sizes[rng_below(b->random, sizeof(sizes) / sizeof(sizes[0]))];
        where[k] = k;
    }
    c->counts[rng_below(b->random, p)] += 1;
    for (k = p; k > 1; k--) {
        int held = where[k - 1];

        other = rng_below(b->random, k);
        where[k - 1] = where[other];
        where[other] = held;
    }
    for (k = 0; k < p && displs; k++) {
        at += rng_below(b->random, 2) * rng_below(b->random, 7);
        c->displs[where[k]] = at;
        at += c->counts[where[k]];
    }
}

void ex_make_direct(struct ex_batch *b, const struct ex_world *w, struct ex_case *c)
{
    const size_t lengths[] = {0, GR_CACHE_LINE, 3 * w->params.slot_bytes, 1 << 20};
    int combines =
        GR_COLL_BCAST != c->coll && GR_COLL_ALLGATHER != c->coll && GR_COLL_ALLTOALL != c->coll;

    c->direct = gr_algo_may_fetch((enum gr_algo) c->algo);
    c->direct_bytes = !combines || 2 == w->params.p ? lengths[rng_below(b->random, 4)] : 0;
    c->offered = c->direct ? rng_below(b->random, 3) * 100 : 0;
}

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

void ex_fit(struct ex_case *c, int p, size_t room)
{
    size_t elems = room / ex_kinds[c->kind].elem_bytes, at = 0;
    int scatters = GR_COLL_REDUCE_SCATTER == c->coll || GR_COLL_ALLTOALL == c->coll, k;

    c->count = at_most(c->count, scatters ? elems / (size_t) p : elems);
    for (k = 0; c->has_counts && k < p; k++) {
        if (scatters) {
            at += c->has_displs ? at_most(c->displs[k] % 4, elems - at) : 0;
            c->displs[k] = at;
        }
        c->counts[k] = at_most(c->counts[k], elems - at);
        at += scatters ? c->counts[k] : 0;
    }
}

enum { MOST_ELEM_BYTES = 32 }; /* as gr_select() takes it */

/* Whether its messages leave a slot of their link free, whatever the type. */
static int has_room(const struct ex_world *w, int algo, enum gr_coll coll)
{
    uint32_t most = message_chunks(w, algo, coll);

    return 1 == most || w->params.slot_bytes / most * (w->params.nslots - 1) >= MOST_ELEM_BYTES;
}

/* In groups, a set holds all blocks of an allgather. */
static void fit_mailbox(struct ex_case *c, const struct ex_world *w)
{
    size_t room = w->params.mailbox_bytes;

    if (GR_COLL_ALLGATHER == c->coll && w->params.p > GR_GROUP_MOST) {
        room /= (size_t) w->params.p;
    }
    ex_fit(c, w->params.p, room);
}

void ex_for_each_mode(struct ex_batch *b, const struct ex_world *w, ex_visit_fn visit)
{
    int nways = w->params.p > 1 ? GR_NALGOS_ALL : GR_NALGOS, algo, coll;
    size_t k = b->n;

    for (algo = 0; algo < nways; algo++) {
        for (coll = 0; coll < GR_NCOLLS; coll++) {
            if (GR_ALGO_MAILBOX == algo
                    ? coll < EX_MAIL_COLLS
                    : gr_algo_has((enum gr_algo) algo, (enum gr_coll) coll) &&
                          gr_algo_fits((enum gr_algo) algo, w->params.p, &w->params.torus) &&
                          has_room(w, algo, (enum gr_coll) coll)) {
                visit(b, w, algo, (enum gr_coll) coll);
            }
        }
    }
    for (; k < b->n; k++) {
        if (GR_ALGO_MAILBOX == b->cases[k].algo) {
            fit_mailbox(&b->cases[k], w);
        }
    }
}
