/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where an address is, and the order of flags. Scopes: what is ordered for the device's own threads
 * only (.gpu) must not be memory that others reach; what is for the block's only (.cta) stays with
 * the block under FAKECUDA_WEAK. A load of a flag that finds what it found before gives others a
 * turn.
 */
#include "memory.h"
#include "ptx_memory.h"

namespace fake
{
namespace ptx
{

/* ---- where an address is ---- */

unsigned char *spot(const frame &f, const insn *i, space where, uint64_t at, size_t bytes)
{
    if (GENERIC == where) {
        where = 0 != (at & SHARED_BIT)  ? SHARED
                : 0 != (at & LOCAL_BIT) ? LOCAL
                : 0 != (at & PARAM_BIT) ? PARAM
                                        : GLOBAL;
        at &= ~SPACE_BITS;
    }
    if (0 != at % bytes) {
        trap(f, i, "misaligned access");
    }
    switch (where) {
    case SHARED:
        if (at + bytes > f.b->shared.size()) {
            trap(f, i, "access outside the block's shared memory");
        }
        return f.b->shared.data() + at;
    case PARAM:
        if (at + bytes > f.b->params.size()) {
            trap(f, i, "access outside the parameters");
        }
        return f.b->params.data() + at;
    case LOCAL:
        for (const frame *each = &f; nullptr != each; each = each->caller) {
            const uint64_t from = (uint64_t) each->local;
            if (at >= from && at + bytes <= from + each->f->local_bytes) {
                return (unsigned char *) at;
            }
        }
        trap(f, i, "access outside local memory");
    default:
        return nullptr; /* in global memory */
    }
}

bool in_global(space where, uint64_t at)
{
    return GLOBAL == where || CONST == where || (GENERIC == where && 0 == (at & SPACE_BITS));
}

uint64_t address(const frame &f, const insn *i)
{
    return (-1 == i->a ? 0 : f.r[i->a]) + (uint64_t) i->off;
}

/* ---- order ---- */

/* A flag that others than this device reach needs .sys. */
static void check_scope(const frame &f, const insn *i, uint64_t at)
{
    region_ref r = SCOPE_SYS == i->mod[1] ? nullptr : memory_find(at);
    const int device = ((const launch_job *) block_here()->job)->context->device;

    if (nullptr != r &&
        (KIND_DEVICE != r->kind || nullptr != r->shared || device_machine(device) != r->machine)) {
        trap(f, i, "a scope below .sys on memory that others reach");
    }
}

void strong_begin(frame &f, const insn *i, uint64_t at, void *host, size_t bytes)
{
    check_scope(f, i, at);
    if (0 != (emu::modes & emu::WEAK)) {
        weak_settle(block_here(), host, bytes);
    }
}

void release(frame &, const insn *i)
{
    if (0 == (emu::modes & emu::WEAK) || ORDER_RELEASE > i->mod[0]) {
        return;
    }
    if (SCOPE_CTA == i->mod[1]) {
        weak_merge(block_here(), block_here()->now);
    } else {
        emu::weak_release();
    }
}

void acquire(frame &, const insn *i)
{
    if (0 != (emu::modes & emu::WEAK) && SCOPE_CTA != i->mod[1] &&
        (ORDER_ACQUIRE == i->mod[0] || ORDER_BOTH == i->mod[0])) {
        emu::weak_acquire();
    }
}

void look(frame &f, const insn *i, uint64_t at, uint64_t x, uint64_t y)
{
    seen_flag &s = f.t->seen[((uintptr_t) i / sizeof(insn) ^ at >> 3 ^ at >> 9) % 16];

    if (i == s.by && at == s.at && x == s.value[0] && y == s.value[1]) {
        yield(f, true);
    }
    s = seen_flag {i, at, {x, y}};
}

/* ---- fences ---- */

static const insn *fence(frame &f, const insn *i)
{
    release(f, i);
    acquire(f, i);
    return i + 1;
}
static const insn *nothing(frame &, const insn *i)
{
    return i + 1;
}

/* ---- decoding ---- */

void take_order(statement &s, insn &i)
{
    const bool is_volatile = s.take("volatile") || s.take("mmio");
    const int order = s.take_of({"weak", "relaxed", "acquire", "release", "acq_rel", "sc"});
    const int scope = s.take_of({"sys", "gpu", "cta", "cluster", "gl"});
    static const uint8_t orders[] = {ORDER_WEAK,    ORDER_RELAXED, ORDER_ACQUIRE,
                                     ORDER_RELEASE, ORDER_BOTH,    ORDER_BOTH};
    static const uint8_t scopes[] = {SCOPE_SYS, SCOPE_GPU, SCOPE_CTA, SCOPE_GPU, SCOPE_GPU};

    i.mod[0] = is_volatile ? (uint8_t) ORDER_RELAXED
               : order < 0 ? (uint8_t) ORDER_WEAK
                           : orders[order];
    i.mod[1] = scope < 0 ? (uint8_t) SCOPE_SYS : scopes[scope];
    i.mod[2] = scope >= 0;
}

space take_space(statement &s)
{
    const int where = s.take_of({"global", "shared", "local", "param", "const"});
    static const space spaces[] = {GLOBAL, SHARED, LOCAL, PARAM, CONST};

    return where < 0 ? GENERIC : spaces[where];
}

bool decode_fence(statement &s, insn &i)
{
    if ("prefetch" == s.name() || "prefetchu" == s.name() || "discard" == s.name()) {
        s.words.resize(1);
        i.go = nothing;
        return true;
    }
    if ("membar" != s.name() && "fence" != s.name()) {
        return false;
    }
    take_order(s, i);
    i.mod[0] = ORDER_BOTH;
    i.go = SCOPE_CTA == i.mod[1] ? nothing : fence;
    return true;
}

} /* namespace ptx */
} /* namespace fake */
