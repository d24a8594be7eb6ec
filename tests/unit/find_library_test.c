/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries are found where the dynamic linker would find them (base/system.h). */
#include "base/system.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_test.h"

#define NAME "libgpuring-found.so.1"

/* The system's own are found without a path, and under their whole names only. */
static void as_dlopen_does(void **state)
{
    static const char *const names[] = {"libc.so.6", "libm.so.6",   "ibm.so.6",
                                        "libm.so",   "libm.so.6.1", NAME};
    size_t k;

    unsetenv("LD_LIBRARY_PATH");
    for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        void *library = dlopen(names[k], RTLD_LAZY);
        const char *error = NULL == library ? dlerror() : NULL;

        /* libm.so of a compiler is a script, which dlopen() finds and refuses */
        if (NULL != library || NULL == strstr(error, "invalid ELF header")) {
            assert_int_equal(gr_library_found(names[k]), NULL != library);
        }
        if (NULL != library) {
            dlclose(library);
        }
    }
}

static void in_the_path_of_the_environment(void **state)
{
    char folder[] = "/tmp/gpuring-found-XXXXXX", file[200], path[200];
    FILE *f;

    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/" NAME, folder);
    f = fopen(file, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(gr_library_found(NAME), 0);
    snprintf(path, sizeof(path), "/nowhere::%s", folder);
    setenv("LD_LIBRARY_PATH", path, 1);
    assert_int_equal(gr_library_found(NAME), 1);
    assert_int_equal(gr_library_found("libgpuring-found.so"), 0);
    snprintf(path, sizeof(path), "%s:/nowhere", folder);
    setenv("LD_LIBRARY_PATH", path, 1);
    assert_int_equal(gr_library_found(NAME), 1);
    unlink(file);
    assert_int_equal(gr_library_found(NAME), 0);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_dlopen_does),
        cmocka_unit_test(in_the_path_of_the_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
