/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the constants of devices (tune/machine.h) by calls of two ranks, with gpuring_gpu's
 * ranks and calls: on one device, by one process, or on two devices, by a process for each.
 */
#ifndef TUNE_DEVICES_H
#define TUNE_DEVICES_H

#include "gpu/run.h"

#include "tune/constants.h"

struct tune_devices {
    struct gr_gpus *gpus;
    struct gr_gpu *gpu; /* this process's */
    struct world world;
    struct run_options options;
    enum gr_path path;           /* between the ranks */
    size_t large[GR_NPROTOCOLS]; /* bytes of calls that take long enough; 0: not found yet */
    char model[GR_DEVICE_MODEL]; /* of the devices */
    char error[CLI_ERROR_CHARS];
};

/*
 * Collective over a crew of two ranks. 0; -1 with a line in d->error. *beside: whether there is
 * another device of the same model for the other process; where not, nothing was opened. close: in
 * any case.
 */
int tune_devices_open(struct tune_devices *d, struct crew *crew, int *beside);
void tune_devices_close(struct tune_devices *d);

/* One round; the same on all processes. Ends the process where a call fails. */
void tune_devices_round(struct tune_devices *d, struct gr_machine *m);

#endif
