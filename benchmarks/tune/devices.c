/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measurements of devices.h. On two ranks a Bcast along the tree sends a message from one to
 * the other, and an Allreduce one back besides: what that takes longer is a step. What both take
 * besides, for launches, is the same for all algorithms, and no constant.
 */
#include "devices.h"

#include "common/device.h"
#include "cuda/device.h"
#include "exec/gpu/op.h"
#include "topo/gpus.h"

#include <err.h>
#include <math.h>
#include <string.h>

/* The component's defaults (mpi/param_rows.c). */
enum { CHANNELS = 16, SLOTS = 4, SLOT_BYTES = 128 << 10 };

/* Calls of a row: of short messages, of long ones. */
enum { SHORT_CALLS = 20, LONG_CALLS = 3 };

/* Bytes of a short call; messages of MESSAGE bytes in a row. */
enum { SHORT = 8, MESSAGE = 512, MESSAGES = 16 };

/* Long calls take at least LONG_US, unless they have MOST_BYTES. */
#define LONG_US 2000.0
#define LEAST_BYTES ((size_t) 1 << 20)
#define MOST_BYTES ((size_t) 256 << 20)

/* ---- devices ---- */

/* This process's device; d->gpu stays NULL where that fails. */
static void open_gpu(struct tune_devices *d, int number)
{
    char why[DEVICE_ERROR_CHARS];
    int ordinal = device_open(number, why), rc = 0;

    if (ordinal < 0) {
        snprintf(d->error, sizeof(d->error), "this %.480s", why);
        return;
    }
    d->gpus = gr_gpus_open(NULL, &rc);
    d->gpu = NULL == d->gpus ? NULL : gr_gpu_get(d->gpus, ordinal, &rc);
    rc = NULL == d->gpu ? rc : gr_gpu_load_kernels(d->gpu);
    if (0 != rc) {
        d->gpu = NULL;
        snprintf(d->error, sizeof(d->error), "cannot use the device: error %d, %s", rc,
                 gr_gpu_error());
    }
}

/* Whether both ranks' devices are of one model. */
static int is_one_model(struct tune_devices *d, struct crew *crew)
{
    char mine[2][GR_DEVICE_MODEL], all[2][GR_DEVICE_MODEL];
    int r;

    for (r = 0; r < crew->n; r++) {
        memcpy(mine[r], d->model, sizeof(mine[r]));
    }
    crew_tell(crew, mine, all, sizeof(mine[0]));
    return 0 == strcmp(all[0], all[1]);
}

/* What joins the devices of the two ranks, as far as it is known before there are links. */
static enum gr_path find_path(struct tune_devices *d, struct crew *crew)
{
    struct gr_gpu_id mine[CREW_RANKS], all[CREW_RANKS];
    struct gr_pci_address addresses[2];
    int r;

    for (r = 0; r < crew->n; r++) {
        mine[r] = d->gpu->id;
    }
    crew_tell(crew, mine, all, sizeof(mine[0]));
    for (r = 0; r < 2; r++) {
        addresses[r] = (struct gr_pci_address) {all[r].domain, all[r].bus, all[r].device};
    }
    if (0 == memcmp(all[0].uuid, all[1].uuid, sizeof(all[0].uuid))) {
        return GR_PATH_SAME;
    }
    return gr_gpus_linked(NULL, addresses, 2) ? GR_PATH_NVLINK : GR_PATH_PCIE;
}

/* As many channels as are resident on each device at once. */
static uint32_t count_channels(const struct tune_devices *d, struct crew *crew)
{
    int resident = gr_gpu_resident_blocks(d->gpu) / crew->n;
    int missing = resident < 1 ? CHANNELS - 1 : resident < CHANNELS ? CHANNELS - resident : 0;

    return CHANNELS - (uint32_t) crew_max(crew, missing);
}

int tune_devices_open(struct tune_devices *d, struct crew *crew, int *beside)
{
    int processes = crew->n < crew->ranks, few;
    struct world_shape shape = {.algo = GR_ALGO_TREE, .slots = SLOTS, .slot_bytes = SLOT_BYTES};

    *d = (struct tune_devices) {
        .options = {.bench = options_default(), .patience = GR_GPU_PATIENCE, .timeout = 60}};
    d->options.bench.warmup = 1;
    open_gpu(d, crew->first);
    few = processes && (NULL == d->gpu || gr_gpus_count(d->gpus) < 2);
    *beside = 0 == crew_max(crew, few);
    if (0 == *beside) {
        return 0;
    }
    if (0 != crew_max(crew, NULL == d->gpu)) {
        return -1;
    }
    snprintf(d->model, sizeof(d->model), "%s", d->gpu->model);
    *beside = is_one_model(d, crew);
    if (0 == *beside) {
        return 0;
    }
    d->path = find_path(d, crew);
    shape.channels = count_channels(d, crew);
    if (0 != world_open(&d->world, crew, d->gpu, &shape)) {
        snprintf(d->error, sizeof(d->error), "links: %s", gr_gpu_error());
        return -1;
    }
    if (GR_PATH_PINNED == d->world.seats[0].team->path) {
        d->path = GR_PATH_PINNED;
    }
    return 0;
}

void tune_devices_close(struct tune_devices *d)
{
    if (NULL != d->world.crew) {
        world_close(&d->world);
    }
    gr_gpus_close(d->gpus);
    device_close();
}

/* ---- calls ---- */

struct shape_of_call {
    enum gr_coll coll;
    enum gr_protocol protocol;
    size_t bytes;
    size_t chunk; /* bytes of a message; 0: what a slot takes */
    uint32_t channels;
    int calls;
};

/* The best of several, in microseconds. */
static double time_of(struct tune_devices *d, struct shape_of_call c)
{
    struct run_result result;
    struct run run;

    d->options.bench.iterations = c.calls;
    if (0 != run_open(&run, &d->world, &d->options, c.coll, c.bytes, d->error)) {
        errx(EXIT_WRONG, "%s", d->error);
    }
    run.spec.protocol = c.protocol;
    run.spec.nchannels = c.channels;
    run.spec.chunk_bytes = c.chunk;
    if (GR_PROTOCOL_SIMPLE == c.protocol) {
        run.spec.threads = GR_LINE_UNITS;
    }
    if (0 != run_measure(&run, &result)) {
        errx(EXIT_WRONG, "%s", d->error);
    }
    run_close(&run);
    return result.best_us;
}

static double time_short(struct tune_devices *d, enum gr_coll coll, enum gr_protocol protocol)
{
    return time_of(d, (struct shape_of_call) {coll, protocol, SHORT, 0, 1, SHORT_CALLS});
}

/* A further message on a link, of several in a row in one channel. */
static double measure_own(struct tune_devices *d)
{
    struct shape_of_call row = {GR_COLL_BCAST, GR_PROTOCOL_SIMPLE, MESSAGES * MESSAGE, MESSAGE, 1,
                                SHORT_CALLS};
    struct shape_of_call one = row;

    one.bytes = MESSAGE;
    return (time_of(d, row) - time_of(d, one)) / (MESSAGES - 1);
}

/* A byte, of long calls through all channels; own: time of a further message. */
static double measure_byte(struct tune_devices *d, enum gr_protocol protocol, double own)
{
    uint32_t channels = d->world.shape.channels;
    double slot = GR_PROTOCOL_SIMPLE == protocol
                      ? (double) SLOT_BYTES
                      : (double) gr_line_bytes(protocol, GR_LINE_UNITS, 1);
    struct shape_of_call c = {GR_COLL_BCAST, protocol, d->large[protocol], 0, channels, LONG_CALLS};
    double whole, half, byte;

    for (c.bytes = c.bytes > 0 ? c.bytes : LEAST_BYTES;; c.bytes *= 2) {
        whole = time_of(d, c);
        if (0 != d->large[protocol] || whole >= LONG_US || c.bytes >= MOST_BYTES) {
            break;
        }
    }
    d->large[protocol] = c.bytes;
    c.bytes /= 2;
    half = time_of(d, c);
    byte = (whole - half) / (double) c.bytes;
    return fmax(byte - own / (slot * channels), byte / 8);
}

void tune_devices_round(struct tune_devices *d, struct gr_machine *m)
{
    int most = GR_PATH_NVLINK == d->path ? GR_PROTOCOL_LL128 : GR_PROTOCOL_LL, protocol;
    double own = measure_own(d);

    *m = (struct gr_machine) {.device_own = (float) own};
    for (protocol = 0; protocol <= most; protocol++) {
        enum gr_protocol p = (enum gr_protocol) protocol;

        m->device_step[p] =
            (float) (time_short(d, GR_COLL_ALLREDUCE, p) - time_short(d, GR_COLL_BCAST, p));
        m->device_bytes[p] = (float) (measure_byte(d, p, own) * (double) gr_machine_bytes[0]);
    }
}
