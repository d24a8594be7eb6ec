/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included before kernels.cu when it is compiled for the fake driver: the kernels then note each
 * piece that they move, and the test compares the notes with those of the host's machine.
 */
#ifndef GR_TESTS_KERNEL_TRACE_H
#define GR_TESTS_KERNEL_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* One piece, in elements. */
struct kt_piece {
    uint64_t rank; /* the address of the rank's reports, or its number */
    uint32_t channel, slice, index;
    uint32_t begins, ends; /* the slot */
    uint32_t zero;         /* no bytes are left undefined: pieces are compared as they are */
    size_t operand, dest, slot, count;
};

#if defined(__cplusplus)

#include <mutex>
#include <vector>

/* Whoever asks takes what was noted since: *n pieces, valid until the next time. */
extern "C" __attribute__((visibility("default"))) const struct kt_piece *kernel_trace_take(
    size_t *n);

namespace kernel_trace
{
inline std::mutex lock;
inline std::vector<kt_piece> noted, taken;

template <class Args, class Walk, class Cursor>
void note(const Args *args, uint32_t channel, const Walk *w, const Cursor *begin)
{
    std::lock_guard<std::mutex> guard(lock);

    noted.push_back({args->report, channel, begin->slice, begin->index, w->first, w->last, 0,
                     w->operand, w->dest, w->slot, w->count});
}
} /* namespace kernel_trace */

const struct kt_piece *kernel_trace_take(size_t *n)
{
    std::lock_guard<std::mutex> guard(kernel_trace::lock);

    kernel_trace::taken.swap(kernel_trace::noted);
    kernel_trace::noted.clear();
    *n = kernel_trace::taken.size();
    return kernel_trace::taken.data();
}

#define GR_KERNEL_TRACE(args, walk, begin) kernel_trace::note(args, blockIdx.x, walk, begin)

#endif

#endif
