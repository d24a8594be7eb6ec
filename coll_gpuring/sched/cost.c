/* SPDX-License-Identifier: BSD-3-Clause */
/* What cost functions, and numbers of links, have in common. */
#include "sched/cost.h"

#include <limits.h>
#include <math.h>

double gr_cost_messages(const struct gr_cost_terms *t, double n)
{
    return t->step + (n - 1) * t->next;
}

/*
 * The first chunk passes all hops, then one chunk follows the other. With C chunks of S bytes in
 * all:
 *      hops (step + S byte / C)  +  C step' + passes S byte
 * which is least at C = sqrt(hops S byte / step').
 */
double gr_cost_pipeline(const struct gr_cost_terms *t, struct gr_cost_pipe pipe,
                        size_t *chunk_bytes)
{
    double s = t->bytes, c = sqrt(pipe.hops * s * t->byte / (pipe.step * t->next));
    double chunk = s / (c < 1 ? 1 : c);

    chunk = chunk < t->least ? t->least : chunk;
    chunk = chunk > t->most ? t->most : chunk;
    *chunk_bytes = (size_t) (chunk / t->channels) / 64 * 64;
    chunk = chunk > s ? s : chunk;
    c = s > 0 ? ceil(s / chunk) : 1;
    /* where messages follow each other faster than one passes, the first takes its full time */
    return t->step - t->next + pipe.hops * (t->step + chunk * t->byte) + c * pipe.step * t->next +
           pipe.passes * s * t->byte;
}

double gr_cost_torus_hops(const struct gr_torus *t)
{
    double hops = 0;
    int d;

    for (d = 0; d < t->ndims; d++) {
        hops += t->dims[d] - 1;
    }
    return hops;
}

double gr_cost_torus_rounds(const struct gr_torus *t)
{
    double rounds = 0;
    int d;

    for (d = 0; d < t->ndims; d++) {
        rounds += gr_doubling_rounds(t->dims[d]);
    }
    return rounds;
}

double gr_cost_with_header(const struct gr_cost_terms *t)
{
    return GR_COST_HEADER + t->bytes;
}

double gr_cost_hindered(double ranks)
{
    return fmax(0, ranks - 2);
}

struct gr_internode_cost gr_cost_halves_by_nodes(const struct gr_cost_terms *t)
{
    double nodes = t->internode->nodes, ranks = t->internode->ranks;
    double halves = GR_COLL_ALLREDUCE == t->coll ? 2 : 1;
    double messages =
        t->internode->oversubscribed ? gr_cost_hindered(ranks) * halves * (nodes - 1) : 0;

    return (struct gr_internode_cost) {.hops = halves * (nodes - 1),
                                       .local_hops = halves * (ranks - 1),
                                       .messages = messages,
                                       .bytes =
                                           halves * (nodes - 1) / nodes * gr_cost_with_header(t)};
}

struct gr_internode_cost gr_cost_all_pairs(const struct gr_cost_terms *t)
{
    double n = t->p, ranks = t->internode->ranks;

    return (struct gr_internode_cost) {.hops = n - 1,
                                       .bytes = ranks * (n - ranks) / n * gr_cost_with_header(t)};
}

int gr_cost_ranks_with_nodes(const struct gr_cost_terms *t)
{
    return t->torus->nested ? INT_MAX : 0;
}

int gr_cost_ranks_by_node(const struct gr_cost_terms *t)
{
    return t->torus->nested > 1 ? 0 : gr_cost_ranks_with_nodes(t);
}

/* ---- links ---- */

static struct gr_links_count same(int n)
{
    return (struct gr_links_count) {n, n};
}

struct gr_links_count gr_links_one(int p, const struct gr_torus *torus)
{
    (void) p;
    (void) torus;
    return same(1);
}

struct gr_links_count gr_links_all(int p, const struct gr_torus *torus)
{
    (void) torus;
    return same(p - 1);
}

struct gr_links_count gr_links_doubling(int p, const struct gr_torus *torus)
{
    (void) torus;
    return same(gr_doubling_rounds(p));
}

struct gr_links_count gr_links_torus_doubling(int p, const struct gr_torus *torus)
{
    (void) p;
    return same((int) gr_cost_torus_rounds(torus));
}

struct gr_links_count gr_links_leaders(int ranks, int between)
{
    int most = ranks - 1 + between;

    return (struct gr_links_count) {most, (most + 2 * (ranks - 1)) / ranks};
}
