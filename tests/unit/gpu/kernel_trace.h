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

/*
 * Steps of several chunks, of any stride and number: a test makes such of a chain's. sched.nchunks
 * is then the number of steps, chunks per step << 16, and chunks of the last step << 24.
 */
#define KT_RUNS(nsteps, each, last) ((nsteps) | (each) << 16 | (last) << 24)
#define KT_STEPS(nchunks) ((nchunks) &0xffff)

/*
 * Step i of such a schedule is the chain's, with other chunks: descending, so that the stride is no
 * ordinary one.
 */
#define KT_MAKE_RUN(step, nchunks, i)                                     \
    do {                                                                  \
        uint32_t each_ = (nchunks) >> 16 & 255, last_ = (nchunks) >> 24;  \
                                                                          \
        if (0 != each_) {                                                 \
            (step)->count = (i) + 1 == KT_STEPS(nchunks) ? last_ : each_; \
            (step)->first = (i) *each_ + (step)->count - 1;               \
            (step)->stride = (uint32_t) -1;                               \
        }                                                                 \
    } while (0)

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

template <class Args, class Walk> void note(const Args *args, uint32_t channel, const Walk *w)
{
    std::lock_guard<std::mutex> guard(lock);

    noted.push_back({args->report, channel, w->begin.slice, w->begin.index, w->first, w->last, 0,
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

/* struct gr_sched is not known here yet. */
namespace kernel_trace
{
template <class Sched> Sched plain(const Sched *s)
{
    Sched copy = *s;

    copy.nchunks = s->nchunks >> 16 ? KT_STEPS(s->nchunks) : s->nchunks;
    return copy;
}

template <class Sched, class Make> auto step(const Sched *s, uint32_t i, Make make)
{
    Sched copy = plain(s);
    auto t = make(&copy, i);

    KT_MAKE_RUN(&t, s->nchunks, i);
    return t;
}

template <class Sched, class Count> uint32_t len(const Sched *s, Count count)
{
    Sched copy = plain(s);

    return count(&copy);
}
} /* namespace kernel_trace */

#define GR_KERNEL_STEP(sched, i) kernel_trace::step(sched, i, gr_sched_step)
#define GR_KERNEL_LEN(sched) kernel_trace::len(sched, gr_sched_len)
#define GR_KERNEL_TRACE(args, walk) kernel_trace::note(args, blockIdx.x, walk)

#endif

#endif
