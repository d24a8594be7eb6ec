/* SPDX-License-Identifier: BSD-3-Clause */
/* The projection of project.h. */
#include "project.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_CHANNELS = 2 * GR_MAX_DIMS };

/* The time of a message: ns + share * bytes of the vector. */
struct line {
    double ns, share;
};

/* Ticks of a channel with the same messages, and the lines that are somewhere the highest. */
struct group {
    uint32_t ticks, phase;
    int channel;
    size_t first, n;
};

struct projection {
    struct group *groups;
    size_t ngroups, groups_room;
    struct line *lines;
    size_t nlines, lines_room;
};

/* Add the message's share to its links, or find the greatest load of one of them. */
static double walk(const struct source *s, const struct message *m, double *load, double add)
{
    const struct gr_torus *t = &s->m->torus;
    double most = 0;
    int at = m->from, d, k;

    for (d = 0; d < t->ndims; d++) {
        int up = m->hops[d] > 0;

        for (k = abs(m->hops[d]); k > 0; k--) {
            int link = torus_link(t, at, d, up);

            load[link] = 0 == add ? load[link] : load[link] + add;
            most = load[link] > most ? load[link] : most;
            at = gr_torus_move(t, at, d, up ? 1 : -1);
        }
    }
    return most;
}

/* Adds a line unless another is nowhere below it; removes those that are nowhere above it. */
static void add_line(struct projection *p, struct group *g, struct line line)
{
    size_t k;

    for (k = g->first; k < g->first + g->n; k++) {
        if (p->lines[k].ns >= line.ns && p->lines[k].share >= line.share) {
            return;
        }
    }
    for (k = g->first; k < g->first + g->n;) {
        if (p->lines[k].ns <= line.ns && p->lines[k].share <= line.share) {
            p->lines[k] = p->lines[g->first + --g->n];
        } else {
            k++;
        }
    }
    if (g->first + g->n == p->lines_room) {
        p->lines_room = 2 * p->lines_room + 64;
        p->lines = need(realloc(p->lines, p->lines_room * sizeof(*p->lines)));
    }
    p->lines[g->first + g->n++] = line;
    p->nlines = g->first + g->n;
}

static void add_group(struct projection *p, const struct source *s, const struct message *sent,
                      size_t n, double *load, struct group g)
{
    size_t k;

    g.first = p->nlines;
    for (k = 0; k < n; k++) {
        if (g.channel < 0 || sent[k].channel == g.channel) {
            add_line(p, &g,
                     (struct line) {message_latency(s->m, &sent[k]),
                                    walk(s, &sent[k], load, 0) / s->m->bandwidth});
        }
    }
    if (p->ngroups == p->groups_room) {
        p->groups_room = 2 * p->groups_room + 16;
        p->groups = need(realloc(p->groups, p->groups_room * sizeof(*p->groups)));
    }
    p->groups[p->ngroups++] = g;
}

/* Adds ticks with the same messages: all channels together, or, of a bucket, one by one. */
static void add_ticks(struct projection *p, const struct source *s, const struct message *sent,
                      size_t n, double *load, uint32_t tick, uint32_t ticks)
{
    struct group g = {.ticks = ticks, .phase = source_phase(s, tick), .channel = -1};
    size_t k;

    memset(load, 0, (size_t) torus_links(&s->m->torus) * sizeof(*load));
    for (k = 0; k < n; k++) {
        walk(s, &sent[k], load, sent[k].bytes);
    }
    if (SOURCE_BUCKET != s->algo) {
        add_group(p, s, sent, n, load, g);
        return;
    }
    for (g.channel = 0; g.channel < s->channels; g.channel++) {
        add_group(p, s, sent, n, load, g);
    }
}

struct projection *project_make(enum source_algo algo, const struct machine *m, uint32_t chunks)
{
    struct source s;
    struct projection *p;
    struct message *sent;
    double *load;
    uint32_t tick, ticks, same, last;

    if (source_make(&s, algo, m, chunks) < 0) {
        return NULL;
    }
    p = need(calloc(1, sizeof(*p)));
    sent = need(malloc(source_room(&s) * sizeof(*sent)));
    load = need(malloc(((size_t) torus_links(&m->torus) + 1) * sizeof(*load)));
    ticks = s.p > 1 ? source_ticks(&s) : 0;
    for (tick = 0, same = source_alike(&s); tick < ticks; tick = last) {
        last = tick + same < ticks ? tick + same : ticks;
        add_ticks(p, &s, sent, source_collect(&s, tick, sent), load, tick, last - tick);
    }
    free(sent);
    free(load);
    source_free(&s);
    return p;
}

double project_ns(const struct projection *p, double bytes, double overhead)
{
    double sum = 0, channel[MAX_CHANNELS] = {0}, slowest = 0;
    size_t g, k;

    for (g = 0; g < p->ngroups; g++) {
        const struct group *group = &p->groups[g];
        double longest = 0, *mine = &channel[group->channel < 0 ? 0 : group->channel];

        if (g > 0 && group->phase != p->groups[g - 1].phase) {
            sum += slowest;
            slowest = 0;
            memset(channel, 0, sizeof(channel));
        }
        for (k = group->first; k < group->first + group->n; k++) {
            double t = overhead + p->lines[k].ns + p->lines[k].share * bytes;

            longest = t > longest ? t : longest;
        }
        *mine += group->ticks * longest;
        slowest = *mine > slowest ? *mine : slowest;
    }
    return sum + slowest;
}

void project_free(struct projection *p)
{
    if (NULL != p) {
        free(p->groups);
        free(p->lines);
        free(p);
    }
}
