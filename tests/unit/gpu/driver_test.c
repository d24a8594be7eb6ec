/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading the driver (cuda/driver.h, gr_gpus_open()): missing drivers, old drivers, no devices. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "device_app.h"

#include "cuda/device.h"
#include "cuda/pointer.h"

/* Opening must fail with that code, and words that hold these. */
static void refused(const char *library, int code, const char *words)
{
    int error = 0;

    CHECK(NULL == gr_gpus_open(library, &error));
    CHECK_INT(error, code);
    if (NULL == strstr(gr_gpu_error(), words)) {
        fprintf(stderr, "# \"%s\" says nothing of \"%s\"\n", gr_gpu_error(), words);
        _exit(1);
    }
}

static void no_library(void)
{
    CHECK(0 == strcmp("no error", gr_gpu_error()));
    refused("/nowhere/libcuda.so.1", GR_ERR_NODRIVER, "/nowhere/libcuda.so.1");
}

static void another_library(void)
{
    refused("libm.so.6", GR_ERR_NODRIVER, "libm.so.6: no CUDA driver");
}

static void an_old_driver(void)
{
    refused(getenv("LIBCUDA"), GR_ERR_NODRIVER, "CUDA 11.8, older than 12.0");
}

static void no_device(void)
{
    refused(getenv("LIBCUDA"), GR_ERR_NODEVICE, "CUDA_ERROR_NO_DEVICE");
}

/* What the application has loaded is found by its name. */
static void the_default_name(void)
{
    int error;
    struct gr_gpus *gpus;

    app_start();
    gpus = gr_gpus_open(NULL, &error);
    CHECK(NULL != gpus);
    gr_gpus_close(gpus);
}

static void opening_creates_no_context(void)
{
    struct gr_gpus *gpus = open_gpus();
    unsigned int flags;
    int k, active, count = gr_gpus_count(gpus);

    app_start();
    CHECK_INT(count, 3);
    CHECK_INT(gr_gpus_current(gpus), -1);
    for (k = 0; k < count; k++) {
        (void) gr_pointer_find(gpus, &k);
        APP(cuDevicePrimaryCtxGetState, gpus->slots[k].device, &flags, &active);
        CHECK_INT(active, 0);
    }
    gr_gpus_close(gpus);
}

static void opening_again(void)
{
    struct gr_gpus *gpus = open_gpus(), *second = open_gpus();

    (void) get_gpu(gpus, 0);
    gr_gpus_close(gpus);
    (void) get_gpu(second, 0);
    gr_gpus_close(second);
    gpus = open_gpus();
    CHECK_INT(get_gpu(gpus, 0)->ordinal, 0);
    gr_gpus_close(gpus);
    gr_gpus_close(NULL);
}

/*
 * Each function of the table is the one that the library exports under the name that the header
 * gave it.
 */
static void the_table_is_complete(void)
{
    struct gr_gpus *gpus = open_gpus();
    void *const *fields = (void *const *) &gpus->cuda;
    size_t k;

    for (k = 0; k < sizeof(gpus->cuda) / sizeof(void *); k++) {
        size_t other;

        CHECK(NULL != fields[k]);
        for (other = 0; other < k; other++) {
            CHECK(fields[k] != fields[other]);
        }
    }
    gr_gpus_close(gpus);
}

/* What came after 12.0 may be missing. */
static void the_oldest_driver_that_will_do(void)
{
    static const char *const later[] = {"cuFuncLoad", "cuCtxGetId"};
    size_t k;

    for (k = 0; k < sizeof(later) / sizeof(later[0]); k++) {
        struct gr_gpus *gpus;
        int error;

        setenv("LACKING", later[k], 1);
        gpus = gr_gpus_open(DRIVER_LACKING, &error);
        CHECK(NULL != gpus);
        CHECK(NULL == (0 == k ? (void *) gpus->cuda.cuFuncLoad : (void *) gpus->cuda.cuCtxGetId));
        CHECK_INT(get_gpu(gpus, 0)->ordinal, 0);
        gr_gpus_close(gpus);
    }
}

static void a_function_is_missing(void)
{
    static const char *const missing[] = {"cuInit", "cuMemAlloc", "cuLaunchKernel"};
    char words[64];
    size_t k;

    for (k = 0; k < sizeof(missing) / sizeof(missing[0]); k++) {
        setenv("LACKING", missing[k], 1);
        snprintf(words, sizeof(words), "no %s", missing[k]);
        refused(DRIVER_LACKING, GR_ERR_NODRIVER, words);
    }
}

/* What cuGetProcAddress does not know is looked up as a symbol. */
static void a_function_is_found_as_a_symbol(void)
{
    int error = 0;
    struct gr_gpus *gpus;

    setenv("LACKING", "cuGetErrorName", 1);
    gpus = gr_gpus_open(DRIVER_LACKING, &error);
    CHECK(NULL != gpus);
    CHECK(NULL == gr_gpu_get(gpus, 1, &error));
    CHECK_INT(error, GR_ERR_NODEVICE);
    gr_gpus_close(gpus);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        ROW(no_library, NULL),
        ROW(another_library, NULL),
        ROW(an_old_driver, "FAKECUDA_VERSION=11080"),
        ROW(no_device, "CUDA_VISIBLE_DEVICES="),
        ROW(the_default_name, NULL),
        ROW(opening_creates_no_context, "FAKECUDA_DEVICES=3"),
        ROW(opening_again, NULL),
        ROW(the_table_is_complete, NULL),
        ROW(the_oldest_driver_that_will_do, NULL),
        ROW(a_function_is_missing, NULL),
        ROW(a_function_is_found_as_a_symbol, NULL),
    };

    return RUN_ROWS(rows, argc, argv);
}
