/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of options.h. */
#include "options.h"
#include "source.h"

#include "sched/sched.h"
#include "common/cli.h"

#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEAST_BYTES 1e-3
#define MOST_BYTES 1e12

static const char usage[] =
    "usage: torus_sim [ALGORITHM] [options]        simulate a collective on a torus\n"
    "       torus_sim --figure [options]           the published evaluation, and the difference of "
    "the schemes\n"
    "       torus_sim --sync-packets [options]     packets of a sync, by dimension and all to all\n"
    "       torus_sim --project [options]          an allreduce by ring, tree, bucket and Swing, "
    "step by step\n"
    "Simulate collectives on a torus, and when their steps begin.\n\n"
    "ALGORITHM: Alltoall by suh-shin or dimension-ordered (default: the first that suits the "
    "torus);\n"
    "           allreduce by ring, tree, bucket or swing; bcast by mst; barrier by dissemination\n"
    "  -t, --torus AxBxC     extents, 1 to 4 of them (16x16x16)\n"
    "      --mesh D,...      dimensions (0, 1, ...) without a wrap-around link\n"
    "  -l, --latency NS,...  from neighbour to neighbour, by dimension (21,25,70); the last holds "
    "for the rest\n"
    "  -b, --bandwidth GB/s  of a link, each way (16)\n"
    "  -m, --bytes LIST      mean bytes per pair: 1,8,64 or 1:64k, which doubles (1:64k); suffixes "
    "k M G.\n"
    "                        Not of an Alltoall: bytes of the vector; of a barrier: of its token "
    "(1)\n"
    "      --chunks N        of the pipelines of tree and mst (16)\n"
    "      --uneven U        each sender's blocks are as long as a number in 1-U..1+U says\n"
    "      --skewed F[:X]    a share F of the senders sends X times as much (10)\n"
    "      --schemes LIST    1: sync before each step, 2: at the start only, 3: predicted waits "
    "(1,2,3)\n"
    "      --model M         fifo: links serve whole messages (default); packets: by turns\n"
    "      --packet BYTES    of the model packets (2k)\n"
    "      --jitter NS       mean of an exponential delay of each rank's step\n"
    "      --latency-error E estimates of latencies are wrong by up to this share\n"
    "      --skew NS         scheme 3 starts at times that differ by up to +- this\n"
    "      --enter NS        ranks enter within this time\n"
    "      --guard NS        scheme 3 waits so much longer in each step\n"
    "      --sync WAY        packets of a sync go around (a ring's whole length, default) or "
    "shortest\n"
    "      --seed N          of all random numbers (1)\n"
    "      --overhead NS     what each message costs besides, with --project (500)\n"
    "  -o FORMAT             text (default) csv json      -f FILE  write there, not to stdout\n"
    "      --progress        say how far it is, also where stderr is no terminal\n"
    "  -h, --help            this text\n";

const char *torus_text(const struct gr_torus *t)
{
    static char text[80];
    int d, n = 0;

    for (d = 0; d < t->ndims; d++) {
        n += snprintf(text + n, sizeof(text) - (size_t) n, "%s%d%s", d > 0 ? "x" : "", t->dims[d],
                      gr_torus_is_line(t, d) ? "|" : "");
    }
    return text;
}

/* Numbers between commas; returns how many, or -1. */
static int take_list(const char *text, double least, double most, double *list, int room)
{
    for (int n = 0; n < room && cli_real(text, least, most, &text, &list[n]); text++) {
        n++;
        if (',' != *text) {
            return '\0' == *text ? n : -1;
        }
    }
    return -1;
}

static bool take_torus(void *into, const char *value)
{
    struct options *o = into;

    o->torus_given = true;
    return 0 == gr_torus_parse(value, &o->machine.torus) && o->machine.torus.ndims > 0;
}

static bool take_bytes(void *into, const char *value)
{
    struct options *o = into;
    double v, most;

    if (NULL == strchr(value, ':')) {
        o->nbytes = take_list(value, LEAST_BYTES, MOST_BYTES, o->bytes, MAX_SIZES);
        return o->nbytes > 0;
    }
    if (!cli_real(value, LEAST_BYTES, MOST_BYTES, &value, &v) || ':' != *value ||
        !cli_real(value + 1, v, MOST_BYTES, NULL, &most)) {
        return false;
    }
    for (o->nbytes = 0; v <= most && o->nbytes < MAX_SIZES; v *= 2) {
        o->bytes[o->nbytes++] = v;
    }
    return true;
}

static bool take_skewed(void *into, const char *value)
{
    struct sizes *s = &((struct options *) into)->sizes;

    s->factor = 10;
    return cli_real(value, 0, 0.5, &value, &s->skewed) &&
           ('\0' == *value || (':' == *value && cli_real(value + 1, 0, 1e6, NULL, &s->factor)));
}

static bool take_latency(void *into, const char *value)
{
    double *hop = ((struct options *) into)->machine.hop;
    int n = take_list(value, 0, 1e9, hop, GR_MAX_DIMS);

    for (int d = n; d > 0 && d < GR_MAX_DIMS; d++) {
        hop[d] = hop[d - 1];
    }
    return n > 0;
}

#define AT(field) .at = offsetof(struct options, field)

/* The first names of `algorithms`. */
static const enum gr_algo alltoalls[] = {GR_ALGO_SUH_SHIN, GR_ALGO_ORDERED};
enum { NALLTOALLS = sizeof(alltoalls) / sizeof(alltoalls[0]) };

static const char *const algorithms[] = {
    "suh-shin", "dimension-ordered", "ring", "tree", "bucket", "swing",
    "mst",      "dissemination",     NULL};
static const char *const models[] = {"fifo", "packets", NULL};
static const char *const formats[] = {"text", "csv", "json", NULL};
static const char *const syncs[] = {"around", "shortest", NULL};

static const struct cli_option rows[] = {
    {'t', "torus", CLI_TAKE, .take = take_torus, .allowed = "1 to 4 extents, as in 16x16x16"},
    {0, "mesh", CLI_BITS, AT(mesh), .most = GR_MAX_DIMS - 1,
     .allowed = "numbers of dimensions, from 0 on"},
    {'l', "latency", CLI_TAKE, .take = take_latency, .allowed = "1 to 4 times in nanoseconds"},
    {'b', "bandwidth", CLI_REAL, AT(machine.bandwidth), .least = 1e-6, .most = 1e6},
    {'m', "bytes", CLI_TAKE, .take = take_bytes,
     .allowed = "MIN:MAX, or a list of up to 64 numbers from 0.001 to 1e12"},
    {0, "chunks", CLI_INT, AT(chunks), .least = 1, .most = 65536},
    {0, "uneven", CLI_REAL, AT(sizes.uneven), .most = 0.999},
    {0, "skewed", CLI_TAKE, .take = take_skewed,
     .allowed = "a share from 0 to 0.5, or SHARE:FACTOR"},
    {0, "schemes", CLI_BITS, AT(schemes), .least = 1, .most = 3, .allowed = "1 to 3"},
    {0, "model", CLI_WORD, AT(packets), .words = models},
    {0, "packet", CLI_REAL, AT(packet), .least = 1, .most = 1e9},
    {0, "jitter", CLI_REAL, AT(noise.jitter), .most = 1e9},
    {0, "latency-error", CLI_REAL, AT(noise.latency_error), .most = 1},
    {0, "skew", CLI_REAL, AT(noise.skew), .most = 1e9},
    {0, "enter", CLI_REAL, AT(noise.enter), .most = 1e9},
    {0, "guard", CLI_REAL, AT(noise.guard), .most = 1e9},
    {0, "sync", CLI_WORD, AT(noise.shortest), .words = syncs},
    {0, "seed", CLI_INT, AT(sizes.seed), .most = UINT32_MAX},
    {0, "overhead", CLI_REAL, AT(overhead), .most = 1e9},
    {'o', NULL, CLI_WORD, AT(format), .words = formats},
    {'f', NULL, CLI_TEXT, AT(file)},
    {0, "progress", CLI_FLAG, AT(progress)},
    {0, "figure", CLI_SET, AT(task), .least = TASK_FIGURE},
    {0, "sync-packets", CLI_SET, AT(task), .least = TASK_SYNC_PACKETS},
    {0, "project", CLI_SET, AT(task), .least = TASK_PROJECT},
    {'h', "help", CLI_HELP, .allowed = usage},
};

/* What concerns several options together. algorithm: NULL: not given. */
static void check_options(struct options *o, const char *algorithm)
{
    struct gr_torus *t = &o->machine.torus;
    int k;

    if (0 != o->mesh >> t->ndims) {
        errx(EXIT_USAGE, "--mesh: the dimensions of %s are 0 to %d", torus_text(t), t->ndims - 1);
    }
    t->mesh = o->mesh;
    o->algo =
        gr_algo_fits(GR_ALGO_SUH_SHIN, gr_torus_size(t), t) ? GR_ALGO_SUH_SHIN : GR_ALGO_ORDERED;
    if (NULL != algorithm) {
        k = cli_word_or_exit("ALGORITHM", algorithm, algorithms);
        o->source = k < NALLTOALLS ? -1 : k - NALLTOALLS;
        o->algo = k < NALLTOALLS ? alltoalls[k] : o->algo;
    }
    if (o->source >= 0 && (TASK_FIGURE == o->task || o->sizes.uneven > 0 || o->sizes.skewed > 0)) {
        errx(EXIT_USAGE,
             "%s has blocks of one size: --figure, --uneven and --skewed are for an Alltoall",
             algorithm);
    }
    if (!gr_algo_fits(o->algo, gr_torus_size(t), t)) {
        errx(EXIT_USAGE,
             "suh-shin needs rings whose extents are 1, 2 or multiples of 4; %s is for "
             "dimension-ordered",
             torus_text(t));
    }
    if (gr_torus_size(t) > 1 << 20) {
        errx(EXIT_USAGE, "%s has %d nodes; 1048576 are possible", torus_text(t), gr_torus_size(t));
    }
}

void options_parse(struct options *o, int argc, char **argv)
{
    const struct cli_table table = {rows, sizeof(rows) / sizeof(rows[0]), o};

    *o = (struct options) {.machine = {.bandwidth = 16},
                           .overhead = 500,
                           .chunks = 16,
                           .source = -1,
                           .sizes = {.seed = 1},
                           .schemes = 14,
                           .packet = 2048,
                           .progress = isatty(2)};
    gr_torus_parse("16x16x16", &o->machine.torus);
    take_latency(o, "21,25,70");
    cli_parse_or_exit(&table, argc, argv);
    if (argc - optind > 1) {
        errx(EXIT_USAGE, "one algorithm, not \"%s\" too (try -h)", argv[optind + 1]);
    }
    check_options(o, argv[optind]);
    o->noise.seed = o->sizes.seed;
    o->model = o->packets ? &model_packets : &model_fifo;
    if (0 == o->nbytes) {
        take_bytes(o, TASK_PROJECT != o->task && SOURCE_DISSEMINATION == o->source ? "1"
                      : TASK_PROJECT == o->task || o->source >= 0
                          ? "64,1k,16k,64k,256k,1M,4M,16M,64M,256M,1G"
                          : "1:64k");
    }
}
