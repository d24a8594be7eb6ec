/* SPDX-License-Identifier: BSD-3-Clause */
/* Several devices (cuda/peer.h): access to each other's memory, and their ids. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "cuda/device.h"
#include "cuda/peer.h"
#include "device_app.h"

static void peers(const char *reach)
{
    struct gr_gpus *gpus = open_gpus();
    int a, b;

    for (a = 0; a < 4; a++) {
        for (b = 0; b < 4; b++) {
            CHECK_INT(gr_gpu_can_access(get_gpu(gpus, a), b), a == b || '1' == reach[4 * a + b]);
            /* again */
            CHECK_INT(gr_gpu_can_access(get_gpu(gpus, a), b), a == b || '1' == reach[4 * a + b]);
        }
        CHECK_INT(gr_gpu_can_access(get_gpu(gpus, a), 4), 0);
        CHECK_INT(gr_gpu_can_access(get_gpu(gpus, a), -1), 0);
    }
    app_start();
    APP(cuCtxSetCurrent, get_gpu(gpus, 0)->context);
    /* enabled: once more is refused */
    CHECK_INT(app.cuCtxEnablePeerAccess(get_gpu(gpus, 1)->context, 0),
              '1' == reach[1] ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                              : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    gr_gpus_close(gpus);
}

static void all_reach_all(void)
{
    peers("1111111111111111");
}

static void none_reaches_another(void)
{
    peers("0000000000000000");
}

/* Nor does the question cost a context there. */
static void who_cannot_be_reached_gets_no_context(void)
{
    struct gr_gpus *gpus = open_gpus();
    struct gr_gpu *gpu = get_gpu(gpus, 0);
    unsigned int flags;
    int active;

    app_start();
    CHECK_INT(gr_gpu_can_access(gpu, 1), 0);
    APP(cuDevicePrimaryCtxGetState, gpus->slots[1].device, &flags, &active);
    CHECK_INT(active, 0);
    gr_gpus_close(gpus);
}

static void pairs_reach_each_other(void)
{
    peers("0100100000010010");
}

static void the_application_enabled_it(void)
{
    struct gr_gpus *gpus = open_gpus();

    app_start();
    app_use(0);
    APP(cuCtxEnablePeerAccess, get_gpu(gpus, 1)->context, 0);
    CHECK_INT(gr_gpu_can_access(get_gpu(gpus, 0), 1), 1);
    gr_gpus_close(gpus);
}

static void report_ids(int fd)
{
    struct gr_gpus *gpus = open_gpus();
    struct gr_gpu_id id = gr_gpu_id(get_gpu(gpus, 0));

    CHECK_INT(write(fd, &id, sizeof(id)), sizeof(id));
}

/* The same device is known by the same id wherever it is seen, and by whatever number. */
static void devices_have_names(void)
{
    struct gr_gpu_id ids[3], other;
    struct gr_gpus *gpus;
    int fds[2], k;
    pid_t pid;

    CHECK_INT(pipe(fds), 0);
    pid = fork();
    if (0 == pid) {
        setenv("CUDA_VISIBLE_DEVICES", "2", 1);
        report_ids(fds[1]);
        _exit(0);
    }
    CHECK_INT(read(fds[0], &other, sizeof(other)), sizeof(other));
    CHECK_INT(child_status(pid), 0);
    gpus = open_gpus();
    for (k = 0; k < 3; k++) {
        ids[k] = gr_gpu_id(get_gpu(gpus, k));
        CHECK_INT(0 == memcmp(&ids[k], &other, sizeof(other)), 2 == k);
    }
    CHECK(0 != memcmp(ids[0].uuid, ids[1].uuid, sizeof(ids[0].uuid)) && ids[0].bus != ids[1].bus);
    gr_gpus_close(gpus);
}

int main(int argc, char **argv)
{
    struct row rows[] = {
        ROW(all_reach_all, "FAKECUDA_DEVICES=4 FAKECUDA_PEER=all"),
        ROW(none_reaches_another, "FAKECUDA_DEVICES=4 FAKECUDA_PEER=none"),
        ROW(who_cannot_be_reached_gets_no_context, "FAKECUDA_DEVICES=2 FAKECUDA_PEER=none"),
        ROW(pairs_reach_each_other, "FAKECUDA_DEVICES=4 FAKECUDA_PEER=pairs"),
        ROW(the_application_enabled_it, "FAKECUDA_DEVICES=2"),
        ROW(devices_have_names, "FAKECUDA_DEVICES=3"),
    };

    return RUN_ROWS(rows, argc, argv);
}
