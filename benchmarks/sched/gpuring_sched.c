/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_sched: prints any schedule, as a textbook would. This file has the command line; steps
 * come from coll_gpuring/sched, and sched_print.c formats them. No MPI.
 *
 *      gpuring_sched allreduce ring -n 4             a row per tick, a column per rank (up to 8)
 *      gpuring_sched bcast tree -n 64 --rank 5       all that a rank does, step by step
 *      gpuring_sched reduce chain -n 4 -c 8 --ticks  the same in shorthand, any number of ranks
 *      gpuring_sched bcast flat -n 6 --dot           messages between ranks, for Graphviz
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "common/cli.h"
#include "sched/algorithm.h"
#include "sched/walk.h"
#include "sched_print.h"

#define MAX_CHUNKS 1024

struct options {
    int coll, algo;
    int ranks, root, chunks, rank; /* -1: not given */
    int channel;
    const char *order;     /* NULL: not given */
    struct gr_torus torus; /* ndims 0: not given */
    unsigned mesh;         /* bit d: dimension d is a line */
    enum show show;
    bool nodes; /* dimension 0 of the torus is inside nodes */
    bool list;
};

/* ---- from the command line to a table of steps ---- */

static const char usage[] =
    "usage: gpuring_sched COLLECTIVE ALGORITHM -n RANKS [options]\n"
    "Print the schedule of a collective: every step of every rank.\n\n"
    "  -n RANKS      number of ranks, 1 to 1024\n"
    "  -r ROOT       root rank (default 0)\n"
    "  -c CHUNKS     chunks in the pipeline, 1 to 1024 (default 4; flat, barrier: 1)\n"
    "  --rank R      only rank R, step by step (the default for all ranks when there are more than "
    "8)\n"
    "  --torus DIMS  extents of the torus that the ranks form, as 4x4x2; -n may be left out then\n"
    "  --mesh LIST   dimensions that are lines, as 0,2\n"
    "  --nodes       dimension 0 of --torus is inside nodes (barrier)\n"
    "  --channel C   which of the ways through the torus (default 0)\n"
    "  --order LIST  ranks in the order of their positions, \"reverse\" or \"2,0,1,...\"\n"
    "  --ticks       grid of ticks and ranks in shorthand\n"
    "  --dot         graph of the messages for Graphviz\n"
    "  --list        the algorithms: what each is, and its collectives\n"
    "  -h, --help    this text\n";

/* Names by enum; the last one is NULL. */
static const char *colls[GR_NCOLLS + 1], *algos[GR_NALGOS + 1];

static void list_algorithms(void)
{
    char text[128];
    int a, k;

    for (a = 0; a < GR_NALGOS; a++) {
        text[0] = '\0';
        for (k = 0; k < GR_NCOLLS; k++) {
            if (gr_algo_has((enum gr_algo) a, (enum gr_coll) k)) {
                gr_words_add(text, sizeof(text), colls[k]);
            }
        }
        /* words are added with a blank before each */
        printf("%-10s %s (%s)\n", algos[a], gr_algorithms[a]->help, text + 1);
    }
}

static bool take_torus(void *into, const char *value)
{
    struct gr_torus *torus = &((struct options *) into)->torus;

    return 0 == gr_torus_parse(value, torus) && gr_torus_size(torus) <= MAX_RANKS;
}

#define AT(field) .at = offsetof(struct options, field)

static const struct cli_option rows[] = {
    {'n', NULL, CLI_INT, AT(ranks), .least = 1, .most = MAX_RANKS},
    {'r', NULL, CLI_INT, AT(root), .most = MAX_RANKS - 1},
    {'c', NULL, CLI_INT, AT(chunks), .least = 1, .most = MAX_CHUNKS},
    {0, "rank", CLI_INT, AT(rank), .most = MAX_RANKS - 1},
    {0, "order", CLI_TEXT, AT(order)},
    {0, "torus", CLI_TAKE, .take = take_torus,
     .allowed = "1 to 4 extents with a product of at most 1024, as in 4x4x2"},
    {0, "mesh", CLI_BITS, AT(mesh), .most = GR_MAX_DIMS - 1},
    {0, "nodes", CLI_FLAG, AT(nodes)},
    {0, "channel", CLI_INT, AT(channel), .most = 2 * GR_MAX_DIMS - 1},
    {0, "ticks", CLI_SET, AT(show), .least = SHOW_TICKS},
    {0, "dot", CLI_SET, AT(show), .least = SHOW_DOT},
    {0, "list", CLI_FLAG, AT(list)},
    {'h', "help", CLI_HELP, .allowed = usage},
};

static void parse_options(struct options *o, int argc, char **argv)
{
    const struct cli_table table = {rows, sizeof(rows) / sizeof(rows[0]), o};
    int k;

    for (k = 0; k < GR_NCOLLS; k++) {
        colls[k] = gr_coll_name((enum gr_coll) k);
    }
    for (k = 0; k < GR_NALGOS; k++) {
        algos[k] = gr_algo_name((enum gr_algo) k);
    }
    cli_parse_or_exit(&table, argc, argv);
    if (o->list) {
        list_algorithms();
        exit(0);
    }
    if (argc - optind != 2) {
        errx(EXIT_USAGE, "give a collective and an algorithm, as in: allreduce ring -n 4 (try -h)");
    }
    if (0 != o->mesh >> o->torus.ndims) {
        errx(EXIT_USAGE, "--mesh must name dimensions of --torus, from 0 on, as in 0,2");
    }
    o->torus.mesh = o->mesh;
    if (o->nodes && o->torus.ndims < 2) {
        errx(EXIT_USAGE, "--nodes: give --torus as ranks of a node x nodes, as in 4x3");
    }
    o->torus.nested = o->nodes;
    o->ranks = o->ranks < 0 && o->torus.ndims > 0 ? gr_torus_size(&o->torus) : o->ranks;
    o->coll = cli_word_or_exit("COLLECTIVE", argv[optind], colls);
    o->algo = cli_word_or_exit("ALGORITHM", argv[optind + 1], algos);
}

/* The algorithm runs along a torus: the reason why not along this one. */
static void die_of_torus(const struct options *o)
{
    if (!gr_algo_is_by_rank(o->algo)) {
        return;
    }
    if (0 == o->torus.ndims) {
        errx(EXIT_USAGE, "%s runs along a torus: give its extents, as in --torus 4x4",
             gr_algo_name(o->algo));
    }
    if (gr_torus_size(&o->torus) != o->ranks) {
        errx(EXIT_USAGE, "-n %d: the torus has %d places", o->ranks, gr_torus_size(&o->torus));
    }
    errx(EXIT_USAGE, "suh-shin wants rings with extents of 1, 2 or a multiple of 4");
}

/* Checks of several options together. */
static void check_options(const struct options *o)
{
    char all[256] = "";
    int k;

    for (k = 0; k < GR_NALGOS; k++) {
        if (gr_algo_has((enum gr_algo) k, o->coll)) {
            gr_words_add(all, sizeof(all), algos[k]);
        }
    }
    if (!gr_algo_has(o->algo, o->coll)) {
        errx(EXIT_USAGE, "%s has no schedule for %s; these have:%s", gr_algo_name(o->algo),
             gr_coll_name(o->coll), all);
    }
    if (o->ranks < 0) {
        errx(EXIT_USAGE, "-n RANKS is missing (try -h)");
    }
    if (!gr_algo_fits(o->algo, o->ranks, &o->torus)) {
        die_of_torus(o);
        errx(EXIT_USAGE, "-n %d: %s needs all others in one step, which takes %d", o->ranks,
             gr_algo_name(o->algo), GR_FAN);
    }
    if (gr_algo_is_by_rank(o->algo) && NULL != o->order) {
        errx(EXIT_USAGE,
             "--order: %s takes ranks by their numbers; along a torus --channel gives other orders",
             gr_algo_name(o->algo));
    }
    if (o->root >= o->ranks) {
        errx(EXIT_USAGE, "-r %d: there are only ranks 0 to %d", o->root, o->ranks - 1);
    }
    if (o->rank >= o->ranks) {
        errx(EXIT_USAGE, "--rank %d: there are only ranks 0 to %d", o->rank, o->ranks - 1);
    }
    if (GR_BLOCKS == gr_algo_layout(o->algo, o->coll) && (o->root >= 0 || o->chunks >= 0)) {
        errx(EXIT_USAGE, "%s %s has neither root nor chunks: one block per rank",
             gr_algo_name(o->algo), gr_coll_name(o->coll));
    }
}

static void parse_order(struct table *t, const char *text)
{
    char seen[MAX_RANKS] = {0};
    int k, n;

    for (k = 0; k < t->p; k++) {
        t->order[k] = NULL == text ? k : t->p - 1 - k;
    }
    if (NULL == text || 0 == strcmp(text, "reverse")) {
        return;
    }
    n = cli_list(text, 0, (size_t) t->p - 1, t->order, t->p);
    for (k = 0; k < n && !seen[t->order[k]]; k++) {
        seen[t->order[k]] = 1;
    }
    if (k < t->p) {
        errx(EXIT_USAGE,
             "--order must be \"reverse\" or name each of the ranks 0 to %d once, as in 2,0,1; "
             "not \"%s\"",
             t->p - 1, text);
    }
}

static int by_tick(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->step.tick != y->step.tick) {
        return x->step.tick < y->step.tick ? -1 : 1;
    }
    return x->index < y->index ? -1 : 1;
}

/* Whether a step moves results, or blocks of a collective that has no sums. */
static int distributes(enum gr_coll coll, const struct gr_step *step)
{
    int sums = GR_COLL_ALLREDUCE == coll || GR_COLL_REDUCE_SCATTER == coll ||
               GR_COLL_REDUCE == coll || GR_COLL_BARRIER == coll;

    return 0 == (step->bits & GR_REDUCE) && (!sums || 0 != (step->bits & GR_FINAL));
}

/* Compute the steps of one rank. */
static void fill_lane(struct table *t, struct lane *lane, const struct gr_sched *s)
{
    const struct gr_step *step;
    struct gr_step_walk w;

    gr_step_walk_begin(&w, s, 1);
    lane->n = 0;
    lane->entries = malloc((w.len + (size_t) 1) * sizeof(*lane->entries));
    if (NULL == lane->entries) {
        errx(EXIT_USAGE, "out of memory");
    }
    for (; NULL != (step = gr_step_walk_get(&w, s)); gr_step_walk_next(&w)) {
        if (0 != step->bits) {
            lane->entries[lane->n++] = (struct entry) {*step, w.index, distributes(s->coll, step)};
            t->ticks = step->tick >= t->ticks ? step->tick + 1 : t->ticks;
        }
    }
    qsort(lane->entries, lane->n, sizeof(*lane->entries), by_tick);
}

static void fill_table(struct table *t, const struct options *o)
{
    struct gr_sched s = {.coll = o->coll,
                         .algo = o->algo,
                         .p = o->ranks,
                         .order = t->order,
                         .torus = o->torus,
                         .channel = o->channel};
    int pos;

    t->coll = o->coll;
    t->algo = o->algo;
    t->layout = gr_algo_layout(o->algo, o->coll);
    t->p = o->ranks;
    t->root = o->root >= 0 ? o->root : 0;
    t->ordered = NULL != o->order;
    parse_order(t, o->order);
    for (pos = 0; pos < t->p; pos++) {
        if (t->order[pos] == t->root && GR_PIPE == t->layout) {
            s.root = pos;
        }
    }
    s.order = gr_algo_is_by_rank(o->algo) ? NULL : t->order;
    s.nchunks =
        gr_algorithms[o->algo]->traits & GR_TRAIT_FLAT || GR_COLL_BARRIER == o->coll ? 1 : 4;
    s.nchunks = o->chunks >= 0 ? (uint32_t) o->chunks : s.nchunks;
    t->parts = GR_PIPE == t->layout ? s.nchunks : (uint32_t) t->p;
    for (s.pos = 0; s.pos < t->p; s.pos++) {
        if (0 != gr_sched_check(&s)) {
            errx(EXIT_USAGE, "%s has no such schedule for %s", gr_algo_name(t->algo),
                 gr_coll_name(t->coll));
        }
        fill_lane(t, &t->lanes[t->order[s.pos]], &s);
    }
}

int main(int argc, char **argv)
{
    static struct table t;
    struct options o = {.ranks = -1, .root = -1, .chunks = -1, .rank = -1};
    int r;

    parse_options(&o, argc, argv);
    check_options(&o);
    fill_table(&t, &o);
    table_print(&t, o.show, o.rank);
    for (r = 0; r < t.p; r++) {
        free(t.lanes[r].entries);
    }
    return ferror(stdout) || 0 != fflush(stdout) ? 1 : 0;
}
