/* SPDX-License-Identifier: BSD-3-Clause */
/* Owns the output of gpuring_gpu. See report.h. */
#include "report.h"

#include <math.h>
#include <stdio.h>

/* A field in its appearances; the table has those with a width. */
struct column {
    const char *name, *head;
    int width, digits;
    double scale;
    size_t offset;
};

#define AT(field) offsetof(struct row, field)

static const struct column columns[] = {
    {"bytes", "bytes", 12, 0, 1, AT(bytes)},
    {"us", "us", 11, 1, 1, AT(us)},
    {"best_us", "best", 11, 1, 1, AT(best_us)},
    {"algbw_GBs", "algbw", 9, 3, 1, AT(algbw)},
    {"busbw_GBs", "busbw", 9, 3, 1, AT(busbw)},
    {"user_bytes_per_byte", "user", 7, 2, 1, AT(user)},
    {"fifo_bytes_per_byte", "fifo", 7, 2, 1, AT(fifo)},
    {"copy_GBs", "copy", 9, 1, 1, AT(copy)},
    {"efficiency_fifo_in_memory", "memory(%)", 10, 1, 100, AT(in_memory)},
    {"efficiency_fifo_in_cache", "cache(%)", 9, 1, 100, AT(in_cache)},
    {"launches", "launches", 9, 2, 1, AT(launches)},
    {"errors", "errors", 7, 0, 1, AT(errors)}, /* last: the table has it with -c only */
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static double value(const struct column *c, const struct row *row)
{
    return *(const double *)((const char *)row + c->offset);
}

void report_begin(struct report *report, int ranks, int processes, const struct world_shape *shape,
                  const struct gr_gpu *gpu)
{
    const char *mode = processes ? "processes" : "one process";

    if (report->json) {
        printf("{\"ranks\": %d, \"mode\": \"%s\", \"channels\": %u, \"slots\": %u, \"slot_bytes\": %zu, "
               "\"resident_blocks\": %d,\n \"results\": [",
               ranks, mode, shape->channels, shape->slots, shape->slot_bytes, gr_gpu_resident_blocks(gpu));
        return;
    }
    printf("# gpuring_gpu: %d ranks, %s, %u channels (%d blocks fit the device), links of %u slots of %zu bytes\n"
           "# user, fifo: bytes of callers' buffers and of slots that all ranks access, per byte of the size\n"
           "# copy: GB/s of a plain copy of the same footprint, read + written; memory, cache: floor / time, if all\n"
           "# accesses go to memory, and if slots stay in the cache. launches: per call and rank\n",
           ranks, mode, shape->channels, gr_gpu_resident_blocks(gpu), shape->slots, shape->slot_bytes);
    printf("#%-15s %-6s", "collective", "algo");
    for (int i = 0; i < COLUMNS - !report->check; i++) {
        printf(" %*s", columns[i].width, columns[i].head);
    }
    printf("\n");
}

static void put_json(const struct row *row)
{
    printf("{\"collective\": \"%s\", \"algorithm\": \"%s\"", row->collective, row->algorithm);
    for (int i = 0; i < COLUMNS; i++) {
        double v = value(&columns[i], row);
        printf(isfinite(v) ? ", \"%s\": %.10g" : ", \"%s\": null", columns[i].name, v);
    }
    printf("}");
}

static void put_table(const struct row *row, int n)
{
    printf("%-16s %-6s", row->collective, row->algorithm);
    for (int i = 0; i < n; i++) {
        const struct column *c = &columns[i];
        double v = value(c, row);
        if (isfinite(v)) {
            printf(" %*.*f", c->width, c->digits, v * c->scale);
        } else {
            printf(" %*s", c->width, "-");
        }
    }
    printf("\n");
}

void report_row(struct report *report, const struct row *row)
{
    if (report->json) {
        printf(report->rows > 0 ? ",\n  " : "\n  ");
        put_json(row);
    } else {
        put_table(row, COLUMNS - !report->check);
    }
    report->rows++;
    fflush(stdout);
}

void report_end(struct report *report)
{
    if (report->json) {
        printf("\n ]}\n");
    }
}

int report_costs(struct report *report, struct gr_gpus *gpus, struct gr_gpu *gpu, char *error)
{
    struct costs c;

    if (0 != costs_measure(&c, gpus, gpu, error)) {
        return 2;
    }
    printf(report->json ? "{\"pointer_hit_ns\": %.1f, \"pointer_other_ns\": %.1f, \"pointer_host_ns\": %.1f, "
                          "\"put_us\": %.2f, \"launch_us\": %.2f, \"again_us\": %.2f}\n"
                        : "pointer in the allocation of the last time  %9.1f ns\n"
                          "pointer in another allocation               %9.1f ns\n"
                          "pointer to plain host memory                %9.1f ns\n"
                          "launch: put on the stream                   %9.2f us\n"
                          "launch: until its end is seen, no data      %9.2f us\n"
                          "wait in vain, leave, be launched again      %9.2f us\n",
           c.hit_ns, c.other_ns, c.host_ns, c.put_us, c.launch_us, c.again_us);
    return 0;
}
