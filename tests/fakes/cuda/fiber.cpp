/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A switch saves the registers that a call preserves on the stack and exchanges stack pointers. The
 * sanitizers are told of each. FAKE_TSAN: linked to ThreadSanitizer, though this library's own code
 * is not instrumented.
 */
#include "fiber.h"

#include <cstdlib>
#include <cstring>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FAKE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace fake
{

extern "C" void fakecuda_switch(void **save, void *to);

#if defined(__x86_64__)
/* r15 r14 r13 r12 rbx rbp; above it: the address to return to */
constexpr size_t FRAME = 6 * sizeof(void *);
asm(".text\n"
    ".type fakecuda_switch,@function\n"
    "fakecuda_switch:\n"
    "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
    "movq %rsp,(%rdi)\n"
    "movq %rsi,%rsp\n"
    "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n"
    "ret\n"
    ".size fakecuda_switch,.-fakecuda_switch\n");

static void *first_frame(char *top, void (*entry)())
{
    char *sp = top - 16 - FRAME; /* on entry the stack is 8 off a multiple of 16, as after a call */

    memset(sp, 0, (size_t) (top - sp));
    memcpy(sp + FRAME, &entry, sizeof(entry));
    return sp;
}
#elif defined(__aarch64__)
constexpr size_t FRAME = 160;
asm(".text\n"
    ".type fakecuda_switch,%function\n"
    "fakecuda_switch:\n"
    "sub sp,sp,#160\n"
    "stp x19,x20,[sp]\n stp x21,x22,[sp,#16]\n stp x23,x24,[sp,#32]\n"
    "stp x25,x26,[sp,#48]\n stp x27,x28,[sp,#64]\n stp x29,x30,[sp,#80]\n"
    "stp d8,d9,[sp,#96]\n stp d10,d11,[sp,#112]\n stp d12,d13,[sp,#128]\n stp d14,d15,[sp,#144]\n"
    "mov x9,sp\n str x9,[x0]\n"
    "mov sp,x1\n"
    "ldp x19,x20,[sp]\n ldp x21,x22,[sp,#16]\n ldp x23,x24,[sp,#32]\n"
    "ldp x25,x26,[sp,#48]\n ldp x27,x28,[sp,#64]\n ldp x29,x30,[sp,#80]\n"
    "ldp d8,d9,[sp,#96]\n ldp d10,d11,[sp,#112]\n ldp d12,d13,[sp,#128]\n ldp d14,d15,[sp,#144]\n"
    "add sp,sp,#160\n"
    "ret\n"
    ".size fakecuda_switch,.-fakecuda_switch\n");

static void *first_frame(char *top, void (*entry)())
{
    char *sp = top - FRAME;

    memset(sp, 0, FRAME);
    memcpy(sp + 88, &entry, sizeof(entry)); /* x30 */
    return sp;
}
#else
#error "a switch of fibers is written for x86-64 and aarch64"
#endif

/* ---- switches ---- */

void carrier_start(carrier &c)
{
    c = carrier {};
#ifdef FAKE_TSAN
    c.sanitizer = __tsan_get_current_fiber();
#endif
}

void fiber_start(fiber &f, char *stack, void (*entry)())
{
    f.stack = stack;
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(stack, STACK); /* who exited left frames there */
#endif
    f.sp = first_frame(stack + STACK, entry);
    f.sanitizer = nullptr;
#ifdef FAKE_TSAN
    f.sanitizer = __tsan_create_fiber(0);
#endif
}

void fiber_end(fiber &f)
{
#ifdef FAKE_TSAN
    __tsan_destroy_fiber(f.sanitizer);
#endif
    f.sp = nullptr;
}

__attribute__((noinline)) void fiber_enter(carrier &c, fiber &f)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&c.sanitizer, f.stack, STACK);
#elif defined(FAKE_TSAN)
    __tsan_switch_to_fiber(f.sanitizer, __tsan_switch_to_fiber_no_sync);
#endif
    fakecuda_switch(&c.sp, f.sp);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(c.sanitizer, nullptr, nullptr);
#endif
}

void fiber_entered(carrier &c)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &c.stack, &c.bytes);
#else
    (void) c;
#endif
}

static inline void to_carrier(carrier &c, fiber &f, void **fake_stack)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(fake_stack, c.stack, c.bytes);
#elif defined(FAKE_TSAN)
    (void) fake_stack;
    __tsan_switch_to_fiber(c.sanitizer, __tsan_switch_to_fiber_no_sync);
#else
    (void) fake_stack;
#endif
    fakecuda_switch(&f.sp, c.sp);
}

__attribute__((noinline)) void fiber_leave(carrier &c, fiber &f)
{
    to_carrier(c, f, &f.sanitizer);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(f.sanitizer, &c.stack, &c.bytes);
#endif
}

__attribute__((noinline)) void fiber_exit(carrier &c, fiber &f)
{
    to_carrier(c, f, nullptr);
    abort();
}

void happens_before(const void *what)
{
#ifdef FAKE_TSAN
    __tsan_release((void *) what);
#else
    (void) what;
#endif
}

void happens_after(const void *what)
{
#ifdef FAKE_TSAN
    __tsan_acquire((void *) what);
#else
    (void) what;
#endif
}

} /* namespace fake */
