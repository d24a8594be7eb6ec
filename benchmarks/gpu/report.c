/* SPDX-License-Identifier: BSD-3-Clause */
/* The formats of report.h. */
#include "report.h"

#include "cuda/device.h"

enum { BESIDE_NCCL = 1, CHECKED = 2 };

#define AT(field) offsetof(struct row, field)

static const struct column columns[] = {
    {"collective", "collective", -16, 0, 1, COLUMN_TEXT, AT(collective), 0},
    {"algorithm", "algo", -8, 0, 1, COLUMN_TEXT, AT(algorithm), 0},
    {"bytes", "bytes", 12, 0, 1, COLUMN_NUMBER, AT(bytes), 0},
    {"us", "us", 11, 1, 1, COLUMN_NUMBER, AT(us), 0},
    {"best_us", "best", 11, 1, 1, COLUMN_NUMBER, AT(best_us), 0},
    {"algbw_GBs", "algbw", 9, 3, 1, COLUMN_NUMBER, AT(algbw), 0},
    {"busbw_GBs", "busbw", 9, 3, 1, COLUMN_NUMBER, AT(busbw), 0},
    {"user_bytes_per_byte", "user", 7, 2, 1, COLUMN_NUMBER, AT(user), 0},
    {"fifo_bytes_per_byte", "fifo", 7, 2, 1, COLUMN_NUMBER, AT(fifo), 0},
    {"copy_GBs", "copy", 9, 1, 1, COLUMN_NUMBER, AT(copy), 0},
    {"efficiency_fifo_in_memory", "memory", 10, 1, 100, COLUMN_NUMBER, AT(in_memory), 0},
    {"efficiency_fifo_in_cache", "cache", 9, 1, 100, COLUMN_NUMBER, AT(in_cache), 0},
    {"launches", "launches", 9, 2, 1, COLUMN_NUMBER, AT(launches), 0},
    {"ratio", "ratio", 7, 2, 1, COLUMN_NUMBER, AT(ratio), BESIDE_NCCL},
    {"errors", "errors", 7, 0, 1, COLUMN_NUMBER, AT(errors), CHECKED},
};

static void begin_json(const struct report *report, int ranks, const char *mode,
                       const struct world_shape *shape, int blocks)
{
    fprintf(report->json,
            "{\"ranks\": %d, \"mode\": \"%s\", \"channels\": %u, \"slots\": %u, \"slot_bytes\": "
            "%zu, \"resident_blocks\": %d, ",
            ranks, mode, shape->channels, shape->slots, shape->slot_bytes, blocks);
    if (NULL != report->nccl) {
        fprintf(report->json, "\"nccl\": \"%s\"", report->nccl);
    } else {
        fprintf(report->json, "\"nccl\": null");
    }
    fprintf(report->json, ",\n \"results\": [");
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
    columns_table_heads(stdout, &report->columns);
}

void report_begin(struct report *report, int ranks, int processes, const struct world_shape *shape,
                  const struct gr_gpu *gpu)
{
    const char *mode = processes ? "processes" : "one process";
    int blocks = gr_gpu_resident_blocks(gpu);
    unsigned shown = (NULL != report->nccl ? BESIDE_NCCL : 0) | (report->check ? CHECKED : 0);

    report->columns = (struct columns) {columns, sizeof columns / sizeof columns[0], shown};
    if (NULL != report->json) {
        begin_json(report, ranks, mode, shape, blocks);
    }
    if (report->table) {
        begin_table(report, ranks, mode, shape, blocks);
    }
}

void report_row(struct report *report, const struct row *row)
{
    if (NULL != report->json) {
        fprintf(report->json, report->rows > 0 ? ",\n  " : "\n  ");
        columns_json_row(report->json, &report->columns, row);
        fflush(report->json);
    }
    if (report->table) {
        columns_table_row(stdout, &report->columns, row);
        fflush(stdout);
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
