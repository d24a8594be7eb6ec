/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning files (tune_file.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include "tune/tune_file.h"

#include "base/errors.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define LONGEST_LINE 512

/* ---- kinds of machines ---- */

/* Copy text without the blanks around it, as far as it fits. */
static void copy_text(char *to, size_t size, const char *text)
{
    size_t n;

    text += strspn(text, " \t");
    n = strcspn(text, "\r\n");
    while (n > 0 && (' ' == text[n - 1] || '\t' == text[n - 1])) {
        n--;
    }
    n = n < size ? n : size - 1;
    memcpy(to, text, n);
    to[n] = '\0';
}

/* The model of the first processor: "model name", or on ARM the numbers of implementer and part. */
static void find_processor(const char *root, char *model, size_t size)
{
    char path[512], line[LONGEST_LINE], implementer[32] = "", part[32] = "", *value;
    FILE *f;

    snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
    f = fopen(path, "r");
    model[0] = '\0';
    while (NULL != f && '\0' == model[0] && NULL != fgets(line, sizeof(line), f)) {
        value = strchr(line, ':');
        if (NULL == value) {
            break; /* the second processor's lines follow */
        }
        if (0 == strncmp(line, "model name", 10)) {
            copy_text(model, size, value + 1);
        } else if (0 == strncmp(line, "CPU implementer", 15)) {
            copy_text(implementer, sizeof(implementer), value + 1);
        } else if (0 == strncmp(line, "CPU part", 8)) {
            copy_text(part, sizeof(part), value + 1);
        }
    }
    if (NULL != f) {
        fclose(f);
    }
    if ('\0' == model[0] && '\0' != part[0]) {
        snprintf(model, size, "implementer %s part %s", implementer, part);
    }
}

/* How many processors share what with the first one, and its caches' sizes. */
static void find_processors(const char *root, char *text, size_t size)
{
    char path[512], caches[2][16];
    struct gr_cpu_sets sets;
    cpu_set_t online;
    int first, k;

    snprintf(path, sizeof(path), "%s" GR_SYSFS_CPUS "/online", root);
    gr_cpu_list_read(path, &online);
    first = CPU_COUNT(&online) > 0 ? gr_cpu_lowest(&online) : 0;
    snprintf(path, sizeof(path), "%s" GR_SYSFS_CPUS, root);
    gr_cpu_sets_find(path, first, &sets);
    for (k = 0; k < 2; k++) {
        (void) gr_text_read_line(path, sizeof(path), "%s" GR_SYSFS_CPUS "/cpu%d/cache/index%d/size",
                                 root, first, k + 2);
        copy_text(caches[k], sizeof(caches[k]), path);
    }
    snprintf(text, size, "%d (socket %d, numa %d, cache %d, core %d; caches %s %s)",
             CPU_COUNT(&online), CPU_COUNT(&sets.level[GR_CPU_SOCKET]),
             CPU_COUNT(&sets.level[GR_CPU_NUMA]), CPU_COUNT(&sets.level[GR_CPU_CACHE]),
             CPU_COUNT(&sets.core), caches[0], caches[1]);
}

void gr_machine_kind_find(const char *root, struct gr_machine_kind *kind)
{
    struct utsname name;
    char release[16];

    memset(kind, 0, sizeof(*kind));
    find_processor(root, kind->processor, sizeof(kind->processor));
    find_processors(root, kind->processors, sizeof(kind->processors));
    if (0 == uname(&name)) {
        size_t n = strcspn(name.release, ".");

        n += '.' == name.release[n] ? 1 + strspn(name.release + n + 1, "0123456789") : 0;
        snprintf(release, sizeof(release), "%.*s", (int) n, name.release);
        snprintf(kind->kernel, sizeof(kind->kernel), "%.20s %s", name.sysname, release);
        if ('\0' == kind->processor[0]) {
            snprintf(kind->processor, sizeof(kind->processor), "%.64s", name.machine);
        }
    }
}

const char *gr_tune_file_name(const struct gr_machine_kind *kind, char *buf, size_t size)
{
    size_t used = 0;
    const char *c;

    for (c = kind->processor; '\0' != *c && used + 32 < size; c++) {
        if (isalnum((unsigned char) *c)) {
            buf[used++] = (char) tolower((unsigned char) *c);
        } else if (used > 0 && '-' != buf[used - 1]) {
            buf[used++] = '-';
        }
    }
    used -= used > 0 && '-' == buf[used - 1];
    snprintf(buf + used, size - used, "-%d.tune", atoi(kind->processors));
    return buf;
}

/* ---- reading ---- */

/* Entries that are text: first those of the kind of machine. */
#define TEXT(name, member)                                 \
    {                                                      \
        name, offsetof(struct gr_tune_file, member),       \
            sizeof(((struct gr_tune_file *) NULL)->member) \
    }
static const struct {
    const char *name;
    size_t offset, size;
} texts[] = {TEXT("processor", kind.processor), TEXT("processors", kind.processors),
             TEXT("kernel", kind.kernel),       TEXT("date", date),
             TEXT("version", version),          TEXT("device", constants.device)};
enum { KIND_TEXTS = 3, TEXTS = sizeof(texts) / sizeof(texts[0]) };

/* An entry "RELATION.NAME". Returns 0, or -1: there is no such constant, or it is impossible. */
static int take_constant(struct gr_tune_file *file, const char *name, const char *value)
{
    int at, row;
    size_t n;

    for (at = 0; at < GR_RELATIONS; at++) {
        n = strlen(gr_relation_name(at));
        if (0 != strncmp(name, gr_relation_name(at), n) || '.' != name[n]) {
            continue;
        }
        for (row = 0; row < GR_MACHINE_ROWS; row++) {
            if (gr_relation_has(at, row) && 0 == strcmp(name + n + 1, gr_machine_rows[row].name)) {
                struct gr_machine m = {.exchange = 0};

                if (0 != gr_machine_parse(&m, row, value)) {
                    return -1;
                }
                gr_constants_take(&file->constants, at, &m, GR_FROM_FILE);
                return 0;
            }
        }
    }
    return -1;
}

/* One entry; first: it must be the format's number. Returns 0 or -1. */
static int take_entry(struct gr_tune_file *file, const char *name, const char *value, bool first)
{
    bool format = 0 == strcmp(name, "gpuring_tune");
    int k;

    if (first || format) {
        return first && format && 0 == strcmp(value, GR_TUNE_FILE_FORMAT) ? 0 : -1;
    }
    for (k = 0; k < TEXTS; k++) {
        if (0 == strcmp(name, texts[k].name)) {
            copy_text((char *) file + texts[k].offset, texts[k].size, value);
            return 0;
        }
    }
    return take_constant(file, name, value);
}

/* Read all lines. Returns 0, or the number of a line that is not possible. */
static int read_lines(FILE *f, struct gr_tune_file *file)
{
    char line[LONGEST_LINE], name[64], value[LONGEST_LINE], *equals;
    bool first = true;
    int n = 0;

    while (NULL != fgets(line, sizeof(line), f)) {
        n++;
        if (NULL == strchr(line, '\n') && !feof(f)) {
            return n;
        }
        if (NULL != strchr("#", line[strspn(line, " \t\r\n")])) {
            continue; /* a comment, or nothing */
        }
        equals = strchr(line, '=');
        if (NULL == equals) {
            return n;
        }
        *equals = '\0';
        copy_text(name, sizeof(name), line);
        copy_text(value, sizeof(value), equals + 1);
        if (0 != take_entry(file, name, value, first)) {
            return n;
        }
        first = false;
    }
    return first ? n + 1 : 0;
}

/* Whether it was made on that kind of machine; else why it was not. */
static bool is_of_kind(const struct gr_machine_kind *here, const struct gr_tune_file *file,
                       char *why, size_t size)
{
    const struct gr_tune_file as_here = {.kind = *here};
    const char *a, *b;
    int k;

    for (k = 0; k < KIND_TEXTS; k++) {
        a = (const char *) file + texts[k].offset;
        b = (const char *) &as_here + texts[k].offset;
        if (0 != strcmp(a, b)) {
            snprintf(why, size, "it was made on another machine (%s: \"%s\", here \"%s\")",
                     texts[k].name, a, b);
            return false;
        }
    }
    return true;
}

/* Whether a file with constants of devices names the device; else why it must. */
static bool names_device(const struct gr_constants *c, char *why, size_t size)
{
    int at, row;

    for (at = GR_CPU_DISTANCES; at < GR_RELATIONS && '\0' == c->device[0]; at++) {
        for (row = 0; row < GR_MACHINE_ROWS; row++) {
            if (gr_machine_knows(&c->at[at], row)) {
                snprintf(why, size, "it has constants of a device but no entry \"device\"");
                return false;
            }
        }
    }
    return true;
}

int gr_tune_file_read(const char *path, const struct gr_machine_kind *kind,
                      struct gr_tune_file *file, char *why, size_t size)
{
    FILE *f = fopen(path, "r");
    int line, failed;

    memset(file, 0, sizeof(*file));
    if (NULL == f) {
        return GR_ERR_SYS;
    }
    line = read_lines(f, file);
    failed = ferror(f) ? errno : 0;
    fclose(f);
    if (0 != failed) {
        errno = failed;
        return GR_ERR_SYS;
    }
    if (0 != line) {
        snprintf(why, size, "line %d is not possible", line);
        return GR_ERR_NOT_SUPPORTED;
    }
    return is_of_kind(kind, file, why, size) && names_device(&file->constants, why, size)
               ? 0
               : GR_ERR_NOT_SUPPORTED;
}
