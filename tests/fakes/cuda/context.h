/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices and contexts, and the checks at the begin of every driver function. */
#ifndef FAKECUDA_CONTEXT_H
#define FAKECUDA_CONTEXT_H

#include "options.h"

#include <cuda.h>

#include <atomic>
#include <mutex>
#include <set>

/* A function of the driver. */
#define FAKE_API extern "C" __attribute__((visibility("default"))) CUresult

/* The first words of such functions. */
#define NEED(condition, error) \
    do {                       \
        if (!(condition)) {    \
            return error;      \
        }                      \
    } while (0)
#define NEED_DRIVER()                             \
    do {                                          \
        CUresult status_ = fake::driver_status(); \
        NEED(CUDA_SUCCESS == status_, status_);   \
    } while (0)
#define NEED_CONTEXT(name)                               \
    CUcontext name = nullptr;                            \
    do {                                                 \
        CUresult status_ = fake::context_current(&name); \
        NEED(CUDA_SUCCESS == status_, status_);          \
    } while (0)

struct CUctx_st {
    int device; /* ordinal */
    bool primary;
    std::atomic<unsigned> flags;
    std::atomic<bool> alive;
    std::atomic<int> retained;
    unsigned long long id;
    /* held while work is put on streams that are ordered against the legacy one */
    std::mutex order;
    std::mutex mutex; /* the rest */
    std::set<CUstream> streams;
    CUstream legacy;
    std::set<int> peers; /* devices whose memory it may use */
};

namespace fake
{

/* SUCCESS, NOT_INITIALIZED, DEINITIALIZED, or NOT_PERMITTED in a callback. */
CUresult driver_status();
/* The calling thread's; SUCCESS, INVALID_CONTEXT or what driver_status() says. */
CUresult context_current(CUcontext *context);
/* Set while the thread runs a callback of a stream, which must not call the driver. */
extern thread_local bool in_callback;
/* Whether there is such a context. */
bool context_known(CUcontext context);

int device_count();
bool device_known(int ordinal);
int device_machine(int ordinal);             /* its number on the machine */
int device_ordinal(int machine);             /* -1: not visible */
bool device_reaches(int machine, int other); /* over a bus that the machine has */
/* of what networks may do with its memory; others are 0 */
int nic_attribute(CUdevice_attribute name);

} /* namespace fake */

#endif
