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
#include "sched/sched.h"
#include "tune/select.h"

#include "common/cli.h"

#include <err.h>
#include <getopt.h>
#include <stdio.h>

enum { NCOLLS = GR_COLL_BARRIER }; /* the last one: it has no sizes */

/* The component's defaults (mpi/params.c). */
enum { CHANNELS = 16, SLOT_BYTES = 131072, MOST_RANKS = 16 };

struct options {
    int colls[NCOLLS], ncolls;
    int ranks[MOST_RANKS], nranks;
    int protocol;
    size_t most;
};

static const char usage[] =
    "usage: gpuring_choices [COLLECTIVE...] [-n RANKS,...] [-p PROTOCOL] [-s SIZE]\n"
    "Print what the cost model chooses between devices, from which size S on.\n"
    "\n"
    "  COLLECTIVE      allreduce allgather reduce_scatter bcast reduce alltoall (all of them)\n"
    "  -n RANKS,...    numbers of ranks, 2 or more each (2,4,8)\n"
    "  -p PROTOCOL     simple, ll or ll128, as coll_gpuring_protocol forces it (auto)\n"
    "  -s SIZE         bytes of S at most (1073741824)\n";

static bool take_ranks(void *into, const char *value)
{
    struct options *o = into;

    o->nranks = cli_list(value, 2, 65536, o->ranks, MOST_RANKS);
    return o->nranks > 0;
}

#define AT(field) .at = offsetof(struct options, field)

static void parse(struct options *o, int argc, char **argv)
{
    static const char *colls[NCOLLS + 1], *protocols[GR_NPROTOCOLS + 1];
    static const struct cli_option rows[] = {
        {'n', NULL, CLI_TAKE, .take = take_ranks,
         .allowed = "N,N,...: up to 16 numbers of ranks, each from 2 to 65536"},
        {'p', NULL, CLI_WORD, AT(protocol), .words = protocols},
        {'s', NULL, CLI_SIZE, AT(most), .least = 1, .most = 1L << 60},
        {'h', "help", CLI_HELP, .allowed = usage},
    };
    const struct cli_table table = {rows, sizeof(rows) / sizeof(rows[0]), o};
    int k;

    *o = (struct options) {
        .ranks = {2, 4, 8}, .nranks = 3, .protocol = -1, .most = (size_t) 1 << 30};
    for (k = 0; k < NCOLLS; k++) {
        o->colls[k] = k;
        colls[k] = gr_coll_name((enum gr_coll) k);
    }
    for (k = 0; k < GR_NPROTOCOLS; k++) {
        protocols[k] = gr_protocol_name(k);
    }
    cli_parse_or_exit(&table, argc, argv);
    for (; optind < argc; optind++) {
        if (NCOLLS == o->ncolls) {
            errx(EXIT_USAGE, "%s: too many collectives", argv[optind]);
        }
        o->colls[o->ncolls++] = cli_word_or_exit("COLLECTIVE", argv[optind], colls);
    }
    o->ncolls = 0 == o->ncolls ? NCOLLS : o->ncolls;
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
    struct gr_choice last = {.algo = -1}, c;
    char size[32];
    size_t bytes;

    printf("%-15s %-12s %5d ", gr_coll_name((enum gr_coll) coll), gr_path_name(path), p);
    for (bytes = 8; bytes <= o->most; bytes *= 2) {
        c = choose(o, coll, path, p, bytes);
        if (c.algo != last.algo || c.protocol != last.protocol) {
            printf("  %s: %s %s %ux%u", short_size(bytes, size, sizeof(size)), gr_use_name(c.algo),
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
