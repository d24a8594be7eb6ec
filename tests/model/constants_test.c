/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The constants of the cost model by relation and source (tune/constants.h), what text stands for
 * them (tune/machine.h), and tuning files (tune/tune_file.h).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* processor sets */
#endif
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmocka_test.h"

#include "base/errors.h"
#include "tune/constants.h"
#include "tune/tune_file.h"
#include "write_file.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static int row_of(const char *name)
{
    int row = 0;

    while (0 != strcmp(gr_machine_rows[row].name, name)) {
        row++;
        assert_true(row < GR_MACHINE_ROWS);
    }
    return row;
}

/* All constants have values that differ from row to row; more: from call to call. */
static struct gr_machine machine_of(double more)
{
    struct gr_machine m = {.exchange = 0};
    char text[96];
    int row;

    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        double v = more + row;

        snprintf(text, sizeof(text),
                 gr_machine_rows[row].values > 1 ? "%.2f %.2f %.2f %.2f" : "%.2f", v, v + 0.25,
                 v + 0.5, v + 0.75);
        assert_int_equal(gr_machine_parse(&m, row, text), 0);
    }
    return m;
}

/* ---- text ---- */

static void text_is_read_and_written(void **state)
{
    static const struct {
        const char *row, *text, *again; /* NULL: refused */
    } rows[] = {
        {"exchange", "0.2", "0.2"},
        {"exchange", "\t 12.25 \n", "12.25"},
        {"exchange", "0", NULL},
        {"exchange", "-1", NULL},
        {"exchange", "", NULL},
        {"exchange", "nan", NULL},
        {"exchange", "inf", NULL},
        {"exchange", "fast", NULL},
        {"exchange", "0.2us", NULL},
        {"exchange", "0.2 0.3", NULL},
        {"exchange", "0.0001", NULL},
        {"exchange", "1000", NULL},
        {"single_copy_call", "1.5", "1.5"},
        {"reduce", "8", "8"},
        {"slots", "10 11.5,12 , 8.25", "10 11.5 12 8.25"},
        {"slots", "10 11 12", NULL},
        {"slots", "10 11 12 13 14", NULL},
        {"slots", "10 11 0 13", NULL},
        {"slots", "10 11 12 5000", NULL}, /* GB/s */
        {"slots", "10 11 12 0.001", NULL},
        {"single_copy_new", "1 2 3 4", "1 2 3 4"},
        /* kernels that take turns are slower than processes, and the memory of devices faster */
        {"device_step", "1000", "1000"},
        {"device_step", "20000", NULL},
        {"device_rate", "5000", "5000"},
        {"device_rate", "50000", NULL},
        {"device_ll_rate", "0.001", NULL},
    };
    size_t k;

    for (k = 0; k < COUNT_OF(rows); k++) {
        struct gr_machine m = {.exchange = 0}, none = m;
        int row = row_of(rows[k].row), rc = gr_machine_parse(&m, row, rows[k].text);
        char text[96];

        if ((NULL == rows[k].again) != (0 != rc) || gr_machine_knows(&m, row) != (0 == rc)) {
            fail_msg("%s = %s", rows[k].row, rows[k].text);
        }
        if (0 != rc) {
            assert_memory_equal(&m, &none, sizeof(m));
        } else {
            assert_string_equal(gr_machine_print(&m, row, text, sizeof(text)), rows[k].again);
        }
    }
}

static void rates_become_times(void **state)
{
    struct gr_machine m = {.exchange = 0};

    assert_int_equal(gr_machine_parse(&m, row_of("slots"), "1 2 4 8"), 0);
    assert_true(fabs(m.one_way[0] - 16.384) < 1e-4);
    assert_true(fabs(m.one_way[3] - 262.144) < 1e-3);
    assert_int_equal(gr_machine_parse(&m, row_of("exchange"), "0.25"), 0);
    assert_true(0.25F == m.exchange);
}

/* ---- sources ---- */

static void better_sources_come_first(void **state)
{
    static const enum gr_constant_source orders[][2] = {{GR_FROM_FILE, GR_FROM_MEASUREMENT},
                                                        {GR_FROM_MEASUREMENT, GR_FROM_FILE}};
    size_t k, n;

    for (k = 0; k < COUNT_OF(orders); k++) {
        struct gr_constants c = {.not_measured = 0};
        struct gr_machine given, m;
        const uint8_t *from;

        for (n = 0; n < 2; n++) { /* a file says one, a measurement all */
            struct gr_machine all = machine_of(10 * (double) orders[k][n] + 1), part = {.call = 0};

            part.exchange = all.exchange;
            gr_constants_take(&c, GR_CPU_NUMA, GR_FROM_MEASUREMENT == orders[k][n] ? &all : &part,
                              orders[k][n]);
        }
        assert_true(gr_constants_good(&c));
        m = gr_constants_at(&c, GR_CPU_NUMA, GR_FROM_MEASUREMENT, &from);
        given = machine_of(10 * GR_FROM_FILE + 1);
        assert_true(m.exchange == given.exchange);
        assert_int_equal(from[row_of("exchange")], GR_FROM_FILE);
        given = machine_of(10 * GR_FROM_MEASUREMENT + 1);
        assert_memory_equal(m.fetch, given.fetch, sizeof(m.fetch));
        assert_string_equal(gr_constants_sources(&c, GR_CPU_NUMA, GR_FROM_BUILD), "file+measured");
    }
}

/* What may decide the order of a reduction is without what was measured in this job. */
static void measurements_are_not_fixed(void **state)
{
    struct gr_machine measured = machine_of(1), given = {.exchange = 0.5F}, m;
    struct gr_constants c = {.not_measured = 0};

    gr_constants_take(&c, GR_CPU_CACHE, &measured, GR_FROM_MEASUREMENT);
    m = gr_constants_at(&c, GR_CPU_CACHE, GR_FROM_FILE, NULL);
    given.exchange = 0;
    assert_memory_equal(&m, &given, sizeof(m));
    given.exchange = 0.5F;
    gr_constants_take(&c, GR_CPU_CACHE, &given, GR_FROM_FILE);
    m = gr_constants_at(&c, GR_CPU_CACHE, GR_FROM_FILE, NULL);
    assert_memory_equal(&m, &given, sizeof(m));
    assert_false(gr_constants_complete(&c, GR_CPU_CACHE));
    gr_constants_take(&c, GR_CPU_CACHE, &measured, GR_FROM_FILE);
    assert_true(gr_constants_complete(&c, GR_CPU_CACHE));
}

/* A distance of which nothing is known takes the next nearer one's, else the next farther one's. */
static void distances_stand_for_each_other(void **state)
{
    struct gr_machine near = machine_of(1), far = machine_of(20), none = {.exchange = 0}, m;
    struct gr_constants c = {.not_measured = 0};
    int d;

    gr_constants_take(&c, GR_CPU_NUMA, &near, GR_FROM_MEASUREMENT);
    gr_constants_take(&c, GR_CPU_SYSTEM, &far, GR_FROM_MEASUREMENT);
    for (d = 0; d < GR_CPU_DISTANCES; d++) {
        m = gr_constants_at(&c, d, GR_FROM_MEASUREMENT, NULL);
        assert_true(m.reduce == (GR_CPU_SYSTEM == d ? far.reduce : near.reduce));
        /* for what is fixed a measurement says nothing of a distance */
        m = gr_constants_at(&c, d, GR_FROM_FILE, NULL);
        assert_memory_equal(&m, &none, sizeof(m));
    }
    gr_constants_take(&c, GR_CPU_CACHE, &far, GR_FROM_FILE);
    m = gr_constants_at(&c, GR_CPU_NUMA, GR_FROM_FILE, NULL);
    assert_true(m.reduce == far.reduce);
    m = gr_constants_at(&c, GR_CPU_NUMA, GR_FROM_MEASUREMENT, NULL);
    assert_true(m.reduce == near.reduce);
}

/*
 * Paths have the constants of kernels, distances those of processes, and no path stands for another.
 * Where the file's do not hold, what is built in is left.
 */
static void devices_have_constants_of_their_own(void **state)
{
    struct gr_machine filed = machine_of(1), none = {.exchange = 0}, m;
    int nvlink = gr_relation_of_path(GR_PATH_NVLINK), row;
    struct gr_constants c = {.not_measured = 0};
    char text[1400];

    gr_constants_take(&c, nvlink, &filed, GR_FROM_FILE);
    gr_constants_take(&c, GR_CPU_NUMA, &filed, GR_FROM_FILE);
    assert_true(gr_constants_good(&c));
    for (row = 0; row < GR_MACHINE_ROWS; row++) {
        int device = gr_machine_rows[row].is_device;

        assert_int_equal(c.from[nvlink][row], device ? GR_FROM_FILE : GR_FROM_BUILD);
        assert_int_equal(c.from[GR_CPU_NUMA][row], device ? GR_FROM_BUILD : GR_FROM_FILE);
    }
    assert_true(gr_constants_complete(&c, GR_CPU_NUMA));
    m = gr_constants_at(&c, gr_relation_of_path(GR_PATH_PCIE), GR_FROM_BUILD, NULL);
    assert_true(0 == m.device_own);
    m = gr_constants_at(&c, nvlink, GR_FROM_FILE, NULL);
    assert_true(filed.device_step[GR_PROTOCOL_LL] > 0 &&
                filed.device_step[GR_PROTOCOL_LL] == m.device_step[GR_PROTOCOL_LL]);
    assert_string_equal(gr_constants_sources(&c, nvlink, GR_FROM_FILE), "file");
    m = gr_constants_at(&c, nvlink, GR_CONSTANT_SOURCES, NULL);
    assert_memory_equal(&m, &none, sizeof(m));
    assert_string_equal(gr_constants_sources(&c, nvlink, GR_CONSTANT_SOURCES), "built-in");
    assert_string_equal(gr_constants_text(&c, nvlink, GR_CONSTANT_SOURCES, "F", text, sizeof(text)),
                        "built in");
}

static void impossible_constants_are_not_good(void **state)
{
    struct gr_machine m = machine_of(1);
    struct gr_constants good = {.not_measured = 0}, c;

    assert_true(gr_constants_good(&good));
    gr_constants_take(&good, GR_CPU_SYSTEM, &m, GR_FROM_FILE);
    assert_true(gr_constants_good(&good));
    c = good;
    c.at[GR_CPU_SYSTEM].exchange = -1;
    assert_false(gr_constants_good(&c));
    c = good;
    c.from[GR_CPU_SYSTEM][0] = GR_CONSTANT_SOURCES;
    assert_false(gr_constants_good(&c));
    c = good;
    c.from[GR_CPU_SYSTEM][0] = GR_FROM_BUILD; /* but it is known */
    assert_false(gr_constants_good(&c));
    c = good;
    c.from[GR_CPU_CACHE][0] = GR_FROM_FILE; /* but it is not known */
    assert_false(gr_constants_good(&c));
    c = good;
    memset(c.device, 'a', sizeof(c.device));
    assert_false(gr_constants_good(&c));
}

static void text_says_values_and_sources(void **state)
{
    struct gr_machine m = {.exchange = 0.25F}, call = {.call = 1.5F};
    struct gr_constants c = {.not_measured = 0};
    char text[1400], small[16];

    assert_string_equal(gr_constants_text(&c, 0, GR_FROM_BUILD, NULL, text, sizeof(text)),
                        "built in");
    assert_string_equal(gr_constants_sources(&c, 0, GR_FROM_BUILD), "built-in");
    c.not_measured = GR_ERR_TIMEOUT;
    assert_string_equal(gr_constants_text(&c, 0, GR_FROM_BUILD, NULL, text, sizeof(text)),
                        "built in (measuring took too long)");
    c.not_measured = GR_ERR_NOT_SUPPORTED;
    assert_string_equal(gr_constants_text(&c, 0, GR_FROM_BUILD, NULL, text, sizeof(text)),
                        "built in (rank 0 may use one processor only)");
    c.not_measured = 0;
    gr_constants_take(&c, 0, &m, GR_FROM_MEASUREMENT);
    assert_string_equal(gr_constants_text(&c, 0, GR_FROM_BUILD, "F", text, sizeof(text)),
                        "measured: exchange 0.25 us; no single copy");
    gr_constants_take(&c, 0, &call, GR_FROM_MEASUREMENT);
    assert_int_equal(gr_machine_parse(&m, row_of("slots"), "1 2 3 4"), 0);
    gr_constants_take(&c, 0, &m, GR_FROM_FILE);
    assert_string_equal(gr_constants_text(&c, 0, GR_FROM_BUILD, "/a/b", text, sizeof(text)),
                        "file /a/b: exchange 0.25 us, slots 1 2 3 4 GB/s; measured: "
                        "single_copy_call 1.5 us");
    assert_string_equal(gr_constants_sources(&c, 0, GR_FROM_BUILD), "file+measured");
    assert_int_equal(strlen(gr_constants_text(&c, 0, GR_FROM_BUILD, "/a/b", small, sizeof(small))),
                     sizeof(small) - 1);
}

/* ---- files ---- */

static char folder[] = "/tmp/gr_constants_test_XXXXXX";
static char path[128];
static struct gr_machine_kind here;

static void write_text(const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_folder(void **state)
{
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/file", folder);
    gr_machine_kind_find("", &here);
    return 0;
}

static int remove_folder(void **state)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static struct gr_tune_file whole_file(void)
{
    struct gr_tune_file file = {.kind = here, .date = "2026-11-26", .version = "0.9.0"};
    struct gr_machine near = machine_of(1), far = machine_of(20);

    memset(far.fetch, 0, sizeof(far.fetch)); /* not known */
    gr_constants_take(&file.constants, GR_CPU_CACHE, &near, GR_FROM_FILE);
    gr_constants_take(&file.constants, GR_CPU_SYSTEM, &far, GR_FROM_FILE);
    gr_constants_take(&file.constants, gr_relation_of_path(GR_PATH_SAME), &near, GR_FROM_FILE);
    gr_constants_take(&file.constants, gr_relation_of_path(GR_PATH_NVLINK), &far, GR_FROM_FILE);
    snprintf(file.constants.device, sizeof(file.constants.device), "ACME 100 GB");
    return file;
}

static void write_whole(const struct gr_tune_file *file)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(write_tune_file(f, file), 0);
    fclose(f);
}

static void what_is_written_is_read(void **state)
{
    struct gr_tune_file file = whole_file(), again;
    char why[512], a[96], b[96];
    int d, row;

    assert_int_equal(file.constants.from[GR_RELATIONS - GR_NPATHS][GR_MACHINE_ROWS - 1],
                     GR_FROM_FILE);
    write_whole(&file);
    assert_int_equal(gr_tune_file_read(path, &here, &again, why, sizeof(why)), 0);
    assert_string_equal(again.date, file.date);
    assert_string_equal(again.version, file.version);
    assert_string_equal(again.constants.device, file.constants.device);
    assert_memory_equal(again.constants.from, file.constants.from, sizeof(file.constants.from));
    for (d = 0; d < GR_RELATIONS; d++) {
        for (row = 0; row < GR_MACHINE_ROWS; row++) {
            if (gr_machine_knows(&file.constants.at[d], row)) {
                assert_string_equal(gr_machine_print(&again.constants.at[d], row, a, sizeof(a)),
                                    gr_machine_print(&file.constants.at[d], row, b, sizeof(b)));
            }
        }
    }
}

static void files_of_other_machines_are_refused(void **state)
{
    const struct {
        char *text;
        const char *name;
    } parts[] = {{here.processor, "(processor: "},
                 {here.processors, "(processors: "},
                 {here.kernel, "(kernel: "}};
    struct gr_tune_file file = whole_file(), again;
    char why[512], was;
    size_t k;

    write_whole(&file);
    for (k = 0; k < COUNT_OF(parts); k++) {
        assert_true('\0' != parts[k].text[0]);
        was = parts[k].text[strlen(parts[k].text) - 1];
        parts[k].text[strlen(parts[k].text) - 1] = '?';
        assert_int_equal(gr_tune_file_read(path, &here, &again, why, sizeof(why)),
                         GR_ERR_NOT_SUPPORTED);
        parts[k].text[strlen(parts[k].text) - 1] = was;
        assert_non_null(strstr(why, parts[k].name));
    }
    assert_int_equal(gr_tune_file_read(path, &here, &again, why, sizeof(why)), 0);
    /* one that does not say it is of no machine */
    write_text("gpuring_tune = 1\ncache.exchange = 0.2\n");
    assert_int_equal(gr_tune_file_read(path, &here, &again, why, sizeof(why)),
                     GR_ERR_NOT_SUPPORTED);
}

static void constants_of_devices_need_their_device(void **state)
{
    struct gr_tune_file file = whole_file(), again;
    char why[512];

    file.constants.device[0] = '\0';
    write_whole(&file);
    assert_int_equal(gr_tune_file_read(path, &here, &again, why, sizeof(why)),
                     GR_ERR_NOT_SUPPORTED);
    assert_string_equal(why, "it has constants of a device but no entry \"device\"");
}

static void bad_files_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *why; /* NULL: it is good but for its machine */
    } rows[] = {
        {"gpuring_tune = 1\n", NULL},
        {"# c\n\n  \t\n # c\ngpuring_tune=1\ncache.exchange=0.2\n", NULL},
        {"gpuring_tune = 1\nnuma.slots = 1 2 3 4", NULL}, /* no end of line */
        {"", "line 1 "},
        {"# nothing\n", "line 2 "},
        {"gpuring_tune = 2\n", "line 1 "},
        {"cache.exchange = 0.2\n", "line 1 "},
        {"date = today\ngpuring_tune = 1\n", "line 1 "},
        {"gpuring_tune = 1\ngpuring_tune = 1\n", "line 2 "},
        {"gpuring_tune = 1\ncache.exchange 0.2\n", "line 2 "},
        {"gpuring_tune = 1\ncache.exchange = 0\n", "line 2 "},
        {"gpuring_tune = 1\ncache.exchange = 0.2 # here\n", "line 2 "},
        {"gpuring_tune = 1\ncache.slots = 1 2 3\n", "line 2 "},
        {"gpuring_tune = 1\nexchange = 0.2\n", "line 2 "},
        {"gpuring_tune = 1\ncachexexchange = 0.2\n", "line 2 "},
        {"gpuring_tune = 1\nboard.exchange = 0.2\n", "line 2 "},
        {"gpuring_tune = 1\ncache.exchanges = 0.2\n", "line 2 "},
        {"gpuring_tune = 1\ncache.device_step = 2\n", "line 2 "},
        {"gpuring_tune = 1\nnvlink.exchange = 0.2\n", "line 2 "},
        {"\177ELF\002\001\n", "line 1 "},
    };
    struct gr_tune_file file;
    char why[512], line[2048];
    size_t k;

    for (k = 0; k < COUNT_OF(rows); k++) {
        write_text(rows[k].text);
        assert_int_equal(gr_tune_file_read(path, &here, &file, why, sizeof(why)),
                         GR_ERR_NOT_SUPPORTED);
        if (NULL == strstr(why, NULL == rows[k].why ? "another machine" : rows[k].why)) {
            fail_msg("%s: %s", rows[k].text, why);
        }
    }
    memset(line, 'a', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    write_text(line);
    assert_int_equal(gr_tune_file_read(path, &here, &file, why, sizeof(why)), GR_ERR_NOT_SUPPORTED);
    assert_non_null(strstr(why, "line 1 "));
}

static void unreadable_files_are_said_to_be(void **state)
{
    struct gr_tune_file file;
    char why[512];

    assert_int_equal(gr_tune_file_read("/nowhere/file", &here, &file, why, sizeof(why)),
                     GR_ERR_SYS);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(gr_tune_file_read(folder, &here, &file, why, sizeof(why)), GR_ERR_SYS);
    assert_int_equal(errno, EISDIR);
}

/* ---- kinds of machines ---- */

static void make_file(const char *name, const char *text)
{
    char command[256];

    snprintf(command, sizeof(command), "mkdir -p $(dirname %s/%s)", folder, name);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    write_text(text);
}

static void a_kind_is_model_and_layout(void **state)
{
    struct gr_machine_kind kind;
    struct utsname os;
    char name[160];
    const char *slash;
    int major, minor;

    make_file("proc/cpuinfo", "processor\t: 0\nmodel\t\t: 17\nmodel name\t: ACME (R) 7 @ 2 GHz \n\n"
                              "processor\t: 1\nmodel name\t: other\n");
    make_file("sys/devices/system/cpu/online", "0-3,6-8,10\n");
    make_file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n");
    make_file("sys/devices/system/cpu/cpu0/topology/core_siblings_list", "0-3,6-8,10\n");
    make_file("sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "0-3\n");
    make_file("sys/devices/system/cpu/cpu0/cache/index2/size", "512K\n");
    make_file("sys/devices/system/cpu/cpu0/cache/index3/size", "32768K\n");
    gr_machine_kind_find(folder, &kind);
    assert_string_equal(kind.processor, "ACME (R) 7 @ 2 GHz");
    assert_string_equal(kind.processors,
                        "8 (socket 8, numa 0, cache 4, core 2; caches 512K 32768K)");
    assert_string_equal(gr_tune_file_name(&kind, name, sizeof(name)), "acme-r-7-2-ghz-8.tune");
    make_file("proc/cpuinfo", "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd40\n\n");
    gr_machine_kind_find(folder, &kind);
    assert_string_equal(kind.processor, "implementer 0x41 part 0xd40");
    /* nothing to be read: the architecture, and one name for a file all the same */
    gr_machine_kind_find("/nowhere", &kind);
    assert_true('\0' != kind.processor[0]);
    slash = strchr(gr_tune_file_name(&kind, name, sizeof(name)), '/');
    assert_null(slash);
    /* the kernel: its first two numbers */
    assert_int_equal(uname(&os), 0);
    assert_int_equal(sscanf(os.release, "%d.%d", &major, &minor), 2);
    snprintf(name, sizeof(name), "%.20s %d.%d", os.sysname, major, minor);
    assert_string_equal(kind.kernel, name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_read_and_written),
        cmocka_unit_test(rates_become_times),
        cmocka_unit_test(better_sources_come_first),
        cmocka_unit_test(measurements_are_not_fixed),
        cmocka_unit_test(distances_stand_for_each_other),
        cmocka_unit_test(devices_have_constants_of_their_own),
        cmocka_unit_test(impossible_constants_are_not_good),
        cmocka_unit_test(text_says_values_and_sources),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(files_of_other_machines_are_refused),
        cmocka_unit_test(constants_of_devices_need_their_device),
        cmocka_unit_test(bad_files_are_refused_with_their_line),
        cmocka_unit_test(unreadable_files_are_said_to_be),
        cmocka_unit_test(a_kind_is_model_and_layout),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
