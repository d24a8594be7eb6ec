/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "write_file.h"

#include "base/errors.h"

#include <stdbool.h>
#include <string.h>

#define AT_SIZES "at 16 KiB, 128 KiB, 512 KiB and 2 MiB"

/* What the constants are, by the rows of gr_machine_rows. */
static const char *const help[] = {
    "both processes write a cache line and wait for the other's",
    "combining two vectors of 16 KiB of floats, of one of them",
    "copies through slots in one direction, " AT_SIZES,
    "the same in both directions at once, " AT_SIZES,
    "single copy of a byte",
    "single copy of data copied before, " AT_SIZES,
    "single copy of data that their owner has just written, " AT_SIZES,
    "a step of a kernel that waits for no other rank",
    "a kernel waits for a message of another one and passes it on, protocol simple",
    "bytes from one kernel to another through all channels, protocol simple",
    "a message from kernel to kernel, protocol ll",
    "bytes from one kernel to another, protocol ll",
    "a message from kernel to kernel, protocol ll128",
    "bytes from one kernel to another, protocol ll128",
};
_Static_assert(GR_MACHINE_ROWS == sizeof(help) / sizeof(help[0]), "rows");

void forget_bad(struct gr_machine *m)
{
    int row;

    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        size_t bytes = (size_t) gr_machine_rows[row].values * sizeof(float);
        struct gr_machine one = {.exchange = 0};

        memcpy(gr_machine_values(&one, row), gr_machine_values(m, row), bytes);
        if (!gr_machine_good(&one)) {
            memset(gr_machine_values(m, row), 0, bytes);
        }
    }
}

int write_tune_file(FILE *f, const struct gr_tune_file *file)
{
    bool devices = '\0' != file->constants.device[0];
    char values[96];
    int at, row;

    fprintf(f, "# What gpuring_tune measured. Entries are RELATION.CONSTANT: what two processors\n"
               "# share at least, or what joins two devices, and\n");
    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        if (devices || !gr_machine_rows[row].is_device) {
            fprintf(f, "#   %-17s %-4s  %s\n", gr_machine_rows[row].name, gr_machine_unit(row),
                    help[row]);
        }
    }
    fprintf(f,
            "gpuring_tune = " GR_TUNE_FILE_FORMAT
            "\nprocessor = %s\nprocessors = %s\nkernel = %s\ndate = %s\nversion = %s\n",
            file->kind.processor, file->kind.processors, file->kind.kernel, file->date,
            file->version);
    if (devices) {
        fprintf(f, "device = %s\n", file->constants.device);
    }
    for (at = 0; at < GR_RELATIONS; at++) {
        for (row = 0; row < GR_MACHINE_ROWS; row++) {
            if (gr_machine_knows(&file->constants.at[at], row)) {
                fprintf(f, "%s.%s = %s\n", gr_relation_name(at), gr_machine_rows[row].name,
                        gr_machine_print(&file->constants.at[at], row, values, sizeof(values)));
            }
        }
    }
    return ferror(f) ? GR_ERR_SYS : 0;
}
