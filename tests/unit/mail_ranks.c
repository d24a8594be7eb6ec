/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a mailbox world in one process (mail_ranks.h). */
#include "mail_ranks.h"

#include "rng.h"

#include <stdlib.h>
#include <string.h>

static void make_board(struct mail_world *w, int rank)
{
    const struct mail_shape *s = &w->shape;
    size_t stride = gr_board_stride(s->bytes), bytes = gr_board_set_offset(s->p, s->nsets, stride);
    unsigned char *board = aligned_alloc(GR_CACHE_LINE, bytes),
                  *sets = board + (size_t) s->p * sizeof(struct gr_lease_user);
    uint64_t k;
    int r;

    if (NULL == board) {
        abort();
    }
    memset(board, 0xee, bytes);
    for (k = s->first + 1; k != s->first + 1 + s->nsets; k++) {
        memcpy(sets + (k & (s->nsets - 1)) * stride, &k, sizeof(k));
    }
    for (r = 0; r < s->p; r++) {
        atomic_store(&((struct gr_lease_user *) (void *) board)[r].word, s->first + 1000);
    }
    gr_board_clean(board, s->p, s->nsets, stride, s->first, GR_ALL_SETS);
    w->boards[rank] = board;
}

void mail_open(struct mail_world *w, const struct mail_shape *shape, uint64_t seed)
{
    int r, k;

    memset(w, 0, sizeof(*w));
    w->shape = *shape;
    w->seed = seed;
    for (r = 0; r < shape->p; r++) {
        make_board(w, r);
    }
    for (r = 0; r < shape->p; r++) {
        w->ranks[r].world = w;
        w->ranks[r].rank = r;
        if (0 != gr_mailbox_init(&w->ranks[r].box, shape->p, r, shape->nsets,
                                 gr_board_stride(shape->bytes), shape->first)) {
            abort();
        }
        w->ranks[r].box.prefetches = 0 != (seed + (uint64_t) r) % 2;
        for (k = 0; k < shape->p; k++) {
            gr_board_attach(&w->ranks[r].box, k, w->boards[k]);
        }
    }
}

void mail_close(struct mail_world *w)
{
    int r;

    for (r = 0; r < w->shape.p; r++) {
        gr_mailbox_free(&w->ranks[r].box);
        free(w->boards[r]);
    }
}

/* ---- one rank ---- */

static int post_next(struct mail_rank *r)
{
    size_t at = r->posted % GR_SETS;

    if (r->begun == r->posted) {
        const struct ex_case *c = &r->world->cases[r->posted];

        ex_buffers_make(&r->buffers[at], c, r->world->shape.p, r->rank);
        r->mails[at] = ex_mail(c, &r->buffers[at]);
        gr_mailbox_begin(&r->box, &r->mails[at]);
        r->begun++;
    }
    if (!gr_mailbox_post(&r->box, &r->mails[at])) {
        return 0;
    }
    r->posted++;
    return 1;
}

static int take_next(struct mail_rank *r)
{
    size_t at = r->taken % GR_SETS;
    const struct mail_world *w = r->world;
    uint64_t moved = 0;

    if (!gr_mailbox_take(&r->box, &r->mails[at], &moved)) {
        return moved > 0;
    }
    (void) ex_buffers_check(&r->buffers[at], &w->cases[r->taken], w->shape.p, r->rank,
                            w->want[r->taken], r->why, sizeof(r->why));
    ex_buffers_free(&r->buffers[at]);
    if ('\0' != r->why[0]) {
        return -1;
    }
    r->taken++;
    return 1;
}

int mail_poll(struct mail_rank *r)
{
    int may_take = r->taken < r->posted, moved;
    int may_post = r->posted < r->world->ncases && r->posted - r->taken < r->world->shape.window;

    moved = may_post && (!may_take || 0 == rng_below(&r->random, 2)) ? post_next(r) : 0;
    if (0 == moved && may_take) {
        moved = take_next(r);
    }
    return moved;
}

void mail_explain(struct mail_rank *r)
{
    int ranks[EX_MAX_RANKS], takes = r->taken < r->posted, n, k, at;

    at = snprintf(r->why, sizeof(r->why), "%s call %zu, for",
                  takes ? "waits to take" : "waits to post", r->taken);
    n = gr_mailbox_waits_for(&r->box, &r->mails[r->taken % GR_SETS], ranks);
    for (k = 0; k < n && at < (int) sizeof(r->why) - 10; k++) {
        at += snprintf(r->why + at, sizeof(r->why) - (size_t) at, " %d", ranks[k]);
    }
}

/* ---- all ranks ---- */

void mail_begin(struct mail_world *w, const struct ex_case *cases, size_t n)
{
    size_t k;
    int r;

    w->cases = cases;
    w->ncases = n;
    atomic_store(&w->stop, 0);
    w->want = calloc(n, sizeof(*w->want));
    if (NULL == w->want) {
        abort();
    }
    for (k = 0; k < n; k++) {
        w->want[k] = ex_want(&cases[k], w->shape.p);
    }
    for (r = 0; r < w->shape.p; r++) {
        struct mail_rank *rank = &w->ranks[r];

        rank->begun = rank->posted = rank->taken = 0;
        rank->random = w->seed + 1000003 * (uint64_t) (r + 1);
        rank->why[0] = '\0';
    }
    w->why[0] = '\0';
}

int mail_end(struct mail_world *w)
{
    char text[200];
    size_t k;
    int r, at = 0;

    for (r = 0; r < w->shape.p; r++) {
        struct mail_rank *rank = &w->ranks[r];

        if ('\0' != rank->why[0] && at < (int) sizeof(w->why) - 400) {
            at += snprintf(
                w->why + at, sizeof(w->why) - (size_t) at,
                "seed %llu, nsets=%u first=%llu %s: rank %d %s\n", (unsigned long long) w->seed,
                (unsigned) w->shape.nsets, (unsigned long long) w->shape.first,
                ex_describe(&w->cases[rank->taken], w->shape.p, text, sizeof(text)), r, rank->why);
        }
        for (k = 0; k < GR_SETS; k++) {
            ex_buffers_free(&rank->buffers[k]); /* of those that were stopped */
        }
    }
    for (k = 0; k < w->ncases; k++) {
        free(w->want[k]);
    }
    free(w->want);
    return at > 0 ? -1 : 0;
}
