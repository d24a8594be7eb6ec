/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpuring_gpu: the component's kernels and device executor, without MPI.
 *
 *      gpuring_gpu                        one process, 4 ranks on 4 streams of one device
 *      gpuring_gpu --processes            a process for each rank, links mapped by CUDA IPC
 *      gpuring_gpu --costs                pointers, launches, leaving and being launched again
 *      gpuring_gpu --attributes           the device's attributes
 *      gpuring_gpu --nccl libnccl.so.2    each row of gpuring is followed by one of NCCL
 *
 * Where all ranks share one device, times depend on its memory, cache and scheduling, and not on
 * links between devices; report.h has floors for that. Environment, for tests only:
 * GPURING_BENCH_CORRUPT=1 makes an element of each output wrong before each check.
 */
#include "arguments.h"
#include "attributes.h"
#include "costs.h"
#include "common/device.h"
#include "cuda/device.h"
#include "report.h"
#include "run.h"
#include "traffic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct bench {
    struct arguments a;
    struct gr_gpus *gpus;
    struct gr_gpu *gpu;
    struct nccl *nccl; /* NULL: without */
    struct report report;
    double rate_bytes; /* footprint of the last copy rate */
    double rate;       /* the last copy rate */
};

/* The rate of copies of all inputs and outputs; measured once for sizes in a row. */
static double copy_rate(struct bench *b, size_t bytes)
{
    double footprint = 2.0 * (double) b->a.ranks * (double) bytes;

    if (footprint != b->rate_bytes) {
        b->rate_bytes = footprint;
        b->rate = costs_copy_rate(b->gpu, (size_t) footprint);
    }
    return b->rate;
}

static void fill_row(struct bench *b, const struct run *run, const struct run_result *r,
                     struct row *row)
{
    /* bytes in slots for each byte of data */
    static const double flags[GR_NPROTOCOLS] = {1.0, 2.0, 128.0 / 120};
    const struct world *w = run->world;
    struct traffic t =
        traffic_count(&run->spec, &w->seats[0].op, flags[w->shape.protocol], w->shape.zero_copy);
    double rate = copy_rate(b, r->bytes), bytes = (double) r->bytes, seconds = r->us * 1e-6;

    *row = (struct row) {
        .collective = gr_coll_name(run->coll),
        .algorithm = gr_algo_name(w->shape.algo),
        .bytes = bytes,
        .us = r->us,
        .best_us = r->best_us,
        .algbw = bytes / r->us * 1e-3,
        .busbw = run_busbw(run->coll, r->bytes, seconds, b->a.ranks),
        .user = t.user / bytes,
        .fifo = t.fifo / bytes,
        .copy = rate * 1e-9,
        .in_memory = rate > 0 ? (t.user + t.fifo) / rate / seconds : NAN,
        .in_cache = rate > 0 ? t.user / rate / seconds : NAN,
        .launches = r->launches,
        .errors = r->errors,
        .ratio = NAN,
    };
}

/*
 * NCCL's memory traffic is not known: no floors. Its time is compared with that of the row before.
 */
static void fill_nccl_row(const struct bench *b, const struct run *run, const struct run_result *r,
                          const struct row *ours, struct row *row)
{
    *row = *ours;
    row->algorithm = "nccl";
    row->us = r->us;
    row->best_us = r->best_us;
    row->algbw = row->bytes / r->us * 1e-3;
    row->busbw = run_busbw(run->coll, r->bytes, r->us * 1e-6, b->a.ranks);
    row->user = row->fifo = row->in_memory = row->in_cache = NAN;
    row->launches = r->launches;
    row->errors = r->errors;
    row->ratio = r->us / ours->us;
}

/* One size, by kernels, then by NCCL. The first process measures the copy rate; the others wait. */
static int run_size(struct bench *b, struct world *world, enum gr_coll coll, size_t bytes,
                    int *wrong)
{
    struct crew *crew = world->crew;
    struct run_result ours, nccl = {.errors = 0};
    struct run run;
    struct row rows[2];
    int rc = run_open(&run, world, &b->a.run, coll, bytes, b->a.error);

    rc = 0 == rc ? run_measure(&run, &ours) : rc;
    run.nccl = b->nccl;
    if (0 == rc && NULL != b->nccl) {
        rc = run_measure(&run, &nccl);
    }
    run_close(&run);
    if (0 == rc && 0 == crew->first) {
        fill_row(b, &run, &ours, &rows[0]);
        report_row(&b->report, &rows[0]);
        if (NULL != b->nccl) {
            fill_nccl_row(b, &run, &nccl, &rows[0], &rows[1]);
            report_row(&b->report, &rows[1]);
        }
    }
    *wrong = *wrong || (0 == rc && (ours.errors > 0 || nccl.errors > 0));
    crew_meet(crew);
    return rc;
}

static int run_algo(struct bench *b, struct crew *crew, enum gr_coll coll, enum gr_algo algo,
                    int *wrong)
{
    const struct options *o = &b->a.run.bench;
    struct world_shape shape = b->a.shape;
    struct world world;
    int rc;

    shape.algo = algo;
    shape.root = o->root;
    rc = world_open(&world, crew, b->gpu, &shape);
    if (0 != rc) {
        snprintf(b->a.error, sizeof b->a.error, "links of %s: %s", gr_algo_name(algo),
                 gr_gpu_error());
    }
    for (size_t bytes = o->min_bytes; 0 == rc && bytes <= o->max_bytes; bytes *= o->factor) {
        rc = run_size(b, &world, coll, bytes, wrong);
    }
    world_close(&world);
    return rc;
}

static int run_all(struct bench *b, struct crew *crew)
{
    const struct options *o = &b->a.run.bench;
    int rc = 0, wrong = 0;

    for (int i = 0; i < o->ncollectives; i++) {
        enum gr_coll coll = (enum gr_coll) o->collectives[i];
        for (int algo = 0; 0 == rc && algo < GR_NALGOS; algo++) {
            /* in place its output overwrites input before that is sent: the component stages it */
            int skip = (o->in_place && GR_COLL_REDUCE_SCATTER == coll) ||
                       gr_algo_is_by_rank((enum gr_algo) algo) ||
                       !gr_algo_fits((enum gr_algo) algo, b->a.ranks, NULL);
            if (!skip && gr_algo_has((enum gr_algo) algo, coll) &&
                (algo == b->a.algo || GR_NALGOS == b->a.algo)) {
                rc = run_algo(b, crew, coll, (enum gr_algo) algo, &wrong);
            }
        }
    }
    return 0 != rc ? EXIT_USAGE : wrong ? EXIT_WRONG : EXIT_RIGHT;
}

/* b->gpu stays NULL where that fails. */
static void open_gpu(struct bench *b, int number)
{
    char why[DEVICE_ERROR_CHARS];
    int ordinal, rc = 0;

    ordinal = device_open(number, why);
    if (ordinal < 0) {
        snprintf(b->a.error, sizeof b->a.error, "this %.480s", why);
        return;
    }
    b->gpus = gr_gpus_open(NULL, &rc);
    b->gpu = NULL != b->gpus ? gr_gpu_get(b->gpus, ordinal, &rc) : NULL;
    if (b->a.attributes && NULL != b->gpu && 0 != attributes_print(b->gpus, b->gpu)) {
        rc = GR_ERR_NODRIVER;
    }
    rc = NULL == b->gpu || 0 != rc ? rc : gr_gpu_load_kernels(b->gpu);
    if (0 != rc) {
        b->gpu = NULL;
        snprintf(b->a.error, sizeof b->a.error, "cannot use the device: error %d, %s", rc,
                 gr_gpu_error());
    }
}

/* The first process with an error line prints it. */
static void complain(const struct bench *b, struct crew *crew)
{
    double mine = '\0' != b->a.error[0] ? crew->ranks - crew->first : 0;

    if (mine == crew_max(crew, mine) && mine > 0) {
        fprintf(stderr, "gpuring_gpu: %s\n", b->a.error);
    }
    crew_meet(crew); /* the first process that ends has the others killed */
}

/* For --nccl. 0, or -1 on every process. */
static int open_nccl(struct bench *b, struct crew *crew)
{
    if (NULL == b->a.library || b->a.costs) {
        return 0;
    }
    b->nccl = nccl_open(b->a.library, crew, b->a.shape.channels, b->a.error);
    return NULL != b->nccl ? 0 : -1;
}

/* The output, on the first process. 0, or -1. */
static int open_report(struct bench *b)
{
    int json = FORMAT_JSON == b->a.run.bench.format;

    b->report = (struct report) {.table = !json,
                                 .json = json ? stdout : NULL,
                                 .check = b->a.run.bench.check,
                                 .nccl = NULL != b->nccl ? nccl_version(b->nccl) : NULL};
    if (NULL != b->a.json) {
        b->report.json = fopen(b->a.json, "w");
        if (NULL == b->report.json) {
            snprintf(b->a.error, sizeof b->a.error, "--json: %.400s: %s", b->a.json,
                     strerror(errno));
            return -1;
        }
    }
    return 0;
}

static int report_all(struct bench *b, struct crew *crew)
{
    int status;

    if (0 == crew->first) {
        report_begin(&b->report, b->a.ranks, b->a.processes, &b->a.shape, b->gpu);
    }
    status = run_all(b, crew);
    if (0 == crew->first) {
        report_end(&b->report);
    }
    return status;
}

static int work(struct crew *crew, void *ctx)
{
    struct bench *b = ctx;
    int status = EXIT_USAGE;

    open_gpu(b, b->a.processes ? crew->first : 0);
    if (b->a.attributes && NULL != b->gpu) {
        printf("%-32s %d\n", "kernels loaded, blocks that fit", gr_gpu_resident_blocks(b->gpu));
        status = EXIT_RIGHT;
    } else if (0 == crew_max(crew, NULL == b->gpu) && 0 == open_nccl(b, crew) &&
               0 == crew_max(crew, 0 == crew->first && 0 != open_report(b))) {
        status = b->a.costs ? report_costs(&b->report, b->gpus, b->gpu, b->a.error)
                            : report_all(b, crew);
    }
    if (EXIT_USAGE == status) {
        complain(b, crew);
    }
    nccl_close(b->nccl);
    gr_gpus_close(b->gpus);
    device_close();
    return status;
}

int main(int argc, char **argv)
{
    static struct bench b;

    if (0 != arguments_parse(&b.a, argc, argv)) {
        fprintf(stderr, "gpuring_gpu: %s\n", b.a.error);
        return EXIT_USAGE;
    }
    if (b.a.run.bench.help) {
        arguments_help();
        return EXIT_RIGHT;
    }
    return crew_run(b.a.ranks, b.a.processes && !b.a.costs && !b.a.attributes,
                    world_board_bytes(b.a.ranks, b.a.shape.channels), work, &b);
}
