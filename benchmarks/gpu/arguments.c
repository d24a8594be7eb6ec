/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the command line of gpuring_gpu. See arguments.h. */
#include "arguments.h"

#include "exec/gpu/args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_STEP = 4, MIN_SLOT = 1024 };

/* Those that are measured come first; Alltoall is not. */
enum { COLLECTIVES = GR_COLL_ALLTOALL };

static int refuse(struct arguments *a, const char *option, const char *value, const char *allowed)
{
    snprintf(a->error, sizeof a->error, "%s: '%s' is not valid; allowed: %s", option, value,
             allowed);
    return -1;
}

static int parse_number(struct arguments *a, const char *option, const char *value, long least,
                        long most, long *number)
{
    char allowed[64], *end;

    errno = 0;
    *number = strtol(value, &end, 10);
    if (end != value && '\0' == *end && 0 == errno && *number >= least && *number <= most) {
        return 0;
    }
    snprintf(allowed, sizeof allowed, "%ld to %ld", least, most);
    return refuse(a, option, value, allowed);
}

static int parse_algo(struct arguments *a, const char *value)
{
    for (a->algo = GR_NALGOS - 1;
         a->algo >= 0 && 0 != strcmp(value, gr_algo_name((enum gr_algo) a->algo)); a->algo--) {
    }
    return a->algo >= 0 || 0 == strcmp(value, "all")
               ? 0
               : refuse(a, "-a", value, "ring chain tree flat oneshot twoshot all");
}

static int parse_protocol(struct arguments *a, const char *value)
{
    for (int k = 0; k < GR_NPROTOCOLS; k++) {
        if (0 == strcmp(value, gr_protocol_name(k))) {
            a->shape.protocol = (enum gr_protocol) k;
            return 0;
        }
    }
    return refuse(a, "--protocol", value, "simple ll ll128");
}

/* An option of ours that has a value. Returns 1, 0 where it is none of ours, or -1. */
static int take_option(struct arguments *a, const char *option, const char *value)
{
    long n = 0;
    int rc = 0;

    if (0 == strcmp(option, "-n")) {
        rc = parse_number(a, option, value, 1, CREW_RANKS, &n);
        a->ranks = (int) n;
    } else if (0 == strcmp(option, "-b")) {
        rc = parse_number(a, option, value, 1, GR_GPU_CHANNELS, &n);
        a->shape.channels = (uint32_t) n;
    } else if (0 == strcmp(option, "-s")) {
        rc = parse_number(a, option, value, GR_MIN_SLOTS, GR_MAX_SLOTS, &n);
        a->shape.slots = (uint32_t) n;
    } else if (0 == strcmp(option, "-S")) {
        size_t *bytes = &a->shape.slot_bytes;
        rc = 0 != options_size(value, bytes) || *bytes < MIN_SLOT || 0 != *bytes % GR_GPU_LINE
                 ? refuse(a, option, value, "a multiple of 128 bytes from 1024 on; suffixes k M")
                 : 0;
    } else if (0 == strcmp(option, "-a")) {
        rc = parse_algo(a, value);
    } else if (0 == strcmp(option, "--protocol")) {
        rc = parse_protocol(a, value);
    } else if (0 == strcmp(option, "--patience")) {
        rc = parse_number(a, option, value, 1, 1L << 40, &n);
        a->run.patience = (uint64_t) n;
    } else if (0 == strcmp(option, "--timeout")) {
        rc = parse_number(a, option, value, 1, 3600, &n);
        a->run.timeout = (double) n;
    } else if (0 == strcmp(option, "--step")) {
        rc = parse_number(a, option, value, 2, 1024, &n);
        a->step = (size_t) n;
    } else if (0 == strcmp(option, "--nccl")) {
        a->library = value;
        rc = '\0' != *value ? 0 : refuse(a, option, value, "the path of libnccl.so.2");
    } else if (0 == strcmp(option, "--json")) {
        a->json = value;
        rc = '\0' != *value ? 0 : refuse(a, option, value, "a file");
    } else {
        return 0;
    }
    return 0 == rc ? 1 : -1;
}

/*
 * Takes our options and leaves the others in args, which has room for them. How many those are, or
 * -1.
 */
static int take_own_options(struct arguments *a, char **argv, char **args, int n)
{
    for (int i = 1; NULL != argv[i]; i++) {
        const char *value = NULL != argv[i + 1] ? argv[i + 1] : "";
        int taken = take_option(a, argv[i], value);
        if (taken < 0) {
            return -1;
        }
        if (1 == taken) {
            i += NULL != argv[i + 1];
        } else if (0 == strcmp(argv[i], "--processes")) {
            a->processes = 1;
        } else if (0 == strcmp(argv[i], "--zero-copy")) {
            a->shape.zero_copy = 1;
        } else if (0 == strcmp(argv[i], "--costs")) {
            a->costs = 1;
        } else {
            args[n++] = argv[i];
        }
    }
    args[n] = NULL;
    return n;
}

static int check_options(struct arguments *a)
{
    const struct options *o = &a->run.bench;
    char value[32];

    snprintf(value, sizeof value, "%d", o->root);
    if (o->root >= a->ranks) {
        return refuse(a, "-r", value, "less than -n");
    }
    if (o->op > ELEMENT_MAX) {
        return refuse(a, "-O", element_op_names[o->op], "sum prod min max: kernels have these");
    }
    if (FORM_BLOCKING != o->form || !isnan(o->B) || !isnan(o->I) || o->published || o->fit ||
        NULL != o->file || DEVICE_HOST != o->device) {
        snprintf(
            a->error, sizeof a->error,
            "-d -f -B -I --nonblocking --persistent --ideal --fit: only gpuring_bench has these");
        return -1;
    }
    if (a->shape.zero_copy && (a->processes || GR_PROTOCOL_SIMPLE != a->shape.protocol)) {
        snprintf(a->error, sizeof a->error,
                 "--zero-copy: only with all ranks in one process, and --protocol simple");
        return -1;
    }
    if (NULL != a->library && !nccl_has(o->type)) {
        return refuse(a, "-T", element_types[o->type].name,
                      "with --nccl, types of 1, 4 and 8 bytes");
    }
    if (NULL != a->json && FORMAT_JSON == o->format) {
        return refuse(a, "-o", "json", "table, with --json");
    }
    return FORMAT_CSV == o->format ? refuse(a, "-o", "csv", "table json") : 0;
}

int arguments_parse(struct arguments *a, int argc, char **argv)
{
    static char *defaults[] = {"gpuring_gpu", "all", "-m", "1M:64M"};
    enum { DEFAULTS = sizeof defaults / sizeof defaults[0] };
    char *args[argc + DEFAULTS + 1];
    const char *names[COLLECTIVES];
    int n;

    a->ranks = 4;
    a->algo = -1;
    a->step = SIZE_STEP;
    a->shape = (struct world_shape) {.channels = 8, .slots = 8, .slot_bytes = 128 << 10};
    a->run.patience = 20000;
    a->run.timeout = 60;
    a->run.corrupt = NULL != getenv("GPURING_BENCH_CORRUPT");
    for (int k = 0; k < COLLECTIVES; k++) {
        names[k] = gr_coll_name((enum gr_coll) k);
    }
    memcpy(args, defaults, sizeof defaults);
    n = take_own_options(a, argv, args, DEFAULTS);
    n = n < 0 ? n : options_parse(&a->run.bench, n, args, names, COLLECTIVES, a->error);
    /* the default ones, unless they are alone */
    a->first = a->run.bench.ncollectives > COLLECTIVES ? COLLECTIVES : 0;
    return n < 0 ? n : check_options(a);
}

void arguments_help(void)
{
    fputs("usage: gpuring_gpu [options] [COLLECTIVE...]\n"
          "COLLECTIVE: allreduce allgather reduce_scatter bcast reduce, or all (default)\n"
          "  -n RANKS        ranks (4), all on one device; with --processes rank i on device i "
          "modulo their number\n"
          "  -a ALGORITHM    ring chain tree flat oneshot twoshot, or all that the collective has "
          "(default)\n"
          "  --protocol NAME simple (default), ll or ll128\n"
          "  -b CHANNELS     blocks of each kernel (8)\n"
          "  -s SLOTS        of each link (8)      -S BYTES  of each slot (128k)\n"
          "  -m MIN:MAX      sizes in bytes (1M:64M)              --step FACTOR  from one to the "
          "next (4)\n"
          "  -i ITERS        timed calls (20 to 16M bytes, 5 above)      -x WARMUP  untimed before "
          "them (2)\n"
          "  -T -O -r -c --in-place, -o table or json: as in gpuring_bench, see its -h\n"
          "  --json FILE     JSON there, besides\n"
          "  --nccl LIBRARY  NCCL (libnccl.so.2, 2.30.3 or newer) beside us, with as many blocks "
          "per rank\n"
          "  --zero-copy     results go straight into the receive buffers\n"
          "  --processes     a process for each rank\n"
          "  --patience N    polls in vain after which a kernel leaves, to be launched again "
          "(20000)\n"
          "  --timeout S     seconds after which a call is given up (60)\n"
          "  --costs         only: what pointers, launches, and leaving cost\n"
          "Exit status: 0, 1 when a result was wrong (-c), 2 when the call was, 3 when a call "
          "failed or hung.\n",
          stdout);
}
