/* SPDX-License-Identifier: BSD-3-Clause */
/* What write_file.h offers: the text of a tuning file, with a comment on each constant. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "write_file.h"

#include "base/errors.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define AT_SIZES "at 16 KiB, 128 KiB, 512 KiB and 2 MiB"

/* What the constants are, in the order of gr_machine_rows: write_tune_file() checks the names. */
static const struct {
    const char *name, *text;
} help[] = {
    {"exchange", "both processes write a cache line and wait for the other's"},
    {"reduce", "combining two vectors of 16 KiB of floats, of one of them"},
    {"slots", "copies through slots in one direction, " AT_SIZES},
    {"slots_both_ways", "the same in both directions at once, " AT_SIZES},
    {"single_copy_call", "single copy of a byte"},
    {"single_copy", "single copy of data copied before, " AT_SIZES},
    {"single_copy_new", "single copy of data that their owner has just written, " AT_SIZES},
    {"device_own", "a step of a kernel that waits for no other rank"},
    {"device_step",
     "a kernel waits for a message of another one and passes it on, protocol simple"},
    {"device_rate", "bytes from one kernel to another through all channels, protocol simple"},
    {"device_ll_step", "a message from kernel to kernel, protocol ll"},
    {"device_ll_rate", "bytes from one kernel to another, protocol ll"},
    {"device_ll128_step", "a message from kernel to kernel, protocol ll128"},
    {"device_ll128_rate", "bytes from one kernel to another, protocol ll128"},
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
        assert(0 == strcmp(help[row].name, gr_machine_rows[row].name));
        if (devices || !gr_machine_rows[row].is_device) {
            fprintf(f, "#   %-17s %-4s  %s\n", help[row].name, gr_machine_unit(row),
                    help[row].text);
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
