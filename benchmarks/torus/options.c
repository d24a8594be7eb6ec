/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of options.h. */
#include "options.h"
#include "source.h"

#include <getopt.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: torus_sim [ALGORITHM] [options]        simulate an Alltoall, or an allreduce, on a "
    "torus\n"
    "       torus_sim --figure [options]           the published evaluation, and the difference of "
    "the schemes\n"
    "       torus_sim --sync-packets [options]     packets of a sync, by dimension and all to all\n"
    "       torus_sim --project [options]          an allreduce by ring, tree, bucket and Swing, "
    "step by step\n\n"
    "ALGORITHM: Alltoall by suh-shin or dimension-ordered (default: the first that suits the "
    "torus);\n"
    "           allreduce by ring, tree, bucket or swing; bcast by mst\n"
    "  -t, --torus AxBxC     extents, 1 to 4 of them (16x16x16)\n"
    "      --mesh D,...      dimensions (0, 1, ...) without a wrap-around link\n"
    "  -l, --latency NS,...  from neighbour to neighbour, by dimension (21,25,70); the last holds "
    "for the rest\n"
    "  -b, --bandwidth GB/s  of a link, each way (16)\n"
    "  -m, --bytes LIST      mean bytes per pair: 1,8,64 or 1:64k, which doubles (1:64k); suffixes "
    "k M G.\n"
    "                        Not of an Alltoall: bytes of the vector\n"
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
    "      --overhead NS     --project: what each message costs besides (500)\n"
    "  -o FORMAT             text (default) csv json      -f FILE  write there, not to stdout\n"
    "      --progress        say how far it is, also where stderr is no terminal\n"
    "  -h, --help            this text\n";

void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("torus_sim: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

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

/* A number of at least `least` and at most `most`; *rest: what follows it, NULL: nothing may. */
static double number(const char *what, const char *text, double least, double most,
                     const char **rest)
{
    char *end;
    double v = strtod(text, &end);

    if (end > text && NULL != strchr("kMG", *end) && '\0' != *end) {
        v *= 'k' == *end ? 1024 : 'M' == *end ? 1048576 : 1073741824;
        end++;
    }
    if (end == text || !(v >= least && v <= most) || (NULL == rest && '\0' != *end)) {
        die("%s must be a number from %g to %g, not \"%s\"", what, least, most, text);
    }
    if (NULL != rest) {
        *rest = end;
    }
    return v;
}

/* Numbers between commas; how many. */
static int numbers(const char *what, const char *text, double least, double most, double *list,
                   int room)
{
    int n = 0;

    for (;; text++) {
        if (n == room) {
            die("%s: more than %d numbers", what, room);
        }
        list[n++] = number(what, text, least, most, &text);
        if ('\0' == *text) {
            return n;
        }
        if (',' != *text) {
            die("%s: \"%s\" where a comma was expected", what, text);
        }
    }
}

static void parse_bytes(struct options *o, const char *text)
{
    const char *rest = text;
    double v, most;

    if (NULL == strchr(text, ':')) {
        o->nbytes = numbers("--bytes", text, 1e-3, 1e12, o->bytes, MAX_SIZES);
        return;
    }
    v = number("--bytes", text, 1e-3, 1e12, &rest);
    if (':' != *rest) {
        die("--bytes must be a list, or MIN:MAX, not \"%s\"", text);
    }
    most = number("--bytes", rest + 1, v, 1e12, NULL);
    for (o->nbytes = 0; v <= most && o->nbytes < MAX_SIZES; v *= 2) {
        o->bytes[o->nbytes++] = v;
    }
}

static void parse_skewed(struct options *o, const char *text)
{
    o->sizes.factor = 10;
    o->sizes.skewed = number("--skewed", text, 0, 0.5, &text);
    if (':' == *text) {
        o->sizes.factor = number("--skewed's factor", text + 1, 0, 1e6, NULL);
    } else if ('\0' != *text) {
        die("--skewed must be a share, or SHARE:FACTOR; \"%s\" is too much", text);
    }
}

static void parse_latency(struct machine *m, const char *text)
{
    int n = numbers("--latency", text, 0, 1e9, m->hop, GR_MAX_DIMS);

    for (; n < GR_MAX_DIMS; n++) {
        m->hop[n] = m->hop[n - 1];
    }
}

/* Which of the words it is. */
static int word_of(const char *what, const char *text, const char *const *words, int n)
{
    char all[120] = "";
    int k;

    for (k = 0; k < n; k++) {
        if (0 == strcmp(text, words[k])) {
            return k;
        }
        snprintf(all + strlen(all), sizeof(all) - strlen(all), " %s", words[k]);
    }
    die("unknown %s \"%s\"; there are:%s", what, text, all);
}

static void parse_schemes(struct options *o, const char *text)
{
    double list[3];
    int n = numbers("--schemes", text, 1, 3, list, 3), k;

    for (o->schemes = 0, k = 0; k < n; k++) {
        o->schemes |= 1u << (int) list[k];
    }
}

enum {
    OPT_MESH = 256,
    OPT_UNEVEN,
    OPT_SKEWED,
    OPT_SCHEMES,
    OPT_MODEL,
    OPT_PACKET,
    OPT_JITTER,
    OPT_ERROR,
    OPT_SKEW,
    OPT_ENTER,
    OPT_GUARD,
    OPT_SYNC,
    OPT_SEED,
    OPT_PROGRESS,
    OPT_FIGURE,
    OPT_PACKETS,
    OPT_PROJECT,
    OPT_OVERHEAD,
    OPT_CHUNKS
};

static const struct option longs[] = {{"torus", 1, NULL, 't'},
                                      {"latency", 1, NULL, 'l'},
                                      {"bandwidth", 1, NULL, 'b'},
                                      {"bytes", 1, NULL, 'm'},
                                      {"mesh", 1, NULL, OPT_MESH},
                                      {"uneven", 1, NULL, OPT_UNEVEN},
                                      {"skewed", 1, NULL, OPT_SKEWED},
                                      {"schemes", 1, NULL, OPT_SCHEMES},
                                      {"model", 1, NULL, OPT_MODEL},
                                      {"packet", 1, NULL, OPT_PACKET},
                                      {"jitter", 1, NULL, OPT_JITTER},
                                      {"latency-error", 1, NULL, OPT_ERROR},
                                      {"skew", 1, NULL, OPT_SKEW},
                                      {"enter", 1, NULL, OPT_ENTER},
                                      {"guard", 1, NULL, OPT_GUARD},
                                      {"sync", 1, NULL, OPT_SYNC},
                                      {"seed", 1, NULL, OPT_SEED},
                                      {"progress", 0, NULL, OPT_PROGRESS},
                                      {"figure", 0, NULL, OPT_FIGURE},
                                      {"sync-packets", 0, NULL, OPT_PACKETS},
                                      {"project", 0, NULL, OPT_PROJECT},
                                      {"overhead", 1, NULL, OPT_OVERHEAD},
                                      {"chunks", 1, NULL, OPT_CHUNKS},
                                      {"help", 0, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

static const char *const model_names[] = {"fifo", "packets"};
static const char *const format_names[] = {"text", "csv", "json"};
static const char *const sync_names[] = {"around", "shortest"};

/* Options whose value is a number. */
static const struct {
    int option;
    const char *name;
    double least, most;
    size_t at; /* of the double in struct options */
} number_options[] = {
    {'b', "--bandwidth", 1e-6, 1e6, offsetof(struct options, machine.bandwidth)},
    {OPT_UNEVEN, "--uneven", 0, 0.999, offsetof(struct options, sizes.uneven)},
    {OPT_PACKET, "--packet", 1, 1e9, offsetof(struct options, packet)},
    {OPT_JITTER, "--jitter", 0, 1e9, offsetof(struct options, noise.jitter)},
    {OPT_ERROR, "--latency-error", 0, 1, offsetof(struct options, noise.latency_error)},
    {OPT_SKEW, "--skew", 0, 1e9, offsetof(struct options, noise.skew)},
    {OPT_ENTER, "--enter", 0, 1e9, offsetof(struct options, noise.enter)},
    {OPT_GUARD, "--guard", 0, 1e9, offsetof(struct options, noise.guard)},
    {OPT_OVERHEAD, "--overhead", 0, 1e9, offsetof(struct options, overhead)},
};

static void parse_number(struct options *o, int option, const char *text)
{
    for (size_t k = 0; k < sizeof(number_options) / sizeof(number_options[0]); k++) {
        if (option == number_options[k].option) {
            *(double *) ((char *) o + number_options[k].at) =
                number(number_options[k].name, text, number_options[k].least,
                       number_options[k].most, NULL);
        }
    }
}

static void parse_option(struct options *o, int c, const char *text, const char **mesh)
{
    switch (c) {
    case 't':
        if (gr_torus_parse(text, &o->machine.torus) < 0 || 0 == o->machine.torus.ndims) {
            die("--torus must be 1 to %d extents, as in 16x16x16, not \"%s\"", GR_MAX_DIMS, text);
        }
        o->torus_given = 1;
        break;
    case OPT_MESH:
        *mesh = text;
        break;
    case 'l':
        parse_latency(&o->machine, text);
        break;
    case 'm':
        parse_bytes(o, text);
        break;
    case OPT_SKEWED:
        parse_skewed(o, text);
        break;
    case OPT_SCHEMES:
        parse_schemes(o, text);
        break;
    case OPT_MODEL:
        o->model = 0 == word_of("model", text, model_names, 2) ? &model_fifo : &model_packets;
        break;
    case OPT_SEED:
        o->sizes.seed = o->noise.seed = (uint32_t) number("--seed", text, 0, 4294967295.0, NULL);
        break;
    case 'o':
        o->format = (enum format) word_of("format", text, format_names, 3);
        break;
    case 'f':
        o->file = text;
        break;
    case OPT_PROGRESS:
        o->progress = 1;
        break;
    case OPT_FIGURE:
        o->task = TASK_FIGURE;
        break;
    case OPT_PACKETS:
        o->task = TASK_SYNC_PACKETS;
        break;
    case OPT_PROJECT:
        o->task = TASK_PROJECT;
        break;
    case OPT_CHUNKS:
        o->chunks = (uint32_t) number("--chunks", text, 1, 65536, NULL);
        break;
    case OPT_SYNC:
        o->noise.shortest = word_of("way of a sync", text, sync_names, 2);
        break;
    default:
        parse_number(o, c, text);
    }
}

/* What concerns several options together. */
static void check_options(struct options *o, const char *mesh, const char *algorithm)
{
    static const char *const names[] = {
        "suh-shin", "dimension-ordered", "ring", "tree", "bucket", "swing", "mst"};
    double list[GR_MAX_DIMS];
    struct gr_torus *t = &o->machine.torus;
    int n, k;

    if (NULL != mesh) {
        n = numbers("--mesh", mesh, 0, t->ndims - 1, list, GR_MAX_DIMS);
        for (k = 0; k < n; k++) {
            t->mesh |= 1u << (int) list[k];
        }
    }
    o->algo =
        gr_alltoall_suits(GR_ALLTOALL_SUH_SHIN, t) ? GR_ALLTOALL_SUH_SHIN : GR_ALLTOALL_ORDERED;
    if (NULL != algorithm) {
        k = word_of("algorithm", algorithm, names, GR_NALLTOALLS + SOURCE_ALGOS);
        o->source = k < GR_NALLTOALLS ? -1 : k - GR_NALLTOALLS;
        o->algo = k < GR_NALLTOALLS ? (enum gr_alltoall_algo) k : o->algo;
    }
    if (o->source >= 0 && (TASK_FIGURE == o->task || o->sizes.uneven > 0 || o->sizes.skewed > 0)) {
        die("%s has blocks of one size: --figure, --uneven and --skewed are for an Alltoall",
            algorithm);
    }
    if (!gr_alltoall_suits(o->algo, t)) {
        die("suh-shin needs rings whose extents are 1, 2 or multiples of 4; %s is for "
            "dimension-ordered",
            torus_text(t));
    }
    if (gr_torus_size(t) > 1 << 20) {
        die("%s has %d nodes; 1048576 are possible", torus_text(t), gr_torus_size(t));
    }
}

void options_parse(struct options *o, int argc, char **argv)
{
    const char *mesh = NULL;
    int c;

    memset(o, 0, sizeof(*o));
    gr_torus_parse("16x16x16", &o->machine.torus);
    parse_latency(&o->machine, "21,25,70");
    o->machine.bandwidth = 16;
    o->overhead = 500;
    o->chunks = 16;
    o->source = -1;
    o->sizes.seed = o->noise.seed = 1;
    o->schemes = 14;
    o->model = &model_fifo;
    o->packet = 2048;
    o->progress = isatty(2);
    opterr = 0;
    while (-1 != (c = getopt_long(argc, argv, ":t:l:b:m:o:f:h", longs, NULL))) {
        if ('h' == c) {
            fputs(usage, stdout);
            exit(0);
        }
        if (':' == c) {
            die("option %s needs a value (try -h)", argv[optind - 1]);
        }
        if ('?' == c) {
            die("unknown option %s (try -h)", argv[optind - 1]);
        }
        parse_option(o, c, optarg, &mesh);
    }
    if (argc - optind > 1) {
        die("one algorithm, not \"%s\" too (try -h)", argv[optind + 1]);
    }
    check_options(o, mesh, argv[optind]);
    if (0 == o->nbytes) {
        parse_bytes(o, TASK_PROJECT == o->task || o->source >= 0
                           ? "64,1k,16k,64k,256k,1M,4M,16M,64M,256M,1G"
                           : "1:64k");
    }
}
