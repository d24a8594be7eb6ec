/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of arguments.h. */
#include "arguments.h"

#include "exec/gpu/args.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE_STEP = 4, MIN_SLOT = 1024 };

/* The first ones are measured; Alltoall is not. */
enum { COLLECTIVES = GR_COLL_ALLTOALL };

enum {
    LONG_PROTOCOL = OPTIONS_OWN,
    LONG_PATIENCE,
    LONG_TIMEOUT,
    LONG_STEP,
    LONG_NCCL,
    LONG_JSON,
    LONG_PROCESSES,
    LONG_ZERO_COPY,
    LONG_COSTS
};

static const struct option longs[] = {
    {"protocol", required_argument, NULL, LONG_PROTOCOL},
    {"patience", required_argument, NULL, LONG_PATIENCE},
    {"timeout", required_argument, NULL, LONG_TIMEOUT},
    {"step", required_argument, NULL, LONG_STEP},
    {"nccl", required_argument, NULL, LONG_NCCL},
    {"json", required_argument, NULL, LONG_JSON},
    {"processes", no_argument, NULL, LONG_PROCESSES},
    {"zero-copy", no_argument, NULL, LONG_ZERO_COPY},
    {"costs", no_argument, NULL, LONG_COSTS},
    {NULL, 0, NULL, 0},
};

static int parse_algo(struct arguments *a, const char *value)
{
    for (a->algo = GR_NALGOS - 1;
         a->algo >= 0 && 0 != strcmp(value, gr_algo_name((enum gr_algo) a->algo)); a->algo--) {
    }
    return a->algo >= 0 || 0 == strcmp(value, "all")
               ? 0
               : options_refuse(a->error, "-a", value, "ring chain tree flat oneshot twoshot all");
}

static int parse_protocol(struct arguments *a, const char *value)
{
    for (int k = 0; k < GR_NPROTOCOLS; k++) {
        if (0 == strcmp(value, gr_protocol_name(k))) {
            a->shape.protocol = (enum gr_protocol) k;
            return 0;
        }
    }
    return options_refuse(a->error, "--protocol", value, "simple ll ll128");
}

static int parse_slot(struct arguments *a, const char *value)
{
    size_t *bytes = &a->shape.slot_bytes;

    if (0 == options_size(value, bytes) && *bytes >= MIN_SLOT && 0 == *bytes % GR_GPU_LINE) {
        return 0;
    }
    return options_refuse(a->error, "-S", value,
                          "a multiple of 128 bytes from 1024 on; suffixes k M");
}

static int take_option(void *ctx, int option, const char *value, char *error)
{
    struct arguments *a = ctx;
    long n = 0;
    int rc = 0;

    switch (option) {
    case 'n':
        rc = options_number(error, "-n", value, 1, CREW_RANKS, &n);
        a->ranks = (int) n;
        break;
    case 'b':
        rc = options_number(error, "-b", value, 1, GR_GPU_CHANNELS, &n);
        a->shape.channels = (uint32_t) n;
        break;
    case 's':
        rc = options_number(error, "-s", value, GR_MIN_SLOTS, GR_MAX_SLOTS, &n);
        a->shape.slots = (uint32_t) n;
        break;
    case 'S':
        return parse_slot(a, value);
    case 'a':
        return parse_algo(a, value);
    case LONG_PROTOCOL:
        return parse_protocol(a, value);
    case LONG_PATIENCE:
        rc = options_number(error, "--patience", value, 1, 1L << 40, &n);
        a->run.patience = (uint64_t) n;
        break;
    case LONG_TIMEOUT:
        rc = options_number(error, "--timeout", value, 1, 3600, &n);
        a->run.timeout = (double) n;
        break;
    case LONG_STEP:
        rc = options_number(error, "--step", value, 2, 1024, &n);
        a->step = (size_t) n;
        break;
    case LONG_NCCL:
        a->library = value;
        break;
    case LONG_JSON:
        a->json = value;
        break;
    case LONG_PROCESSES:
        a->processes = 1;
        break;
    case LONG_ZERO_COPY:
        a->shape.zero_copy = 1;
        break;
    case LONG_COSTS:
        a->costs = 1;
        break;
    }
    return rc;
}

static int check_options(struct arguments *a)
{
    const struct options *o = &a->run.bench;
    char value[32];

    snprintf(value, sizeof value, "%d", o->root);
    if (o->root >= a->ranks) {
        return options_refuse(a->error, "-r", value, "less than -n");
    }
    if (o->op > ELEMENT_MAX) {
        return options_refuse(a->error, "-O", element_op_names[o->op],
                              "sum prod min max: kernels have these");
    }
    if (options_only_bench(o) || FORM_BLOCKING != o->form || DEVICE_HOST != o->device) {
        snprintf(
            a->error, sizeof a->error,
            "-d -f -B -I --nonblocking --persistent --ideal --fit: only gpuring_bench has these");
        return -1;
    }
    if (a->shape.zero_copy && GR_PROTOCOL_SIMPLE != a->shape.protocol) {
        snprintf(a->error, sizeof a->error, "--zero-copy: only with --protocol simple");
        return -1;
    }
    if (NULL != a->library && !nccl_has(o->type)) {
        return options_refuse(a->error, "-T", element_types[o->type].name,
                              "with --nccl, types of 1, 4 and 8 bytes");
    }
    if (NULL != a->json && FORMAT_JSON == o->format) {
        return options_refuse(a->error, "-o", "json", "table, with --json");
    }
    return FORMAT_CSV == o->format ? options_refuse(a->error, "-o", "csv", "table json") : 0;
}

int arguments_parse(struct arguments *a, int argc, char **argv)
{
    const struct options_own own = {.letters = "n:b:s:S:a:",
                                    .longs = longs,
                                    .collective = "all",
                                    .take = take_option,
                                    .ctx = a};
    const char *names[COLLECTIVES];

    a->ranks = 4;
    a->algo = -1;
    a->step = SIZE_STEP;
    a->shape = (struct world_shape) {.channels = 8, .slots = 8, .slot_bytes = 128 << 10};
    a->run.patience = 20000;
    a->run.timeout = 60;
    a->run.corrupt = NULL != getenv("GPURING_BENCH_CORRUPT");
    a->run.bench = options_default();
    a->run.bench.min_bytes = 1 << 20;
    a->run.bench.max_bytes = 64 << 20;
    for (int k = 0; k < COLLECTIVES; k++) {
        names[k] = gr_coll_name((enum gr_coll) k);
    }
    return 0 == options_parse(&a->run.bench, &own, argc, argv, names, COLLECTIVES, a->error)
               ? check_options(a)
               : -1;
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
          "  --json FILE     also writes JSON to a file\n"
          "  --nccl LIBRARY  NCCL (libnccl.so.2, 2.30.3 or newer) in turn, with as many blocks "
          "per rank\n"
          "  --zero-copy     results are written straight into the receive buffers\n"
          "  --processes     a process for each rank\n"
          "  --patience N    polls without progress before a kernel leaves, to be relaunched "
          "(20000)\n"
          "  --timeout S     seconds after which a call is aborted (60)\n"
          "  --costs         only the costs of classifying a pointer, launching and relaunching\n"
          "Exit status: 0, 1 when a result was wrong (-c), 2 when the call was, 3 when a call "
          "failed or hung.\n",
          stdout);
}
