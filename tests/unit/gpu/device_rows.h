/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of what lies between the component and the driver. Each is a row: a name, what the
 * environment must say, and a body, which runs in a process of its own, since a driver reads its
 * environment once and is never unloaded. That process begins without a driver, so it may fork
 * before it loads one.
 *
 * Environment: LIBCUDA, the driver under test; or FAKECUDA, the folder of the fake driver, which is
 * used with the kernels of device_kernels.cu.
 */
#ifndef GR_TESTS_DEVICE_ROWS_H
#define GR_TESTS_DEVICE_ROWS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_test.h"

/* Seconds that a body may take. */
enum { ROW_PATIENCE = 1200 };

struct row {
    const char *name;
    void (*body)(void);
    const char *environment;            /* "NAME=VALUE NAME=VALUE ..." or NULL */
    void (*around)(void (*body)(void)); /* calls the body; NULL: it is called by itself */
};

/* For bodies, which cmocka cannot jump out of. */
#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "# %s:%d: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                         \
        }                                                                     \
    } while (0)

#define CHECK_INT(a, b)                                                                            \
    do {                                                                                           \
        long long a_ = (long long) (a), b_ = (long long) (b);                                      \
                                                                                                   \
        if (a_ != b_) {                                                                            \
            fprintf(stderr, "# %s:%d: %s is %lld, not %s, %lld\n", __FILE__, __LINE__, #a, a_, #b, \
                    b_);                                                                           \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static inline void set_environment(const char *words)
{
    char *copy = strdup(NULL == words ? "" : words), *rest = copy, *word;

    while (NULL != (word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');

        if (NULL != value) {
            *value = '\0';
            setenv(word, value + 1, 1);
        }
    }
    free(copy);
}

/* Fork; the row's body in the child ends it. */
static inline pid_t in_child(const struct row *row)
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (0 == pid) {
        set_environment(row->environment);
        alarm(ROW_PATIENCE);
        if (NULL != row->around) {
            row->around(row->body);
        } else {
            row->body();
        }
        exit(0); /* what the driver does at exit belongs to the test */
    }
    return pid;
}

static inline int child_status(pid_t pid)
{
    int status = -1;

    return pid == waitpid(pid, &status, 0) ? status : -1;
}

static inline void run_row(void **state)
{
    const struct row *row = *state;
    pid_t pid = in_child(row);

    assert_true(pid > 0);
    assert_int_equal(child_status(pid), 0);
}

static inline int choose_driver(void)
{
    const char *folder = getenv("FAKECUDA");
    char path[4096];

    if (NULL != getenv("LIBCUDA")) {
        return 0;
    }
    if (NULL == folder) {
        fprintf(stderr, "LIBCUDA or FAKECUDA must say where the driver under test is\n");
        return -1;
    }
    snprintf(path, sizeof(path), "%s/libcuda.so.1", folder);
    setenv("LIBCUDA", path, 1);
    snprintf(path, sizeof(path), "%s/device_kernels.so", folder);
    setenv("FAKECUDA_KERNELS", path, 1);
    return 0;
}

/* The main program; argument: the only row to run. */
static inline int run_rows(struct row *rows, size_t n, int argc, char **argv)
{
    struct CMUnitTest *tests = calloc(n, sizeof(*tests));
    size_t k;
    int failed;

    if (choose_driver() < 0 || NULL == tests) {
        free(tests);
        return 99;
    }
    for (k = 0; k < n; k++) {
        tests[k] = (struct CMUnitTest) {rows[k].name, run_row, NULL, NULL, &rows[k]};
    }
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    failed = _cmocka_run_group_tests("rows", tests, n, NULL, NULL);
    free(tests);
    return failed;
}

/* around: calls the body; NULL: it is called by itself. */
#define ROW_IN(around, body, environment) \
    {                                     \
#body, body, environment, around  \
    }
#define ROW_AS(name, body, environment) \
    {                                   \
        name, body, environment, NULL   \
    }
#define ROW(body, environment) ROW_IN(NULL, body, environment)
#define RUN_ROWS(rows, argc, argv) run_rows(rows, sizeof(rows) / sizeof((rows)[0]), argc, argv)

#endif
