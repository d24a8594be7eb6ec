/* SPDX-License-Identifier: BSD-3-Clause */
/* The host executor of host.h. */
#include "host.h"

static struct gr_link *link_from(const struct gr_host_op *op, uint32_t channel, int rank)
{
    return &op->in[(size_t) channel * (size_t) op->p + (size_t) rank];
}

static struct gr_link *link_to(const struct gr_host_op *op, uint32_t channel, int rank)
{
    return &op->out[(size_t) channel * (size_t) op->p + (size_t) rank];
}

static int host_ready(void *ctx, uint32_t channel, const struct gr_step *step)
{
    struct gr_host_op *op = ctx;
    int k;

    for (k = 0; k < step->nfrom; k++) {
        if (!gr_link_readable(link_from(op, channel, step->from[k]))) {
            return 0;
        }
    }
    for (k = 0; k < step->nto; k++) {
        if (!gr_link_writable(link_to(op, channel, step->to[k]))) {
            return 0;
        }
    }
    return 1;
}

static int host_move(void *ctx, const struct gr_move *mv)
{
    struct gr_host_op *op = ctx;
    const struct gr_step *s = mv->step;
    size_t bytes = op->reducer.elem_bytes;
    const unsigned char *operand = NULL;
    const void *src[GR_FAN] = {NULL};
    void *dst[GR_FAN + 1];
    int ndst = 0, k;

    if (s->bits & GR_REDUCE || !(s->bits & GR_RECV)) {
        operand = op->space[s->operand] + mv->operand * bytes; /* only then: there may be no such buffer */
    }
    for (k = 0; k < s->nfrom; k++) {
        src[k] = (unsigned char *) gr_link_slot(link_from(op, mv->channel, s->from[k])) + mv->slot * bytes;
    }
    if (s->bits & GR_STORE) {
        dst[ndst++] = op->space[s->dest] + mv->dest * bytes;
    }
    for (k = 0; k < s->nto; k++) {
        dst[ndst++] = (unsigned char *) gr_link_slot(link_to(op, mv->channel, s->to[k])) + mv->slot * bytes;
    }
    if (s->bits & GR_REDUCE) {
        gr_reduce(&op->reducer, dst, ndst, operand, src, s->nfrom, mv->count);
    } else {
        gr_copy(dst, ndst, s->bits & GR_RECV ? src[0] : operand, mv->count * bytes);
    }
    return 0;
}

static void host_commit(void *ctx, uint32_t channel, const struct gr_step *step)
{
    struct gr_host_op *op = ctx;
    int k;

    for (k = 0; k < step->nto; k++) {
        gr_link_push(link_to(op, channel, step->to[k]));
    }
    for (k = 0; k < step->nfrom; k++) {
        gr_link_pop(link_from(op, channel, step->from[k]));
    }
}

const struct gr_mover gr_host_mover = {host_ready, host_move, host_commit};

static int add_rank(int *ranks, int n, int rank)
{
    int k;

    for (k = 0; k < n; k++) {
        if (ranks[k] == rank) {
            return n;
        }
    }
    ranks[n] = rank;
    return n + 1;
}

int gr_host_waits_for(struct gr_host_op *op, uint32_t channel, const struct gr_step *step, int *ranks)
{
    int n = 0, k;

    for (k = 0; k < step->nfrom; k++) {
        if (!gr_link_readable(link_from(op, channel, step->from[k]))) {
            n = add_rank(ranks, n, step->from[k]);
        }
    }
    for (k = 0; k < step->nto; k++) {
        if (!gr_link_writable(link_to(op, channel, step->to[k]))) {
            n = add_rank(ranks, n, step->to[k]);
        }
    }
    return n;
}
