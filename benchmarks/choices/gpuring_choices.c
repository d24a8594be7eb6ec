/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_choices: what the cost model chooses between devices, as a table.
 *
 *      gpuring_choices [COLLECTIVE...] [-n RANKS,...] [-p PROTOCOL] [-s SIZE]
 *
 * A row per path and number of ranks. It lists the sizes S from which on another algorithm or
 * protocol is chosen, with channels and threads. The component chooses the same with its default
 * parameters. No MPI.
 */
#include "exec/gpu/args.h"
#include "tune/select.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The component's defaults (mpi/params.c). */
enum { CHANNELS = 16, SLOT_BYTES = 131072, MOST_RANKS = 16 };

struct options {
    int colls[GR_NCOLLS], ncolls;
    int ranks[MOST_RANKS], nranks;
    int protocol;
    size_t most;
};

static void die(const char *format, const char *what)
{
    fprintf(stderr, "gpuring_choices: ");
    fprintf(stderr, format, what);
    fprintf(stderr, " (try -h)\n");
    exit(2);
}

static void help(void)
{
    puts(
        "usage: gpuring_choices [COLLECTIVE...] [-n RANKS,...] [-p PROTOCOL] [-s SIZE]\n"
        "\n"
        "  COLLECTIVE      allreduce allgather reduce_scatter bcast reduce alltoall (all of them)\n"
        "  -n RANKS,...    numbers of ranks, 2 or more each (2,4,8)\n"
        "  -p PROTOCOL     simple, ll or ll128, as coll_gpuring_protocol forces it (auto)\n"
        "  -s SIZE         bytes of S at most (1073741824)");
    exit(0);
}

static void parse_ranks(struct options *o, const char *text)
{
    char *end;

    for (o->nranks = 0;; text = end + 1) {
        long n = strtol(text, &end, 10);

        if (end == text || n < 2 || n > 65536 || ('\0' != *end && ',' != *end) ||
            MOST_RANKS == o->nranks) {
            die("-n %s: not a list of up to 16 numbers of ranks", text);
        }
        o->ranks[o->nranks++] = (int) n;
        if ('\0' == *end) {
            return;
        }
    }
}

static void parse(struct options *o, int argc, char **argv)
{
    char *end;
    int opt, k;

    *o = (struct options) {
        .ranks = {2, 4, 8}, .nranks = 3, .protocol = -1, .most = (size_t) 1 << 30};
    while (-1 != (opt = getopt(argc, argv, "hn:p:s:"))) {
        switch (opt) {
        case 'h':
            help();
            break;
        case 'n':
            parse_ranks(o, optarg);
            break;
        case 'p':
            for (k = 0; k < GR_NPROTOCOLS && 0 != strcmp(optarg, gr_protocol_name(k)); k++) {
            }
            if (GR_NPROTOCOLS == k) {
                die("-p %s: not simple, ll or ll128", optarg);
            }
            o->protocol = k;
            break;
        case 's':
            o->most = strtoull(optarg, &end, 10);
            if (end == optarg || '\0' != *end || 0 == o->most) {
                die("-s %s: not a number of bytes", optarg);
            }
            break;
        default:
            die("%s", "unknown option");
        }
    }
    for (; optind < argc; optind++) {
        for (k = 0; k < GR_NCOLLS && 0 != strcmp(argv[optind], gr_coll_name((enum gr_coll) k));
             k++) {
        }
        if (GR_NCOLLS == k || GR_NCOLLS == o->ncolls) {
            die("%s: no such collective, or too many", argv[optind]);
        }
        o->colls[o->ncolls++] = k;
    }
    for (k = 0; 0 == o->ncolls && k < GR_NCOLLS; k++) {
        o->colls[k] = k;
    }
    o->ncolls = 0 == o->ncolls ? GR_NCOLLS : o->ncolls;
}

static struct gr_choice choose(const struct options *o, int coll, enum gr_path path, int p,
                               size_t bytes)
{
    struct gr_select_args q = {
        .coll = (enum gr_coll) coll,
        .p = p,
        .bytes = bytes,
        .forced = -1,
        .nchannels = CHANNELS,
        .slot_bytes = SLOT_BYTES,
        .post_bytes = 1,
        .protocol = o->protocol,
        .threads = GR_LINE_UNITS,
        .line_bytes = {[GR_PROTOCOL_LL] = gr_line_bytes(GR_PROTOCOL_LL, GR_LINE_UNITS, 1)},
    };

    if (GR_PATH_NVLINK == path) {
        q.line_bytes[GR_PROTOCOL_LL128] = gr_line_bytes(GR_PROTOCOL_LL128, GR_LINE_UNITS, 1);
    }
    return gr_select(&gr_costs_device[path], &q);
}

static const char *short_size(size_t bytes, char *text, size_t room)
{
    static const char *const units[] = {"", "K", "M", "G", "T"};
    int k;

    for (k = 0; k < 4 && 0 == bytes % 1024 && bytes > 0; k++) {
        bytes /= 1024;
    }
    snprintf(text, room, "%zu%s", bytes, units[k]);
    return text;
}

/* Sizes are powers of two; those are printed whose choice differs from that of the size before. */
static void print_row(const struct options *o, int coll, enum gr_path path, int p)
{
    struct gr_choice last = {.way = -1}, c;
    char size[32];
    size_t bytes;

    printf("%-15s %-12s %5d ", gr_coll_name((enum gr_coll) coll), gr_path_name(path), p);
    for (bytes = 8; bytes <= o->most; bytes *= 2) {
        c = choose(o, coll, path, p, bytes);
        if (c.way != last.way || c.protocol != last.protocol) {
            printf("  %s: %s %s %ux%u", short_size(bytes, size, sizeof(size)), gr_way_name(c.way),
                   gr_protocol_name(c.protocol), c.nchannels, c.threads);
        }
        last = c;
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    struct options o;
    int c, n, path;

    parse(&o, argc, argv);
    printf("# from S bytes on: algorithm, protocol, channels x data threads (at that size; more "
           "come with more bytes)\n"
           "# %-13s %-12s %5s\n",
           "collective", "links", "ranks");
    for (c = 0; c < o.ncolls; c++) {
        for (path = 0; path < GR_NPATHS_NEAR; path++) {
            for (n = 0; n < o.nranks; n++) {
                print_row(&o, o.colls[c], (enum gr_path) path, o.ranks[n]);
            }
        }
    }
    return 0;
}
