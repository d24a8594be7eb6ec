/* SPDX-License-Identifier: BSD-3-Clause */
/* A block that runs: its threads, their barriers and warp operations. One OS thread owns it. */
#ifndef FAKECUDA_BLOCK_H
#define FAKECUDA_BLOCK_H

#include "cuda_emu.h"
#include "fiber.h"
#include "options.h"

#include <unordered_map>
#include <vector>

namespace fake
{

/* 16 bytes of memory, some of them known. */
struct line {
    unsigned char byte[16];
    uint16_t known;
};
using lines = std::unordered_map<uintptr_t, line>;

enum thread_state : uint8_t { RUNNING, AT_BARRIER, AT_WARP, EXITED };

struct cuda_thread {
    emu::context context;
    fiber f;
    bool spun;      /* it gave up its turn because it waits for others */
    uint32_t turns; /* that it had */
    int predicate;
    lines stores; /* FAKECUDA_WEAK: its own, not yet seen by others */
};

/*
 * A warp operation that lanes arrive at; mask 0: none. As two of them can be open at once (a slow
 * lane still reads the first), and disjoint parts of a warp may do different ones, a warp has
 * several.
 */
enum warp_kind { WARP_SYNC, WARP_SHFL, WARP_VOTE };
constexpr unsigned EXCHANGES = 20;
struct exchange {
    warp_kind kind;
    uint32_t mask, arrived, read;
    uint32_t votes; /* WARP_VOTE: lanes whose predicate holds */
    uint64_t value[32];
};
struct warp {
    exchange open[EXCHANGES];
};

namespace ptx
{
struct function;
struct block_state;
} /* namespace ptx */

/* What is launched. */
struct work {
    const char *name;
    emu::kernel kernel;
    const ptx::function *ptx; /* it is interpreted; NULL: g++ compiled it */
    void **args;
    int device; /* ordinal */
    dim3 grid, threads;
    unsigned shared; /* bytes of dynamic shared memory */
};

struct block {
    const work *job;
    uint3 index;
    carrier c;
    std::vector<cuda_thread> threads;
    std::vector<thread_state> states; /* of threads; apart, since each round looks at all of them */
    std::vector<warp> warps;
    cuda_thread *now;
    ptx::block_state *ptx; /* of kernels that are interpreted */
    unsigned live, at_barrier;
    emu::barrier_kind kind;
    int result;
    uint64_t generation; /* barriers that opened */
    uint64_t progress;   /* barriers come to, flags stored, threads that exited */
    uint64_t spins;      /* turns that ended in gp_spin */
    uint64_t random;
    /* FAKECUDA_WEAK: stores of all threads that a barrier handed on; not yet outside the block */
    lines merged;
    lines cache; /* and lines that were loaded since the last acquire */
};

/* The block of this OS thread. */
block *block_here();

/* Run it to its end. */
void block_run(const work &job, uint3 index);

/* Print where its threads are, and abort. */
[[noreturn]] void block_die(block *b, const char *why);
/* Say what the current thread did, and abort. */
[[noreturn]] void block_fault(const char *what);

/* FAKECUDA_WEAK */
void weak_merge(block *b, cuda_thread *t);
void weak_flush(block *b, lines &all);
/* Of these bytes the current thread sees what is in memory, where its own and its block's stores go. */
void weak_settle(block *b, void *at, size_t bytes);

} /* namespace fake */

#endif
