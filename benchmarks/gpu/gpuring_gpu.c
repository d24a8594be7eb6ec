/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_gpu: the kernels on a real device, without MPI. Owns the command line and the order of the runs.
 *
 *      gpuring_gpu                        one process, 4 ranks on 4 streams of one device: what the kernels can do
 *      gpuring_gpu --processes            a process for each rank, links mapped by CUDA IPC
 *      gpuring_gpu --costs                pointers, launches, leaving and coming again
 *
 * Where all ranks share one device their times speak of its memory, cache and scheduling, never of links between
 * devices. Hence the two floors (report.h). Environment, for tests only: GPURING_BENCH_CORRUPT=1 makes an element of
 * each output wrong before each check.
 */
#include "costs.h"
#include "device.h"
#include "report.h"
#include "run.h"
#include "traffic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };
enum { SIZE_STEP = 4, MIN_SLOT = 1024 };

struct bench {
    struct run_options run;
    struct world_shape shape;   /* root and algorithm are those of a run */
    int first;                  /* of the collectives */
    int ranks, algo;            /* algo -1: all that a collective has */
    int processes, costs;
    char error[OPTIONS_ERROR_CHARS];
    struct gr_gpus *gpus;
    struct gr_gpu *gpu;
    struct report report;
    double rate_bytes, rate;    /* the last copy rate, and its footprint */
};

static int refuse(struct bench *b, const char *option, const char *value, const char *allowed)
{
    snprintf(b->error, sizeof b->error, "%s: '%s' is not valid; allowed: %s", option, value, allowed);
    return -1;
}

/* ---- command line: gpuring_bench's, and what concerns ranks and links ---- */

static int parse_number(struct bench *b, const char *option, const char *value, long least, long most, long *number)
{
    char allowed[64], *end;

    errno = 0;
    *number = strtol(value, &end, 10);
    if (end != value && '\0' == *end && 0 == errno && *number >= least && *number <= most) {
        return 0;
    }
    snprintf(allowed, sizeof allowed, "%ld to %ld", least, most);
    return refuse(b, option, value, allowed);
}

static int parse_algo(struct bench *b, const char *value)
{
    for (b->algo = GR_NALGOS - 1; b->algo >= 0 && 0 != strcmp(value, gr_algo_name((enum gr_algo)b->algo)); b->algo--) {
    }
    return b->algo >= 0 || 0 == strcmp(value, "all") ? 0 : refuse(b, "-a", value, "ring chain tree flat all");
}

/* An option of ours that has a value. Returns 1, 0 where it is none of ours, or -1. */
static int take_option(struct bench *b, const char *option, const char *value)
{
    long n = 0;
    int rc = 0;

    if (0 == strcmp(option, "-n")) {
        rc = parse_number(b, option, value, 1, CREW_RANKS, &n);
        b->ranks = (int)n;
    } else if (0 == strcmp(option, "-b")) {
        rc = parse_number(b, option, value, 1, GR_GPU_CHANNELS, &n);
        b->shape.channels = (uint32_t)n;
    } else if (0 == strcmp(option, "-s")) {
        rc = parse_number(b, option, value, GR_MIN_SLOTS, GR_MAX_SLOTS, &n);
        b->shape.slots = (uint32_t)n;
    } else if (0 == strcmp(option, "-S")) {
        size_t *bytes = &b->shape.slot_bytes;
        rc = 0 != options_size(value, bytes) || *bytes < MIN_SLOT || 0 != *bytes % GR_GPU_LINE
                 ? refuse(b, option, value, "a multiple of 128 bytes from 1024 on; suffixes k M")
                 : 0;
    } else if (0 == strcmp(option, "-a")) {
        rc = parse_algo(b, value);
    } else if (0 == strcmp(option, "--patience")) {
        rc = parse_number(b, option, value, 1, 1L << 40, &n);
        b->run.patience = (uint64_t)n;
    } else if (0 == strcmp(option, "--timeout")) {
        rc = parse_number(b, option, value, 1, 3600, &n);
        b->run.timeout = (double)n;
    } else {
        return 0;
    }
    return 0 == rc ? 1 : -1;
}

/* Takes our options and leaves the others in args, which has room for them. How many those are, or -1. */
static int take_own_options(struct bench *b, char **argv, char **args, int n)
{
    for (int i = 1; NULL != argv[i]; i++) {
        const char *value = NULL != argv[i + 1] ? argv[i + 1] : "";
        int taken = take_option(b, argv[i], value);
        if (taken < 0) {
            return -1;
        }
        if (1 == taken) {
            i += NULL != argv[i + 1];
        } else if (0 == strcmp(argv[i], "--processes")) {
            b->processes = 1;
        } else if (0 == strcmp(argv[i], "--costs")) {
            b->costs = 1;
        } else {
            args[n++] = argv[i];
        }
    }
    args[n] = NULL;
    return n;
}

static int check_options(struct bench *b)
{
    const struct options *o = &b->run.bench;
    char value[32];

    snprintf(value, sizeof value, "%d", o->root);
    if (o->root >= b->ranks) {
        return refuse(b, "-r", value, "less than -n");
    }
    if (o->op > ELEMENT_MAX) {
        return refuse(b, "-O", element_op_names[o->op], "sum prod min max: kernels have these");
    }
    if (FORM_BLOCKING != o->form || !isnan(o->B) || !isnan(o->I) || o->published || o->fit || NULL != o->file ||
        DEVICE_HOST != o->device) {
        snprintf(b->error, sizeof b->error,
                 "-d -f -B -I --nonblocking --persistent --ideal --fit: only gpuring_bench has these");
        return -1;
    }
    return FORMAT_CSV == o->format ? refuse(b, "-o", "csv", "table json") : 0;
}

static int parse(struct bench *b, int argc, char **argv)
{
    static char *defaults[] = {"gpuring_gpu", "all", "-m", "1M:64M"};
    enum { DEFAULTS = sizeof defaults / sizeof defaults[0] };
    char *args[argc + DEFAULTS + 1];
    const char *names[GR_NCOLLS];
    int n;

    b->ranks = 4;
    b->algo = -1;
    b->shape = (struct world_shape){.channels = 8, .slots = 8, .slot_bytes = 128 << 10};
    b->run.patience = 20000;
    b->run.timeout = 60;
    b->run.corrupt = NULL != getenv("GPURING_BENCH_CORRUPT");
    for (int k = 0; k < GR_NCOLLS; k++) {
        names[k] = gr_coll_name((enum gr_coll)k);
    }
    memcpy(args, defaults, sizeof defaults);
    n = take_own_options(b, argv, args, DEFAULTS);
    n = n < 0 ? n : options_parse(&b->run.bench, n, args, names, GR_NCOLLS, b->error);
    b->first = b->run.bench.ncollectives > GR_NCOLLS ? GR_NCOLLS : 0; /* the default ones, unless they are alone */
    return n < 0 ? n : check_options(b);
}

static int help(void)
{
    fputs("usage: gpuring_gpu [options] [COLLECTIVE...]\n"
          "COLLECTIVE: allreduce allgather reduce_scatter bcast reduce, or all (default)\n"
          "  -n RANKS        ranks (4), all on one device; with --processes rank i on device i modulo their number\n"
          "  -a ALGORITHM    ring chain tree flat, or all that the collective has (default)\n"
          "  -b CHANNELS     blocks of each kernel (8)\n"
          "  -s SLOTS        of each link (8)      -S BYTES  of each slot (128k)\n"
          "  -m MIN:MAX      sizes in bytes, each 4 times the last (1M:64M)\n"
          "  -i ITERS        timed calls (20 to 16M bytes, 5 above)      -x WARMUP  untimed before them (2)\n"
          "  -T -O -r -c --in-place, -o table or json: as in gpuring_bench, see its -h\n"
          "  --processes     a process for each rank\n"
          "  --patience N    polls in vain after which a kernel leaves, to be launched again (20000)\n"
          "  --timeout S     seconds after which a call is given up (60)\n"
          "  --costs         only: what pointers, launches, and leaving cost\n"
          "Exit status: 0, 1 when a result was wrong (-c), 2 when the call was, 3 when a call failed or hung.\n",
          stdout);
    return EXIT_RIGHT;
}

/* ---- runs ---- */

/* Copies of the size's footprint, unless they were timed just now: all inputs and outputs. */
static double copy_rate(struct bench *b, size_t bytes)
{
    double footprint = 2.0 * (double)b->ranks * (double)bytes;

    if (footprint != b->rate_bytes) {
        b->rate_bytes = footprint;
        b->rate = costs_copy_rate(b->gpu, (size_t)footprint);
    }
    return b->rate;
}

static void fill_row(struct bench *b, const struct run *run, const struct run_result *r, struct row *row)
{
    const struct world *w = run->world;
    struct traffic t = traffic_count(&run->request, b->ranks, w->order, w->where, w->shape.slot_bytes);
    double us = copy_rate(b, r->bytes), bytes = (double)r->bytes;

    *row = (struct row){
        .collective = gr_coll_name(run->coll),
        .algorithm = gr_algo_name(w->shape.algo),
        .bytes = bytes,
        .us = r->us,
        .best_us = r->best_us,
        .algbw = bytes / r->us * 1e-3,
        .busbw = run_busbw(run->coll, r->bytes, r->us * 1e-6, b->ranks),
        .user = t.user / bytes,
        .fifo = t.fifo / bytes,
        .copy = us * 1e-9,
        .in_memory = us > 0 ? (t.user + t.fifo) / us / (r->us * 1e-6) : NAN,
        .in_cache = us > 0 ? t.user / us / (r->us * 1e-6) : NAN,
        .launches = r->launches,
        .errors = r->errors,
    };
}

/* One size. The copy rate is measured by the first process, while the others wait. */
static int run_size(struct bench *b, struct world *world, enum gr_coll coll, size_t bytes, int *wrong)
{
    struct crew *crew = world->crew;
    struct run_result result;
    struct run run;
    struct row row;
    int rc = run_open(&run, world, &b->run, coll, bytes, b->error);

    rc = 0 == rc ? run_measure(&run, &result) : rc;
    run_close(&run);
    if (0 == rc && 0 == crew->first) {
        fill_row(b, &run, &result, &row);
        report_row(&b->report, &row);
    }
    *wrong = *wrong || (0 == rc && result.errors > 0);
    crew_meet(crew);
    return rc;
}

static int run_algo(struct bench *b, struct crew *crew, enum gr_coll coll, enum gr_algo algo, int *wrong)
{
    const struct options *o = &b->run.bench;
    struct world_shape shape = b->shape;
    struct world world;
    int rc;

    shape.algo = algo;
    shape.root = o->root;
    rc = world_open(&world, crew, b->gpu, &shape);
    if (0 != rc) {
        snprintf(b->error, sizeof b->error, "links of %s: %s", gr_algo_name(algo), gr_gpu_error());
    }
    for (size_t bytes = o->min_bytes; 0 == rc && bytes <= o->max_bytes; bytes *= SIZE_STEP) {
        rc = run_size(b, &world, coll, bytes, wrong);
    }
    world_close(&world);
    return rc;
}

static int run_all(struct bench *b, struct crew *crew)
{
    const struct options *o = &b->run.bench;
    int rc = 0, wrong = 0;

    for (int i = b->first; i < o->ncollectives; i++) {
        enum gr_coll coll = (enum gr_coll)o->collectives[i];
        for (int algo = 0; 0 == rc && algo < GR_NALGOS; algo++) {
            /* in place its output lies over input that is still to be sent: the component stages that */
            int skip = o->in_place && GR_COLL_REDUCE_SCATTER == coll;
            if (!skip && gr_algo_has((enum gr_algo)algo, coll) && (algo == b->algo || b->algo < 0)) {
                rc = run_algo(b, crew, coll, (enum gr_algo)algo, &wrong);
            }
        }
    }
    return 0 != rc ? EXIT_USAGE : wrong ? EXIT_WRONG : EXIT_RIGHT;
}

/* b->gpu stays NULL where that fails. */
static void open_gpu(struct bench *b, int number)
{
    char why[DEVICE_ERROR_CHARS];
    int ordinal = device_open(number, why), rc = 0;

    if (ordinal < 0) {
        snprintf(b->error, sizeof b->error, "this %.480s", why);
        return;
    }
    b->gpus = gr_gpus_open(NULL, &rc);
    b->gpu = NULL != b->gpus ? gr_gpu_get(b->gpus, ordinal, &rc) : NULL;
    if (NULL == b->gpu) {
        snprintf(b->error, sizeof b->error, "cannot use the device: error %d, %s", rc, gr_gpu_error());
    }
}

/* The first process that knows why says it. */
static void complain(const struct bench *b, struct crew *crew)
{
    double mine = '\0' != b->error[0] ? crew->ranks - crew->first : 0;

    if (mine == crew_max(crew, mine) && mine > 0) {
        fprintf(stderr, "gpuring_gpu: %s\n", b->error);
    }
}

/* What a process does. */
static int work(struct crew *crew, void *ctx)
{
    struct bench *b = ctx;
    int status = EXIT_USAGE;

    open_gpu(b, b->processes ? crew->first : 0);
    if (0 == crew_max(crew, NULL == b->gpu)) {
        b->report = (struct report){.json = FORMAT_JSON == b->run.bench.format, .check = b->run.bench.check};
        if (0 == crew->first && !b->costs) {
            report_begin(&b->report, b->ranks, b->processes, &b->shape, b->gpu);
        }
        status = b->costs ? report_costs(&b->report, b->gpus, b->gpu, b->error) : run_all(b, crew);
        if (0 == crew->first && !b->costs) {
            report_end(&b->report);
        }
    }
    if (EXIT_USAGE == status) {
        complain(b, crew);
    }
    gr_gpus_close(b->gpus);
    device_close();
    return status;
}

int main(int argc, char **argv)
{
    static struct bench b;

    if (0 != parse(&b, argc, argv)) {
        fprintf(stderr, "gpuring_gpu: %s\n", b.error);
        return EXIT_USAGE;
    }
    if (b.run.bench.help) {
        return help();
    }
    return crew_run(b.ranks, b.processes && !b.costs, work, &b);
}
