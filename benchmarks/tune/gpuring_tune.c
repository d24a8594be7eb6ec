/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_tune: measures the constants of the cost model inside a node beforehand, with the
 * component's own measuring code, and writes them to a tuning file, which the component uses on
 * machines of the same kind in the place of its short measurement. No MPI.
 *
 *      gpuring_tune [-o FILE] [-t SECONDS] [-q]
 *      gpuring_tune -c FILE
 *
 * Distances take turns, round by round, so that a disturbance hits them all; the median of the
 * rounds counts, each of which is the best of several.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "base/errors.h"
#include "exec/reduce.h"
#include "topo/cpus.h"
#include "tune/measure.h"
#include "tune/tune_file.h"

#include "common/cli.h"
#include "common/clock.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Rounds of a distance, and how many are needed for a median. */
enum { MOST_ROUNDS = 2000, LEAST_ROUNDS = 3 };

/* Seconds after which one round is given up. */
#define ROUND_LIMIT 5.0

struct options {
    const char *out;   /* file; "-": standard output; NULL: the user's place */
    const char *check; /* file to be checked; NULL: measure */
    double seconds;
    bool quiet;
};

static const char usage[] =
    "usage: gpuring_tune [-o FILE] [-t SECONDS] [-q]\n"
    "       gpuring_tune -c FILE\n"
    "\n"
    "Measures how fast processes of this node exchange data, and writes a tuning file for\n"
    "coll_gpuring_tune_file. Let nothing else run.\n"
    "\n"
    "  -o FILE         where to; - is standard output ($HOME/.gpuring/KIND.tune, which gpuring\n"
    "                  finds by itself; KIND names the processors)\n"
    "  -t SECONDS      how long to measure (60)\n"
    "  -q              show no progress\n"
    "  -c FILE         measure nothing: say whether gpuring would use the file here\n";

#define AT(field) .at = offsetof(struct options, field)

static void parse(struct options *o, int argc, char **argv)
{
    static const struct cli_option rows[] = {
        {'o', NULL, CLI_TEXT, AT(out)},
        {'t', NULL, CLI_REAL, AT(seconds), .least = 0, .most = 86400},
        {'q', NULL, CLI_FLAG, AT(quiet)},
        {'c', NULL, CLI_TEXT, AT(check)},
        {'h', "help", CLI_HELP, .allowed = usage},
    };
    const struct cli_table table = {rows, sizeof(rows) / sizeof(rows[0]), o};

    *o = (struct options) {.seconds = 60};
    cli_parse_or_exit(&table, argc, argv);
    if (optind < argc) {
        errx(EXIT_USAGE, "%s: not an option (-h)", argv[optind]);
    }
}

/* Whether the component would use the file here. */
static int check(const char *path)
{
    struct gr_machine_kind kind;
    struct gr_tune_file file;
    char why[512], text[1400];
    int at, row, rc;

    gr_machine_kind_find("", &kind);
    rc = gr_tune_file_read(path, &kind, &file, why, sizeof(why));
    if (0 != rc) {
        errx(EXIT_WRONG, "%s is not used here: %s", path, GR_ERR_SYS == rc ? strerror(errno) : why);
    }
    printf("%s is used here; made %s, version %s\n", path, file.date, file.version);
    if ('\0' != file.constants.device[0]) {
        printf("device: %s; its constants are used between such devices\n", file.constants.device);
    }
    for (at = 0; at < GR_RELATIONS; at++) {
        for (row = 0; row < GR_MACHINE_ROWS && !gr_machine_knows(&file.constants.at[at], row);
             row++) {
        }
        if (row < GR_MACHINE_ROWS) {
            printf("%s: %s\n", gr_relation_name(at),
                   gr_constants_text(&file.constants, at, GR_FROM_BUILD, NULL, text, sizeof(text)));
        }
    }
    return EXIT_RIGHT;
}

/* ---- measuring ---- */

struct distance {
    int partner;               /* processor; -1: there is none so far away */
    int n;                     /* rounds done */
    struct gr_machine *rounds; /* [MOST_ROUNDS] */
};

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *) a, y = *(const float *) b;

    return (x > y) - (x < y);
}

/* Value by value; all values of a struct gr_machine are floats. */
static struct gr_machine median_of(const struct distance *d)
{
    enum { VALUES = sizeof(struct gr_machine) / sizeof(float) };
    static float sorted[MOST_ROUNDS];
    float medians[VALUES];
    struct gr_machine m;
    int v, k;

    for (v = 0; v < VALUES; v++) {
        for (k = 0; k < d->n; k++) {
            memcpy(&sorted[k], (const char *) &d->rounds[k] + (size_t) v * sizeof(float),
                   sizeof(float));
        }
        qsort(sorted, (size_t) d->n, sizeof(sorted[0]), compare_floats);
        medians[v] = sorted[d->n / 2];
    }
    memcpy(&m, medians, sizeof(m));
    return m;
}

static void show(const struct options *o, int round, double share)
{
    static int tenths = -1;
    bool terminal = isatty(STDERR_FILENO);

    if (o->quiet || (!terminal && (int) (10 * share) == tenths)) {
        return;
    }
    tenths = (int) (10 * share);
    fprintf(stderr, "%sgpuring_tune: %3.0f%%, round %d%s", terminal ? "\r" : "", 100 * share, round,
            terminal && share < 1 ? "" : "\n");
}

/* A round of one distance; ends the program where it cannot be measured. */
static void measure_round(int cpu, struct distance *d)
{
    struct gr_measure_args args = {.cpus = {cpu, d->partner},
                                   .effort = GR_EFFORT_THOROUGH,
                                   .limit = ROUND_LIMIT,
                                   .sum = gr_reduce_find(GR_TYPE_F32, GR_OP_SUM)};
    int rc = gr_machine_measure(&args, &d->rounds[d->n]);

    if (GR_ERR_NOT_SUPPORTED == rc || GR_ERR_NOMEM == rc) {
        errx(EXIT_WRONG, "processors %d and %d: %s", cpu, d->partner,
             GR_ERR_NOMEM == rc ? "no memory" : "threads must not be bound to them");
    }
    d->n += 0 == rc; /* else the machine was busy */
}

static void measure_all(const struct options *o, int cpu, struct distance all[GR_CPU_DISTANCES])
{
    double start = clock_us(), share = 0;
    int d, round = 0, least = 0;

    while (round < MOST_ROUNDS && (share < 1 || least < LEAST_ROUNDS)) {
        round++;
        least = MOST_ROUNDS;
        for (d = 0; d < GR_CPU_DISTANCES; d++) {
            if (all[d].partner >= 0) {
                measure_round(cpu, &all[d]);
                least = all[d].n < least ? all[d].n : least;
            }
        }
        share = o->seconds > 0 ? (clock_us() - start) * 1e-6 / o->seconds : 1;
        share = share < 1 ? share : 1;
        show(o, round, share);
        if (share >= 1 && round >= 10 * LEAST_ROUNDS) {
            break; /* it would never suffice */
        }
    }
    if (least < LEAST_ROUNDS) {
        errx(EXIT_WRONG, "the machine is too busy: %d of %d rounds were measured", least, round);
    }
}

/* ---- the file ---- */

/* The user's place, whose folder is made. */
static const char *default_path(const struct gr_machine_kind *kind, char *path, size_t size)
{
    const char *home = getenv("HOME");
    char name[160];

    if (NULL == home) {
        errx(EXIT_WRONG, "HOME is not set: give a file with -o");
    }
    snprintf(path, size, "%s/.gpuring", home);
    if (0 != mkdir(path, 0777) && EEXIST != errno) {
        err(EXIT_WRONG, "%s", path);
    }
    snprintf(path, size, "%s/.gpuring/%s", home, gr_tune_file_name(kind, name, sizeof(name)));
    return path;
}

/* Whether a file of that name can be replaced: there is none, or it is neither device nor pipe. */
static bool is_replaceable(const char *path)
{
    struct stat is;

    return 0 != stat(path, &is) || S_ISREG(is.st_mode);
}

/*
 * Under another name first, where that is possible: a job that begins just now reads the old file
 * or the new one.
 */
static void write_file(const char *path, const struct gr_tune_file *file)
{
    bool to_stdout = 0 == strcmp(path, "-"), replaces = !to_stdout && is_replaceable(path);
    char part[4200];
    FILE *f;
    int rc;

    snprintf(part, sizeof(part), "%s%s", path, replaces ? ".part" : "");
    f = to_stdout ? stdout : fopen(part, "w");
    if (NULL == f) {
        err(EXIT_WRONG, "%s", part);
    }
    rc = gr_tune_file_write(f, file);
    rc = 0 != (to_stdout ? fflush(f) : fclose(f)) ? -1 : rc;
    rc = 0 == rc && replaces ? rename(part, path) : rc;
    if (0 != rc) {
        int why = errno;

        if (replaces) {
            unlink(part);
        }
        errno = why;
        err(EXIT_WRONG, "%s", path);
    }
}

/* ---- the program ---- */

/*
 * The first processor that this process may use; all: set to a partner at each distance from it.
 * Ends the program where there is none.
 */
static int find_processors(const struct options *o, struct distance all[GR_CPU_DISTANCES])
{
    int partners[GR_CPU_DISTANCES], d, found = 0, cpu = 0;
    cpu_set_t allowed;

    if (0 != sched_getaffinity(0, sizeof(allowed), &allowed)) {
        err(EXIT_WRONG, "the processors of this process");
    }
    while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET((size_t) cpu, &allowed)) {
        cpu++;
    }
    gr_cpu_partners(GR_SYSFS_CPUS, cpu, &allowed, partners);
    for (d = 0; d < GR_CPU_DISTANCES; d++) {
        all[d].partner = partners[d];
        all[d].rounds = calloc(MOST_ROUNDS, sizeof(struct gr_machine));
        if (NULL == all[d].rounds) {
            errx(EXIT_WRONG, "no memory");
        }
        found += partners[d] >= 0;
        if (partners[d] >= 0 && !o->quiet) {
            fprintf(stderr, "gpuring_tune: %s: processors %d and %d\n", gr_cpu_distance_name(d),
                    cpu, partners[d]);
        }
    }
    if (0 == found) {
        errx(EXIT_WRONG, "this process may use one processor only: there is nothing to measure");
    }
    return cpu;
}

int main(int argc, char **argv)
{
    static struct distance all[GR_CPU_DISTANCES];
    struct gr_tune_file file = {.version = GR_VERSION};
    time_t today = time(NULL);
    char path[4096];
    struct options o;
    int d;

    parse(&o, argc, argv);
    if (NULL != o.check) {
        return check(o.check);
    }
    gr_machine_kind_find("", &file.kind);
    strftime(file.date, sizeof(file.date), "%Y-%m-%d", gmtime(&today));
    measure_all(&o, find_processors(&o, all), all);
    for (d = 0; d < GR_CPU_DISTANCES; d++) {
        if (all[d].partner >= 0) {
            struct gr_machine m = median_of(&all[d]);

            gr_constants_take(&file.constants, d, &m, GR_FROM_FILE);
        }
        free(all[d].rounds);
    }
    write_file(NULL == o.out ? default_path(&file.kind, path, sizeof(path)) : o.out, &file);
    if (!o.quiet && (NULL == o.out || 0 != strcmp(o.out, "-"))) {
        fprintf(stderr, "gpuring_tune: wrote %s\n", NULL == o.out ? path : o.out);
    }
    return EXIT_RIGHT;
}
