/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_tune: measures constants of the cost model beforehand, of processors with the component's
 * own measuring code, of devices with its kernels, and writes them to a tuning file, which the
 * component uses on machines of the same kind. No MPI.
 *
 *      gpuring_tune [-d host|cuda] [-o FILE] [-t SECONDS] [-q]
 *      gpuring_tune -c FILE
 *
 * Distances take turns, round by round, so that a disturbance hits them all; the median of the
 * rounds counts, each of which is the best of several. What a file of this machine has of the other
 * kind, processors or devices, stays in it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "base/errors.h"
#include "exec/reduce.h"
#include "topo/cpus.h"
#include "tune/machine.h"
#include "tune/tune_file.h"

#include "common/cli.h"
#include "common/clock.h"
#include "devices.h"
#include "write_file.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Rounds of a distance, and how many are needed for a median. */
enum { MOST_ROUNDS = 2000, LEAST_ROUNDS = 3 };

/* Seconds after which one round is given up. */
#define ROUND_LIMIT 5.0

struct tune_options {
    const char *out;   /* file; "-": standard output; NULL: the user's place */
    const char *check; /* file to be checked; NULL: measure */
    double seconds;
    int device; /* 0: processors are measured; 1: devices */
    bool quiet;
};

static const char usage[] =
    "usage: gpuring_tune [-d host|cuda] [-o FILE] [-t SECONDS] [-q]\n"
    "       gpuring_tune -c FILE\n"
    "Measure how fast processes of this node, or kernels on its devices, exchange data.\n"
    "\n"
    "The result is a tuning file for coll_gpuring_tune_file. Let nothing else run meanwhile.\n"
    "\n"
    "  -d WHAT         host: processors (default); cuda: two ranks on one device, and on two\n"
    "                  devices where there are such. What the file has of the others stays there\n"
    "  -o FILE         where to; - is standard output ($HOME/.gpuring/KIND.tune, which gpuring\n"
    "                  finds by itself; KIND names the processors)\n"
    "  -t SECONDS      how long to measure (60)\n"
    "  -q              show no progress\n"
    "  -c FILE         measure nothing: say whether gpuring would use the file here\n";

#define AT(field) .at = offsetof(struct tune_options, field)

static void parse(struct tune_options *o, int argc, char **argv)
{
    static const char *const kinds[] = {"host", "cuda", NULL};
    static const struct cli_option rows[] = {
        {'d', NULL, CLI_WORD, AT(device), .words = kinds},
        {'o', NULL, CLI_TEXT, AT(out)},
        {'t', NULL, CLI_REAL, AT(seconds), .least = 0, .most = 86400},
        {'q', NULL, CLI_FLAG, AT(quiet)},
        {'c', NULL, CLI_TEXT, AT(check)},
        {'h', "help", CLI_HELP, .allowed = usage},
    };
    const struct cli_table table = {rows, sizeof(rows) / sizeof(rows[0]), o};

    *o = (struct tune_options) {.seconds = 60};
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

/* ---- rounds ---- */

/* Shared with the processes of ranks on devices. */
struct relation {
    int n;      /* rounds done */
    int wanted; /* it is measured */
    struct gr_machine rounds[MOST_ROUNDS];
};

static struct relation *relations; /* [GR_RELATIONS] */

/* How relations are measured. */
struct walk {
    const struct tune_options *o;
    double seconds;
    void (*round)(void *ctx, int relation); /* a round of one of them, or nothing: it is busy */
    void *ctx;
    struct crew *crew; /* whose processes end together; NULL: there is one */
};

static void *get_shared(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (MAP_FAILED == at) {
        errx(EXIT_WRONG, "no memory");
    }
    return at;
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *) a, y = *(const float *) b;

    return (x > y) - (x < y);
}

/* Value by value; all values of a struct gr_machine are floats. */
static struct gr_machine median_of(const struct relation *d)
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

static void show(const struct tune_options *o, int round, double share)
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

/* Fewest rounds of those that are measured. */
static int fewest_rounds(void)
{
    int at, least = MOST_ROUNDS;

    for (at = 0; at < GR_RELATIONS; at++) {
        if (relations[at].wanted && relations[at].n < least) {
            least = relations[at].n;
        }
    }
    return least;
}

static void measure_all(const struct walk *w)
{
    double start = clock_us(), share = 0;
    int at, round = 0, least = 0;

    while (round < MOST_ROUNDS && (share < 1 || least < LEAST_ROUNDS)) {
        round++;
        for (at = 0; at < GR_RELATIONS; at++) {
            if (relations[at].wanted) {
                w->round(w->ctx, at);
            }
        }
        share = w->seconds > 0 ? (clock_us() - start) * 1e-6 / w->seconds : 1;
        share = NULL == w->crew ? share : crew_max(w->crew, share);
        share = share < 1 ? share : 1;
        least = fewest_rounds();
        if (NULL == w->crew || 0 == w->crew->first) {
            show(w->o, round, share);
        }
        if (share >= 1 && round >= 10 * LEAST_ROUNDS) {
            break; /* it would never suffice */
        }
    }
    if (least < LEAST_ROUNDS) {
        errx(EXIT_WRONG, "the machine is too busy: %d of %d rounds were measured", least, round);
    }
}

/* ---- processors ---- */

struct processors {
    int cpu;
    int partners[GR_CPU_DISTANCES]; /* processors; -1: there is none so far away */
};

/* Ends the program where the distance cannot be measured. */
static void measure_processors(void *ctx, int relation)
{
    const struct processors *p = ctx;
    struct relation *d = &relations[relation];
    struct gr_measure_args args = {.cpus = {p->cpu, p->partners[relation]},
                                   .effort = GR_EFFORT_THOROUGH,
                                   .limit = ROUND_LIMIT,
                                   .sum = gr_reduce_find(GR_TYPE_F32, GR_OP_SUM)};
    int rc = gr_machine_measure(&args, &d->rounds[d->n]);

    if (GR_ERR_NOT_SUPPORTED == rc || GR_ERR_NOMEM == rc) {
        errx(EXIT_WRONG, "processors %d and %d: %s", p->cpu, p->partners[relation],
             GR_ERR_NOMEM == rc ? "no memory" : "threads must not be bound to them");
    }
    d->n += 0 == rc; /* else the machine was busy */
}

static void tune_processors(const struct tune_options *o)
{
    struct processors p;
    struct walk walk = {o, o->seconds, measure_processors, &p, NULL};
    int d, found = 0;
    cpu_set_t allowed;

    if (0 != sched_getaffinity(0, sizeof(allowed), &allowed)) {
        err(EXIT_WRONG, "the processors of this process");
    }
    p.cpu = gr_cpu_lowest(&allowed);
    gr_cpu_partners(GR_SYSFS_CPUS, p.cpu, &allowed, p.partners);
    for (d = 0; d < GR_CPU_DISTANCES; d++) {
        relations[d].wanted = p.partners[d] >= 0;
        found += relations[d].wanted;
        if (relations[d].wanted && !o->quiet) {
            fprintf(stderr, "gpuring_tune: %s: processors %d and %d\n", gr_cpu_distance_name(d),
                    p.cpu, p.partners[d]);
        }
    }
    if (0 == found) {
        errx(EXIT_WRONG, "this process may use one processor only: there is nothing to measure");
    }
    measure_all(&walk);
}

/* ---- devices ---- */

struct devices {
    const struct tune_options *o;
    struct tune_devices measured;
    char *model; /* [GR_DEVICE_MODEL], shared: of the devices; "": not known yet */
};

static void measure_devices(void *ctx, int relation)
{
    struct devices *d = ctx;
    struct relation *r = &relations[relation];
    struct gr_machine m;

    tune_devices_round(&d->measured, &m);
    if (0 == d->measured.world.crew->first) {
        r->rounds[r->n++] = m;
    }
}

/* A process of the crew. */
static int work(struct crew *crew, void *ctx)
{
    struct devices *d = ctx;
    struct walk walk = {d->o, d->o->seconds / 2, measure_devices, d, crew};
    int beside, relation, rc = tune_devices_open(&d->measured, crew, &beside);

    if (0 == rc && beside) {
        relation = gr_relation_of_path(d->measured.path);
        if (0 == crew->first) {
            memcpy(d->model, d->measured.model, GR_DEVICE_MODEL);
            relations[relation].wanted = 1;
            if (!d->o->quiet) {
                fprintf(stderr, "gpuring_tune: %s: %s\n", gr_relation_name(relation), d->model);
            }
        }
        crew_meet(crew);
        measure_all(&walk);
        crew_meet(crew);
        relations[relation].wanted = 0;
    } else if (0 != rc && '\0' != d->measured.error[0]) {
        warnx("%s", d->measured.error);
    }
    tune_devices_close(&d->measured);
    return 0 == rc ? EXIT_RIGHT : EXIT_WRONG;
}

/* First two devices by two processes, which are forked before this one uses the driver. */
static void tune_devices(const struct tune_options *o, char *model)
{
    static struct devices d;
    int processes;

    d.o = o;
    d.model = model;
    for (processes = 1; processes >= 0; processes--) {
        int rc = crew_run(2, processes, world_board_bytes(2, GR_GPU_CHANNELS), work, &d);

        if (EXIT_RIGHT != rc) {
            exit(EXIT_WRONG); /* it has said why */
        }
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
    rc = write_tune_file(f, file);
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

/* What was measured. What no computer can have is left out: the machine was busy. */
static void take_medians(struct gr_tune_file *file)
{
    int at;

    for (at = 0; at < GR_RELATIONS; at++) {
        if (relations[at].n > 0) {
            struct gr_machine m = median_of(&relations[at]);

            forget_bad(&m);
            gr_constants_take(&file->constants, at, &m, GR_FROM_FILE);
        }
    }
}

/* Keep what a file of this machine has of devices, or else of processors, if there is one. */
static void take_kept(struct gr_tune_file *file, const char *path, int devices)
{
    struct gr_tune_file kept;
    char why[512];
    int at;

    if (0 == strcmp(path, "-") || !is_replaceable(path) ||
        0 != gr_tune_file_read(path, &file->kind, &kept, why, sizeof(why))) {
        return;
    }
    for (at = 0; at < GR_RELATIONS; at++) {
        if (devices == (at >= GR_CPU_DISTANCES)) {
            gr_constants_take(&file->constants, at, &kept.constants.at[at], GR_FROM_FILE);
        }
    }
    if (devices) {
        memcpy(file->constants.device, kept.constants.device, sizeof(kept.constants.device));
    }
}

int main(int argc, char **argv)
{
    struct gr_tune_file file = {.version = GR_VERSION};
    time_t today = time(NULL);
    const char *out;
    char path[4096];
    struct tune_options o;

    parse(&o, argc, argv);
    if (NULL != o.check) {
        return check(o.check);
    }
    gr_machine_kind_find("", &file.kind);
    strftime(file.date, sizeof(file.date), "%Y-%m-%d", gmtime(&today));
    relations = get_shared(GR_RELATIONS * sizeof(relations[0]));
    if (o.device) {
        char *model = get_shared(GR_DEVICE_MODEL);

        tune_devices(&o, model);
        memcpy(file.constants.device, model, GR_DEVICE_MODEL);
    } else {
        tune_processors(&o);
    }
    take_medians(&file);
    out = NULL == o.out ? default_path(&file.kind, path, sizeof(path)) : o.out;
    take_kept(&file, out, !o.device);
    write_file(out, &file);
    if (!o.quiet && 0 != strcmp(out, "-")) {
        fprintf(stderr, "gpuring_tune: wrote %s\n", out);
    }
    return EXIT_RIGHT;
}
