/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fibers: a thread that switches between stacks. ThreadSanitizer sees no order between fibers, so
 * code that passes data from one to another calls happens_before() and happens_after().
 */
#ifndef FAKECUDA_FIBER_H
#define FAKECUDA_FIBER_H

#include <cstddef>
#include <cstdint>

namespace fake
{

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(FAKE_TSAN)
constexpr size_t STACK = 256 << 10;
#else
constexpr size_t STACK = 64 << 10;
#endif

struct fiber {
    void *sp;
    char *stack; /* its low end */
    void *sanitizer;
};

/* The thread that fibers run on. */
struct carrier {
    void *sp;
    const void *stack;
    size_t bytes;
    void *sanitizer;
};

/*
 * Stacks for n fibers, a page that faults below each; kept for later takers. Dies when there is no
 * memory.
 */
char *stacks_take(unsigned n);
void stacks_give(unsigned n, char *stacks);
char *stacks_at(char *stacks, unsigned i);

void carrier_start(carrier &c);
/* entry does not return: it ends with fiber_exit(). Its first words are fiber_entered(). */
void fiber_start(fiber &f, char *stack, void (*entry)());
void fiber_end(fiber &f);

void fiber_enter(carrier &c, fiber &f); /* carrier -> fiber, returns when it leaves */
void fiber_entered(carrier &c);
void fiber_leave(carrier &c, fiber &f); /* fiber -> carrier, returns when it is entered again */
[[noreturn]] void fiber_exit(carrier &c, fiber &f);

void happens_before(const void *what);
void happens_after(const void *what);

} /* namespace fake */

#endif
