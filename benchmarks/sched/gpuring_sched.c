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
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "sched/walk.h"
#include "sched_print.h"

#define MAX_CHUNKS 1024

struct options {
    enum gr_coll coll;
    enum gr_algo algo;
    int ranks, root, chunks, rank; /* -1: not given */
    int channel;
    const char *order;
    struct gr_torus torus; /* ndims 0: not given */
    enum show show;
};

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("gpuring_sched: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

/* ---- from the command line to a table of steps ---- */

static const char usage[] =
    "usage: gpuring_sched COLLECTIVE ALGORITHM -n RANKS [options]\n"
    "Print the schedule of a collective: every step of every rank.\n\n"
    "  -n RANKS      number of ranks, 1 to 1024\n"
    "  -r ROOT       root rank (default 0)\n"
    "  -c CHUNKS     chunks in the pipeline, 1 to 1024 (default 4; flat: 1)\n"
    "  --rank R      only rank R, step by step (the default for all ranks when there are more than "
    "8)\n"
    "  --torus DIMS  extents of the torus that the ranks form, as 4x4x2; -n may be left out then\n"
    "  --mesh LIST   dimensions that are lines, as 0,2\n"
    "  --channel C   which of the ways through the torus (default 0)\n"
    "  --order LIST  ranks in the order of their positions, \"reverse\" or \"2,0,1,...\"\n"
    "  --ticks       grid of ticks and ranks in shorthand\n"
    "  --dot         graph of the messages for Graphviz\n"
    "  --list        the algorithms: what each is, and its collectives\n"
    "  -h, --help    this text\n";

static const char *coll_name(int k)
{
    return gr_coll_name((enum gr_coll) k);
}

static const char *algo_name(int k)
{
    return gr_algo_name((enum gr_algo) k);
}

/* The number of that name. Without one the line lists all names. */
static int number_of(const char *word, const char *what, const char *(*name)(int) )
{
    char all[256] = "";
    int k;

    for (k = 0; NULL != name(k); k++) {
        if (0 == strcmp(word, name(k))) {
            return k;
        }
        gr_words_add(all, sizeof(all), name(k));
    }
    die("unknown %s \"%s\"; there are:%s", what, word, all);
}

static int parse_int(const char *text, const char *what, int least, int most)
{
    char *end;
    long v = strtol(text, &end, 10);

    if (end == text || '\0' != *end || v < least || v > most) {
        die("%s must be a number from %d to %d, not \"%s\"", what, least, most, text);
    }
    return (int) v;
}

static void list_algorithms(void)
{
    char colls[128];
    int a, k;

    for (a = 0; a < GR_NALGOS; a++) {
        colls[0] = '\0';
        for (k = 0; k < GR_NCOLLS; k++) {
            if (gr_algo_has((enum gr_algo) a, (enum gr_coll) k)) {
                gr_words_add(colls, sizeof(colls), coll_name(k));
            }
        }
        /* words are added with a blank before each */
        printf("%-10s %s (%s)\n", algo_name(a), gr_algo_help((enum gr_algo) a), colls + 1);
    }
}

/* Dimensions that are lines, as "0,2". */
static void parse_mesh(struct options *o, const char *text)
{
    const char *rest = text;
    char *end;
    long d;

    for (;; rest = end + 1) {
        d = strtol(rest, &end, 10);
        if (end == rest || d < 0 || d >= o->torus.ndims || ('\0' != *end && ',' != *end)) {
            die("--mesh must name dimensions of --torus, from 0 on, as in 0,2; not \"%s\"", text);
        }
        o->torus.mesh |= 1u << d;
        if ('\0' == *end) {
            return;
        }
    }
}

static void parse_options(struct options *o, int argc, char **argv)
{
    enum {
        OPT_RANK = 256,
        OPT_ORDER,
        OPT_TICKS,
        OPT_DOT,
        OPT_TORUS,
        OPT_MESH,
        OPT_CHANNEL,
        OPT_LIST
    };
    static const struct option longs[] = {{"rank", 1, NULL, OPT_RANK},
                                          {"order", 1, NULL, OPT_ORDER},
                                          {"torus", 1, NULL, OPT_TORUS},
                                          {"mesh", 1, NULL, OPT_MESH},
                                          {"channel", 1, NULL, OPT_CHANNEL},
                                          {"ticks", 0, NULL, OPT_TICKS},
                                          {"dot", 0, NULL, OPT_DOT},
                                          {"list", 0, NULL, OPT_LIST},
                                          {"help", 0, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const char *mesh = NULL;
    int c;

    opterr = 0;
    while (-1 != (c = getopt_long(argc, argv, ":n:r:c:h", longs, NULL))) {
        switch (c) {
        case 'n':
            o->ranks = parse_int(optarg, "-n", 1, MAX_RANKS);
            break;
        case 'r':
            o->root = parse_int(optarg, "-r", 0, MAX_RANKS - 1);
            break;
        case 'c':
            o->chunks = parse_int(optarg, "-c", 1, MAX_CHUNKS);
            break;
        case OPT_RANK:
            o->rank = parse_int(optarg, "--rank", 0, MAX_RANKS - 1);
            break;
        case OPT_ORDER:
            o->order = optarg;
            break;
        case OPT_TORUS:
            if (0 != gr_torus_parse(optarg, &o->torus) || gr_torus_size(&o->torus) > MAX_RANKS) {
                die("--torus must be 1 to 4 extents with a product of at most %d, as in 4x4x2, not "
                    "\"%s\"",
                    MAX_RANKS, optarg);
            }
            break;
        case OPT_MESH:
            mesh = optarg;
            break;
        case OPT_CHANNEL:
            o->channel = parse_int(optarg, "--channel", 0, 2 * GR_MAX_DIMS - 1);
            break;
        case OPT_TICKS:
            o->show = SHOW_TICKS;
            break;
        case OPT_DOT:
            o->show = SHOW_DOT;
            break;
        case OPT_LIST:
            list_algorithms();
            exit(0);
        case 'h':
            fputs(usage, stdout);
            exit(0);
        case ':':
            die("option %s needs a value (try -h)", argv[optind - 1]);
        default:
            die("unknown option %s (try -h)", argv[optind - 1]);
        }
    }
    if (argc - optind != 2) {
        die("give a collective and an algorithm, as in: allreduce ring -n 4 (try -h)");
    }
    if (NULL != mesh) {
        parse_mesh(o, mesh);
    }
    o->ranks = o->ranks < 0 && o->torus.ndims > 0 ? gr_torus_size(&o->torus) : o->ranks;
    o->coll = (enum gr_coll) number_of(argv[optind], "collective", coll_name);
    o->algo = (enum gr_algo) number_of(argv[optind + 1], "algorithm", algo_name);
}

/* The algorithm runs along a torus: the reason why not along this one. */
static void die_of_torus(const struct options *o)
{
    if (!gr_algo_is_torus(o->algo)) {
        return;
    }
    if (0 == o->torus.ndims) {
        die("%s runs along a torus: give its extents, as in --torus 4x4", gr_algo_name(o->algo));
    }
    if (gr_torus_size(&o->torus) != o->ranks) {
        die("-n %d: the torus has %d places", o->ranks, gr_torus_size(&o->torus));
    }
    die("suh-shin wants rings with extents of 1, 2 or a multiple of 4");
}

/* Checks of several options together. */
static void check_options(const struct options *o)
{
    char all[256] = "";
    int k;

    for (k = 0; NULL != algo_name(k); k++) {
        if (gr_algo_has((enum gr_algo) k, o->coll)) {
            gr_words_add(all, sizeof(all), algo_name(k));
        }
    }
    if (!gr_algo_has(o->algo, o->coll)) {
        die("%s has no schedule for %s; these have:%s", gr_algo_name(o->algo),
            gr_coll_name(o->coll), all);
    }
    if (o->ranks < 0) {
        die("-n RANKS is missing (try -h)");
    }
    if (!gr_algo_fits(o->algo, o->ranks, &o->torus)) {
        die_of_torus(o);
        die("-n %d: %s needs all others in one step, which takes %d", o->ranks,
            gr_algo_name(o->algo), GR_FAN);
    }
    if (gr_algo_is_torus(o->algo) && NULL != o->order) {
        die("--order: %s takes ranks by their numbers; along a torus --channel gives other orders",
            gr_algo_name(o->algo));
    }
    if (o->root >= o->ranks) {
        die("-r %d: there are only ranks 0 to %d", o->root, o->ranks - 1);
    }
    if (o->rank >= o->ranks) {
        die("--rank %d: there are only ranks 0 to %d", o->rank, o->ranks - 1);
    }
    if (GR_BLOCKS == gr_algo_layout(o->algo, o->coll) && (o->root >= 0 || o->chunks >= 0)) {
        die("%s %s has neither root nor chunks: one block per rank", gr_algo_name(o->algo),
            gr_coll_name(o->coll));
    }
}

static void parse_order(struct table *t, const char *text)
{
    char seen[MAX_RANKS] = {0};
    const char *rest = text;
    char *end;
    long rank;
    int k;

    for (k = 0; k < t->p; k++) {
        t->order[k] = NULL == text ? k : t->p - 1 - k;
    }
    if (NULL == text || 0 == strcmp(text, "reverse")) {
        return;
    }
    for (k = 0; k < t->p; k++, rest = end + 1) {
        rank = strtol(rest, &end, 10);
        if (end == rest || rank < 0 || rank >= t->p || seen[rank] ||
            (k < t->p - 1 ? ',' : '\0') != *end) {
            die("--order must be \"reverse\" or name each of the ranks 0 to %d once, as in 2,0,1; "
                "not \"%s\"",
                t->p - 1, text);
        }
        seen[rank] = 1;
        t->order[k] = (int) rank;
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

/* Compute the steps of one rank. */
static void fill_lane(struct table *t, struct lane *lane, const struct gr_sched *s)
{
    const struct gr_step *step;
    struct gr_step_walk w;

    gr_step_walk_begin(&w, s, 1);
    lane->n = 0;
    lane->entries = malloc((w.len + (size_t) 1) * sizeof(*lane->entries));
    if (NULL == lane->entries) {
        die("out of memory");
    }
    for (; NULL != (step = gr_step_walk_get(&w, s)); gr_step_walk_next(&w)) {
        if (0 != step->bits) {
            lane->entries[lane->n++] = (struct entry) {*step, w.index};
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
    s.order = gr_algo_is_torus(o->algo) ? NULL : t->order;
    s.nchunks = o->chunks >= 0 ? (uint32_t) o->chunks : gr_algo_is_flat(o->algo) ? 1 : 4;
    t->parts = GR_PIPE == t->layout ? s.nchunks : (uint32_t) t->p;
    for (s.pos = 0; s.pos < t->p; s.pos++) {
        if (0 != gr_sched_check(&s)) {
            die("%s has no such schedule for %s", gr_algo_name(t->algo), gr_coll_name(t->coll));
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
