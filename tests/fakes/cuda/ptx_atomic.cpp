/* SPDX-License-Identifier: BSD-3-Clause */
/* atom and red: sums of integers. */
#include "ptx_memory.h"

namespace fake
{
namespace ptx
{

template <class W> static const insn *atom(frame &f, const insn *i)
{
    const space where = (space) i->n;
    const uint64_t at = address(f, i);
    const bool global = in_global(where, at);
    const W added = get<W>(f, i->b);
    W before, *p;

    f.t->now = i;
    if (global) {
        p = emu::reach((W *) at);
        release(f, i);
        if (i->mod[2]) {
            strong_begin(f, i, at, p, sizeof(W));
        } else if (0 != (emu::modes & emu::WEAK)) {
            weak_settle(block_here(), p, sizeof(W));
        }
        emu::delay(false);
    } else {
        p = (W *) spot(f, i, where, at, sizeof(W));
    }
    before = __atomic_fetch_add(p, added, __ATOMIC_ACQ_REL);
    if (global) {
        acquire(f, i);
    }
    if (-1 != i->d) {
        put<W>(f, i->d, before);
    }
    f.t->stored++;
    global ? emu::delay(true) : (void) block_here()->progress++;
    return i + 1;
}

/* ---- decoding ---- */

bool decode_atomic(statement &s, insn &i)
{
    const bool gives = "atom" == s.name();

    if (!gives && "red" != s.name()) {
        return false;
    }
    take_order(s, i);
    i.mod[0] = ORDER_WEAK == i.mod[0] ? (uint8_t) ORDER_RELAXED : i.mod[0];
    i.n = (uint8_t) take_space(s);
    const bool adds = s.take("add");
    const type t = s.take_type();
    const operand *o = s.args.data() + gives;
    s.need(s.args.size() == (size_t) gives + 2 && operand::ADDRESS == o->kind, "operands");
    i.d = !gives || operand::SINK == s.args[0].kind ? -1 : s.slot(0);
    i.a = o->slot;
    i.off = o->off;
    i.b = s.slot((size_t) gives + 1);
    i.go = !adds                  ? (handler) nullptr
           : U32 == t || S32 == t ? atom<uint32_t>
           : U64 == t || S64 == t ? atom<uint64_t>
                                  : (handler) nullptr;
    return nullptr != i.go;
}

} /* namespace ptx */
} /* namespace fake */
