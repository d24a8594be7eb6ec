/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_top: in which collective calls of gpuring the ranks on this node wait, and for whom
 * (link/public.h). It only reads; no MPI.
 */
#include "base/system.h"
#include "rows.h"

#include "common/cli.h"

#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
    int *pids, npids;
    double seconds;
    bool all;
};

static const char usage[] =
    "usage: gpuring_top [PID...] [-a] [-s SECONDS]\n"
    "Print in which collective calls of gpuring the ranks on this node wait, and for which ranks.\n"
    "\n"
    "  PID          processes (all of this user; as root, all)\n"
    "  -a           also communicators on which no rank waits\n"
    "  -s SECONDS   print again after so many seconds, until there are no ranks (once); then also\n"
    "               how long a rank that does not wait has begun no call\n"
    "  -h, --help   print this text\n"
    "\n"
    "Ranks on other nodes are not seen: run gpuring_top there, too. The exit status is 1 where "
    "there\n"
    "are no ranks.\n";

static int take_pid(const char *text)
{
    char *end;
    long pid = strtol(text, &end, 10);

    if (end == text || '\0' != *end || pid < 1 || pid > 1 << 30) {
        errx(EXIT_USAGE, "%s is no process; allowed: a process id", text);
    }
    return (int) pid;
}

static void parse(struct options *o, int argc, char **argv)
{
    static const struct cli_option rows[] = {
        {'a', NULL, CLI_FLAG, .at = offsetof(struct options, all)},
        {'s', NULL, CLI_REAL, .at = offsetof(struct options, seconds), .least = 0.1, .most = 1e6},
        {'h', "help", CLI_HELP, .allowed = usage},
    };
    const struct cli_table table = {rows, sizeof(rows) / sizeof(rows[0]), o};
    char error[CLI_ERROR_CHARS];
    int k;

    if (0 != cli_parse(&table, 1, argc, argv, error)) {
        errx(EXIT_USAGE, "%s", error);
    }
    o->npids = argc - optind;
    o->pids = calloc((size_t) o->npids + 1, sizeof(*o->pids));
    if (NULL == o->pids) {
        err(EXIT_WRONG, NULL);
    }
    for (k = 0; k < o->npids; k++) {
        o->pids[k] = take_pid(argv[optind + k]);
    }
}

static void print_line(const char *text)
{
    puts(text);
}

/* before: rows of the last look, or none; becomes those of this one. False: there are no ranks. */
static bool print_once(const struct options *o, struct gr_public_rows *before)
{
    struct gr_public_rows rows = gr_public_read(o->pids, o->npids);
    double now = gr_now();

    if (o->seconds > 0) {
        rows_compare(&rows, before, now);
    }
    rows_print(&rows, now, o->all, print_line);
    fflush(stdout);
    free(before->row);
    *before = rows;
    return rows.n > 0;
}

int main(int argc, char **argv)
{
    struct options o = {.seconds = 0};
    struct gr_public_rows rows = {NULL, 0};
    bool seen;

    parse(&o, argc, argv);
    seen = print_once(&o, &rows);
    if (!seen) {
        errx(EXIT_WRONG,
             "no ranks with gpuring to be seen here: none of this user%s has a "
             "communicator that gpuring has taken",
             o.npids > 0 ? " among these" : "");
    }
    while (o.seconds > 0 && seen) {
        usleep((useconds_t) (o.seconds * 1e6));
        puts("");
        seen = print_once(&o, &rows);
    }
    free(rows.row);
    free(o.pids);
    return EXIT_RIGHT;
}
