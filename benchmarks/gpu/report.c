/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the output of gpuring_gpu. See report.h. */
#include "cuda/device.h"
#include "report.h"

#include <math.h>

/* When the table has a column; JSON has all of them. */
enum when { ALWAYS, BESIDE_NCCL, CHECKED };

/* A field in its appearances. */
struct column {
    const char *name, *head;
    int width, digits;
    double scale;
    size_t offset;
    enum when when;
};

#define AT(field) offsetof(struct row, field)

static const struct column columns[] = {
    {"bytes", "bytes", 12, 0, 1, AT(bytes), ALWAYS},
    {"us", "us", 11, 1, 1, AT(us), ALWAYS},
    {"best_us", "best", 11, 1, 1, AT(best_us), ALWAYS},
    {"algbw_GBs", "algbw", 9, 3, 1, AT(algbw), ALWAYS},
    {"busbw_GBs", "busbw", 9, 3, 1, AT(busbw), ALWAYS},
    {"user_bytes_per_byte", "user", 7, 2, 1, AT(user), ALWAYS},
    {"fifo_bytes_per_byte", "fifo", 7, 2, 1, AT(fifo), ALWAYS},
    {"copy_GBs", "copy", 9, 1, 1, AT(copy), ALWAYS},
    {"efficiency_fifo_in_memory", "memory(%)", 10, 1, 100, AT(in_memory), ALWAYS},
    {"efficiency_fifo_in_cache", "cache(%)", 9, 1, 100, AT(in_cache), ALWAYS},
    {"launches", "launches", 9, 2, 1, AT(launches), ALWAYS},
    {"ratio", "ratio", 7, 2, 1, AT(ratio), BESIDE_NCCL},
    {"errors", "errors", 7, 0, 1, AT(errors), CHECKED},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static double value(const struct column *c, const struct row *row)
{
    return *(const double *) ((const char *) row + c->offset);
}

static int shown(const struct report *report, const struct column *c)
{
    return ALWAYS == c->when || (CHECKED == c->when && report->check) ||
           (BESIDE_NCCL == c->when && NULL != report->nccl);
}

static void begin_json(const struct report *report, int ranks, const char *mode,
                       const struct world_shape *shape, int blocks)
{
    fprintf(report->json,
            "{\"ranks\": %d, \"mode\": \"%s\", \"channels\": %u, \"slots\": %u, \"slot_bytes\": "
            "%zu, \"resident_blocks\": %d, ",
            ranks, mode, shape->channels, shape->slots, shape->slot_bytes, blocks);
    if (NULL != report->nccl) {
        fprintf(report->json, "\"nccl\": \"%s\",\n \"results\": [", report->nccl);
    } else {
        fprintf(report->json, "\"nccl\": null,\n \"results\": [");
    }
}

static void begin_table(const struct report *report, int ranks, const char *mode,
                        const struct world_shape *shape, int blocks)
{
    printf("# gpuring_gpu: %d ranks, %s, %u channels (%d blocks fit the device), links of %u slots "
           "of %zu bytes\n"
           "# user, fifo: bytes of callers' buffers and of slots that all ranks access, per byte "
           "of the size\n"
           "# copy: GB/s of a plain copy of the same footprint, read + written; memory, cache: "
           "floor / time, if all\n"
           "# accesses go to memory, and if slots stay in the cache. launches: per call and rank\n",
           ranks, mode, shape->channels, blocks, shape->slots, shape->slot_bytes);
    if (NULL != report->nccl) {
        printf("# nccl: NCCL %s, %u blocks per rank, same buffers, streams and timing; ratio: its "
               "time / that of\n"
               "# the row before, above 1 where gpuring is faster\n",
               report->nccl, shape->channels);
    }
    printf("#%-15s %-8s", "collective", "algo");
    for (int i = 0; i < COLUMNS; i++) {
        if (shown(report, &columns[i])) {
            printf(" %*s", columns[i].width, columns[i].head);
        }
    }
    printf("\n");
}

void report_begin(struct report *report, int ranks, int processes, const struct world_shape *shape,
                  const struct gr_gpu *gpu)
{
    const char *mode = processes ? "processes" : "one process";
    int blocks = gr_gpu_resident_blocks(gpu);

    if (NULL != report->json) {
        begin_json(report, ranks, mode, shape, blocks);
    }
    if (report->table) {
        begin_table(report, ranks, mode, shape, blocks);
    }
}

static void put_json(FILE *file, const struct row *row)
{
    fprintf(file, "{\"collective\": \"%s\", \"algorithm\": \"%s\"", row->collective,
            row->algorithm);
    for (int i = 0; i < COLUMNS; i++) {
        double v = value(&columns[i], row);
        fprintf(file, isfinite(v) ? ", \"%s\": %.10g" : ", \"%s\": null", columns[i].name, v);
    }
    fprintf(file, "}");
}

static void put_table(const struct report *report, const struct row *row)
{
    printf("%-16s %-8s", row->collective, row->algorithm);
    for (int i = 0; i < COLUMNS; i++) {
        const struct column *c = &columns[i];
        double v = value(c, row);
        if (!shown(report, c)) {
            continue;
        }
        if (isfinite(v)) {
            printf(" %*.*f", c->width, c->digits, v * c->scale);
        } else {
            printf(" %*s", c->width, "-");
        }
    }
    printf("\n");
    fflush(stdout);
}

void report_row(struct report *report, const struct row *row)
{
    if (NULL != report->json) {
        fprintf(report->json, report->rows > 0 ? ",\n  " : "\n  ");
        put_json(report->json, row);
        fflush(report->json);
    }
    if (report->table) {
        put_table(report, row);
    }
    report->rows++;
}

void report_end(struct report *report)
{
    if (NULL != report->json) {
        fprintf(report->json, "\n ]}\n");
        fflush(report->json);
    }
}

int report_costs(struct report *report, struct gr_gpus *gpus, struct gr_gpu *gpu, char *error)
{
    struct costs c;

    if (0 != costs_measure(&c, gpus, gpu, error)) {
        return 2;
    }
    if (NULL != report->json) {
        fprintf(report->json,
                "{\"pointer_hit_ns\": %.1f, \"pointer_other_ns\": %.1f, \"pointer_host_ns\": %.1f, "
                "\"put_us\": %.2f, \"launch_us\": %.2f, \"again_us\": %.2f}\n",
                c.hit_ns, c.other_ns, c.host_ns, c.put_us, c.launch_us, c.again_us);
    }
    if (report->table) {
        printf("pointer in the allocation of the last time  %9.1f ns\n"
               "pointer in another allocation               %9.1f ns\n"
               "pointer to plain host memory                %9.1f ns\n"
               "launch: put on the stream                   %9.2f us\n"
               "launch: until its end is seen, no data      %9.2f us\n"
               "wait in vain, leave, be launched again      %9.2f us\n",
               c.hit_ns, c.other_ns, c.host_ns, c.put_us, c.launch_us, c.again_us);
    }
    return 0;
}
