/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of arguments.h. */
#include "arguments.h"

#include "exec/gpu/op.h"

#include <stdint.h>
#include <stdlib.h>

enum { SIZE_STEP = 4, MIN_SLOT = 1024 };

/* The first ones are measured; Alltoall is not. */
enum { COLLECTIVES = GR_COLL_ALLTOALL };

static const char *collectives[COLLECTIVES + 2] = {[COLLECTIVES] = "all"};
static const char *protocols[GR_NPROTOCOLS + 1];
static const char *algorithms[GR_NALGOS + 2] = {[GR_NALGOS] = "all"};

static bool take_slot(void *into, const char *value)
{
    size_t *bytes = &((struct arguments *) into)->shape.slot_bytes;

    return cli_whole(value, MIN_SLOT, SIZE_MAX, NULL, bytes) && 0 == *bytes % GR_GPU_ALIGN;
}

#define AT(field) .at = offsetof(struct arguments, field)

static const struct cli_option rows[] = {
    {'n', NULL, CLI_INT, AT(ranks), .least = 1, .most = CREW_RANKS},
    {'b', NULL, CLI_INT, AT(shape.channels), .least = 1, .most = GR_GPU_CHANNELS},
    {'s', NULL, CLI_INT, AT(shape.slots), .least = GR_MIN_SLOTS, .most = GR_MAX_SLOTS},
    {'S', NULL, CLI_TAKE, .take = take_slot,
     .allowed = "a multiple of 128 bytes from 1024 on; suffixes k M"},
    {'a', NULL, CLI_WORD, AT(algo), .words = algorithms,
     .allowed = "ring chain tree flat oneshot twoshot all"},
    {0, "protocol", CLI_WORD, AT(shape.protocol), .words = protocols},
    {0, "patience", CLI_SIZE, AT(run.patience), .least = 1, .most = 1L << 40},
    {0, "timeout", CLI_REAL, AT(run.timeout), .least = 1, .most = 3600},
    {0, "step", CLI_SIZE, AT(run.bench.factor), .least = 2, .most = 1024},
    {0, "nccl", CLI_TEXT, AT(library)},
    {0, "json", CLI_TEXT, AT(json)},
    {0, "processes", CLI_FLAG, AT(processes)},
    {0, "zero-copy", CLI_FLAG, AT(shape.zero_copy)},
    {0, "costs", CLI_FLAG, AT(costs)},
    {0, "attributes", CLI_FLAG, AT(attributes)},
};

static int check_options(struct arguments *a)
{
    const struct options *o = &a->run.bench;
    char value[32];

    snprintf(value, sizeof value, "%d", o->root);
    if (o->root >= a->ranks) {
        return cli_refuse(a->error, "-r", value, "less than -n");
    }
    if (o->op > ELEMENT_MAX) {
        return cli_refuse(a->error, "-O", element_op_names[o->op],
                          "sum prod min max: kernels have these");
    }
    if (options_only_links(o) || FORM_BLOCKING != o->form || DEVICE_HOST != o->device) {
        snprintf(a->error, sizeof a->error,
                 "-d -B -I --nonblocking --persistent --ideal --fit: only gpuring_bench has these");
        return -1;
    }
    if (a->shape.zero_copy && GR_PROTOCOL_SIMPLE != a->shape.protocol) {
        snprintf(a->error, sizeof a->error, "--zero-copy: only with --protocol simple");
        return -1;
    }
    if (NULL != a->library && !nccl_has(o->type)) {
        return cli_refuse(a->error, "-T", element_types[o->type].name,
                          "with --nccl, every type but int16 and uint16");
    }
    if (NULL != a->json && FORMAT_JSON == o->format) {
        return cli_refuse(a->error, "-o", "json", "table, with --json");
    }
    return FORMAT_CSV == o->format ? cli_refuse(a->error, "-o", "csv", "table json") : 0;
}

int arguments_parse(struct arguments *a, int argc, char **argv)
{
    const struct cli_table own = {rows, sizeof rows / sizeof rows[0], a};

    for (int k = 0; k < COLLECTIVES; k++) {
        collectives[k] = gr_coll_name((enum gr_coll) k);
    }
    for (int k = 0; k < GR_NPROTOCOLS; k++) {
        protocols[k] = gr_protocol_name(k);
    }
    for (int k = 0; k < GR_NALGOS; k++) {
        algorithms[k] = gr_algo_name((enum gr_algo) k);
    }
    a->ranks = 4;
    a->algo = GR_NALGOS;
    a->shape = (struct world_shape) {.channels = 8, .slots = 8, .slot_bytes = 128 << 10};
    a->run.patience = GR_GPU_PATIENCE;
    a->run.timeout = 60;
    a->run.corrupt = NULL != getenv("GPURING_BENCH_CORRUPT");
    a->run.bench = options_default();
    a->run.bench.factor = SIZE_STEP;
    return 0 == options_parse(&a->run.bench, &own, "all", argc, argv, collectives, a->error) &&
                   0 == options_sizes(&a->run.bench, 1 << 20, 64 << 20, a->error)
               ? check_options(a)
               : -1;
}

void arguments_help(void)
{
    fputs(
        "usage: gpuring_gpu [options] [COLLECTIVE...]\n"
        "Measure kernels and links of devices without MPI, and NCCL beside them.\n\n"
        "COLLECTIVE: allreduce allgather reduce_scatter bcast reduce, or all (default)\n"
        "  -n RANKS        ranks (4), all on one device; with --processes rank i on device i "
        "modulo their number\n"
        "  -a ALGORITHM    ring chain tree flat oneshot twoshot, or all that the collective has "
        "(default)\n"
        "  --protocol NAME  simple (default), ll or ll128\n"
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
        "  --patience N    polls without progress before a kernel leaves, to be relaunched (500)\n"
        "  --timeout S     seconds after which a call is aborted (60)\n"
        "  --costs         only the costs of classifying a pointer, launching and relaunching\n"
        "  --attributes    only what the driver says of the device, and whether kernels load\n"
        "Exit status: 0, 1 when a result was wrong (-c), 2 when the call was, 3 when a call "
        "failed or hung.\n",
        stdout);
}
