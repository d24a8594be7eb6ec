/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atom and red: a new value computed from the old one, put there if that is still the old one. An
 * atom that changes nothing, as those that wait do, gives others a turn.
 */
#include "ptx_float.h"
#include "ptx_int.h"
#include "ptx_memory.h"

#include <cmath>

namespace fake
{
namespace ptx
{

/* The new value, from the old one and operands b and c. */
struct op_exch {
    template <class T> static T of(T, T b, T)
    {
        return b;
    }
};
struct op_cas {
    template <class T> static T of(T old, T b, T c)
    {
        return old == b ? c : old;
    }
};
struct op_add {
    template <class T> static T of(T old, T b, T)
    {
        return (T) (old + b);
    }
};
struct op_and {
    template <class T> static T of(T old, T b, T)
    {
        return old & b;
    }
};
struct op_or {
    template <class T> static T of(T old, T b, T)
    {
        return old | b;
    }
};
struct op_xor {
    template <class T> static T of(T old, T b, T)
    {
        return old ^ b;
    }
};
struct op_min {
    template <class T> static T of(T old, T b, T)
    {
        return b < old ? b : old;
    }
};
struct op_max {
    template <class T> static T of(T old, T b, T)
    {
        return b > old ? b : old;
    }
};
struct op_inc {
    template <class T> static T of(T old, T b, T)
    {
        return old >= b ? 0 : old + 1;
    }
};
struct op_dec {
    template <class T> static T of(T old, T b, T)
    {
        return 0 == old || old > b ? b : old - 1;
    }
};
/* Two halves, each a sum of its own. */
struct op_add_halves {
    template <class T> static T of(T old, T b, T)
    {
        return (T) (to_half(from_half((uint16_t) old) + from_half((uint16_t) b), ROUND_NEAREST) |
                    (uint32_t) to_half(from_half((uint16_t) (old >> 16)) +
                                           from_half((uint16_t) (b >> 16)),
                                       ROUND_NEAREST)
                        << 16);
    }
};

template <class T> struct word_of {
    typedef typename std::conditional<
        8 == sizeof(T), uint64_t,
        typename std::conditional<4 == sizeof(T), uint32_t, uint16_t>::type>::type type;
};

template <class T, class F> static const insn *atom(frame &f, const insn *i)
{
    typedef typename word_of<T>::type W;
    const space where = (space) i->n;
    const uint64_t at = address(f, i);
    const bool global = in_global(where, at);
    const T b = get<T>(f, i->b), c = -1 == i->c ? T() : get<T>(f, i->c);
    T old, now;
    W before, after;
    W *p;

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
    before = __atomic_load_n(p, __ATOMIC_RELAXED);
    do {
        memcpy(&old, &before, sizeof(W));
        now = F::of(old, b, c);
        memcpy(&after, &now, sizeof(W));
    } while (
        !__atomic_compare_exchange_n(p, &before, after, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    if (global) {
        acquire(f, i);
    }
    if (-1 != i->d) {
        put<T>(f, i->d, old);
    }
    if (before == after) {
        look(f, i, at, (uint64_t) before, 0);
    } else {
        f.t->stored++;
        global ? emu::delay(true) : (void) block_here()->progress++;
    }
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
    const int op =
        s.take_of({"exch", "cas", "add", "and", "or", "xor", "min", "max", "inc", "dec"});
    s.take("noftz");
    const type t = s.take_type();
    const operand *o = s.args.data() + gives;
    s.need(s.args.size() == (size_t) gives + (1 == op ? 3 : 2) && operand::ADDRESS == o->kind,
           "operands");
    s.need(1 == op || type_bytes(t) >= 4); /* 16 bits: cas only */
    i.d = !gives || operand::SINK == s.args[0].kind ? -1 : s.slot(0);
    i.a = o->slot;
    i.off = o->off;
    i.b = s.slot((size_t) gives + 1);
    i.c = 1 == op ? s.slot((size_t) gives + 2) : -1;
    switch (op) {
    case 0:
        i.go = BITS(atom, COMMA op_exch);
        break;
    case 1:
        i.go = BITS(atom, COMMA op_cas);
        break;
    case 2:
        i.go = F32 == t     ? atom<float, op_add>
               : F64 == t   ? atom<double, op_add>
               : F16X2 == t ? atom<uint32_t, op_add_halves>
                            : EITHER(atom, COMMA op_add);
        break;
    case 3:
        i.go = BITS(atom, COMMA op_and);
        break;
    case 4:
        i.go = BITS(atom, COMMA op_or);
        break;
    case 5:
        i.go = BITS(atom, COMMA op_xor);
        break;
    case 6:
        i.go = EITHER(atom, COMMA op_min);
        break;
    case 7:
        i.go = EITHER(atom, COMMA op_max);
        break;
    case 8:
        i.go = EITHER(atom, COMMA op_inc);
        break;
    case 9:
        i.go = EITHER(atom, COMMA op_dec);
        break;
    default:
        break;
    }
    return nullptr != i.go;
}

} /* namespace ptx */
} /* namespace fake */
